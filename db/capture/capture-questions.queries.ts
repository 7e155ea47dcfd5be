import { raw } from 'objection';
import { CaptureQuestion } from '../models/capture.js';
import type { Tx } from '../client/database.js';

/** The longest that a requester waits for the worker; a question's row is kept longer, for look-ups. */
const ANSWER_TIMEOUT = `interval '10 minutes'`;
const TTL = `interval '1 day'`;

export interface Asked {
  studyId: string;
  userId: string;
  kind: string;
  requestId: string;
}
/** The user on whose behalf something is done; null: the service itself. */
export interface RequestedBy {
  actor_user_id: string | null;
  request_id: string | null;
}
export const NOBODY: RequestedBy = { actor_user_id: null, request_id: null };

/** Stores who is about to query a study's capture system. @returns the id that the question names */
export async function noteQuestion(tx: Tx, { studyId, userId, kind, requestId }: Asked): Promise<string> {
  await CaptureQuestion.query(tx)
    .where({ study_id: studyId })
    .where('asked_at', '<', raw(`clock_timestamp() - ${TTL}`))
    .delete();
  const { id } = await CaptureQuestion.query(tx)
    .insert({ study_id: studyId, user_id: userId, kind, request_id: requestId })
    .returning('id');
  return id;
}

/**
 * The user of this question, as the API stored it; none if the API stored nothing, or if its result was recorded
 * before. A caller that reaches Temporal can start a question, but can't write this row.
 */
export async function takeAsker(
  tx: Tx,
  { studyId, kind, id }: { studyId: string; kind: string; id: string | undefined },
): Promise<RequestedBy> {
  if (id === undefined) return NOBODY;
  const [asked] = await CaptureQuestion.query(tx)
    .whereRaw('id::text = ?', [id])
    .where({ study_id: studyId, kind })
    .whereNull('recorded_at')
    .where('asked_at', '>', raw(`clock_timestamp() - ${ANSWER_TIMEOUT}`))
    .patch({ recorded_at: raw('clock_timestamp()') })
    .returning(['user_id', 'request_id']);
  return asked ? { actor_user_id: asked.user_id, request_id: asked.request_id } : NOBODY;
}
