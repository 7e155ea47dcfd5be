import type { IncomingHttpHeaders } from 'node:http';
import type { Static, TSchema } from 'typebox';
import type { AuditTrail } from '../db/audit.js';
import type { Tx } from '../db/knex.js';
import type { SessionRow } from '../db/queries/sessions.js';
import type { Database } from '../db/knex.js';
import type { PortalCallerRow } from '../db/queries/portal.js';
import type { Statement } from '../db/one-trip.js';
import type { CallerRow, PageStatement } from '../db/request.js';
import type { Access, CallerOf, Signing } from './access.js';
import type { Itemwise } from './body.js';
import { contentTag } from './etag.js';
import { body } from './schemas/common.js';
import type { Services } from './services.js';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** The names between braces of a path template. */
type Names<P extends string> = P extends `${string}{${infer N}}${infer Rest}` ? N | Names<Rest> : never;
export type PathParams<P extends string> = { [K in Names<P>]: string };

/** Of a request, what is recorded beside a change. */
export interface RequestContext {
  requestId: string;
  correlationId: string;
  ip: string;
  userAgent: string | undefined;
  /** When the request began, in milliseconds since 1970 by the database's clock. */
  receivedMs: number;
}

/** The token that a user calls with: what it is good for, its id, and the login that it came from. */
export interface Credential {
  audience: 'api' | 'mfa';
  jti: string;
  sid: string | undefined;
}

/**
 * How the frame opens the database for a route:
 * - `read`: the handler gets `tx`, a read-only transaction narrowed to the caller
 * - `once`: a read in one round trip, without `tx`, where every statement is known beforehand (`first`); else as
 *   `read`. Of users alone
 * - `change`: the handler gets `tx` and `audit`; records, an Idempotency-Key's answer and the change commit together
 * - `snapshot`: as `read`, at one instant (repeatable read), and open until a streamed answer is through; few at a time
 * - `session`: as `change`, in the study of the assessment session that X-Session-ID names, which is locked and handed
 *   over
 * - absent: no transaction (routes that talk to Temporal: never call it inside one)
 */
export type Within = 'read' | 'once' | 'change' | 'snapshot' | 'session';
type Opened<W> = W extends 'change'
  ? { tx: Tx; audit: AuditTrail }
  : W extends 'session'
    ? { tx: Tx; audit: AuditTrail; session: SessionRow }
    : W extends 'read' | 'snapshot'
      ? { tx: Tx }
      : W extends 'once'
        ? { tx: Tx | undefined }
        : unknown;

export type Input<P extends string, Q extends TSchema, B extends TSchema, Signed extends Signing, W> = {
  params: PathParams<P>;
  query: Static<Q>;
  body: Static<B>;
  headers: IncomingHttpHeaders;
  /** A user, the participant itself, or either, by what `may` takes; undefined where it is `anyone`. */
  actor: CallerOf<Signed>;
  /** Of a user's request. */
  credential: Credential | undefined;
  /** The study that the request names by path, X-Study-ID or query; it is visible to the caller. */
  studyId: string | undefined;
  context: RequestContext;
  services: Services;
  /**
   * What a command that this request sends is known by: a repeat under the same Idempotency-Key bears the same, else no
   * two do.
   */
  commandId: string;
  /**
   * Refuses with 409 STALE when the request has an If-Match that is not this record's tag, or where there is none yet.
   */
  unchangedSince: (record: Record<string, unknown> | undefined) => void;
  /** The body's bytes, for routes with `takes: 'bytes'`; the file's, for those with `takes: 'upload'`. */
  raw: Buffer;
  /** The rows of what the route reads `first`, statement by statement. */
  first: unknown[][];
  /** The other parts of an upload, by name. */
  parts: Record<string, string>;
  /** Aborted when the caller has gone away before the answer was there. */
  gone: AbortSignal;
} & Opened<W>;

