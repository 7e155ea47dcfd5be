import ipaddr from 'ipaddr.js';
import type { Context, Next } from 'koa';

/** An address with its port: `198.51.100.7:49152`, `[2001:db8::7]:49152`. */
const WITH_PORT = /^(?:\[([0-9a-f:.]+)\](?::\d+)?|(\d+\.\d+\.\d+\.\d+):\d+)$/i;

/**
 * Takes the client's address as the proxy wrote it into X-Forwarded-For. Some proxies append the port, by which each
 * connection would be a caller of its own; what is no address names nobody, and the proxy's own counts.
 */
export function proxiedAddress(ctx: Context, next: Next): Promise<void> {
  const found = WITH_PORT.exec(ctx.ip);
  const address = found ? (found[1] ?? found[2]!) : ctx.ip;
  ctx.request.ip = ipaddr.isValid(address) ? address : (ctx.socket.remoteAddress ?? '');
  return next() as Promise<void>;
}
