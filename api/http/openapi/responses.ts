import type { TSchema } from 'typebox';
import { ErrorBody } from '../common.schemas.js';
import { answersJsonOnly } from '../conventions/negotiation.js';
import { registered } from '../errors.js';
import { knowsItsQuery, requestBody, responseOptions, responseSchema, takesKey } from '../route.js';
import type { Route } from '../route.js';
import type { Components, Json } from './components.js';
import { answersUnchanged, forParticipant, sendsTag, takesTag } from './kinds.js';

/** What the frame itself may answer to this kind of route, beside what the route declares. */
function standardErrors(route: Route): number[] {
  const { access } = route;
  const kind = requestBody(route)?.kind;
  return [
    ...(access.token ? [401, 403] : []),
    // X-Study-ID, X-Site-ID and X-Participant-ID may be no ids, or name what the caller does not see.
    ...(access.token && access.token !== 'anyPortalUser' ? [404, 422] : route.path.includes('{') ? [404] : []),
    ...(kind === 'bytes' ? [408, 413, 415] : kind ? [400, 408, 413, 415, 422] : []),
    ...(answersJsonOnly(route) ? [406] : []),
    ...(knowsItsQuery(route) || route.query || route.headers ? [422] : []),
    ...((access.token && access.studyContext !== 'none') || forParticipant(route) ? [400] : []),
    ...(takesKey(route) || takesTag(route) || (route.method !== 'GET' && route.transaction === 'change') ? [409] : []),
    ...(route.rateLimit === 'none' ? [] : [429]),
    ...(route.transaction || access.token ? [503] : []),
    500,
  ];
}

/** Every status of a route from 400 on, in ascending order. */
export const errorStatuses = (route: Route): number[] =>
  [
    ...new Set([
      ...Object.keys(route.responses)
        .map(Number)
        .filter((status) => status >= 400),
      ...standardErrors(route),
    ]),
  ].sort((a, b) => a - b);

const integer = { type: 'integer' };
const string = { type: 'string' };
/** Headers of answers, each with the name under which the document has it once. */
const HEADERS: Record<string, { component: string; header: Json }> = {
  'X-Request-ID': {
    component: 'RequestId',
    header: { description: 'the request, as logs and errors name it', schema: string },
  },
  'X-Correlation-ID': { component: 'CorrelationId', header: { description: 'as the caller gave it', schema: string } },
  'X-RateLimit-Limit': {
    component: 'RateLimit',
    header: { description: 'how many requests count at most', schema: integer },
  },
  'X-RateLimit-Remaining': {
    component: 'RateRemaining',
    header: { description: 'how many are left', schema: integer },
  },
  'X-RateLimit-Reset': {
    component: 'RateReset',
    header: { description: 'when they begin anew, in unix seconds', schema: integer },
  },
  'Retry-After': { component: 'RetryAfter', header: { description: 'in so many seconds', schema: integer } },
  ETag: { component: 'ETag', header: { description: 'for If-Match and If-None-Match', schema: string } },
};
const USUAL = ['X-Request-ID', 'X-Correlation-ID', 'X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'];

const headers = (names: readonly string[], components: Components): Json =>
  Object.fromEntries(
    names.map((name) => {
      const { component, header } = HEADERS[name]!;
      return [name, components.refer('headers', component, header)];
    }),
  );

/** Errors by their status: how the document calls them, and what they say. */
const ERRORS: Record<number, [name: string, about: string]> = {
  400: ['BadRequest', 'A rule is broken, or the request cannot be read'],
  401: ['Unauthorized', 'No valid access token'],
  403: ['Forbidden', 'Not allowed'],
  404: ['NotFound', 'Not there, or not visible to the caller'],
  406: ['NotAcceptable', 'Accept does not name what this answers'],
  408: ['RequestTimeout', 'Too slow'],
  409: ['Conflict', 'Conflict with what is stored'],
  413: ['ContentTooLarge', 'Too large'],
  415: ['UnsupportedMediaType', 'Wrong content type'],
  416: ['RangeNotSatisfiable', 'No such part of the file'],
  422: ['UnprocessableContent', 'Does not fit the schema'],
  429: ['TooManyRequests', 'Too many requests: try again after Retry-After'],
  500: ['InternalServerError', 'A fault of the service'],
  503: ['ServiceUnavailable', 'A dependency is down: try again after Retry-After'],
};
const about = (status: number): string => ERRORS[status]?.[1] ?? 'Error';
const sentence = (status: number): string => {
  const codes = registered()
    .filter((entry) => entry.status === status)
    .map(({ code }) => code);
  return `${about(status)}. Codes: ${codes.join(', ') || 'see detail'}`;
};

function errorResponse(status: number, route: Route, components: Components): Json {
  const schema = responseSchema(route.responses[status]);
  const tagged = status === 409 && takesTag(route);
  const names = [...USUAL, ...(status === 429 || status === 503 ? ['Retry-After'] : []), ...(tagged ? ['ETag'] : [])];
  const content = {
    description: sentence(status),
    headers: headers(names, components),
    content: { 'application/json': { schema: components.schema(schema ?? ErrorBody) } },
  };
  const name = ERRORS[status]?.[0];
  // A record that has a version answers a conflict with the tag of now.
  return schema || name === undefined
    ? content
    : components.refer('responses', tagged ? 'ConflictOfVersion' : name, content);
}

const NAMES: Record<number, string> = { 200: 'OK', 201: 'Created', 202: 'Accepted', 204: 'Done; no body' };

/** Every answer of an operation, by status; those that many give alike are references. */
export function responses(route: Route, components: Components): Json {
  const result: Record<string, Json> = {};
  for (const [status, given] of Object.entries(route.responses)) {
    if (Number(status) >= 400) continue;
    const tag = sendsTag(route, Number(status)) ? ['ETag'] : [];
    const answer = {
      description: NAMES[Number(status)] ?? 'Answer',
      headers: headers([...USUAL, ...tag], components),
      ...content(responseOptions(given).mediaTypes, Number(status), responseSchema(given), components),
    };
    result[status] = status === '204' && tag.length === 0 ? components.refer('responses', 'NoContent', answer) : answer;
  }
  if (answersUnchanged(route))
    result[304] = components.refer('responses', 'NotModified', {
      description: 'Unchanged: If-None-Match names its tag; no body',
      headers: headers([...USUAL, 'ETag'], components),
    });
  for (const status of errorStatuses(route)) result[status] = errorResponse(status, route, components);
  return Object.fromEntries(Object.entries(result).sort(([a], [b]) => Number(a) - Number(b)));
}

/**
 * What a success answers: JSON by its schema, and files. A record that was made, or work that was only begun, is told
 * in JSON alone.
 */
function content(
  mediaTypes: readonly string[] = [],
  status: number,
  schema: TSchema | undefined,
  components: Components,
): Json {
  const files =
    status === 200 || status === 206
      ? mediaTypes.map(
          (type) =>
            [type, { schema: /^text\/|svg|json/.test(type) ? string : { type: 'string', format: 'binary' } }] as const,
        )
      : [];
  if (!schema && files.length === 0) return {};
  return {
    content: {
      ...(schema && { 'application/json': { schema: components.schema(schema) } }),
      ...Object.fromEntries(files),
    },
  };
}
