import type { DatacaptureTriggerStart } from '../../workflows/contract.js';
import type { CaptureAnswer, CaptureQuestion } from '../../workflows/domain/capture/query.js';
import { withRetryLimits } from './retry-limits.js';
import type { CaptureDeps } from './deps.js';
import { queryCapture } from './query.js';
import { failTrigger } from './triggers/complete-trigger.js';
import type { TriggerFault, TriggerReport } from './triggers/complete-trigger.js';
import { processTrigger } from './triggers/process-trigger.js';

export type { AnchorEvaluation, CaptureDeps } from './deps.js';

/** The activities of data from the capture system; each may be retried at any point. */
export interface CaptureActivities {
  processTrigger(start: DatacaptureTriggerStart): Promise<TriggerReport>;
  failTrigger(start: DatacaptureTriggerStart, fault: TriggerFault): Promise<TriggerReport>;
  queryCapture(question: CaptureQuestion): Promise<CaptureAnswer>;
}

export function createCaptureActivities(deps: CaptureDeps): CaptureActivities {
  const ids = (start: DatacaptureTriggerStart) => ({ event_id: start.event_id, study_id: start.study_id });
  return {
    processTrigger: (start) => withRetryLimits(deps, ids(start), () => processTrigger(deps, start)),
    failTrigger: (start, fault) => withRetryLimits(deps, ids(start), () => failTrigger(deps, start, fault)),
    queryCapture: (question) =>
      withRetryLimits(deps, { study_id: question.study_id }, () => queryCapture(deps, question)),
  };
}
