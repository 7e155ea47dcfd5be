import { WorkflowNotFoundError } from '@temporalio/client';
import { deadlineIn } from '../../workflows/client.js';
import { reanchoringProgress, studyReanchoringId } from '../../workflows/contract.js';
import type { ReanchoringProgress } from '../../workflows/contract.js';
import { readInScope } from '../../db/client/transaction.js';
import { problem } from '../http/errors.js';
import type { Dependencies } from '../dependencies.js';
import { isChangeWaiting } from '../../db/outbox/pending-work.queries.js';
import { countEnrolled } from '../../db/participants/enrolled.queries.js';

export interface ReanchoringView extends ReanchoringProgress {
  change_id: string;
  status: 'pending' | 'running' | 'completed' | 'failed';
}

const ANSWER_MS = 3_000;
/** No change has a longer id, and Temporal takes no id of any length. */
const MAX_ID = 200;

/**
 * The progress of a study's change, from its workflow.
 * @throws 404 for an unknown change (a finished one is deleted when Temporal's retention ends), 503 when Temporal or
 * the worker is unavailable
 */
export async function reanchoring(services: Dependencies, studyId: string, changeId: string): Promise<ReanchoringView> {
  if (changeId.length > MAX_ID) throw notFound();
  // The change may be delivered between the queries of Temporal and of the outbox: Temporal has it then.
  const found =
    (await started(services, studyId, changeId)) ??
    (await waiting(services, studyId, changeId)) ??
    (await started(services, studyId, changeId));
  if (!found) throw notFound();
  return found;
}

const notFound = () => problem('NOT_FOUND', { detail: 'There is no such change of the study.' });

/** The change as reported by its workflow; null if Temporal has none. */
async function started(services: Dependencies, studyId: string, changeId: string): Promise<ReanchoringView | null> {
  const client = await services.temporal.client();
  const handle = client.workflow.getHandle(studyReanchoringId(studyId, changeId));
  try {
    const { status } = await handle.describe();
    const progress = await client.withDeadline(deadlineIn(ANSWER_MS), () =>
      status.name === 'COMPLETED'
        ? (handle.result() as Promise<ReanchoringProgress>)
        : handle.query(reanchoringProgress),
    );
    return {
      change_id: changeId,
      status:
        status.name === 'COMPLETED'
          ? 'completed'
          : status.name === 'RUNNING' || status.name === 'CONTINUED_AS_NEW'
            ? 'running'
            : 'failed',
      ...progress,
    };
  } catch (fault) {
    if (!(fault instanceof WorkflowNotFoundError)) throw problem('WORKER_UNAVAILABLE', { cause: fault });
    return null;
  }
}

/** A committed change that has not reached Temporal yet; null: none. */
async function waiting(services: Dependencies, studyId: string, changeId: string): Promise<ReanchoringView | null> {
  return readInScope(services.database, studyId, async (tx) => {
    if (!(await isChangeWaiting(tx, studyId, changeId))) return null;
    const total = await countEnrolled(tx, studyId);
    return { change_id: changeId, status: 'pending' as const, seen: 0, total, moved: 0, schedules: 0 };
  });
}
