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

export { Reply, accepted, created, noContent, reply, withContentTag } from './reply.js';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** The names between braces of a path template. */
type Names<P extends string> = P extends `${string}{${infer N}}${infer Rest}` ? N | Names<Rest> : never;
export type PathParams<P extends string> = { [K in Names<P>]: string };
/**
 * The transaction that is open while the handler runs:
 * - `read`: the handler gets `tx`, a read-only transaction narrowed to the caller, with one snapshot
 * - `once`: a read in one round trip, without `tx`, if `prefetch` names every statement; else as `read`
 * - `list`: as `once`, if the one statement of `prefetch` is a page with its `total`: the page is `prefetched[0][0]`
 * - `change`: the handler gets `tx` and `audit`; records, an Idempotency-Key's answer and the change commit together
 * - `snapshot`: as `read`, and open until a streamed answer is sent; few at a time
 * - `session`: as `change`, in the study of the assessment session in X-Session-ID, which is locked and passed on
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

/** The input of a handler. */
export type Input<P extends string, Q extends TSchema, B extends TSchema, Kind extends TokenKind, W> = {
  params: PathParams<P>;
  query: Static<Q>;
  body: Static<B>;
  headers: IncomingHttpHeaders;
  /** A user, the participant itself, or either, by `access`; undefined for `anyone`. */
  actor: CallerOf<Kind>;
  /** For a user's request. */
  credential: Credential | undefined;
  /** The study that the request names by path, X-Study-ID or query; it is visible to the caller. */
  studyId: string | undefined;
  /** The site of X-Site-ID, which narrows the study; it is visible to the caller. */
  siteId: string | undefined;
  context: RequestContext;
  services: Dependencies;
  /** The id of this request's command: the same for a repeat under the same Idempotency-Key. */
  requestKey: string;
  /** Throws 409 STALE if the request's If-Match is not this record's tag, or if there is no record yet. */
  assertIfMatch: (record: Record<string, unknown> | undefined) => void;
  /** The body's bytes, or those of an uploaded file. */
  raw: Buffer;
  /** The other parts of an upload, by name. */
  parts: Record<string, string>;
  /** The character set that the part of the file names. */
  charset: string | undefined;
  /** The rows of the statements of `prefetch`. */
  prefetched: unknown[][];
  /** A signal that is aborted when the client disconnects before the answer. */
  disconnected: () => AbortSignal;
  /** The one of these media types that the client's `Accept` weighs most; false: it takes none of them. */
  prefers: (mediaTypes: readonly string[]) => string | false;
  /** Whether an answer with this ETag is sent with its body: a HEAD has none, nor a GET that knows the tag. */
  sendsBody: (tag: string) => boolean;
} & Opened<W>;

/** A body that is not ordinary JSON: `bytes`, a file, or JSON as large as a file. */
export class RequestBody<B extends TSchema = TSchema> {
  constructor(
    readonly kind: 'json' | 'bytes' | 'upload',
    readonly options: {
      schema?: B;
      mediaTypes?: readonly string[];
      perItem?: PerItemFields;
      form?: TSchema;
      maxBytes?: number;
    } = {},
  ) {}
}
/** The body is not parsed: the handler gets it as `raw`. `mediaTypes`: the accepted ones; none: any. */
export const rawBody = (...mediaTypes: readonly string[]): RequestBody<never> =>
  new RequestBody('bytes', mediaTypes.length > 0 ? { mediaTypes } : {});
/** The fields of a form, up to a number of bytes, as `raw`. */
export const formBody = (maxBytes: number): RequestBody<never> =>
  new RequestBody('bytes', { mediaTypes: ['application/x-www-form-urlencoded'], maxBytes });
/** A form that is not parsed before its signature was verified; the schema is only for the document. */
export const rawForm = (form: TSchema, ...mediaTypes: readonly string[]): RequestBody<never> =>
  new RequestBody('bytes', { form, mediaTypes });
/** The part `file` of a multipart form, or a body of one of `mediaTypes`, up to MAX_UPLOAD_BYTES; as `raw`. */
export const upload = (...mediaTypes: readonly string[]): RequestBody<never> =>
  new RequestBody('upload', mediaTypes.length > 0 ? { mediaTypes } : {});
/**
 * JSON with raw data: up to MAX_UPLOAD_BYTES, and its values are not counted.
 * @param perItem the body, or its lists of these names, are items that the handler answers one by one: unstorable text
 * does not refuse the whole body; the handler checks it with `invalidTextIn`
 */
export const largeJson = <B extends TSchema>(schema: B, perItem?: PerItemFields): RequestBody<B> =>
  new RequestBody('json', { schema, ...(perItem && { perItem }) });

/** A response with more than a JSON body: an ETag from its handler, or other media types. */
export class ResponseSpec {
  constructor(
    readonly schema: TSchema | undefined,
    readonly options: {
      /** The handler sets an ETag. A versioned record has one anyway (see `etagOf`). */
      etag?: true;
      /** Besides JSON, if `Accept` or the query asks for one; all media types, if there is no schema. */
      mediaTypes?: readonly string[];
    },
  ) {}
}
export const response = (schema: TSchema | undefined, options: ResponseSpec['options']): ResponseSpec =>
  new ResponseSpec(schema, options);

