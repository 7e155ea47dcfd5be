import type { Dependencies } from '../../dependencies.js';
import { problem } from '../errors.js';
import { contentTag, etagOf, isKnown, matchesEtag } from '../conventions/etag.js';
import { Reply } from '../route.js';
import type { Route } from '../route.js';
import type { RouteContext, RouteMiddleware } from '../state.js';
import { validate } from './validate.js';

/** Validates the request (`validate`), and calls the route's handler with its open transaction. */
export function handle(route: Route, services: Dependencies): RouteMiddleware {
  const check = validate(route);
  return async (ctx) => {
    const { state } = ctx;
    await check(ctx);
    const { principal } = state;
    state.handled = true;
    let isMatched = false;
    const result = await route.handle({
      params: state.params,
      query: state.query,
      body: state.body,
      headers: ctx.headers,
      actor: state.actor,
      credential: principal?.kind === 'user' ? principal.credential : undefined,
      studyId: state.studyId,
      siteId: state.siteId,
      raw: state.raw,
      parts: state.upload?.parts ?? {},
      charset: state.upload?.charset,
      context: state.context,
      services,
      requestKey: state.requestKey ?? state.context.requestId,
      assertIfMatch: (record: Record<string, unknown> | undefined) => {
        isMatched = true;
        assertIfMatch(ctx, record);
      },
      prefetched: [],
      // No getter: the engine makes a hidden class for each object with one, and keeps it, with the request, for long.
      disconnected: () => signalOf(ctx),
      prefers: (mediaTypes: readonly string[]) => ctx.accepts([...mediaTypes]),
      sendsBody: (tag: string) => ctx.method !== 'HEAD' && !isKnown(ctx, tag),
      ...state.opened,
    } as Parameters<Route['handle']>[0]);
    if (!isMatched && ['PATCH', 'PUT', 'DELETE'].includes(route.method)) refuseTag(ctx);
    state.reply = result instanceof Reply ? result : new Reply(200, result);
  };
}

/** A record without a tag matches none: the change of who names one is rolled back. @throws 409 STALE */
function refuseTag(ctx: RouteContext): void {
  if (['', '*'].includes(ctx.get('if-match').trim())) return;
  throw problem('STALE', { detail: 'This has no ETag that If-Match could name.' });
}

function assertIfMatch(ctx: RouteContext, record: Record<string, unknown> | undefined): void {
  const given = ctx.get('if-match');
  if (given === '') return;
  if (!record) throw problem('STALE', { detail: 'There is nothing yet that If-Match could name.' });
  const tag = etagOf(record) ?? contentTag(record);
  if (!matchesEtag(given, tag, false)) throw problem('STALE', { headers: { ETag: tag } });
}

/** Created only for the few handlers that use it. */
function signalOf({ res }: RouteContext): AbortSignal {
  const leaving = new AbortController();
  const look = () => {
    if (!res.writableFinished) leaving.abort();
  };
  if (res.closed) look();
  else res.once('close', look);
  return leaving.signal;
}