/** An answer that is more than a body. */
export class Reply {
  /** Its body as JSON, where that was written already. */
  text?: string;
  constructor(
    readonly status: number,
    readonly body?: unknown,
    /** A list: the header is sent as often. */
    readonly headers: Record<string, string | string[]> = {},
  ) {}
}
export const created = (body: unknown): Reply => new Reply(201, body);
/** A single resource without a version of its own, under the tag of all that it says. */
export const tagged = (body: object): Reply => new Reply(200, body, { ETag: contentTag(body) });
export const accepted = (body: unknown): Reply => new Reply(202, body);
export const noContent = (): Reply => new Reply(204);
export const reply = (status: number, body?: unknown, headers?: Record<string, string | string[]>): Reply =>
  new Reply(status, body, headers);

/** Who asks, by the token: nothing of it was looked up yet. */
export type Asker =
  | { kind: 'user'; id: string; studyId: string | undefined; siteId: string | undefined; login: string | undefined }
  | { kind: 'participant'; id: string; login: string | undefined };
export type Ready = (
  { kind: 'user'; caller: CallerRow | undefined } | { kind: 'participant'; caller: PortalCallerRow | undefined }
) & { answer: Reply | undefined };

export interface RouteDefinition<
  P extends string,
  Q extends TSchema,
  B extends TSchema,
  Signed extends Signing,
  W extends Within | undefined,
> {
  method: Method;
  /** With `{name}` for parameters. Those called id or …_id must be uuids (else 404) unless named in `plainParams`. */
  path: P;
  plainParams?: readonly Names<P>[];
  tag: string;
  summary: string;
  description?: string;
  may: Access<Signed>;
  within?: W;
  query?: Q;
  headers?: TSchema;
  /** A JSON body's schema (use `body({…})` of schemas/common). */
  body?: B;
  /**
   * `bytes`: the body is not parsed; the handler gets `raw`. `upload`: the part `file` of a multipart form, or a body
   * of one of the types in `consumes`, up to MAX_UPLOAD_BYTES. With `consumes`: the content types taken.
   */
  takes?: 'json' | 'bytes' | 'upload';
  consumes?: readonly string[];
  /** Its JSON may be as large as an uploaded file (MAX_UPLOAD_BYTES): it carries raw data, counted by items. */
  large?: boolean;
  /**
   * Its body, or its lists of these names, are items that the handler answers one by one: text that cannot be stored is
   * not refused with the whole body, but asked for by `unstorableIn`.
   */
  itemwise?: Itemwise;
  /** A participant who has withdrawn is let in by its token: the handler says for what. */
  afterWithdrawal?: true;
  /** Schemas by status; undefined: no body. The standard errors are added to the document by the kind of route. */
  answers: Record<number, TSchema | undefined>;
  /** Its handler gives its success an ETag. A record with a version has one without that (see `etagOf`). */
  etag?: true;
  /** A POST that takes If-Match, as every PATCH, PUT and DELETE does. */
  conditional?: true;
  /**
   * Content types of its success beside JSON, where `Accept` or the query asks for one; or all there are, where the
   * answer has no schema.
   */
  further?: readonly string[];
  /** Also a refusal before the handler (token, role, out of reach) is an audit record of the study, by this action. */
  refusedAs?: string;
  /** In development it needs no login on the machine that the service runs on. */
  onThisMachine?: true;
  /** Without a bearer token, a ticket in the query opens its stream of events. */
  takesTicket?: true;
  /** Its answer carries a secret: Idempotency-Key is ignored, nothing of it is stored. */
  secret?: boolean;
  /**
   * By user when authenticated, else by address: `general` (default), `auth` at the login's rate; `none`: not counted,
   * or counted by itself.
   */
  limit?: 'general' | 'auth' | 'none';
  /**
   * It goes away: since when, when for good, and what to read. Its answers say so (RFC 9745, RFC 8594), the document
   * too.
   */
  deprecated?: { since: string; sunset?: string; link?: string };
  /**
   * The study is named by X-Study-ID and query as well; false for routes whose `study_id` means something else.
   * `filter`: it is named so, and the handler gets it, but it may be one that was deleted, and what the route sees is
   * not narrowed to it.
   */
  studyContext?: boolean | 'filter';
  /**
   * For what a crowd asks for all the time: the caller as the database has it at this moment, and the answer where it
   * is ready. Undefined, or no answer: the handler gives it.
   */
  ready?: (input: { database: Database; asker: Asker; params: PathParams<P>; query: Static<Q> }) => Promise<Ready>;
  /**
   * Of a `read`, `once` or `change` by a user: what is read in the round trip that opens the transaction, under the
   * caller's rights; the handler gets the rows. The query fits its schema, and no more was checked of it. Undefined:
   * that depends on more.
   */
  first?: (input: {
    params: PathParams<P>;
    query: Static<Q>;
    studyId: string | undefined;
  }) => readonly Statement[] | undefined;
  handle: (input: Input<P, Q, B, Signed, W>) => unknown;
}

