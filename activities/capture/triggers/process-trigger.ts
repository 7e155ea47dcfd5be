import { readAgain, releaseRecord } from '../../../db/capture/datacapture-records.queries.js';
import { withStudyScope } from '../../../db/client/transaction.js';
import type { DatacaptureTriggerStart } from '../../../workflows/contract.js';
import { TriggerRefused } from '../client/failure.js';
import type { CaptureDeps } from '../deps.js';
import { finishTrigger } from './complete-trigger.js';
import type { CompletedTrigger, TriggerReport } from './complete-trigger.js';
import { openTrigger } from './open-trigger.js';
import { readRecord } from './read-record.js';
import { writeRecord, writeStatements } from './write-record.js';

/**
 * Processes a trigger: claim the record, read it from the capture system, write its data for the participant, have the
 * anchor evaluated, end the event. The trigger holds the record until the end, so that triggers of one record run one
 * after the other. Each step may be retried; the progress is in the database.
 */
export function processTrigger(deps: CaptureDeps, start: DatacaptureTriggerStart): Promise<TriggerReport> {
  // An attempt that Temporal timed out may still get its answer: the next one waits for it as well.
  const before = running.get(start.event_id);
  if (before) return before;
  const attempt = attemptTrigger(deps, start).finally(() => running.delete(start.event_id));
  running.set(start.event_id, attempt);
  return attempt;
}

/** Running attempts of this process, by event. */
const running = new Map<string, Promise<TriggerReport>>();

async function attemptTrigger(deps: CaptureDeps, start: DatacaptureTriggerStart): Promise<TriggerReport> {
  const opened = await openTrigger(deps, start);
  if ('ended' in opened) return opened.ended;
  const { event } = opened;
  let written: CompletedTrigger | TriggerReport;
  try {
    const read = await readRecord(deps, opened);
    written = await withStudyScope(
      deps.database,
      event.study_id,
      (work, rows) => writeRecord(work, { ...opened, ...read }, rows),
      'one',
      writeStatements(event, read.record, deps.settings.WEBHOOK_DEDUPE_HOURS),
    );
  } catch (failure) {
    await withStudyScope(deps.database, event.study_id, async ({ tx }) => {
      // The token may not see it now, and may later, when it does not change any more: a poll reads it then.
      if (failure instanceof TriggerRefused) await readAgain(tx, event.study_id, [event.record]);
      await releaseRecord(tx, event.study_id, event.record, event.id);
    });
    throw failure;
  }
  return 'status' in written ? written : finishTrigger(deps, event, written);
}
