import type { IncomingHttpHeaders } from 'node:http';
import type { Static, TSchema } from 'typebox';
import { Type } from 'typebox';
import type { AuditTrail } from '../../db/audit/audit.js';
import type { Statement } from '../../db/client/one-trip.js';
import type { SessionRow } from '../../db/assessment/sessions.queries.js';
import type { Dependencies } from '../dependencies.js';
import { input } from './common.schemas.js';
import type { Access, CallerOf, TokenKind } from './access.js';
import type { PerItemFields } from './body/json.js';
import type { Tx } from '../../db/client/database.js';
import type { Problem } from './errors.js';
import type { Reply } from './reply.js';
import type { RouteState } from './state.js';
import type { RequestContext, Credential } from './request-context.js';

export { Reply, accepted, created, noContent, reply, tagged } from './reply.js';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** The names between braces of a path template. */
type Names<P extends string> = P extends `${string}{${infer N}}${infer Rest}` ? N | Names<Rest> : never;
export type PathParams<P extends string> = { [K in Names<P>]: string };
/**
 * The transaction that is open while the handler runs:
 * - `read`: the handler gets `tx`, a read-only transaction narrowed to the caller; all that it reads is of one moment
 * - `once`: a read in one round trip, without `tx`, where `prefetch` names every statement; else as `read`
 * - `list`: as `once`, where the one statement of `prefetch` is a page with its `total`: the page is `prefetched[0][0]`
 * - `change`: the handler gets `tx` and `audit`; records, an Idempotency-Key's answer and the change commit together
 * - `snapshot`: as `read`, and open until a streamed answer is through; few at a time
 * - `session`: as `change`, in the study of the assessment session that X-Session-ID names, which is locked and handed
 *   over
 * - absent: no transaction (routes that talk to Temporal: never call it inside one)
 */
export type TransactionKind = 'read' | 'once' | 'list' | 'change' | 'snapshot' | 'session';
type Opened<W> = W extends 'change'
  ? { tx: Tx; audit: AuditTrail }
  : W extends 'session'
    ? { tx: Tx; audit: AuditTrail; session: SessionRow }
    : W extends 'read' | 'snapshot'
      ? { tx: Tx }
      : W extends 'once' | 'list'
        ? { tx: Tx | undefined }
        : unknown;

/** What a handler gets. */
export type Input<P extends string, Q extends TSchema, B extends TSchema, Kind extends TokenKind, W> = {
  params: PathParams<P>;
  query: Static<Q>;
  body: Static<B>;
  headers: IncomingHttpHeaders;
  /** A user, the participant itself, or either, by what `access` takes; undefined where it is `anyone`. */
  actor: CallerOf<Kind>;
  /** Of a user's request. */
  credential: Credential | undefined;
  /** The study that the request names by path, X-Study-ID or query; it is visible to the caller. */
  studyId: string | undefined;
  context: RequestContext;
  services: Dependencies;
  /** The id of a command that this request sends: the same for a repeat under the same Idempotency-Key. */
  requestKey: string;
  /** Throws 409 STALE when the request has an If-Match that is not this record's tag, or where there is none yet. */
  assertIfMatch: (record: Record<string, unknown> | undefined) => void;
  /** The body's bytes, or those of an uploaded file. */
  raw: Buffer;
  /** The other parts of an upload, by name. */
  parts: Record<string, string>;
  /** The rows of the statements of `prefetch`. */
  prefetched: unknown[][];
  /** Aborted when the client has gone away before the answer was there. */
  signal: AbortSignal;
} & Opened<W>;

/** A body that is not ordinary JSON: `bytes`, a file, or JSON as large as a file. */
export class RequestBody<B extends TSchema = TSchema> {
  constructor(
    readonly kind: 'json' | 'bytes' | 'upload',
    readonly options: { schema?: B; mediaTypes?: readonly string[]; perItem?: PerItemFields; form?: TSchema } = {},
  ) {}
}
/** The body is not parsed: the handler gets it as `raw`. `mediaTypes`: those that are taken; none named: any. */
export const rawBody = (...mediaTypes: readonly string[]): RequestBody<never> =>
  new RequestBody('bytes', mediaTypes.length > 0 ? { mediaTypes } : {});
