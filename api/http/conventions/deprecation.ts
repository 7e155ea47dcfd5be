import type { Route } from '../route.js';

/** For the routes under /api/redcap: each also exists under /api/datacapture. */
export const FORMER_PATH = { since: '2026-11-26' } as const;

/**
 * The headers of a deprecated route: `Deprecation` (RFC 9745), `Sunset` (RFC 8594) and a link to documentation. Days
 * are UTC.
 */
export function deprecation({ since, sunset, link }: NonNullable<Route['deprecated']>): Record<string, string> {
  return {
    Deprecation: `@${Date.parse(`${since}T00:00:00Z`) / 1000}`,
    ...(sunset && { Sunset: new Date(`${sunset}T00:00:00Z`).toUTCString() }),
    ...(link && { Link: `<${link}>; rel="deprecation"` }),
  };
}
