import { hashOf } from '../../../db/audit/hashing.js';
import { insertConflicts } from '../../../db/assessment/offline.queries.js';
import { deleteTask, insertTasks, tasksOfSession } from '../../../db/assessment/submissions.queries.js';
import type { TaskRecord } from '../../../db/assessment/submissions.queries.js';
import { deleteTrials, insertTrials, nextTrials } from '../../../db/assessment/trials.queries.js';
import type { StoredTrial } from '../../../db/assessment/trials.queries.js';
import { readTask, taskRows } from '../sessions/sessions-content.js';
import type { SubmittedTrial, TaskContent } from '../sessions/sessions-content.js';
import { modulesOf } from '../sessions/sessions-submit.service.js';
import type { SessionFacts } from './references.js';
import type { Tx } from '../../../db/client/database.js';
import { inTurns } from '../../util/in-turns.js';

/** A response as stored in a conflict. */
export interface KeptResponse {
  id: string;
  sessionId: string;
  task: string;
  summary: Record<string, number>;
  trials: SubmittedTrial[];
}

/**
 * Writes a conflict's stored results into a session that has none of these tasks yet. Of two results for one task the
 * first is written; the other becomes a conflict of that session.
 */
export async function writeKept(
  tx: Tx,
  session: Omit<SessionFacts, 'started_ms'> & { started_at: string },
  responses: readonly KeptResponse[],
  detectedAt: string,
): Promise<void> {
  if (responses.length === 0) return;
  const modules = await modulesOf(tx, session);
  const contents: { response: KeptResponse; content: TaskContent }[] = [];
  for (const response of responses)
    contents.push({
      response,
      content: await inTurns(readTask(response.task, response.summary, response.trials)),
    });
  const first = new Map<string, string>();
  for (const { content } of contents) if (!first.has(content.task)) first.set(content.task, content.hash);
  const written = [...first.keys()].map((task) => contents.find(({ content }) => content.task === task)!);
  // A response's id is that of its session: a second task under it is identified by its values.
  const ids = new Set<string>();
  const rows = written.map(({ response, content }) => {
    const local_id = ids.has(response.id) ? null : response.id;
    ids.add(response.id);
    return taskRows(
      content,
      { session_id: session.id, study_id: session.study_id, local_id },
      modules,
      Date.parse(detectedAt),
      Date.parse(session.started_at),
    );
  });
  await insertTasks(
    tx,
    rows.map(({ row }) => row),
  );
  await insertTrials(
    tx,
    rows.map(({ trials }) => trials),
  );
  const others = contents.filter(({ content }) => first.get(content.task) !== content.hash);
  await insertConflicts(
    tx,
    others.map(({ response, content }) => ({
      study_id: session.study_id,
      participant_id: session.participant_id,
      kind: 'response' as const,
      conflict_type: 'duplicate_response',
      resolution: 'server_wins',
      local_id: response.id,
      session_id: session.id,
      task: response.task,
      message: 'the session has other values for this task',
      local_content: { ...response },
      server_content: null,
      content_hash: hashOf([session.id, response.task, content.hash]),
    })),
  );
}

/** Removes results from a session, of one task or all, and returns them. */
export async function putAside(
  tx: Tx,
  sessionId: string,
  task?: string,
): Promise<(TaskRecord & { trials: StoredTrial[] })[]> {
  const tasks = (await tasksOfSession(tx, sessionId)).filter((one) => task === undefined || one.task === task);
  const aside: (TaskRecord & { trials: StoredTrial[] })[] = [];
  for (const each of tasks) {
    const trials: StoredTrial[] = [];
    for (
      let at = await nextTrials(tx, sessionId, null, each.task);
      at;
      at = await nextTrials(tx, sessionId, at.cursor, each.task)
    )
      trials.push(...at.trials);
    await deleteTask(tx, sessionId, each.task);
    await deleteTrials(tx, sessionId, each.task);
    aside.push({ ...each, trials });
  }
  return aside;
}
