import type { Route } from '../route.js';

/** Of the routes under /api/redcap: each stands under /api/datacapture as well. */
export const FORMER_PATH = { since: '2026-11-26' } as const;

/**
 * The headers of a route that goes away: `Deprecation` (RFC 9745), `Sunset` (RFC 8594) and where to read of it. Days
 * are UTC.
 */
export function deprecation({ since, sunset, link }: NonNullable<Route['deprecated']>): Record<string, string> {
  return {
    Deprecation: `@${Date.parse(`${since}T00:00:00Z`) / 1000}`,
    ...(sunset && { Sunset: new Date(`${sunset}T00:00:00Z`).toUTCString() }),
    ...(link && { Link: `<${link}>; rel="deprecation"` }),
  };
}
