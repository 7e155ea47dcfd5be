import { Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { nowMs } from '../../db/client/clock.js';
import { withStudyScope } from '../../db/client/transaction.js';
import { noteConnection } from '../../db/capture/datacapture-configs.queries.js';
import type { CaptureDeps } from './deps.js';
import { attemptFailure, CaptureFailure, defaultLimits, TriggerRefused } from './client/failure.js';

const BEAT_MS = 3_000;

/**
 * Runs one attempt of an activity: sends heartbeats, so that Temporal notices a dead worker within seconds, and
 * converts errors into Temporal's handling (activities/capture/client/failure.ts). If the capture system asks to be
 * called later, that becomes the state of the connection.
 */
export async function withRetryLimits<T>(
  deps: CaptureDeps,
  ids: { study_id: string } & Record<string, string>,
  work: () => Promise<T>,
): Promise<T> {
  const context = Context.current();
  // Not at once: most attempts end before the first heartbeat, and each one costs the server a write.
  const beat = setInterval(() => context.heartbeat(), BEAT_MS);
  try {
    return await work();
  } catch (thrown) {
    const { info } = context;
    const failure = attemptFailure(
      thrown,
      { number: info.attempt, ageMs: nowMs() - info.scheduledTimestampMs },
      { ...defaultLimits, ...deps.limits },
    );
    const foreseen =
      thrown instanceof CaptureFailure || thrown instanceof TriggerRefused || thrown instanceof ApplicationFailure;
    if (thrown instanceof CaptureFailure && thrown.limitedMs !== undefined)
      await withStudyScope(deps.database, ids.study_id, ({ tx }) => noteConnection(tx, ids.study_id, thrown.message));
    if (failure.type !== 'RECORD_BUSY' && !(thrown instanceof CaptureFailure && thrown.unasked)) {
      deps.log[foreseen ? 'warn' : 'error'](
        {
          ...ids,
          activity: info.activityType,
          attempt: info.attempt,
          reason: thrown instanceof CaptureFailure ? thrown.inShort : failure.message,
          ...(!foreseen && { err: thrown }),
        },
        'capture activity failed',
      );
    }
    throw failure;
  } finally {
    clearInterval(beat);
  }
}
