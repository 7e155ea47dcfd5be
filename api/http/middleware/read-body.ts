import type { Context } from 'koa';
import type { Dependencies } from '../../dependencies.js';
import { hasBody, mediaType, readBytes } from '../body/bytes.js';
import { readUpload } from '../body/upload.js';
import { problem } from '../errors.js';
import { bodySchema, requestBody } from '../route.js';
import type { Route } from '../route.js';
import type { RouteStep } from '../state.js';

/** Reads a body's bytes; `validate` parses them (408, 413, 415, 400). */
export function readBody(route: Route, { settings }: Pick<Dependencies, 'settings'>): RouteStep {
  const { kind, options } = requestBody(route)!;
  const required = ((bodySchema(route) as { required?: string[] } | undefined)?.required ?? []).length > 0;
  const seconds = settings.REQUEST_ARRIVAL_SECONDS;
  return async (ctx) => {
    const { state } = ctx;
    // Set by `begin`.
    const limit = state.bodyLimit!;
    if (kind === 'upload') {
      state.upload = await readUpload(ctx, limit, seconds, options.mediaTypes);
      state.raw = state.upload.bytes;
    } else if (kind === 'bytes') {
      const { mediaTypes } = options;
      if (mediaTypes && !mediaTypes.includes(mediaType(ctx.req))) throw wrongType(mediaTypes);
      state.raw = await readBytes(ctx, limit, seconds);
    } else state.raw = await jsonOf(ctx, limit, seconds, required);
  };
}

async function jsonOf(ctx: Context, limit: number, seconds: number, required: boolean): Promise<Buffer> {
  const type = mediaType(ctx.req);
  const isJson = type === 'application/json' || /^application\/[a-z0-9.+-]+\+json$/.test(type);
  if (hasBody(ctx.req) && type === '') throw wrongType(['application/json']);
  const bytes = await readBytes(ctx, limit, seconds);
  // If all fields are optional, a missing body means an empty object.
  if (bytes.length === 0 && !required) return Buffer.from('{}');
  if (!isJson) throw wrongType(['application/json']);
  return bytes;
}

const wrongType = (taken: readonly string[]) =>
  problem('UNSUPPORTED_MEDIA_TYPE', { detail: `The body must be ${taken.join(' or ')}.` });
