import type { TSchema } from 'typebox';
import type { Access } from '../access.js';
import { CSRF_HEADER, PORTAL_COOKIE } from '../security/portal.js';
import { registered } from '../errors.js';
import { describesTagged } from '../conventions/etag.js';
import { answersJsonOnly } from '../conventions/negotiation.js';
import {
  IfMatch,
  bodySchema,
  isUuidParam,
  knowsItsQuery,
  requestBody,
  responseOptions,
  responseSchema,
  takesKey,
} from '../route.js';
import type { Route } from '../route.js';
import { ErrorBody } from '../common.schemas.js';
import { Event, eventCatalogue } from '../../events/events.schemas.js';
import { tagDescriptions } from './tags.js';
import { version } from '../version.js';

type Json = Record<string, unknown>;

const REFERENCES = ['Error'];
const description = `Runs longitudinal studies: participants, enrollment (anchor) dates with versioned visit schedules, and exchange with a capture system.

**Conventions.** JSON is snake_case; dates are YYYY-MM-DD; timestamps are ISO 8601 in UTC. Lists take \`skip\` and \`limit\` (1 to 500) and answer \`{items, total}\`.
Errors are \`{detail, code, errors?, warnings?, request_id}\`. A body, query or header that does not fit its schema is 422; a rule that is broken 400; what the caller may not see 404; a conflict with what is stored 409.
Study context: path, else \`X-Study-ID\`, else the query's \`study_id\`; \`X-Site-ID\` narrows to a site.
\`Idempotency-Key\` on POST: the same key and body within 24 hours answers what was answered, another body is 409. \`ETag\` on single resources; \`If-Match\` on PATCH, PUT and DELETE (409 when stale).
\`X-RateLimit-Reset\` is in unix seconds. \`x-permissions\` names the roles that may call an operation; \`scope: study\` means: in the studies (and sites) that they are assigned to. The role \`participant\` is the participant itself with its portal token.`;

/** The OpenAPI 3.1 document of `routes`; the same routes give the same document. */
export function openapi(all: readonly Route[]): Json {
  const routes = all.filter(({ hidden }) => !hidden);
  const paths: Record<string, Json> = {};
  for (const route of [...routes].sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0))) {
    (paths[route.path] ??= {})[route.method.toLowerCase()] = operation(route);
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Research Assessment Platform',
      version,
      description,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    tags: [...new Set(routes.map((route) => route.tag))].map((name) => ({
      name,
      ...(tagDescriptions[name] && { description: tagDescriptions[name] }),
    })),
    paths,
    webhooks: webhooks(),
    components: {
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' },
        mfa: {
          type: 'http',
          scheme: 'bearer',
          bearerFormat: 'JWT',
          description: 'the `mfa_token` of a login that answered `mfa_setup_required`',
        },
        scoped: {
          type: 'http',
          scheme: 'bearer',
          bearerFormat: 'JWT',
          description: 'a token of `POST /api/v1/tokens`; `x-permissions` names the scope that it needs',
        },
        portal: {
          type: 'http',
          scheme: 'bearer',
          bearerFormat: 'JWT',
          description: 'the participant’s own portal token',
        },
        portalCookie: {
          type: 'apiKey',
          in: 'cookie',
          name: PORTAL_COOKIE,
          description: `the same as a cookie; a change by it needs \`${CSRF_HEADER}: 1\` or comes from a page of the service itself (Sec-Fetch-Site: same-origin), else 403 CSRF_REFUSED`,
        },
      },
      schemas: { Error: plain(ErrorBody) },
    },
  };
}

