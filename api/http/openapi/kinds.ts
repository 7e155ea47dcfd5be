import { describesTagged } from '../conventions/etag.js';
import { IfMatch, responseOptions, responseSchema } from '../route.js';
import type { Route } from '../route.js';

/** Whether a portal token is accepted, of a participant or of a caregiver who must name one. */
export const forParticipant = ({ access: { token } }: Route): boolean => token === 'portal' || token === 'either';

/** Whether a request may have an If-Match. */
export const takesTag = ({ method, headers }: Route): boolean =>
  headers === IfMatch || ['PATCH', 'PUT', 'DELETE'].includes(method);

/** Whether an answer of this status has an ETag. */
export function sendsTag({ responses }: Route, status: number): boolean {
  if (status >= 300) return false;
  if (responseOptions(responses[status]).etag) return true;
  const schema = responseSchema(responses[status]);
  return schema !== undefined && describesTagged(schema);
}

/** Whether a request with a known tag can be answered with 304. */
export const answersUnchanged = (route: Route): boolean =>
  route.method === 'GET' && 200 in route.responses && sendsTag(route, 200);
