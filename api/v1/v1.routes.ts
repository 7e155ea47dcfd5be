import type { TSchema } from 'typebox';
import type { PageDatasetName } from '../../db/exports/datasets.queries.js';
import { listApiTokens } from '../../db/v1/api-tokens.queries.js';
import { withNote, scoped, signedIn, outsideStudy } from '../http/access.js';
import type { TokenScope } from '../http/access.js';
import { created, noContent, route, withContentTag, response } from '../http/route.js';
import { Code, Type, Uuid, listOf, oneOf, paging, sorting } from '../http/common.schemas.js';
import { Reauthentication } from '../identity/reauthentication.schemas.js';
import { Study } from '../studies/studies.schemas.js';
import {
  AuthoredBattery,
  AuthoredWindow,
  Snapshot,
  StudyExport,
  V1Anchor,
  V1Participant,
  V1Schedule,
  V1Session,
  WantedBattery,
  WantedWindow,
  v1List,
  v1Paging,
} from './v1.schemas.js';
import { check } from '../http/validation/validation.js';
import { proofIn } from '../identity/reauthentication.service.js';
import { putBattery, putWindow } from './v1-authoring.service.js';
import { exportSnapshot, studySnapshot } from './v1-document.service.js';
import { v1Page } from './v1-lists.service.js';
import { endToken, getTokenOrThrow, mintToken } from './v1-tokens.service.js';
import { ApiToken } from '../identity/api-tokens.schemas.js';
import { MintedToken } from '../identity/api-tokens.schemas.js';
import { NewToken } from '../identity/api-tokens.schemas.js';

const tag = 'Programmatic access';
const tokens = { tag, access: outsideStudy(signedIn) } as const;

/** A page of a set of one study. One path type represents all: they have the same parameter. */
const list = (
  path: 'participants' | 'schedules' | 'anchors' | 'sessions',
  operationId: string,
  scope: TokenScope,
  item: TSchema,
  name: PageDatasetName,
  summary: string,
) =>
  route({
    method: 'GET',
    path: `/api/v1/studies/{study_id}/${path}` as '/api/v1/studies/{study_id}/participants',
    operationId,
    tag,
    summary,
    description:
      'Of the study, without name, address or birthday. `cursor` continues a page. A cursor of ' +
      'another list is 400 INVALID_CURSOR.',
    access: scoped(scope),
    transaction: 'read',
    query: Type.Object(v1Paging),
    responses: { 200: v1List(item), 400: undefined },
    handle: ({ tx, services, params, query }) => v1Page(tx, services, name, params.study_id.toLowerCase(), query),
  });

const Authoring = Type.Object({
  dry_run: Type.Optional(Type.Boolean({ default: false, description: 'only report what would change' })),
});
const whole =
  'The body is the whole of it: what is left out is the default. The same body again changes nothing. `changes` ' +
  'says what differed.';
const PathCode = Type.Object({ code: Code });
/** A code of the path, by the rules of a code in a body. @throws 422 */
const codeOf = (code: string): string => {
  const path = { code };
  check(PathCode, path, 'body');
  return path.code;
};
/** The target of a write, and whether it is a dry run. */
const placeOf = (params: { study_id: string; code: string }, { dry_run }: { dry_run?: boolean | undefined }) => ({
  studyId: params.study_id.toLowerCase(),
  code: codeOf(params.code),
  dryRun: dry_run ?? false,
});