/** What subscribers are sent: an operation of theirs for each type of event. */
function webhooks(): Json {
  const header = (name: string, about: string) => ({
    name,
    in: 'header',
    required: true,
    description: about,
    schema: { type: 'string' },
  });
  return Object.fromEntries(
    Object.entries(eventCatalogue).map(([type, { when, data }]) => [
      type,
      {
        post: {
          operationId: `receive${pascal(type)}`,
          tags: ['Events'],
          summary: when,
          // Whoever receives it checks the signature.
          security: [],
          parameters: [
            header('webhook-id', 'the event’s id: the same for every attempt'),
            header('webhook-timestamp', 'of the attempt, in unix seconds'),
            header(
              'webhook-signature',
              '`v1,` and the base64 HMAC-SHA256 of `id.timestamp.body`; two of them, with a space between, while a secret is being replaced',
            ),
          ],
          requestBody: {
            required: true,
            content: {
              'application/json': {
                schema: {
                  ...plain(Event),
                  properties: {
                    ...(plain(Event).properties as Json),
                    type: { type: 'string', const: type },
                    data: plain(data),
                  },
                },
              },
            },
          },
          responses: {
            '2XX': { description: 'It has arrived.' },
            410: { description: 'Nothing more is to be sent: the subscription is disabled.' },
          },
        },
      },
    ]),
  );
}

/** ENROLLMENT_DATE_SET as EnrollmentDateSet. */
const pascal = (words: string): string =>
  words
    .toLowerCase()
    .split('_')
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('');

function operation(route: Route): Json {
  const { access } = route;
  return {
    operationId: route.operationId,
    tags: [route.tag],
    summary: route.summary,
    ...(route.description && { description: route.description }),
    ...(route.deprecated && { deprecated: true }),
    security: security[String(access.token)],
    'x-permissions': permissions(access),
    parameters: parameters(route),
    ...bodyOf(route),
    responses: responses(route),
  };
}

const byPortal = [{ portal: [] }, { portalCookie: [] }];
const security: Record<string, object[]> = {
  false: [],
  true: [{ bearer: [] }],
  portal: byPortal,
  anyPortalUser: byPortal,
  either: [{ bearer: [] }, ...byPortal],
  setup: [{ bearer: [] }, { mfa: [] }],
  scoped: [{ scoped: [] }],
};

const PORTAL_ROLES = ['participant', 'caregiver'];
/**
 * Who may call, as the document shows it; `participant` is the one that the path names, or itself, `caregiver` who
 * cares for it.
 */
export function permissions({ token, roles, study, note, scope }: Access): Json {
  if (token === false) return { roles: ['anyone'], ...(note && { note }) };
  if (token === 'portal' || token === 'anyPortalUser') return { roles: PORTAL_ROLES, scope: 'self' };
  return {
    roles: token === 'either' ? [...roles, ...PORTAL_ROLES] : roles,
    scope: study ? 'study' : 'service',
    ...(scope && { token_scope: scope }),
    ...(note && { note }),
  };
}

/** Parameters of paths that are whole numbers, as the database keeps them. */
const NUMBERS = ['battery_id', 'policy_version'];
const MAX_INTEGER = 2_147_483_647;
/** What `codeOf` takes: a code as people give them, in a path. */
const CODE = {
  type: 'string',
  minLength: 1,
  maxLength: 64,
  pattern: '^(?!\\s)[^\\u0000-\\u001f\\u007f-\\u009f]*(?<!\\s)$',
};

function parameters(route: Route): Json[] {
  const path = [...route.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => {
    return {
      name,
      in: 'path',
      required: true,
      schema: isUuidParam(name!)
        ? { type: 'string', format: 'uuid' }
        : NUMBERS.includes(name!)
          ? { type: 'integer', minimum: 1, maximum: MAX_INTEGER }
          : name === 'code'
            ? CODE
            : { type: 'string', minLength: 1 },
    };
  });
  const header = (name: string, schema: Json) => ({ name, in: 'header', required: false, schema });
  const headers: Json[] = [];
  if (route.access.token && route.access.studyContext !== 'none' && !route.path.includes('{study_id}'))
    headers.push(header('X-Study-ID', { type: 'string', format: 'uuid' }));
  if (route.access.token && route.access.study) headers.push(header('X-Site-ID', { type: 'string', format: 'uuid' }));
  const named = forParticipant(route) ? ABOUT_PARTICIPANT : [];
  if (takesKey(route))
    headers.push(
      header('Idempotency-Key', { type: 'string', minLength: 1, maxLength: 200, pattern: '^[\\x21-\\x7e]+$' }),
    );
  if (route.method !== 'GET' && forParticipant(route))
    headers.push({
      ...header(CSRF_HEADER, { type: 'string' }),
      description: '`1`, for a change by the portal’s cookie',
    });
  if (takesTag(route)) headers.push(header('If-Match', { type: 'string' }));
  if (answersUnchanged(route)) headers.push(header('If-None-Match', { type: 'string' }));
  return [
    ...path,
    ...declared(route.query, 'query'),
    ...(route.headers === IfMatch ? [] : declared(route.headers, 'header')),
    ...headers,
    ...named,
  ];
}

