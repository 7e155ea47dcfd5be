import type { Context } from 'koa';
import { problem } from './errors.js';
import type { Route } from './route.js';

/** A stream of events is an answer of some lists; who asks for it gets it there, and JSON elsewhere. */
const TAKEN = ['application/json', 'text/event-stream'];

/** Whether a route answers JSON and nothing else; one with a `format`, or without a schema for its answer, may answer files. */
export function answersJsonOnly({ answers, query }: Route): boolean {
  const formats = (query as { properties?: Record<string, unknown> } | undefined)?.properties?.format !== undefined;
  const success = Object.entries(answers).filter(([status]) => Number(status) < 400 && status !== '204');
  return !formats && success.length > 0 && success.every(([, schema]) => schema !== undefined);
}

/** Before anything is done: an answer that the client would not take is none. @throws 406 */
export function requireAcceptable(ctx: Context, route: Route): void {
  if (ctx.get('accept') === '' || !answersJsonOnly(route) || ctx.accepts(TAKEN) !== false) return;
  throw problem('NOT_ACCEPTABLE');
}
