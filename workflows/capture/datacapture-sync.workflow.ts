import {
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  continueAsNew,
  isCancellation,
  proxyActivities,
  setCurrentDetails,
  workflowInfo,
} from '@temporalio/workflow';
import type { SyncActivities } from '../../activities/capture/sync.js';
import type { DatacapturePollStart, DatacaptureSyncStart } from '../contract.js';
import { publishFailure } from '../util/outcome.js';

const retry = { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '60s' } as const;
const { openPoll, listRecords, syncBatch, endSync, failSync } = proxyActivities<SyncActivities>({
  // The activities limit retries of the capture system: this limits an outage of the database.
  startToCloseTimeout: '1h',
  heartbeatTimeout: '15s',
  scheduleToCloseTimeout: '24h',
  retry,
});

/** Reads every record of a study's enrollment instrument, as its trigger would: requested by REST. */
export async function datacaptureSync(start: DatacaptureSyncStart): Promise<void> {
  await read(start, () => continueAsNew<typeof datacaptureSync>(start));
}

/** Reads changes in a study's capture system since the last poll, for changes without a trigger. */
export async function datacapturePoll(start: DatacapturePollStart): Promise<void> {
  const opened = await openPoll(start);
  if (!opened)
    return setCurrentDetails('Nothing to poll: the integration or the poll is off, or a sync is reading everything.');
  await read({ ...start, sync_id: opened.sync_id }, () => continueAsNew<typeof datacapturePoll>(start));
}

/** Reads in batches, each in one transaction; the progress is in the database, where a next run continues. */
async function read(start: DatacaptureSyncStart, again: () => Promise<never>): Promise<void> {
  try {
    const { total, basis, plan } = await listRecords(start);
    for (;;) {
      const { left } = await syncBatch({ ...start, plan });
      setCurrentDetails(`${total - left} of ${total} records read`);
      if (left === 0) break;
      if (workflowInfo().continueAsNewSuggested) return await again();
    }
    await endSync({ ...start, basis });
  } catch (failure) {
    if (!(failure instanceof ActivityFailure) && !isCancellation(failure)) throw failure;
    const fault = faultOf(failure);
    publishFailure(
      `failed: ${fault.type}: ${fault.message}\n\nThe next poll begins again; or POST ` +
        `/api/datacapture/sync/${start.study_id}.`,
    );
    await CancellationScope.nonCancellable(() => failSync(start, fault));
  }
}

function faultOf(failure: unknown): { type: string; message: string } {
  const cause = failure instanceof ActivityFailure ? failure.cause : failure;
  if (cause instanceof ApplicationFailure) return { type: cause.type ?? 'INTERNAL', message: cause.message };
  if (isCancellation(failure)) return { type: 'CANCELLED', message: 'The reading was cancelled.' };
  return { type: 'timeout', message: 'It was tried for a day without success.' };
}
