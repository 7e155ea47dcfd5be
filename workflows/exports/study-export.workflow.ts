import {
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  proxyActivities,
  setCurrentDetails,
  sleep,
} from '@temporalio/workflow';
import type { ExportActivities } from '../../activities/exports/exports.activities.js';
import type { StudyExportStart } from '../contract.js';
import { publishFailure } from '../util/outcome.js';

/** A large study takes minutes; heartbeats show that it is alive. */
const { writeExportFile } = proxyActivities<ExportActivities>({
  startToCloseTimeout: '4h',
  heartbeatTimeout: '60s',
  summary: 'write the file',
  retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '30s', maximumAttempts: 10 },
});
const { failExport, removeExportFile } = proxyActivities<ExportActivities>({ startToCloseTimeout: '30s' });

/** One export in the background: its file is written, kept for a while, and removed. */
export async function studyExport(start: StudyExportStart): Promise<void> {
  let kept: number;
  try {
    setCurrentDetails('The file is written; how far it is stands in the export itself.');
    kept = await writeExportFile(start);
  } catch (failure) {
    publishFailure(`The export failed. ${reasonOf(failure)}`);
    await CancellationScope.nonCancellable(() => failExport(start, reasonOf(failure)));
    return;
  }
  setCurrentDetails('The file is there until it expires.');
  // A cancelled run removes the file at once: nothing else would.
  await sleep(kept, { summary: 'until the file expires' }).catch(() => undefined);
  await CancellationScope.nonCancellable(() => removeExportFile(start));
  setCurrentDetails('The file has expired and was removed.');
}

function reasonOf(failure: unknown): string {
  const cause = failure instanceof ActivityFailure ? failure.cause : failure;
  return cause instanceof ApplicationFailure ? cause.message : 'The export was cancelled.';
}
