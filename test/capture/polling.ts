import { setTimeout as sleep } from 'node:timers/promises';
import { ScheduleNotFoundError } from '@temporalio/client';
import { datacapturePollId } from '../../workflows/contract.js';
import { until } from '../support/service.js';
import type { TemporalAccess } from '../support/temporal.js';
import { syncReport } from './support.js';
import type { CaptureStudy, SyncReport } from './support.js';

/** Minutes between two polls, as the schedule has it; 0: there is none. */
async function pollInterval(temporal: TemporalAccess, studyId: string): Promise<number> {
  try {
    return (
      (await temporal.client.schedule.getHandle(datacapturePollId(studyId)).describe()).spec.intervals![0]!.every /
      60_000
    );
  } catch (fault) {
    if (fault instanceof ScheduleNotFoundError) return 0;
    throw fault;
  }
}

export const pollBecomes = (temporal: TemporalAccess, studyId: string, minutes: number) =>
  until(async () => (await pollInterval(temporal, studyId)) === minutes, { what: `a poll every ${minutes} minutes` });

/** Has the schedule run now; answers the report of the reading after `known` others. */
export async function polled(temporal: TemporalAccess, study: CaptureStudy, known: number): Promise<SyncReport> {
  await pollBecomes(temporal, study.id, 60);
  const schedule = temporal.client.schedule.getHandle(datacapturePollId(study.id));
  // One that is asked for while the run before it still closes is left out: two are never at it.
  await until(async () => (await schedule.describe()).info.runningActions.length === 0, {
    what: 'the poll before to be over',
  });
  // A run is named by its second: a second one within it would be left out.
  await sleep(1_100);
  await schedule.trigger();
  return until(
    async () => {
      const { body } = await study.stage.call<{ items: { id: string; status: string }[]; total: number }>(
        'GET',
        `/api/studies/${study.id}/datacapture/syncs`,
      );
      return body.total > known && body.items[0]!.status !== 'running'
        ? syncReport(study, body.items[0]!.id)
        : undefined;
    },
    { timeout: 60_000, interval: 200, what: 'the poll' },
  );
}
