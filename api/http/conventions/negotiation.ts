import type { Context } from 'koa';
import { responseSchema } from '../route.js';
import type { Route } from '../route.js';
import { JSON_OR_STREAM } from './event-stream.js';

/** Whether a route only answers JSON; one with a `format`, or without a schema for its answer, may answer files. */
export function answersJsonOnly({ responses, query }: Route): boolean {
  const formats = (query as { properties?: Record<string, unknown> } | undefined)?.properties?.format !== undefined;
  const success = Object.entries(responses).filter(([status]) => Number(status) < 400 && status !== '204');
  return !formats && success.length > 0 && success.every(([, given]) => responseSchema(given) !== undefined);
}

/** Cached per route for the life of the process. */
const known = new WeakMap<Route, boolean>();
function jsonOnly(route: Route): boolean {
  let found = known.get(route);
  if (found === undefined) known.set(route, (found = answersJsonOnly(route)));
  return found;
}

/** Whether the client accepts the answer; checked before anything else. */
export function isAcceptable(ctx: Context, route: Route): boolean {
  const asked = ctx.get('accept');
  return (
    asked === '' ||
    asked === '*/*' ||
    asked === 'application/json' ||
    !jsonOnly(route) ||
    ctx.accepts(JSON_OR_STREAM) !== false
  );
}
