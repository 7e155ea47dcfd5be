import { continueAsNew, proxyActivities, setCurrentDetails, setHandler, workflowInfo } from '@temporalio/workflow';
import type { AnchorActivities } from '../../activities/index.js';
import type { ReanchoringChange } from '../../activities/anchor/reanchor.js';
import { reanchoringProgress } from '../contract.js';
import type { ReanchoringProgress } from '../contract.js';

const { reanchorBatch, countParticipants } = proxyActivities<AnchorActivities>({
  // It sends a heartbeat for each chunk of a batch.
  startToCloseTimeout: '5m',
  heartbeatTimeout: '45s',
  retry: { initialInterval: '100ms', backoffCoefficient: 2, maximumInterval: '10s' },
});

/** `change_id`: runs that began without it end without it. */
export interface StudyReanchoringStart extends ReanchoringChange {
  change_id?: string;
  progress?: { after: string; seen: number; moved: number; schedules: number };
}

const BATCH = 1_000;
const BEFORE_ALL = '00000000-0000-0000-0000-000000000000';

/** Applies a change of a whole study (policy, window, mapping or calendar) to its participants, in batches. */
export async function studyReanchoring(start: StudyReanchoringStart): Promise<ReanchoringProgress> {
  const { progress, change_id, ...change } = start;
  let { after, seen, moved, schedules } = progress ?? { after: BEFORE_ALL, seen: 0, moved: 0, schedules: 0 };
  let total = seen;
  setHandler(reanchoringProgress, () => ({ seen, total: Math.max(seen, total), moved, schedules }), {
    description: 'How far the change has got',
  });
  total = await countParticipants(change.study_id);
  for (;;) {
    setCurrentDetails(
      `${change.kind} changed: ${seen} of ${total} participants, ${moved} dates moved, ${schedules} schedules made`,
    );
    const batch = await reanchorBatch({ change, after, size: BATCH, ...(change_id !== undefined && { change_id }) });
    // Some were enrolled or have withdrawn meanwhile. A change that is not applied has seen nobody.
    if (batch.last === null) return { seen, total: seen > 0 ? seen : total, moved, schedules };
    after = batch.last;
    seen += batch.seen;
    moved += batch.moved;
    schedules += batch.schedules;
    if (workflowInfo().continueAsNewSuggested)
      await continueAsNew<typeof studyReanchoring>({
        ...change,
        ...(change_id !== undefined && { change_id }),
        progress: { after, seen, moved, schedules },
      });
  }
}