/** Whether a portal token is taken, of a participant or of a caregiver who must say for whom it asks. */
const forParticipant = ({ access: { token } }: Route): boolean => token === 'portal' || token === 'either';
const ABOUT =
  'of a caregiver with several participants: for whom it asks; X-Participant-ID and participant_id that name different ones are 400 CONTEXT_CONFLICT';
const ABOUT_PARTICIPANT = [
  ['X-Participant-ID', 'header'],
  ['participant_id', 'query'],
].map(([name, where]) => ({
  name,
  in: where,
  required: false,
  schema: { type: 'string', format: 'uuid' },
  description: ABOUT,
}));

/** Whether a request may be bound to the record as it was read. */
const takesTag = ({ method, headers }: Route): boolean =>
  headers === IfMatch || ['PATCH', 'PUT', 'DELETE'].includes(method);

/** Whether an answer of this status bears an ETag. */
function sendsTag({ responses }: Route, status: number): boolean {
  if (status >= 300) return false;
  if (responseOptions(responses[status]).etag) return true;
  const schema = responseSchema(responses[status]);
  return schema !== undefined && describesTagged(schema);
}

/** Whether a request that knows the tag is spared the record. */
const answersUnchanged = (route: Route): boolean =>
  route.method === 'GET' && 200 in route.responses && sendsTag(route, 200);

/** The headers that a request to the route may have, by its contract. */
export const headerNames = (route: Route): string[] =>
  parameters(route).flatMap((parameter) => (parameter.in === 'header' ? [String(parameter.name)] : []));

/** The properties of an object schema as parameters. */
function declared(of: TSchema | undefined, where: 'query' | 'header'): Json[] {
  if (!of) return [];
  const { properties = {}, required = [] } = plain(of) as { properties?: Record<string, Json>; required?: string[] };
  return Object.entries(properties).map(([name, property]) => {
    const { description: about, ...rest } = property;
    // A format of our own says nothing to others.
    const schema: Json =
      rest.format === 'date-or-date-time'
        ? { type: 'string', anyOf: [{ format: 'date' }, { format: 'date-time' }] }
        : rest;
    return {
      name,
      in: where,
      required: required.includes(name),
      schema,
      ...(about !== undefined && { description: about }),
    };
  });
}

function bodyOf(route: Route): Json {
  const given = requestBody(route);
  const { mediaTypes } = given?.options ?? {};
  if (given?.kind === 'bytes') {
    const schema = { type: 'string' };
    return {
      requestBody: {
        required: true,
        content: Object.fromEntries((mediaTypes ?? ['application/octet-stream']).map((type) => [type, { schema }])),
      },
    };
  }
  if (given?.kind === 'upload') {
    const form = { type: 'object', properties: { file: { type: 'string', format: 'binary' } }, required: ['file'] };
    const others = (mediaTypes ?? []).map((type) => [type, { schema: {} }]);
    return {
      requestBody: {
        required: true,
        content: { 'multipart/form-data': { schema: form }, ...(Object.fromEntries(others) as Json) },
      },
    };
  }
  const schema = bodySchema(route);
  if (!schema) return {};
  const { required = [] } = plain(schema) as { required?: string[] };
  return { requestBody: { required: required.length > 0, content: { 'application/json': { schema: plain(schema) } } } };
}

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

