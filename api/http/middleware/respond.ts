import { Readable } from 'node:stream';
import type { Dependencies } from '../../dependencies.js';
import { etagOf, matchesEtag } from '../conventions/etag.js';
import { JsonStream, JsonReadable } from '../json-stream.js';
import type { Reply } from '../route.js';
import { recordLastUse } from '../security/last-use.js';
import type { RouteContext, RouteMiddleware } from '../state.js';

/** Sends the handler's answer, once its transaction is committed, and records the use of a token of /api/v1. */
export function respond(dependencies: Dependencies): RouteMiddleware {
  return async (ctx, next) => {
    await next();
    send(ctx, ctx.state.reply!);
    const { principal } = ctx.state;
    if (principal?.kind === 'token') await recordLastUse(dependencies, principal.id);
  };
}

/** Sends an answer: status, headers, tag, body. */
export function send(ctx: RouteContext, { status, headers, body }: Reply): void {
  ctx.status = status;
  ctx.set(headers);
  if (body === undefined) {
    if (status !== 204) ctx.body = null;
    ctx.status = status;
    return;
  }
  const tag = etagOf(body);
  if (tag && !ctx.response.get('etag')) ctx.set('ETag', tag);
  if (status === 200 && isKnown(ctx)) {
    if (body instanceof Readable) body.destroy();
    ctx.status = 304;
    ctx.body = null;
    ctx.status = 304;
    return;
  }
  if (typeof body === 'string' || Buffer.isBuffer(body) || body instanceof Readable) {
    ctx.body = body;
    return;
  }
  ctx.type = 'application/json; charset=utf-8';
  if (body instanceof JsonStream) {
    ctx.body = new JsonReadable(body);
    ctx.length = body.length;
  } else ctx.body = JSON.stringify(body);
}

/** Whether the client already has the record, by its If-None-Match. */
function isKnown(ctx: RouteContext): boolean {
  const known = ctx.get('if-none-match');
  const tag = ctx.response.get('etag');
  return (ctx.method === 'GET' || ctx.method === 'HEAD') && known !== '' && tag !== '' && matchesEtag(known, tag, true);
}