/** The fields of a form that is not parsed before its signature was checked, for the document alone. */
export const rawForm = (form: TSchema, ...mediaTypes: readonly string[]): RequestBody<never> =>
  new RequestBody('bytes', { form, mediaTypes });
/** The part `file` of a multipart form, or a body of one of `mediaTypes`, up to MAX_UPLOAD_BYTES; as `raw`. */
export const upload = (...mediaTypes: readonly string[]): RequestBody<never> =>
  new RequestBody('upload', mediaTypes.length > 0 ? { mediaTypes } : {});
/**
 * JSON that carries raw data: up to MAX_UPLOAD_BYTES, and its values are not counted.
 * @param perItem the body, or its lists of these names, are items that the handler answers one by one: text that cannot
 * be stored is not refused with the whole body, but asked for by `invalidTextIn`
 */
export const largeJson = <B extends TSchema>(schema: B, perItem?: PerItemFields): RequestBody<B> =>
  new RequestBody('json', { schema, ...(perItem && { perItem }) });

/** A response that has more than a JSON body: an ETag from its handler, or other media types. */
export class ResponseSpec {
  constructor(
    readonly schema: TSchema | undefined,
    readonly options: {
      /** The handler gives an ETag. A record with a version has one without that (see `etagOf`). */
      etag?: true;
      /** Beside JSON, where `Accept` or the query asks for one; or all there are, where there is no schema. */
      mediaTypes?: readonly string[];
    },
  ) {}
}
export const response = (schema: TSchema | undefined, options: ResponseSpec['options']): ResponseSpec =>
  new ResponseSpec(schema, options);

/** The headers of a POST that may be bound to a version, as every PATCH, PUT and DELETE may. */
export const IfMatch = Type.Object({ 'if-match': Type.Optional(Type.String()) });

interface Definition<
  P extends string,
  Q extends TSchema,
  B extends TSchema,
  Kind extends TokenKind,
  W extends TransactionKind | undefined,
> {
  method: Method;
  /** With `{name}` for parameters. Those called id or …_id are uuids (else 404), but for `PLAIN_IDS`. */
  path: P;
  tag: string;
  summary: string;
  description?: string;
  /** Who may call (access.ts). */
  access: Access<Kind>;
  transaction?: W;
  /**
   * What is read in the round trip that opens the transaction (of a user, and no `snapshot`), under the caller's
   * rights; the handler gets the rows. The query fits its schema, and no more was checked of it. Undefined: that depends
   * on more.
   */
  prefetch?: (input: {
    params: PathParams<P>;
    query: Static<Q>;
    studyId: string | undefined;
  }) => readonly Statement[] | undefined;
  /**
   * Of a `change`: whether this request only asks what it would do. All that it reads is of one moment then, and it
   * writes nothing.
   */
  isTrial?: (asked: { search: URLSearchParams; raw: Buffer }) => boolean;
  query?: Q;
  headers?: TSchema;
  /** A JSON body's schema (`body({…})` of schemas/common), or `rawBody`, `upload`, `largeJson`. */
  body?: B | RequestBody<B>;
  /** By status; undefined: no body. The standard errors are added to the document by the kind of route. */
  responses: Record<number, TSchema | ResponseSpec | undefined>;
  /** By user when authenticated, else by address; `auth`: at the login's rate; `none`: not counted, or by itself. */
  rateLimit?: 'general' | 'auth' | 'none';
  /** False: the answer carries a secret, of which nothing is stored; Idempotency-Key is ignored. */
  idempotencyKey?: false;
  /** Since when, until when, and what to read instead: response headers (RFC 9745, RFC 8594) and the document say so. */
  deprecated?: { since: string; sunset?: string; link?: string };
  /** Of a page: answers what was thrown, once the request's transaction is undone; instead of a JSON body. */
  onFault?: FaultHandler;
  handle: (input: Input<P, Q, B, Kind, W>) => unknown;
}

