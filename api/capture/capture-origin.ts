import { problem } from '../http/errors.js';

const originOf = (url: string): string => new URL(url).origin;

/**
 * The origins before and after a change of `api_url`; undefined if the origin stays. The stored token belongs to the
 * old server: another server needs its own.
 * @throws 422 TOKEN_REQUIRED
 */
export function changedOrigin(
  before: string | undefined,
  { api_url: after, api_token: token }: { api_url?: string; api_token?: string },
): { origin_before: string; origin_after: string } | undefined {
  if (before === undefined || after === undefined || originOf(before) === originOf(after)) return undefined;
  const message = 'api_token is required in the same request: api_url names another server';
  if (token === undefined)
    throw problem('TOKEN_REQUIRED', {
      detail: `${message}.`,
      errors: [{ path: 'api_token', code: 'TOKEN_REQUIRED', message }],
    });
  return { origin_before: originOf(before), origin_after: originOf(after) };
}
