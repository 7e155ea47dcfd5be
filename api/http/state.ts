import type { Next, ParameterizedContext } from 'koa';
import type { AuditTrail } from '../../db/audit/audit.js';
import type { SessionRow } from '../../db/assessment/sessions.queries.js';
import type { Principal } from './security/principal.js';
import type { AnyCaller } from './access.js';
import type { Upload } from './body/upload.js';
import type { IdempotencyKey } from './conventions/idempotency-keys.js';
import type { Reply } from './reply.js';
import type { Tx } from '../../db/client/database.js';
import type { RequestContext } from './request-context.js';

/** What every request has, whether a route answers it or not. */
export interface RequestState {
  context: RequestContext;
  /** The path template of its route. */
  route?: string;
  /** How many bytes of body its route takes. */
  bodyLimit?: number;
  userId?: string | undefined;
}

/** What is open for a handler. */
export interface Opened {
  tx?: Tx;
  audit?: AuditTrail;
  session?: SessionRow;
  prefetched?: unknown[][];
}

/** A request to a route: each middleware of the pipeline fills in its part (pipeline.ts has their order). */
export interface RouteState extends RequestState {
  params: Record<string, string>;
  search: URLSearchParams;
  principal?: Principal;
  raw: Buffer;
  upload?: Upload;
  studyId?: string | undefined;
  actor?: AnyCaller;
  opened: Opened;
  key?: IdempotencyKey;
  query?: Record<string, unknown>;
  body?: unknown;
  /** The handler was reached. */
  handled: boolean;
  reply?: Reply;
}

export type RouteContext = ParameterizedContext<RouteState>;
export type RouteMiddleware = (ctx: RouteContext, next: Next) => Promise<void>;
/** What is done to a request before anything is open for it: it throws, or the next step follows. */
export type RouteStep = (ctx: RouteContext) => Promise<void> | void;
