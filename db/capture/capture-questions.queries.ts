import { raw } from 'objection';
import { CaptureQuestion } from '../models/capture.js';
import type { Tx } from '../client/database.js';

/** As long at the most an asker waits for what the worker does; a question's row is kept longer, to be looked up. */
const ANSWER_TIMEOUT = `interval '10 minutes'`;
const TTL = `interval '1 day'`;

export interface Asked {
  studyId: string;
  userId: string;
  kind: string;
  requestId: string;
}
/** On whose behalf something is done; nobody's: the service's own. */
export interface Asker {
  actor_user_id: string | null;
  request_id: string | null;
}
export const NOBODY: Asker = { actor_user_id: null, request_id: null };

/** Notes who is about to ask a study's capture system. @returns the id that the question names */
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
 * Whose question this is, as the API noted it; nobody's where it did not, or where what came of it was recorded before.
 * A caller that reaches Temporal can start a question, but can't write this row.
 */
export async function takeAsker(
  tx: Tx,
  { studyId, kind, id }: { studyId: string; kind: string; id: string | undefined },
): Promise<Asker> {
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
