import { execute, query } from '../client/query.js';
import type { Tx } from '../client/database.js';

/** As long at the most an asker waits for what the worker does; a question's row is kept longer, to be looked up. */
const GOOD_FOR = `interval '10 minutes'`;
const KEPT_FOR = `interval '1 day'`;

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
  await execute(
    tx,
    `delete from capture_questions where study_id = $1 and asked_at < clock_timestamp() - ${KEPT_FOR}`,
    [studyId],
  );
  const [row] = await tx('capture_questions')
    .insert({ study_id: studyId, user_id: userId, kind, request_id: requestId })
    .returning<{ id: string }[]>('id');
  return row!.id;
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
  const rows = await query<Asker>(
    tx,
    `update capture_questions set recorded_at = clock_timestamp()
     where id::text = $1 and study_id = $2 and kind = $3 and recorded_at is null and asked_at > clock_timestamp() - ${GOOD_FOR}
     returning user_id as actor_user_id, request_id`,
    [id, studyId, kind],
  );
  return rows[0] ?? NOBODY;
}
