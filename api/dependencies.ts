import type { WorkflowClientInterceptor } from '@temporalio/client';
import type { Redis } from 'ioredis';
import type { Middleware } from 'koa';
import type { Logger } from 'pino';
import type { Settings } from '../settings.js';
import type { AnchorClient } from '../workflows/client.js';
import type { RequestMetrics } from './operations/metrics/requests.js';
import type { Printer } from './reports/pdf/printer.js';
import type { RateLimits } from './http/rate-limits.js';
import type { ReportCache } from './reports/document/cache.js';
import type { Drawing } from './reports/document/drawing.js';
import type { MessageSigning } from './anchor/message-signing.js';
import type { Temporal } from './temporal.js';
import type { Database } from '../db/client/database.js';

/** A span around each request, and what passes the trace on to Temporal. */
export interface Tracing {
  middleware: Middleware;
  client: { workflow: WorkflowClientInterceptor[] };
  close: () => Promise<void>;
}

/** Documents that are printed while nobody waits, and kept for a while. */
export interface DocumentQueue {
  /** Looks now and then for documents that nobody prints. */
  watch(): void;
  /** Begins to print a document, and does not wait for it. */
  begin(id: string, studyId: string): void;
  /** Files whose time is over go. */
  sweep(): Promise<void>;
  /** What is not printed yet is given back. */
  close(): Promise<void>;
}

/** What handlers work with; made once at the start of the process (main.ts). */
export interface Dependencies {
  settings: Settings;
  database: Database;
  temporal: Temporal;
  /** Messages to the participants' workflows. */
  anchors: AnchorClient;
  /** Signs them for the persons who ask for them. */
  signing: MessageSigning;
  redis: Redis | undefined;
  rateLimits: RateLimits;
  metrics: RequestMetrics;
  /** Draws plots and the pages of reports, apart from the process's own thread. */
  drawing: Drawing;
  /** Reports that were computed and are still so. */
  reports: ReportCache;
  /** Prints pages as PDF. */
  printer: Printer;
  documents: DocumentQueue;
  log: Logger;
  /** Where traces are asked for. */
  tracing: Tracing | undefined;
  /** Aborted when the process takes nothing new: what would go on without end, ends. */
  draining: AbortSignal;
}
