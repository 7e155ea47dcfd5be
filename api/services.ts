import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import type { Database } from '../db/knex.js';
import type { Settings } from '../settings.js';
import type { AnchorMessages } from '../workflows/client.js';
import type { RequestMetrics } from './metrics/requests.js';
import type { RateLimits } from './rate-limits.js';
import type { Temporal } from './temporal.js';

/** What handlers work with; made once at the start of the process (main.ts). */
export interface Services {
  settings: Settings;
  database: Database;
  temporal: Temporal;
  /** Messages to the participants' workflows. */
  anchors: AnchorMessages;
  redis: Redis | undefined;
  rateLimits: RateLimits;
  metrics: RequestMetrics;
  log: Logger;
  /** Aborted when the process takes nothing new: what would go on without end, ends. */
  draining: AbortSignal;
}
