import { proxyActivities } from '@temporalio/workflow';
import type { CaptureActivities } from '../../activities/capture/capture.activities.js';
import type { CaptureAnswer, CaptureQuestion } from '../domain/capture/query.js';

/** A question that somebody waits for: one attempt after another for as long as the caller has patience. */
const { queryCapture } = proxyActivities<Pick<CaptureActivities, 'queryCapture'>>({
  startToCloseTimeout: '60s',
  scheduleToCloseTimeout: '60s',
  heartbeatTimeout: '10s',
  summary: 'ask the capture system',
  retry: { initialInterval: '200ms', backoffCoefficient: 2, maximumAttempts: 3 },
});

/** Asks a study's capture system: the worker holds the connection, the API never sees the token. */
export async function datacaptureQuery(question: CaptureQuestion): Promise<CaptureAnswer> {
  return queryCapture(question);
}
