import { Readable } from 'node:stream';
import { setImmediate as others } from 'node:timers/promises';
import type { Dependencies } from '../../dependencies.js';
import { etagOf, isKnown } from '../conventions/etag.js';
import { JsonStream, JsonReadable, jsonInSlices } from '../json/json-stream.js';
import { isLong } from '../../../workflows/domain/util/length.js';
import { inTurns } from '../../util/in-turns.js';
import type { Reply } from '../route.js';
import { recordLastUse } from '../security/last-use.js';
import type { RouteContext, RouteMiddleware } from '../state.js';

/** Sends the handler's answer, once its transaction is committed, and records the use of a token of /api/v1. */
export function respond(dependencies: Dependencies): RouteMiddleware {
  return async (ctx, next) => {
    await next();
    const reply = ctx.state.reply!;
    send(ctx, reply, isRecord(reply.body) && isLong(reply.body, AT_ONCE) ? await written(reply.body) : undefined);
    const { principal } = ctx.state;
    if (principal?.kind === 'token') await recordLastUse(dependencies, principal.id);
  };
}

/** Limits of an answer that takes a millisecond or two to serialize, and is not sliced. */
const AT_ONCE = { values: 10_000, letters: 500_000 };
async function written(body: unknown): Promise<JsonStream> {
  // Computing this answer has already kept others waiting.
  await others();
  return inTurns(jsonInSlices(body));
}
const isRecord = (body: unknown): boolean =>
  typeof body === 'object' &&
  body !== null &&
  !Buffer.isBuffer(body) &&
  !(body instanceof Readable) &&
  !(body instanceof JsonStream);

/**
 * Sends an answer: status, headers, tag, body.
 * @param written its body, if it was serialized already
 */
export function send(ctx: RouteContext, { status, headers, body }: Reply, written?: JsonStream): void {
  ctx.status = status;
  ctx.set(headers);
  if (body === undefined) {
    if (status !== 204) ctx.body = null;
    ctx.status = status;
    return;
  }
  const tag = etagOf(body);
  if (tag && !ctx.response.get('etag')) ctx.set('ETag', tag);
  // If-None-Match is evaluated before Range: a known body is not sent again, nor a part of it (RFC 9110, 13.2.2).
  if ((status === 200 || status === 206) && isKnown(ctx, ctx.response.get('etag'))) {
    if (body instanceof Readable) body.destroy();
    ctx.remove('Content-Range');
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
  const pieces = body instanceof JsonStream ? body : written;
  if (pieces) {
    ctx.body = new JsonReadable(pieces);
    ctx.length = pieces.length;
  } else ctx.body = JSON.stringify(body);
}
