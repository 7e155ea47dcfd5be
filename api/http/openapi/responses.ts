import type { TSchema } from 'typebox';
import { ErrorBody } from '../common.schemas.js';
import { registeredErrors } from '../errors.js';
import { requestBody, responseOptions, responseSchema, takesKey } from '../route.js';
import type { Route } from '../route.js';
import { knowsItsQuery } from '../validation/query.js';
import type { Components, Json } from './components.js';
import { answersUnchanged, forParticipant, sendsTag, takesTag } from './kinds.js';

/** Errors of the pipeline for this kind of route, besides declared and universal ones. */
function standardErrors(route: Route): number[] {
  const { access } = route;
  const kind = requestBody(route)?.kind;
  return [
    // X-Study-ID, X-Site-ID and X-Participant-ID may be invalid, or name something that the caller can't see.
    ...(access.token && access.token !== 'anyPortalUser' ? [404, 422] : route.path.includes('{') ? [404] : []),
    ...(kind !== undefined && kind !== 'bytes' ? [400, 422] : []),
    ...(knowsItsQuery(route) || route.query || route.headers ? [422] : []),
    ...((access.token && access.studyContext !== 'none') || forParticipant(route) ? [400] : []),
    ...(takesKey(route) || takesTag(route) || (route.method !== 'GET' && route.transaction === 'change') ? [409] : []),
  ];
}
/** Errors that any operation may answer; 401 and 403 if it requires a token. `default` of the document. */
export const ANYWHERE = [401, 403, 406, 408, 413, 415, 429, 500, 503];

/** Every status from 400 on that is specific to the route, in ascending order. */
export const errorStatuses = (route: Route): number[] => {
  const declared = Object.keys(route.responses).map(Number);
  const errors = [...declared.filter((status) => status >= 400), ...standardErrors(route)];
  return [...new Set(errors)].sort((a, b) => a - b);
};

const integer = { type: 'integer' };
const string = { type: 'string' };
/** Headers of answers, each with its component name in the document. */
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
    header: { description: 'when the count starts over, in Unix seconds', schema: integer },
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

/** Errors by status: component name and description. */
const ERRORS: Record<number, [name: string, about: string]> = {
  400: ['BadRequest', 'A rule is broken, or the request cannot be read'],
  401: ['Unauthorized', 'No valid access token'],
  403: ['Forbidden', 'Not allowed'],
  404: ['NotFound', 'Not there, or not visible to the caller'],
  409: ['Conflict', 'Conflict with what is stored'],
  416: ['RangeNotSatisfiable', 'No such part of the file'],
  422: ['Unprocessable', 'Does not fit the schema'],
  429: ['TooManyRequests', 'Too many requests: again after Retry-After'],
  503: ['ServiceUnavailable', 'A dependency is down: again after Retry-After'],
};
const OTHERS: Record<number, string> = {
  401: 'no valid access token',
  403: 'not allowed',
  406: 'Accept does not name what this answers',
  408: 'too slow',
  413: 'too large',
  415: 'wrong content type',
  429: 'too many requests: again after Retry-After',
  500: 'a fault of the service',
  503: 'a dependency is down: again after Retry-After',
};
function codesOf(status: number): string {
  const codes = registeredErrors().filter((entry) => entry.status === status);
  return codes.map(({ code }) => code).join(', ') || 'see detail';
}
const problems = (names: readonly string[], description: string, schema: TSchema, components: Components): Json => ({
  description,
  headers: headers(names, components),
  content: { 'application/json': { schema: components.schema(schema) } },
});

function errorResponse(status: number, route: Route, components: Components): Json {
  const [name, about] = ERRORS[status] ?? [];
  const schema = responseSchema(route.responses[status]);
  // An error of another shape belongs to this operation only.
  if (schema || name === undefined)
    return problems(USUAL, about ?? OTHERS[status] ?? 'Error', schema ?? ErrorBody, components);
  // A conflict of a versioned record has the current tag.
  const tagged = status === 409 && takesTag(route);
  const content = problems(
    [...USUAL, ...(tagged ? ['ETag'] : []), ...(status === 429 || status === 503 ? ['Retry-After'] : [])],
    // The list of the codes is long, and there once.
    `${about}. Codes: ${tagged ? 'those of the response Conflict' : codesOf(status)}`,
    ErrorBody,
    components,
  );
  return components.refer('responses', tagged ? 'Stale' : name, content);
}
const anyOther = (components: Components): Json =>
  components.refer(
    'responses',
    'Failure',
    problems(
      [...USUAL, 'Retry-After'],
      `Any other error: ${ANYWHERE.map((status) => `${status} ${OTHERS[status]} (${codesOf(status)})`).join('; ')}`,
      ErrorBody,
      components,
    ),
  );

const NAMES: Record<number, string> = { 200: 'OK', 201: 'Created', 202: 'Accepted', 204: 'Done; no body' };

/**
 * Every answer of an operation, by status. A success omits the headers that every answer has; the document lists them
 * once. Answers that many operations share are references.
 */
export function responses(route: Route, components: Components): Json {
  const result: Record<string, Json> = {};
  for (const [status, given] of Object.entries(route.responses)) {
    if (Number(status) >= 400) continue;
    const tag = sendsTag(route, Number(status)) ? ['ETag'] : [];
    const answer = {
      description: NAMES[Number(status)] ?? 'Answer',
      ...(tag.length > 0 && { headers: headers(tag, components) }),
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
  return { ...result, default: anyOther(components) };
}

/** The schema of a file: JSON of a standard is an object, a text is a text, anything else is bytes. */
function contentOf(mediaType: string): Json {
  if (mediaType.endsWith('+json')) return { type: 'object', additionalProperties: true };
  return /^text\/|[+/]xml$|json/.test(mediaType) ? string : { type: 'string', format: 'binary' };
}

/**
 * The content of a success: JSON by its schema, and files. A created record, or started work, is only answered in JSON.
 */
function content(
  mediaTypes: readonly string[] = [],
  status: number,
  schema: TSchema | undefined,
  components: Components,
): Json {
  const files =
    status === 200 || status === 206 ? mediaTypes.map((type) => [type, { schema: contentOf(type) }] as const) : [];
  if (!schema && files.length === 0) return {};
  return {
    content: {
      ...(schema && { 'application/json': { schema: components.schema(schema) } }),
      ...Object.fromEntries(files),
    },
  };
}
