import { setTimeout as wait } from 'node:timers/promises';
import { Readable, Writable } from 'node:stream';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { koaBody } from 'koa-body';
import type { Context, Middleware, Next } from 'koa';
import { actionOf, answerCall, findCaller } from './api.js';
import { faultName, substitute, type Suffering } from './faults.js';
import { errorAnswer, type Answer } from './formats.js';
import { Params } from './params.js';
import type { World } from './world.js';

/** Reads urlencoded bodies as text (lists of any length) and multipart ones as fields; files are thrown away unread. */
export const apiBody: Middleware = koaBody({
  urlencoded: false,
  json: false,
  text: true,
  textTypes: ['application/x-www-form-urlencoded', 'text/*'],
  textLimit: '64mb',
  multipart: true,
  formidable: {
    maxFieldsSize: 64 * 1024 * 1024,
    maxFields: 100_000,
    fileWriteStreamHandler: () => new Writable({ write: (_chunk, _encoding, done) => done() }),
  },
});

function paramsOf(body: unknown): Params {
  if (typeof body === 'string') return new Params(new URLSearchParams(body));
  if (typeof body !== 'object' || body === null) return new Params([]);
  return new Params(
    Object.entries(body).flatMap(([key, value]: [string, unknown]) =>
      (Array.isArray(value) ? value : [value]).map((one): [string, string] => [key, String(one)]),
    ),
  );
}

/** The body's first half at once and the rest at the end of the time, so that a reader waits in the middle of it. */
async function* slowly(body: Buffer, ms: number, signal: AbortSignal): AsyncGenerator<Buffer> {
  const half = Math.max(1, Math.floor(body.length / 2));
  yield body.subarray(0, half);
  await wait(ms, undefined, { signal });
  yield body.subarray(half);
}

const COMPRESS = { gzip: gzipSync, deflate: deflateSync, br: brotliCompressSync };

function send(
  ctx: Context,
  answer: Answer,
  suffering: Suffering,
  location: string | undefined,
  signal: AbortSignal,
): void {
  ctx.status = answer.status;
  if (location !== undefined) ctx.set('Location', location);
  if (suffering.retry_after !== undefined) ctx.set('Retry-After', suffering.retry_after);
  let body = Buffer.from(answer.body, suffering.encoding ?? 'utf8');
  if (suffering.compress !== undefined) {
    body = COMPRESS[suffering.compress](body);
    ctx.set('Content-Encoding', suffering.compress);
  }
  if (suffering.truncate_json === true) body = body.subarray(0, Math.floor(body.length / 2));
  if (suffering.pad_bytes !== undefined) body = Buffer.concat([body, Buffer.alloc(suffering.pad_bytes, ' ')]);
  ctx.body = suffering.slow_body_ms === undefined ? body : Readable.from(slowly(body, suffering.slow_body_ms, signal));
  ctx.type = suffering.content_type ?? answer.type;
}

function drop(ctx: Context): void {
  ctx.respond = false;
  ctx.req.socket.destroy();
}

/** `POST <base>/api/`: finds the caller, does to the call what the faults say, answers it, and writes it down. */
export function apiEndpoint(world: World, stopping: AbortSignal): (ctx: Context, next: Next) => Promise<void> {
  return async (ctx, next) => {
    if (ctx.path === '/api') {
      ctx.status = 301;
      ctx.set('Location', '/api/');
      return;
    }
    if (ctx.path !== '/api/') {
      await next();
      return;
    }
    if (ctx.method !== 'POST') {
      const { type, body } = errorAnswer(501, 'The requested method is not implemented.', 'xml');
      ctx.status = 501;
      ctx.body = body;
      ctx.type = type;
      return;
    }
    await apiBody(ctx, async () => answer(ctx, world, stopping));
  };
}

async function answer(ctx: Context, world: World, stopping: AbortSignal): Promise<void> {
  const started = Date.now();
  const params = paramsOf((ctx.request as { body?: unknown }).body);
  const caller = findCaller(world.projects.values(), params.text('token'));
  const projectId = caller?.project.design.project_id ?? null;
  const content = params.text('content') ?? '';
  const action = actionOf(params);
  const format = params.answerFormat();
  const ip = ctx.ip.replace(/^::ffff:/, '');
  const id = world.journal.nextId();
  const log = (status: number | null, fault: string | null, applied: boolean, records: string[]): void =>
    world.journal.addCall({
      id,
      at: new Date(started).toISOString(),
      ip,
      content,
      action,
      project_id: projectId,
      status,
      duration_ms: Date.now() - started,
      fault,
      applied,
      records,
      parameters: params.shown(),
    });

  const refusal = world.faults.refusal(ip, projectId, content, action, format);
  if (refusal) {
    log(refusal.status, 'rate_limit', false, []);
    send(ctx, refusal, {}, undefined, stopping);
    return;
  }
  const suffering = world.faults.take(projectId, content, action, params.list('records')?.length);
  const fault = faultName(suffering);
  if (suffering.hold === true) await world.faults.held(stopping);
  if (suffering.latency_ms !== undefined) await wait(suffering.latency_ms, undefined, { signal: stopping });
  if (suffering.drop === 'before') {
    log(null, fault, false, []);
    drop(ctx);
    return;
  }
  const instead = substitute(suffering, format);
  if (instead && suffering.after_write !== true) {
    log(instead.answer.status, fault, false, []);
    send(ctx, instead.answer, suffering, instead.location, stopping);
    return;
  }
  const outcome = answerCall(caller, params, world.options.version, world.journal, id);
  if (suffering.drop === 'after') {
    log(null, fault, outcome.applied, outcome.records);
    drop(ctx);
    return;
  }
  const given = instead ?? { answer: outcome.answer };
  log(given.answer.status, fault, outcome.applied, outcome.records);
  send(ctx, given.answer, suffering, instead?.location, stopping);
}
