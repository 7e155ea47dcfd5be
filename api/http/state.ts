import type { Next, ParameterizedContext } from 'koa';
import type { AuditTrail } from '../../db/audit/audit.js';
import type { SessionRow } from '../../db/assessment/sessions.queries.js';
import type { Principal } from './security/principal.js';
import type { Actor, AnyCaller } from './access.js';
import type { Upload } from './body/upload.js';
import type { Reply } from './reply.js';
import type { Tx } from '../../db/client/database.js';
import type { RequestContext } from './request-context.js';

/** The state of every request, with or without a route. */
export interface RequestState {
  context: RequestContext;
  /** The path template of its route. */
  route?: string;
  /** The most bytes of body that its route reads. */
  bodyLimit?: number;
  userId?: string | undefined;
}

/** The open transaction for a handler. */
export interface OpenTransaction {
  tx?: Tx;
  audit?: AuditTrail;
  session?: SessionRow;
  prefetched?: unknown[][];
}

/** A service's input for a change: its transaction, audit, and caller. */
export interface RequestScope<A = Actor> {
  tx: Tx;
  audit: AuditTrail;
  actor: A;
  context: RequestContext;
}

/**
 * The state of a request to a route: each middleware of the pipeline fills in its part (pipeline.ts has their order).
 */
export interface RouteState extends RequestState {
  params: Record<string, string>;
  search: URLSearchParams;
  principal?: Principal;
  raw: Buffer;
  upload?: Upload;
  studyId?: string | undefined;
  siteId?: string | undefined;
  actor?: AnyCaller;
  opened: OpenTransaction;
  /** The id of the command under an Idempotency-Key. */
  requestKey?: string;
  query?: Record<string, unknown>;
  body?: unknown;
  /** The handler was called. */
  handled: boolean;
  reply?: Reply;
}

export type RouteContext = ParameterizedContext<RouteState>;
export type RouteMiddleware = (ctx: RouteContext, next: Next) => Promise<void>;
/** A step before any transaction: it throws, or the next step follows. */
export type RouteStep = (ctx: RouteContext) => Promise<void> | void;
