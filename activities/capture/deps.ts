import type { Logger } from 'pino';
import type { Settings } from '../../settings.js';
import type { AnchorOutcome, Evaluate } from '../../workflows/contract.js';
import type { LoadMonitor } from '../util/load-monitor.js';
import type { RetryLimits } from './client/failure.js';
import type { Database } from '../../db/client/database.js';

/** Sends a participant's workflow, which is started where it does not run, the command to evaluate. */
export interface AnchorEvaluation {
  evaluate(participantId: string, studyId: string, command: Evaluate, updateId: string): Promise<AnchorOutcome>;
}

/** What the capture activities work with. */
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
