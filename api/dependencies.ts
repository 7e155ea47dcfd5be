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
import type { StudyTallies } from './reports/study-tallies.js';
import type { Drawing } from './reports/document/drawing.js';
import type { MessageSigning } from './anchor/message-signing.js';
import type { Temporal } from './temporal.js';
import type { Database } from '../db/client/database.js';

/** A span around each request, and the interceptors that pass the trace on to Temporal. */
export interface Tracing {
  middleware: Middleware;
  client: { workflow: WorkflowClientInterceptor[] };
  close: () => Promise<void>;
}

/** Documents that are printed in the background and kept for a while. */
export interface DocumentQueue {
  /** Periodically looks for documents that no process prints. */
  watch(): void;
  /** Starts printing a document, without waiting for it. */
  begin(id: string, studyId: string): void;
  /** Removes expired files. */
  sweep(): Promise<void>;
  /** Releases unprinted documents. */
  close(): Promise<void>;
}

/** The dependencies of handlers; created once at the start of the process (main.ts). */
export interface Dependencies {
  settings: Settings;
  database: Database;
  temporal: Temporal;
  /** Sends messages to the participants' workflows. */
  anchors: AnchorClient;
  /** Signs them on behalf of the requesting persons. */
  signing: MessageSigning;
  redis: Redis | undefined;
  rateLimits: RateLimits;
  metrics: RequestMetrics;
  /** Draws plots and report pages, outside of the main thread. */
  drawing: Drawing;
  /** Computed reports that are still valid. */
  reports: ReportCache;
  /** Counts of the studies' visits, for reports of whole studies. */
  tallies: StudyTallies;
  /** Prints pages as PDF. */
  printer: Printer;
  documents: DocumentQueue;
  log: Logger;
  /** Set if tracing is configured. */
  tracing: Tracing | undefined;
  /** Aborted when the process takes no new requests: endless streams end. */
  draining: AbortSignal;
}
