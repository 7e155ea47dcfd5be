import type { TSchema } from 'typebox';
import { CSRF_HEADER } from '../security/portal.js';
import { IfMatch, isUuidParam, takesKey } from '../route.js';
import type { Route } from '../route.js';
import { Components } from './components.js';
import type { Json } from './components.js';
import { answersUnchanged, forParticipant, takesTag } from './kinds.js';

interface Parameter extends Json {
  name: string;
  in: 'path' | 'query' | 'header';
  required?: true;
  schema: Json;
}
/** A parameter, and its component name in the document. */
interface Named {
  parameter: Parameter;
  component?: string | undefined;
}

/** The parameters of an operation; shared ones are references. */
export function parameters(route: Route, components: Components): Json[] {
  return parametersOf(route, components).map(({ parameter, component }) =>
    component === undefined ? parameter : components.refer('parameters', component, parameter),
  );
}

/** The headers of a request to the route, by its contract. */
export const headerNames = (route: Route): string[] =>
  parametersOf(route, new Components()).flatMap(({ parameter }) => (parameter.in === 'header' ? [parameter.name] : []));

function parametersOf(route: Route, components: Components): Named[] {
  return [
    ...[...route.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => inPath(name!)),
    ...declared(route.query, 'query', components),
    ...(route.headers === IfMatch ? [] : declared(route.headers, 'header', components)),
    ...headers(route),
    ...(forParticipant(route) ? aboutParticipant(route) : []),
  ];
}

/** Path parameters that are integers in the database. */
const NUMBERS = ['battery_id', 'policy_version'];
const MAX_INTEGER = 2_147_483_647;
/** The type of codes chosen by users, in a path. */
const CODE = {
  type: 'string',
  minLength: 1,
  maxLength: 64,
  pattern: '^(?!\\s)[^\\u0000-\\u001f\\u007f-\\u009f]*(?<!\\s)$',
};
const UUID = { type: 'string', format: 'uuid' };

function inPath(name: string): Named {
  const schema = isUuidParam(name)
    ? UUID
    : NUMBERS.includes(name)
      ? { type: 'integer', minimum: 1, maximum: MAX_INTEGER }
      : name === 'code'
        ? CODE
        : { type: 'string', minLength: 1 };
  return { parameter: { name, in: 'path', required: true, schema }, component: pascal(name) };
}

/** study_id as StudyId, X-Study-ID as XStudyID. */
const pascal = (name: string): string =>
  name
    .split(/[_-]/)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('');

const header = (name: string, schema: Json, description: string): Named => ({
  parameter: { name, in: 'header', description, schema },
  component: pascal(name),
});
const STUDY = header('X-Study-ID', UUID, 'the study, where the path names none');
const SITE = header('X-Site-ID', UUID, 'narrows the request to a site of the study');
const KEY = header(
  'Idempotency-Key',
  { type: 'string', minLength: 1, maxLength: 200, pattern: '^[\\x21-\\x7e]+$' },
  'the same key and body within 24 hours answers what was answered; another body is 409',
);
const CSRF = header(CSRF_HEADER, { type: 'string' }, '`1`, for a change by the portal’s cookie');
const MATCH = header('If-Match', { type: 'string' }, 'the ETag of the record as it was read; 409 where it has changed');
const NONE_MATCH = header('If-None-Match', { type: 'string' }, 'the ETag of what is known; 304 where it is unchanged');

const ABOUT =
  'of a caregiver with several participants: for whom it asks; X-Participant-ID and participant_id that name ' +
  'different ones are 400 CONTEXT_CONFLICT';
const BY_HEADER = header('X-Participant-ID', UUID, ABOUT);
const BY_QUERY: Named = {
  parameter: { name: 'participant_id', in: 'query', schema: UUID, description: ABOUT },
  component: 'ForParticipantId',
};
/** The context parameter of the query is accepted but not documented where the path already names the participant. */
const aboutParticipant = ({ path }: Route): Named[] =>
  path.includes('{participant_id}') ? [BY_HEADER] : [BY_HEADER, BY_QUERY];

function headers(route: Route): Named[] {
  const { access } = route;
  return [
    ...(access.token && access.studyContext !== 'none' && !route.path.includes('{study_id}') ? [STUDY] : []),
    ...(access.token && access.study ? [SITE] : []),
    ...(takesKey(route) ? [KEY] : []),
    ...(route.method !== 'GET' && forParticipant(route) ? [CSRF] : []),
    ...(takesTag(route) ? [MATCH] : []),
    ...(answersUnchanged(route) ? [NONE_MATCH] : []),
  ];
}

/**
 * An instant, or also a date, as text with a pattern: many generators can't send a union of the two, or an instant in a
 * header.
 */
const TIME = '[Tt\\s]\\d{2}:\\d{2}:\\d{2}(\\.\\d+)?([Zz]|[+-]\\d{2}(:?\\d{2})?)';
const AS_TEXT: Record<string, Json> = {
  'query date-or-date-time': { type: 'string', pattern: `^\\d{4}-\\d{2}-\\d{2}(${TIME})?$` },
  'header date-time': { type: 'string', pattern: `^\\d{4}-\\d{2}-\\d{2}${TIME}$` },
};

/** The properties of an object schema as parameters. */
function declared(schema: TSchema | undefined, where: 'query' | 'header', components: Components): Named[] {
  const { properties = {}, required = [] } = (schema ?? {}) as {
    properties?: Record<string, TSchema>;
    required?: string[];
  };
  return Object.entries(properties).map(([name, property]) => {
    const { description: about, ...schema } = components.schema(property);
    const component = (property as { 'x-parameter'?: string })['x-parameter'];
    const parameter: Parameter = {
      name,
      in: where,
      ...(required.includes(name) && { required: true as const }),
      ...(about !== undefined && { description: about }),
      schema: AS_TEXT[`${where} ${String(schema.format)}`] ?? schema,
    };
    return { parameter, component };
  });
}
