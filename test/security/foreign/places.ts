import { document } from '../../support/contract.js';
import type { Ids } from './studies.js';

/** A schema of the contract, of which a few words are read here. */
export interface Schema {
  $ref?: string;
  type?: string | string[];
  format?: string;
  pattern?: string;
  enum?: unknown[];
  const?: unknown;
  minimum?: number;
  minLength?: number;
  minItems?: number;
  minProperties?: number;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
}
interface Parameter {
  name: string;
  in: 'path' | 'query' | 'header';
  required?: boolean;
  schema: Schema;
}
export interface Operation {
  name: string;
  method: string;
  path: string;
  roles: readonly string[];
  scope: string | undefined;
  tokenScope: string | undefined;
  parameters: Parameter[];
  body: Schema | undefined;
  takesFile: boolean;
}
/** Where a request has an id. */
export interface Place {
  operation: Operation;
  at: 'path' | 'query' | 'header' | 'body';
  /** Of a body: by its members, `[]` for an item. */
  steps: string[];
  /** Its name among the ids that are known. */
  kind: string;
}

type Raw = (typeof document.paths)[string][string] & { parameters?: unknown[] };

export const operations: Operation[] = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods as Record<string, Raw>).map(([method, raw]) => {
    const permissions = raw['x-permissions'] ?? { roles: ['anyone'] };
    const content = raw.requestBody?.content ?? {};
    return {
      name: `${method.toUpperCase()} ${path}`,
      method: method.toUpperCase(),
      path,
      roles: permissions.roles,
      scope: permissions.scope,
      tokenScope: permissions.token_scope,
      parameters: (raw.parameters ?? []) as unknown as Parameter[],
      body: (content['application/json'] as { schema: Schema } | undefined)?.schema,
      takesFile: content['multipart/form-data'] !== undefined,
    };
  }),
);

/** Names that look like an id's, or are uuids, and name nothing of a study that could be another's. */
const NO_ID: Readonly<Record<string, string>> = {
  event_oid: 'a name that the study itself gives',
  form_oid: 'a name that the study itself gives',
  item_oid: 'a name that the study itself gives',
  external_id: 'a name of another system, unique within its study',
  project_id: 'a name of another system',
  device_id: 'a name that the device gives itself',
  deviceId: 'a name that the device gives itself',
  consent_version_id: 'a name that the study itself gives',
  specific_consent_version_id: 'a name that the study itself gives',
  waiver_criteria_ids: 'names that the study itself gives',
  custom_rules: 'rules of the policy in the body, named there',
  request_id: 'filters the records that the caller may see',
  resource_id: 'names what an entry is about, in any system',
  user_id: 'people are of the service, not of a study',
  'last-event-id': 'a place in the study of the path',
  last_event_id: 'a place in the study of the path',
  template_id: 'templates are of the service: every user reads them',
  code: 'unique within the study of the path',
  change_id: 'unique within the study of the path',
  plot: 'a name of the service',
  policy_version: 'a number within the study of the path',
  checkpoint: 'checkpoints are of the service, for admins',
  record: 'the chain is of the service, for admins',
  verification_id: 'verifications are of the service, for admins',
};
/** Names that mean the same as another. */
const SAME: Readonly<Record<string, string>> = {
  'X-Study-ID': 'study_id',
  'X-Site-ID': 'site_id',
  'X-Participant-ID': 'participant_id',
  'x-session-id': 'session_id',
  study_ids: 'study_id',
  site_ids: 'site_id',
  participant_ids: 'participant_id',
  session_ids: 'session_id',
  module_ids: 'module_id',
  visit_window_id: 'window_id',
  schedule_version_id: 'version_id',
  a_id: 'version_id',
  b_id: 'version_id',
  participantId: 'participant_id',
  studyId: 'study_id',
  visitId: 'visit_id',
  batteryId: 'battery_id',
  moduleId: 'module_id',
  sessionId: 'session_id',
};
/** Ids whose name does not say of what. */
const BY_OPERATION: Readonly<Record<string, string>> = {
  'POST /api/webhook-events/{id}/retry id': 'webhook_id',
  'DELETE /api/studies/{study_id}/caregivers/{caregiver_id}/portal-sessions/{portal_session_id} portal_session_id':
    'caregiver_session_id',
};
/** Ids of the service itself: users, their logins and tokens, checkpoints. */
const OF_SERVICE = [
  'GET /api/audit/checkpoints/{id}/consistency id',
  'GET /api/audit/checkpoints/{id}/consistency from',
  'DELETE /api/auth/sessions/{id} id',
  'PATCH /api/users/{id} id',
  'POST /api/users/{id}/invite id',
  'DELETE /api/users/{id}/mfa id',
  'GET /api/users/{id}/sessions id',
  'POST /api/users/{id}/logout-all id',
  'GET /api/v1/tokens/{id} id',
  'DELETE /api/v1/tokens/{id} id',
  // Its own name for itself, told to others: of a device's items, and of rules in the same body.
  'POST /api/sync/sessions id',
  'POST /api/sync/responses id',
  'POST /api/sync/bulk id',
  'POST /api/sync/check-conflicts id',
  'POST /api/studies/{study_id}/config/enrollment-policy id',
];
/** Natural names that find something, in a query or a path; in a body they are new names. */
const NATURAL = ['participant_code', 'site_code'];

const looksLikeId = (name: string, schema: Schema): boolean =>
  /(^|[_-])ids?$/i.test(name) || /Ids?$/.test(name) || schema.format === 'uuid' || schema.items?.format === 'uuid';

/** What an id of this name is of; null: of nothing that a study has. Undefined: nobody has said it here yet. */
function kindOf(operation: Operation, name: string, known: Ids): string | null | undefined {
  const key = `${operation.name} ${name}`;
  if (OF_SERVICE.includes(key) || NO_ID[name] !== undefined) return null;
  const kind = BY_OPERATION[key] ?? SAME[name] ?? name;
  return known[kind] === undefined ? undefined : kind;
}

/** Every place of an operation where a request has an id, and the names that nobody knows. */
export function placesOf(operation: Operation, known: Ids): { places: Place[]; unknown: string[] } {
  const places: Place[] = [];
  const unknown: string[] = [];
  const take = (at: Place['at'], steps: string[], name: string) => {
    const kind = kindOf(operation, name, known);
    if (kind === undefined) unknown.push(`${operation.name}: ${at} ${steps.join('.')}`);
    else if (kind !== null) places.push({ operation, at, steps, kind });
  };
  for (const parameter of operation.parameters) {
    const { name, schema } = parameter;
    // Every parameter of a path finds something.
    if (parameter.in === 'path' || NATURAL.includes(name) || looksLikeId(name, schema))
      take(parameter.in, [name], name);
  }
  const walk = (schema: Schema, steps: string[]): void => {
    for (const part of [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])]) walk(part, steps);
    for (const [name, member] of Object.entries(schema.properties ?? {})) {
      if (looksLikeId(name, member)) take('body', [...steps, name, ...(member.items ? ['[]'] : [])], name);
      else walk(member, [...steps, name]);
    }
    if (schema.items) walk(schema.items, [...steps, '[]']);
  };
  if (operation.body) walk(operation.body, []);
  return { places: [...new Map(places.map((place) => [place.at + place.steps.join('.'), place])).values()], unknown };
}