const RATE_HEADERS = Object.fromEntries(
  ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'].map((name) => [
    name,
    { schema: { type: 'integer' } },
  ]),
);
const TAG_HEADER = { ETag: { description: 'for If-Match and If-None-Match', schema: { type: 'string' } } };
const ID_HEADERS = Object.fromEntries(
  ['X-Request-ID', 'X-Correlation-ID'].map((name) => [name, { schema: { type: 'string' } }]),
);

/** A record’s own, and that of now where a change was bound to another. */
const tagHeader = (route: Route, status: number) =>
  (status === 409 ? takesTag(route) : sendsTag(route, status)) ? TAG_HEADER : {};

function responses(route: Route): Json {
  const result: Record<string, Json> = {};
  for (const [status, given] of Object.entries(route.responses)) {
    const schema = responseSchema(given);
    const error = Number(status) >= 400;
    result[status] = {
      description: error ? sentence(Number(status)) : (names[Number(status)] ?? 'Answer'),
      headers: { ...ID_HEADERS, ...RATE_HEADERS, ...tagHeader(route, Number(status)) },
      ...(error
        ? { content: schema ? { 'application/json': { schema: plain(schema) } } : errorContent }
        : content(responseOptions(given).mediaTypes, Number(status), schema)),
    };
  }
  if (answersUnchanged(route))
    result[304] = {
      description: 'Unchanged: If-None-Match names its tag; no body',
      headers: { ...ID_HEADERS, ...RATE_HEADERS, ...TAG_HEADER },
    };
  for (const status of new Set(standardErrors(route)))
    result[status] ??= {
      description: sentence(status),
      headers: { ...ID_HEADERS, ...tagHeader(route, status) },
      content: errorContent,
    };
  return Object.fromEntries(Object.entries(result).sort(([a], [b]) => Number(a) - Number(b)));
}

/**
 * What a success answers: JSON by its schema, and files. A record that was made, or work that was only begun, is told
 * in JSON alone.
 */
function content(mediaTypes: readonly string[] = [], status: number, schema: TSchema | undefined): Json {
  const files =
    status === 200 || status === 206
      ? mediaTypes.map(
          (type) =>
            [
              type,
              { schema: /^text\/|svg|json/.test(type) ? { type: 'string' } : { type: 'string', format: 'binary' } },
            ] as const,
        )
      : [];
  if (!schema && files.length === 0) return {};
  return {
    content: { ...(schema && { 'application/json': { schema: plain(schema) } }), ...Object.fromEntries(files) },
  };
}

const names: Record<number, string> = { 200: 'OK', 201: 'Created', 202: 'Accepted', 204: 'Done; no body' };
const errorContent = { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } };
const STATUS_NAMES: Record<number, string> = {
  400: 'A rule is broken, or the request cannot be read',
  401: 'No valid access token',
  403: 'Not allowed',
  404: 'Not there, or not visible to the caller',
  406: 'Accept does not name what this answers',
  408: 'Too slow',
  409: 'Conflict with what is stored',
  413: 'Too large',
  415: 'Wrong content type',
  422: 'Does not fit the schema',
  429: 'Too many requests',
  500: 'A fault of the service',
  503: 'A dependency is down: try again after Retry-After',
};
function sentence(status: number): string {
  const codes = registered()
    .filter((entry) => entry.status === status)
    .map((entry) => entry.code);
  return `${STATUS_NAMES[status] ?? 'Error'}. Codes: ${codes.join(', ') || 'see detail'}`;
}

/** A schema as plain JSON; named ones become references. */
function plain(schema: TSchema): Json {
  const seen = JSON.parse(JSON.stringify(schema)) as Json;
  return withReferences(seen, true) as Json;
}
function withReferences(value: unknown, top: boolean): unknown {
  if (Array.isArray(value)) return value.map((item) => withReferences(item, false));
  if (typeof value !== 'object' || value === null) return value;
  // How we read it says nothing to others.
  const { $id, 'x-instant': _read, ...rest } = value as Json;
  if (!top && typeof $id === 'string' && REFERENCES.includes($id)) return { $ref: `#/components/schemas/${$id}` };
  return Object.fromEntries(Object.entries(rest).map(([key, item]) => [key, withReferences(item, false)]));
}
