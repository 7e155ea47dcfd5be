import type { PushReport, PushResultsStart } from '../../../workflows/contract.js';
import { withRetryLimits } from '../retry-limits.js';
import type { PushDeps } from './deps.js';
import { failPush } from './complete-push.js';
import { pushOnce } from './attempt.js';

export type { PushDeps } from './deps.js';

/** The activities of pushes to the capture system; each may be retried at any point. */
export interface PushActivities {
  pushOnce(start: PushResultsStart, early: boolean): Promise<PushReport>;
  failPush(start: PushResultsStart, fault: { type: string; message: string }): Promise<PushReport>;
}

export function createPushActivities(deps: PushDeps): PushActivities {
  const ids = ({ session_id, study_id }: PushResultsStart) => ({ session_id, study_id });
  return {
    pushOnce: (start, early) => withRetryLimits(deps, ids(start), () => pushOnce(deps, start, early)),
    failPush: (start, fault) => withRetryLimits(deps, ids(start), () => failPush(deps, start, fault)),
  };
}
