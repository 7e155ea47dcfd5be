import { isIP } from 'node:net';
import type { Context } from 'koa';
import type { Settings } from '../../../settings.js';
import { uiOrigins } from '../middleware/codec-cors.js';

const isLoopback = (address: string): boolean => /^(::ffff:)?127\.|^::1$/.test(address);

/**
 * Whether the request comes from the local machine, to a service in development: by the connection without a proxy, by
 * the requested host name, and from no page of an origin other than the Temporal UI’s.
 */
export function isOnThisMachine(ctx: Context, settings: Settings): boolean {
  if (settings.production || !isLoopback(ctx.req.socket.remoteAddress ?? '')) return false;
  if (['forwarded', 'x-forwarded-for', 'x-real-ip'].some((name) => ctx.get(name) !== '')) return false;
  const asked = URL.canParse(`http://${ctx.get('host')}`) ? new URL(`http://${ctx.get('host')}`).hostname : '';
  const plain = asked.replaceAll(/[[\]]/g, '');
  if (plain !== 'localhost' && !(isIP(plain) > 0 && isLoopback(plain))) return false;
  const origin = ctx.get('origin');
  return origin === '' || uiOrigins(settings).includes(origin);
}