/** What a page's answer to a fault goes by. The state has what the pipeline found out before it. */
export interface Fault {
  fault: Problem;
  state: Partial<RouteState> & Pick<RouteState, 'context'>;
  method: string;
  /** Path and query. */
  url: string;
  headers: IncomingHttpHeaders;
  services: Dependencies;
  /** The request's body, also where the fault came before it was read; nothing where it is too long for a form. */
  body: () => Promise<Buffer>;
}
export type FaultHandler = (fault: Fault) => Reply | Promise<Reply>;
/** What an operation is called by the programs that are generated from the contract, or that it is not in it. */
type Listed =
  | {
      /** A verb first, at most 40 characters, as one would type it. It never changes (test/contract/operation-ids.json). */
      operationId: string;
      hidden?: never;
    }
  | {
      /** A page or a file: not part of the contract. */
      hidden: true;
      operationId?: string;
    };
export type RouteDefinition<
  P extends string,
  Q extends TSchema,
  B extends TSchema,
  Kind extends TokenKind,
  W extends TransactionKind | undefined,
> = Definition<P, Q, B, Kind, W> & Listed;

type AnyInput = Input<string, TSchema, TSchema, TokenKind, TransactionKind | undefined>;
/** A route as the pipeline sees it. */
export type Route = Omit<
  Definition<string, TSchema, TSchema, TokenKind, TransactionKind | undefined>,
  'handle' | 'prefetch'
> & {
  /** Undefined where it is hidden. */
  operationId?: string;
  hidden?: true;
  handle: (input: AnyInput) => unknown;
  prefetch?: (input: {
    params: Record<string, string>;
    query: unknown;
    studyId: string | undefined;
  }) => readonly Statement[] | undefined;
};

/**
 * Declares a route. Validation, types, the OpenAPI document and the role matrix all come from this one definition.
 * The handler's input is typed by it; the pipeline fills exactly that, which the cast below states once for all.
 */
export function route<
  P extends string,
  Q extends TSchema,
  B extends TSchema,
  Kind extends TokenKind,
  W extends TransactionKind | undefined = undefined,
>(definition: RouteDefinition<P, Q, B, Kind, W>): Route {
  return definition as unknown as Route;
}

/** Parameters of paths that are called …_id and are no uuids. */
const PLAIN_IDS: readonly string[] = ['battery_id', 'template_id', 'change_id'];
/** Whether a parameter of a path must be a uuid. */
export const isUuidParam = (name: string): boolean =>
  (name === 'id' || name.endsWith('_id')) && !PLAIN_IDS.includes(name);

/** What a POST that takes no fields may send: nothing, or an object without any. */
const NoFields = input('NoFields', {});
const JSON_BODY = new RequestBody('json');
/** How a route's body is read; undefined: it has none. */
export function requestBody({ body: given, method }: Route): RequestBody | undefined {
  if (given instanceof RequestBody) return given;
  return given || method === 'POST' ? JSON_BODY : undefined;
}
/** What a request's JSON body is checked against; undefined where none is read. */
export function bodySchema({ body: given, method }: Route): TSchema | undefined {
  if (given instanceof RequestBody) return given.options.schema;
  return given ?? (method === 'POST' ? NoFields : undefined);
}

/** The schema of a response. */
export const responseSchema = (given: TSchema | ResponseSpec | undefined): TSchema | undefined =>
  given instanceof ResponseSpec ? given.schema : given;
/** What a response has beside a JSON body. */
export const responseOptions = (given: TSchema | ResponseSpec | undefined): ResponseSpec['options'] =>
  given instanceof ResponseSpec ? given.options : {};

/** Whether an Idempotency-Key counts: there is a caller whose key it is, and no secret in the answer. */
export const takesKey = ({ method, access, transaction, idempotencyKey }: Route): boolean =>
  method === 'POST' && idempotencyKey !== false && (access.token !== false || transaction === 'session');

/** Refuses other keys of a query than its own. Who calls a callback adds some; a page reads its query itself. */
export const knowsItsQuery = (route: Pick<Route, 'path' | 'body'>): boolean =>
  route.path.startsWith('/api/') && !(route.body instanceof RequestBody && route.body.kind === 'bytes');
