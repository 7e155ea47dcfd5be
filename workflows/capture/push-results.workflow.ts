import {
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  condition,
  continueAsNew,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  TimeoutFailure,
  workflowInfo,
} from '@temporalio/workflow';
import type { PushActivities } from '../../activities/capture/push/push.activities.js';
import { pushNow } from '../contract.js';
import type { PushReport, PushResultsStart } from '../contract.js';
import { publishFailure, withdrawFailure } from '../util/outcome.js';
import { recordActivity } from './activity-options.js';

/**
 * Pushes one session's results until they are in the capture system or fail permanently. Each attempt is decided and
 * stored by one activity; the database has its schedule and count: the workflow keeps the timer. A signal makes it try
 * at once.
 */
export async function pushResults(start: PushResultsStart): Promise<PushReport> {
  let woken = false;
  setHandler(
    pushNow,
    () => {
      woken = true;
    },
    { description: 'tries at once instead of at the next planned time' },
  );
  const common = recordActivity(start.study_id);
  const { pushOnce } = proxyActivities<Pick<PushActivities, 'pushOnce'>>({
    ...common,
    summary: 'build the record, check it, import it',
  });
  const { failPush } = proxyActivities<Pick<PushActivities, 'failPush'>>({
    ...common,
    summary: 'record the failure',
  });
  try {
    for (;;) {
      const early = woken;
      woken = false;
      const report = await pushOnce(start, early);
      if (report.status !== 'retry') {
        if (report.status === 'failed') publishFailure(failureOf(report));
        else setCurrentDetails(`ended: ${report.status}`);
        // A signal that arrived meanwhile is handled by this run: a completed one would have to be restarted.
        if (!woken) return report;
        if (report.status === 'failed') withdrawFailure();
        continue;
      }
      setCurrentDetails(
        `waits after ${report.error_type}; tries again ${Math.round((report.wait_ms ?? 0) / 1000)} s after ` +
          'this or when it is signalled `pushNow`',
      );
      await condition(() => woken, report.wait_ms ?? 1_000, { summary: 'until the next attempt' });
      // A signalled run tries first: the next one would not know of the signal.
      if (!woken && workflowInfo().continueAsNewSuggested) await continueAsNew<typeof pushResults>(start);
    }
  } catch (failure) {
    const fault = faultOf(failure);
    if (fault === undefined) throw failure;
    // A cancelled run also ends its push.
    const report = await CancellationScope.nonCancellable(() => failPush(start, fault));
    publishFailure(report.message ? failureOf(report) : `failed: ${fault.type}: ${fault.message}`);
    return report;
  }
}

/** Why results were not pushed, and what to do. */
const failureOf = ({ error_type, message, remedy }: PushReport): string =>
  [`failed (${error_type})`, message, remedy].filter(Boolean).join('\n\n');

/** The reason as text: an activity's own, never a stack. Undefined: none (a continue-as-new). */
function faultOf(failure: unknown): { type: string; message: string } | undefined {
  if (failure instanceof Error && failure.name === 'ContinueAsNew') return undefined;
  const cause = failure instanceof ActivityFailure ? failure.cause : failure;
  if (cause instanceof ApplicationFailure) return { type: cause.type ?? 'INTERNAL', message: cause.message };
  if (cause instanceof TimeoutFailure) return { type: 'INTERNAL', message: 'An attempt did not end in time.' };
  return { type: 'CANCELLED', message: 'The push was cancelled.' };
}
