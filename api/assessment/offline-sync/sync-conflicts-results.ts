import { setImmediate as others } from 'node:timers/promises';
import { hashOf } from '../../../db/audit/hashing.js';
import { insertConflicts } from '../../../db/assessment/offline.queries.js';
import { deleteTask, insertTasks, taskHashes, tasksOfSession } from '../../../db/assessment/submissions.queries.js';
import { deleteTrials, insertTrials } from '../../../db/assessment/trials.queries.js';
import { keepResults } from '../../../db/assessment/offline-conflicts-results.queries.js';
import { writtenContent } from '../../../db/assessment/offline-conflicts.queries.js';
import { parseInSlices } from '../../http/body/json-slices.js';
import { textOfPieces } from '../../http/body/json.js';
import { jsonTexts } from '../../util/json-texts.js';
import { ofModule, readTask, spelled, taskRows } from '../sessions/sessions-content.js';
import type { SubmittedTrial, TaskContent } from '../sessions/sessions-content.js';
import { modulesOf } from '../sessions/sessions-submit.service.js';
import type { SessionFacts } from './references.js';
import type { Tx } from '../../../db/client/database.js';
import { inTurns } from '../../util/in-turns.js';
import type { KnownModules } from '../../../workflows/domain/assessment/submission.js';
import { isLong } from '../../../workflows/domain/util/length.js';

/** A response as stored in a conflict. */
export interface KeptResponse {
  id: string;
  sessionId: string;
  task: string;
  /** The module that it names. */
  moduleId?: string;
  /** The task as it was sent, if `task` is the name of its module. */
  sentTask?: string;
  summary: Record<string, number>;
  trials: readonly SubmittedTrial[];
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
  const modules = await modulesOf(
    tx,
    session,
    responses.map(({ task, sentTask = task, moduleId = null }) => ({ task: sentTask, module_id: moduleId })),
  );
  const contents: { response: KeptResponse; content: TaskContent }[] = [];
  for (const response of responses) contents.push({ response, content: await keptContent(response, modules) });
  const first = new Map<string, string>();
  for (const { content } of contents) if (!first.has(content.task)) first.set(content.task, content.hash);
  const written = [...first.keys()].map((task) => contents.find(({ content }) => content.task === task)!);
  // A response's id is that of its session: a second task under it is identified by its values.
  const ids = new Set((await taskHashes(tx, [session.id])).flatMap(({ local_id }) => local_id ?? []));
  const rows: ReturnType<typeof taskRows>[] = [];
  for (const { response, content } of written) {
    const local_id = ids.has(response.id) ? null : response.id;
    ids.add(response.id);
    const of = { session_id: session.id, study_id: session.study_id, local_id };
    rows.push(taskRows(content, of, modules, Date.parse(detectedAt), Date.parse(session.started_at)));
    if (isLong(content.trials)) await others();
  }
  await insertTasks(
    tx,
    rows.map(({ row }) => row),
  );
  await insertTrials(
    tx,
    rows.map(({ trials }) => trials),
  );
  const further = contents.filter(({ content }) => first.get(content.task) !== content.hash);
  const texts = await jsonTexts(further.map(({ response }) => response));
  await insertConflicts(
    tx,
    further.map(({ response, content }, i) => ({
      study_id: session.study_id,
      participant_id: session.participant_id,
      kind: 'response' as const,
      conflict_type: 'duplicate_response',
      resolution: 'server_wins',
      local_id: response.id,
      session_id: session.id,
      task: content.task,
      message: 'the session has other values for this task',
      local_content: texts[i]!,
      server_content: null,
      content_hash: hashOf([session.id, response.task, content.hash]),
    })),
  );
}

/** The results as they came, under the name of their module, if the session's battery has it. */
async function keptContent(response: KeptResponse, modules: KnownModules | null): Promise<TaskContent> {
  const { task, sentTask = task, moduleId, summary, trials } = response;
  const content = await inTurns(readTask(sentTask, summary, trials));
  const placed = moduleId === undefined ? spelled(content, modules) : ofModule(content, moduleId, modules);
  return 'code' in placed ? { ...content, task } : placed;
}

/**
 * Removes results from a session, of one task or all, and keeps them in the conflict.
 * @returns whether there were any
 */
export async function putAside(tx: Tx, conflictId: string, sessionId: string, task?: string): Promise<boolean> {
  const tasks = (await tasksOfSession(tx, sessionId)).filter((one) => task === undefined || one.task === task);
  if (tasks.length === 0) return false;
  await keepResults(tx, conflictId, sessionId, tasks, task === undefined ? 'tasks' : 'content');
  for (const each of tasks) {
    await deleteTask(tx, sessionId, each.task);
    await deleteTrials(tx, sessionId, each.task);
  }
  return true;
}

/** What the device sent, parsed with other requests in between. */
export const localContent = async (tx: Tx, conflictId: string): Promise<unknown> =>
  parseInSlices(await textOfPieces(await writtenContent(tx, conflictId, 'local_content')));