export const v1Routes = [
  route({
    ...tokens,
    method: 'POST',
    path: '/api/v1/tokens',
    operationId: 'createApiToken',
    summary: 'Mint a scoped token',
    transaction: 'change',
    idempotencyKey: false,
    description:
      'By an access token of a login. The token is shown here alone and ends after `expires_in_days` (90 when ' +
      'left out). Nobody gives more than they have: a study out of reach is 404, a scope that the role does ' +
      'not allow 403; what the user loses later the token loses at that moment. A login older than ' +
      'REAUTHENTICATION_MINUTES (5) proves identity again, by X-Reauthentication or by `password` or `code` ' +
      '(401 REAUTHENTICATION_REQUIRED). A user has 200 valid ones at most (400 TOO_MANY). The user is notified ' +
      'by mail.',
    headers: Reauthentication,
    body: NewToken,
    responses: { 201: MintedToken, 401: undefined, 403: undefined, 404: undefined },
    handle: async ({ tx, audit, actor, context, services, headers, credential, body: { password, code, ...given } }) =>
      created(
        await mintToken({ tx, audit, actor, context }, services, given, {
          credential,
          proof: proofIn(headers, { password, code }, credential),
        }),
      ),
  }),
  route({
    ...tokens,
    method: 'GET',
    path: '/api/v1/tokens',
    operationId: 'listApiTokens',
    summary: 'List own tokens',
    description: 'Name, scopes, studies and end of each token; the token itself is shown only when it is made.',
    access: outsideStudy(withNote(signedIn, 'another user’s (`user_id`) for admin only')),
    transaction: 'read',
    query: Type.Object({
      ...paging,
      sort: sorting('created_at', 'expires_at', 'name', 'last_used_at'),
      user_id: Type.Optional(Uuid),
    }),
    responses: { 200: listOf(ApiToken), 404: undefined },
    handle: ({ tx, actor, query }) => {
      const owner = query.user_id?.toLowerCase() ?? actor.id;
      if (owner !== actor.id && !actor.isAdmin) return { items: [], total: 0 };
      return listApiTokens(tx, owner, {
        skip: query.skip ?? 0,
        limit: query.limit ?? 50,
        sort: query.sort ?? 'created_at',
      });
    },
  }),
  route({
    ...tokens,
    method: 'GET',
    path: '/api/v1/tokens/{id}',
    operationId: 'getApiToken',
    summary: 'Get an own token',
    description: 'A token of one’s own by its id, without the token itself. 404 where there is none.',
    transaction: 'read',
    responses: { 200: response(ApiToken, { etag: true }) },
    handle: async ({ tx, actor, params }) => withContentTag(await getTokenOrThrow(tx, actor, params.id)),
  }),
  route({
    ...tokens,
    method: 'DELETE',
    path: '/api/v1/tokens/{id}',
    operationId: 'revokeApiToken',
    summary: 'Revoke a token',
    description: 'The token stops working at once. 404 where there is none that the caller may revoke.',
    access: outsideStudy(withNote(signedIn, 'one’s own; an admin anybody’s')),
    transaction: 'change',
    responses: { 204: undefined },
    handle: async ({ tx, audit, actor, context, params, assertIfMatch }) => {
      await endToken({ tx, audit, actor, context }, params.id, assertIfMatch);
      return noContent();
    },
  }),
  route({
    method: 'GET',
    path: '/api/v1/studies',
    operationId: 'listTokenStudies',
    tag,
    summary: 'List the studies of the token',
    description: 'The studies that the token was made for and its user still sees.',
    access: scoped('studies:read'),
    transaction: 'read',
    query: Type.Object(v1Paging),
    responses: { 200: v1List(Study), 400: undefined },
    handle: ({ tx, services, query, studyId }) => v1Page(tx, services, 'studies', studyId, query),
  }),
  list(
    'participants',
    'listStudyPseudonyms',
    'participants:read',
    V1Participant,
    'participants',
    'List participants without identifying data',
  ),
  list(
    'schedules',
    'listStudySchedules',
    'schedules:read',
    V1Schedule,
    'schedules',
    'List current schedules with their visits',
  ),
  list('anchors', 'listStudyAnchors', 'anchors:read', V1Anchor, 'anchors', 'List anchor dates'),
  list('sessions', 'listStudySessions', 'sessions:read', V1Session, 'sessions', 'List assessment sessions'),
  route({
    method: 'GET',
    path: '/api/v1/studies/{study_id}/snapshot',
    operationId: 'getStudySnapshot',
    tag,
    summary: 'Get a snapshot of a study as of an instant',
    access: scoped('snapshots:read'),
    transaction: 'snapshot',
    description:
      'Streamed from one snapshot of the database. `audit_head` is the record that the audit log ended with: ' +
      'what was changed later is not in the document. The read itself is an audit record. Four at a time: then ' +
      '503 with Retry-After.',
    responses: { 200: Snapshot },
    handle: ({ tx, services, actor, context, params }) =>
      studySnapshot({ tx, services, actor, context, studyId: params.study_id.toLowerCase() }),
  }),
  route({
    method: 'GET',
    path: '/api/v1/studies/{study_id}/export',
    operationId: 'exportStudyHistory',
    tag,
    summary: 'Export a study with its history',
    access: scoped('exports:read'),
    transaction: 'snapshot',
    description:
      'As the snapshot, with the anchors’ history, all schedule versions and all visits; `include=raw_trials` ' +
      'adds the raw trials. `format=ndjson`: one object a line, `set` says of which kind, `head` first and ' +
      '`end` last.',
    query: Type.Object({
      format: Type.Optional(oneOf('json', 'ndjson')),
      include: Type.Optional(Type.Array(oneOf('raw_trials'), { maxItems: 10 })),
    }),
    responses: { 200: response(StudyExport, { mediaTypes: ['application/x-ndjson'] }) },
    handle: ({ tx, services, actor, context, params, query }) =>
      exportSnapshot({ tx, services, actor, context, studyId: params.study_id.toLowerCase() }, query),
  }),
  route({
    method: 'PUT',
    path: '/api/v1/studies/{study_id}/batteries/{code}',
    operationId: 'putBattery',
    tag,
    summary: 'Create or replace a battery',
    description: `${whole} A published battery that differs gets its next version.`,
    access: scoped('authoring:write'),
    transaction: 'change',
    query: Authoring,
    body: WantedBattery,
    responses: { 200: AuthoredBattery, 201: AuthoredBattery, 409: undefined },
    handle: ({ tx, audit, actor, context, params, query, body, assertIfMatch }) =>
      putBattery({ tx, audit, actor, context }, { ...placeOf(params, query), assertIfMatch }, body),
  }),
  route({
    method: 'PUT',
    path: '/api/v1/studies/{study_id}/visit-windows/{code}',
    operationId: 'putVisitWindow',
    tag,
    summary: 'Create or replace a visit window',
    description: `${whole} \`battery_code\` names a battery of the study.`,
    access: scoped('authoring:write'),
    transaction: 'change',
    query: Authoring,
    body: WantedWindow,
    responses: { 200: AuthoredWindow, 201: AuthoredWindow, 409: undefined },
    handle: ({ tx, audit, actor, context, params, query, body, assertIfMatch }) =>
      putWindow({ tx, audit, actor, context }, { ...placeOf(params, query), assertIfMatch }, body),
  }),
];
