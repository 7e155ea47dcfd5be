import type { Context, Next } from 'koa';
import type { Settings } from '../../../settings.js';

const LOOPBACK = ['127.0.0.1', 'localhost', '[::1]'];

/** The origins of the Temporal UI. A local one is reachable under each of the machine's names. */
export function uiOrigins({ TEMPORAL_UI_URL }: Pick<Settings, 'TEMPORAL_UI_URL'>): string[] {
  if (TEMPORAL_UI_URL === undefined || !URL.canParse(TEMPORAL_UI_URL)) return [];
  const { protocol, hostname, port, origin } = new URL(TEMPORAL_UI_URL);
  if (!LOOPBACK.includes(hostname)) return [origin];
  return LOOPBACK.map((name) => `${protocol}//${name}${port ? `:${port}` : ''}`);
}

/** Lets only pages of the Temporal UI call the codec, with their credentials. */
export function codecCors(settings: Settings) {
  const origins = uiOrigins(settings);
  return async (ctx: Context, next: Next): Promise<void> => {
    ctx.vary('Origin');
    const origin = ctx.get('origin');
    const known = origins.includes(origin);
    if (known) ctx.set({ 'Access-Control-Allow-Origin': origin, 'Access-Control-Allow-Credentials': 'true' });
    await next();
    if (known && ctx.method === 'OPTIONS' && ctx.status === 204)
      ctx.set({
        'Access-Control-Allow-Methods': 'POST, OPTIONS',
        'Access-Control-Allow-Headers': 'Authorization, Content-Type, X-Namespace',
        'Access-Control-Max-Age': '600',
      });
  };
}