/** A list that is one statement: the frame runs it under the caller's rights and answers `{items, total}`. */
export type PageDefinition<P extends string, Q extends TSchema> = Omit<
  RouteDefinition<P, Q, TSchema, true, undefined>,
  'handle' | 'within' | 'body' | 'takes' | 'method'
> & {
  page: (input: { params: PathParams<P>; query: Static<Q>; studyId: string | undefined }) => PageStatement;
};

type AnyInput = Input<string, TSchema, TSchema, Signing, Within | undefined>;
/** A route as the frame sees it. */
export type Route = Omit<
  RouteDefinition<string, TSchema, TSchema, Signing, Within | undefined>,
  'handle' | 'plainParams' | 'ready' | 'first'
> & {
  plainParams?: readonly string[];
  handle: (input: AnyInput) => unknown;
  ready?: (input: {
    database: Database;
    asker: Asker;
    params: Record<string, string>;
    query: unknown;
  }) => Promise<Ready>;
  first?: (input: {
    params: Record<string, string>;
    query: unknown;
    studyId: string | undefined;
  }) => readonly Statement[] | undefined;
  page?: (input: { params: Record<string, string>; query: unknown; studyId: string | undefined }) => PageStatement;
};

/** What a POST that takes no fields may send: nothing, or an object without any. */
const NoFields = body({});
/** What a request's body is held against; undefined where none is read. */
export const bodySchema = (route: Route): TSchema | undefined =>
  route.body ?? (route.method === 'POST' && !route.takes ? NoFields : undefined);

/** Whether an Idempotency-Key counts: there is a caller whose key it is, and no secret in the answer. */
export const takesKey = ({ method, may, within, secret }: Route): boolean =>
  method === 'POST' && !secret && (may.signed !== false || within === 'session');

/**
 * Declares a route. Validation, types, the OpenAPI document and the role matrix all come from this one definition.
 * The handler's input is typed by it; the frame fills exactly that, which the cast below states once for all.
 */
export function route<
  P extends string,
  Q extends TSchema,
  B extends TSchema,
  Signed extends Signing,
  W extends Within | undefined = undefined,
>(definition: RouteDefinition<P, Q, B, Signed, W>): Route {
  return definition as unknown as Route;
}

/**
 * Declares a list that many ask for often (see `PageDefinition`); for all others `route` with `within: 'read'` will do.
 */
export function pageRoute<P extends string, Q extends TSchema>(definition: PageDefinition<P, Q>): Route {
  return { ...definition, method: 'GET' } as unknown as Route;
}

/** Refuses other keys of a query than its own. Who calls a callback adds some; a page reads its query itself. */
export const knowsItsQuery = ({ path, takes }: Pick<Route, 'path' | 'takes'>): boolean =>
  path.startsWith('/api/') && takes !== 'bytes';
