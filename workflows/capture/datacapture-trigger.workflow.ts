import {
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  isCancellation,
  proxyActivities,
  proxyLocalActivities,
  TimeoutFailure,
} from '@temporalio/workflow';
import type { CaptureActivities } from '../../activities/capture/capture.activities.js';
import type { DatacaptureTriggerStart } from '../contract.js';
import { publishFailure } from '../util/outcome.js';
import { recordActivity } from './activity-options.js';

interface TriggerReport {
  status: string;
  outcome: string | null;
}

/**
 * One trigger of the capture system: processed, or ended as `failed` with its reason, never a hanging run. Reading,
 * writing, evaluating and ending are one activity: the database has the progress of each, where the next attempt
 * continues, and separate activities would cost the server as much again as the work. The first attempt is a local
 * activity, at half the server's cost; if it does not succeed at once, a normal activity follows, with heartbeats,
 * visible in the Web UI, and waits for the capture system.
 */
export async function datacaptureTrigger(start: DatacaptureTriggerStart): Promise<TriggerReport> {
  const common = recordActivity(start.study_id);
  const { processTrigger } = proxyActivities<Pick<CaptureActivities, 'processTrigger'>>({
    // The activity limits retries of the capture system: this limits an outage of the database.
    ...common,
    scheduleToCloseTimeout: '24h',
    summary: 'read the record, write the participant, evaluate the anchor',
  });
  const { failTrigger } = proxyActivities<Pick<CaptureActivities, 'failTrigger'>>({
    ...common,
    summary: 'record the failure',
  });
  try {
    return (start.local_first && (await atOnce(start))) || (await processTrigger(start));
  } catch (failure) {
    const fault = faultOf(failure);
    publishFailure(
      `failed: ${fault.type}: ${fault.message}\n\nOnce that is corrected, POST ` +
        `/api/webhook-events/${start.event_id}/retry.`,
    );
    // A cancelled run also ends its event.
    return await CancellationScope.nonCancellable(() => failTrigger(start, fault));
  }
}

const { processTrigger: processLocally } = proxyLocalActivities<Pick<CaptureActivities, 'processTrigger'>>({
  startToCloseTimeout: '15s',
  retry: { maximumAttempts: 1 },
  summary: 'read the record, write the participant, evaluate the anchor',
});

/** The first attempt; undefined: it failed, and the next one will have the reason. */
async function atOnce(start: DatacaptureTriggerStart): Promise<TriggerReport | undefined> {
  try {
    return await processLocally(start);
  } catch (failure) {
    if (isCancellation(failure) || isFinal(failure)) throw failure;
    return undefined;
  }
}

const isFinal = (failure: unknown) =>
  failure instanceof ActivityFailure &&
  failure.cause instanceof ApplicationFailure &&
  failure.cause.nonRetryable === true;

/** The reason as text: an activity's own, never a stack. */
function faultOf(failure: unknown): { type: string; message: string } {
  const cause = failure instanceof ActivityFailure ? failure.cause : failure;
  if (cause instanceof ApplicationFailure) return { type: cause.type ?? 'INTERNAL', message: cause.message };
  if (cause instanceof TimeoutFailure) return { type: 'timeout', message: 'It was tried for a day without success.' };
  return { type: 'CANCELLED', message: 'The processing was cancelled.' };
}
