import type { Logger } from 'pino';
import type { Settings } from '../../settings.js';
import type { AnchorOutcome, Evaluate } from '../../workflows/contract.js';
import type { LoadMonitor } from '../util/load-monitor.js';
import type { RetryLimits } from './client/failure.js';
import type { Database } from '../../db/client/database.js';

/** Sends a participant's workflow the command to evaluate, and starts the workflow if necessary. */
export interface AnchorEvaluation {
  evaluate(participantId: string, studyId: string, command: Evaluate, updateId: string): Promise<AnchorOutcome>;
}

/** The dependencies of capture activities. */
export interface CaptureDeps {
  database: Database;
  settings: Pick<
    Settings,
    | 'DATACAPTURE_ENCRYPTION_KEY'
    | 'ALLOW_PRIVATE_URLS'
    | 'WEBHOOK_DEDUPE_HOURS'
    | 'DATACAPTURE_TIMEOUT_SECONDS'
    | 'production'
  >;
  anchors: AnchorEvaluation;
  log: Pick<Logger, 'info' | 'warn' | 'error'>;
  traffic: Pick<LoadMonitor, 'note'>;
  limits?: Partial<RetryLimits>;
}
