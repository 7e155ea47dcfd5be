import { proxyActivities } from '@temporalio/workflow';
import type { CaptureActivities } from '../../activities/capture/capture.activities.js';
import type { CaptureAnswer, CaptureQuestion } from '../domain/capture/query.js';

/** A question with a waiting caller: it is retried until the caller's timeout. */
const { queryCapture } = proxyActivities<Pick<CaptureActivities, 'queryCapture'>>({
  startToCloseTimeout: '60s',
  scheduleToCloseTimeout: '60s',
  heartbeatTimeout: '10s',
  summary: 'ask the capture system',
  retry: { initialInterval: '200ms', backoffCoefficient: 2, maximumAttempts: 3 },
});

/** Queries a study's capture system: the worker holds the connection, the API never sees the token. */
export async function datacaptureQuery(question: CaptureQuestion): Promise<CaptureAnswer> {
  return queryCapture(question);
}
