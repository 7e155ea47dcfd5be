import { randomUUID } from 'node:crypto';
import { ServiceError, WorkflowFailedError } from '@temporalio/client';
import { workflowMetadata } from '../../workflows/client.js';
import { QUERY_SECONDS, datacaptureQueryId, datacaptureQueryType } from '../../workflows/domain/capture/query.js';
import type { Asking, CaptureAnswer, CaptureQuestion } from '../../workflows/domain/capture/query.js';
import { noteQuestion } from '../../db/capture/capture-questions.queries.js';
import { withStudyScope } from '../../db/client/transaction.js';
import { problem } from '../http/errors.js';
import type { Dependencies } from '../dependencies.js';

/**
 * Queries a study's capture system through the worker, which alone connects to it.
 * @throws 503 when Temporal or the worker is unavailable, or does not answer within `seconds`
 */
export async function askCapture(
  services: Dependencies,
  question: CaptureQuestion,
  seconds = services.settings.REQUEST_TIMEOUT_SECONDS,
): Promise<CaptureAnswer> {
  const client = await services.temporal.client();
  const patience = new AbortController();
  const timer = setTimeout(() => patience.abort(), seconds * 1000);
  try {
    return await client.connection.withAbortSignal(patience.signal, async () => {
      const handle = await client.workflow.start<(question: CaptureQuestion) => Promise<CaptureAnswer>>(
        datacaptureQueryType,
        {
          taskQueue: services.settings.TEMPORAL_TASK_QUEUE,
          workflowId: datacaptureQueryId(randomUUID()),
          args: [question],
          workflowExecutionTimeout: '2m',
          ...workflowMetadata(`question to the capture system: ${question.kind}`, question.study_id),
        },
      );
      return handle.result();
    });
  } catch (failure) {
    if (patience.signal.aborted) throw problem('WORKER_UNAVAILABLE', { cause: failure });
    if (failure instanceof WorkflowFailedError)
      throw problem('WORKER_UNAVAILABLE', {
        detail: 'The capture system could not be asked at the moment.',
        cause: failure,
      });
    if (failure instanceof ServiceError) throw problem('TEMPORAL_UNAVAILABLE', { cause: failure });
    throw failure;
  } finally {
    clearTimeout(timer);
  }
}

/** Stores the requester before the question: the worker records the person that this row names. */
export function askingFor(
  { database }: Pick<Dependencies, 'database'>,
  kind: CaptureQuestion['kind'],
  { studyId, actor, context }: { studyId: string; actor: { id: string }; context: { requestId: string } },
): Promise<Asking> {
  return withStudyScope(database, studyId, async ({ tx }) => ({
    question_id: await noteQuestion(tx, { studyId, userId: actor.id, kind, requestId: context.requestId }),
    actor_user_id: actor.id,
    request_id: context.requestId,
  }));
}

/** Like `askCapture`; a fault of the capture system is a 400 in its own words. */
export async function askCaptureOrRefuse(
  services: Dependencies,
  question: CaptureQuestion,
): Promise<Extract<CaptureAnswer, { ok: true }>> {
  // The worker reports a slow capture system before the caller times out.
  const seconds = Math.max(services.settings.REQUEST_TIMEOUT_SECONDS, QUERY_SECONDS + 5);
  const answer = await askCapture(services, question, seconds);
  if (!answer.ok)
    throw problem('CONNECTION_FAILED', {
      detail: `Connection failed: ${answer.message}`,
      extra: { error_type: answer.error_type },
    });
  return answer;
}
