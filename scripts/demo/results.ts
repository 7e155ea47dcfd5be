import { pushResultsId } from '../../workflows/contract.js';
import { eventually } from './api.js';
import type { CaptureSystem } from './capture.js';
import { RECORDS } from './enroll.js';
import type { Enrolled } from './enroll.js';
import type { Stage } from './place.js';
import type { List, ScheduledVisit } from './records.js';
import { demand } from './telling.js';
import type { Telling } from './telling.js';

const WANTED = {
  rt_mean: '342.18',
  rt_median: '331.0',
  accuracy: '0.97',
  total_trials: '64',
  nback_mean_rt: '512.4',
  nback_accuracy: '0.80',
  nback_trials: '40',
  cognitive_results_complete: '2',
  nback_results_complete: '2',
};

/** The fourth chapter: the assessment's results are in the capture system, exactly once. */
export async function results(
  telling: Telling,
  stage: Stage,
  { baseline }: Enrolled,
  capture: CaptureSystem,
): Promise<void> {
  const {
    coordinator,
    place: { run, workflow },
    study,
  } = stage;
  await telling.step('The results of the baseline visit stand in the capture system', async (tell) => {
    const visit = await eventually('The push of the results', async () => {
      const now = await coordinator.get<ScheduledVisit & { data_sync_status: string | null; synced_at: string | null }>(
        `/api/visits/${baseline.id}`,
      );
      return now.data_sync_status === 'synced' ? now : undefined;
    });
    const path = `/api/sessions/${baseline.sessionId}/pushes`;
    const {
      items: [attempt],
      total,
    } = await coordinator.get<List<{ status: string; records_imported: number }>>(path);
    demand(
      total === 1 && attempt?.status === 'success',
      `The push took ${total} attempts, the last ${attempt?.status}.`,
    );
    const standing = capture.results(RECORDS.main, 'baseline_arm_1');
    for (const [field, value] of Object.entries(WANTED))
      demand(
        standing[field] === value,
        `In the capture system ${field} is "${standing[field] ?? ''}", not "${value}".`,
      );
    tell('pushed', `${attempt.records_imported} record, ${visit.synced_at}`);
    for (const [field, value] of Object.entries(standing)) tell(field, value);
    const { breaker, pushes } = await stage.admin.get<{
      breaker: { state: string };
      pushes: { pending: number; synced: number; failed: number };
    }>(`/api/datacapture/status/${study.id}`);
    tell(
      'status',
      `breaker ${breaker.state}; ${pushes.synced} synced, ${pushes.pending} pending, ${pushes.failed} failed`,
    );
    tell('see', `${run.api}${path}`);
    tell('see', `${capture.simulator.url}/ (as long as the demo runs)`);
    tell('Temporal', workflow(pushResultsId(baseline.sessionId)));
  });
}