/** The headers of a POST that accepts an If-Match, as every PATCH, PUT and DELETE does. */
export const IfMatch = Type.Object({ 'if-match': Type.Optional(Type.String()) });

interface Definition<
  P extends string,
  Q extends TSchema,
  B extends TSchema,
  Kind extends TokenKind,
  W extends TransactionKind | undefined,
> {
  method: Method;
  /** With `{name}` for parameters. Those named id or …_id are uuids (else 404), except `PLAIN_IDS`. */
  path: P;
  tag: string;
  summary: string;
  description?: string;
  /** Who may call (access.ts). */
  access: Access<Kind>;
  transaction?: W;
  /**
   * Statements for the round trip that opens the transaction (of a user, and no `snapshot`), under the caller's rights;
   * the handler gets the rows. The query fits its schema, and nothing else was checked. Undefined: not known in
   * advance.
   */
  prefetch?: (input: {
    params: PathParams<P>;
    query: Static<Q>;
    studyId: string | undefined;
  }) => readonly Statement[] | undefined;
  /** For a `change`: whether this request is a dry run. It then reads one snapshot and writes nothing. */
  isTrial?: (asked: { search: URLSearchParams; raw: Buffer }) => boolean;
  query?: Q;
  headers?: TSchema;
  /** A JSON body's schema (`body({…})` of schemas/common), or `rawBody`, `upload`, `largeJson`. */
  body?: B | RequestBody<B>;
  /** By status; undefined: no body. The standard errors are added to the document by the kind of route. */
  responses: Record<number, TSchema | ResponseSpec | undefined>;
  /**
   * By user when authenticated, else by address; `auth`: the login's limit; `none`: not counted, or counted by the
   * route.
   */
  rateLimit?: 'general' | 'auth' | 'none';
  /** False: the answer contains a secret and is not stored; Idempotency-Key is ignored. */
  idempotencyKey?: false;
  /** Start, end, and replacement of a deprecation, for response headers (RFC 9745, RFC 8594) and the document. */
  deprecated?: { since: string; sunset?: string; link?: string };
  /** For a page: answers an error, once the request's transaction was rolled back; instead of a JSON body. */
  onFault?: FaultHandler;
  handle: (input: Input<P, Q, B, Kind, W>) => unknown;
}

/** The input of a page's error answer. The state has the results of the pipeline so far. */
export interface PageFault {
  fault: Problem;
  state: Partial<RouteState> & Pick<RouteState, 'context'>;
  method: string;
  /** Path and query. */
  url: string;
  headers: IncomingHttpHeaders;
  services: Dependencies;
  /** The request's body, also if the error came before it was read; empty if it is too long for a form. */
  body: () => Promise<Buffer>;
}
export type FaultHandler = (fault: PageFault) => Reply | Promise<Reply>;
/** The operation's name for generated clients, or that it is not in the contract. */
type Listed =
  | {
      /**
       * A verb first, at most 40 characters, as one would type it. It never changes (test/contract/operation-ids.json).
       */
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
  /** Undefined if it is hidden. */
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
 * Declares a route. Validation, types, the OpenAPI document and the role matrix all come from this one definition. The
 * handler's input is typed by it; the pipeline fills in exactly that, which the cast below states once.
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

/** Path parameters named …_id that are no uuids. */
const PLAIN_IDS: readonly string[] = ['battery_id', 'template_id', 'change_id'];
/** Whether a parameter of a path must be a uuid. */
export const isUuidParam = (name: string): boolean =>
  (name === 'id' || name.endsWith('_id')) && !PLAIN_IDS.includes(name);

/** The body of a POST without fields: nothing, or an empty object. */
const NoFields = input('NoFields', {});
const JSON_BODY = new RequestBody('json');
/** How a route's body is read; undefined: it has none. */
export function requestBody({ body: given, method }: Route): RequestBody | undefined {
  if (given instanceof RequestBody) return given;
  return given || method === 'POST' ? JSON_BODY : undefined;
}
/** The schema of a request's JSON body; undefined if none is read. */
export function bodySchema({ body: given, method }: Route): TSchema | undefined {
  if (given instanceof RequestBody) return given.options.schema;
  return given ?? (method === 'POST' ? NoFields : undefined);
}

/** The schema of a response. */
export const responseSchema = (input: TSchema | ResponseSpec | undefined): TSchema | undefined =>
  input instanceof ResponseSpec ? input.schema : input;
/** The options of a response besides its JSON body. */
export const responseOptions = (input: TSchema | ResponseSpec | undefined): ResponseSpec['options'] =>
  input instanceof ResponseSpec ? input.options : {};

/** Whether an Idempotency-Key is supported: the caller is known, and the answer contains no secret. */
export const takesKey = ({ method, access, transaction, idempotencyKey }: Route): boolean =>
  method === 'POST' && idempotencyKey !== false && (access.token !== false || transaction === 'session');
