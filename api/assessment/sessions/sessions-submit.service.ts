import { nowMs } from '../../../db/client/clock.js';
import type { SessionRow } from '../../../db/assessment/sessions.queries.js';
import {
  insertTasks,
  modulesOfSession,
  modulesOfStudy,
  taskHashes,
} from '../../../db/assessment/submissions.queries.js';
import { insertTrials } from '../../../db/assessment/trials.queries.js';
import { requestPushes } from '../../../db/capture/push-requests.queries.js';
import { MAX_TRIALS, arePlaced, beganBefore } from '../../../workflows/domain/assessment/submission.js';
import type { KnownModules } from '../../../workflows/domain/assessment/submission.js';
import type { Remark } from '../../../workflows/domain/assessment/types.js';
import { invalid, problem } from '../../http/errors.js';
import type { WriteTransaction } from '../../../db/client/transaction.js';
import { refuseErased, refuseLaterTrials, sessionOpener } from './sessions-opened.js';
import { contentFaults, ofModule, readContent, spelled, taskRows } from './sessions-content.js';
import type { RawTrial, SubmittedSummaries, TaskContent } from './sessions-content.js';
import type { Tx } from '../../../db/client/database.js';
import type { RequestContext } from '../../http/request-context.js';
import { inTurns } from '../../util/in-turns.js';

export interface SubmissionBody {
  session_id: string;
  module_id?: string | null;
  task_summaries: SubmittedSummaries;
  raw_trials?: RawTrial[] | null;
}
export interface Submitted {
  session_id: string;
  status: 'accepted' | 'duplicate';
  tasks: number;
  trials: number;
  checksum: string;
  warnings: Remark[];
  quality_flags: Remark[];
}

/**
 * Stores a submission whole or not at all. Tasks already stored with the same content are skipped; if all are, nothing
 * is written and the answer is `duplicate`, also after the session's end or expiry. New results after the end are
 * accepted if they began before it.
 * @throws 409 TASK_CONFLICT, SESSION_ENDED, PARTICIPANT_ERASED or PARTICIPANT_WITHDRAWN,
 *   413 more than 50,000 trials, 422 an unknown task, EMPTY
 */
export async function submit(
  { tx, audit }: WriteTransaction,
  session: SessionRow,
  context: RequestContext,
  input: SubmissionBody,
): Promise<Submitted> {
  const trials = input.raw_trials ?? [];
  if (trials.length > MAX_TRIALS)
    throw problem('TOO_LARGE', {
      detail: `raw_trials has ${trials.length} items: at most ${MAX_TRIALS} are accepted in one submission.`,
    });
  const summaries = input.task_summaries;
  refuseEmpty(summaries, trials);
  const { tasks: sent, checksum } = await inTurns(readContent(summaries, trials));
  const modules = await modulesOf(
    tx,
    session,
    sent.map(({ task }) => ({ task, module_id: input.module_id ?? null })),
  );
  const contents =
    input.module_id == null
      ? sent.map((content) => spelled(content, modules))
      : [inModule(sent, input.module_id, modules)];
  const answer = { session_id: session.id, tasks: contents.length, trials: trials.length, checksum };
  const fresh = await newTasks(tx, session.id, contents);
  if (fresh.length === 0) return { ...answer, status: 'duplicate', warnings: [], quality_flags: [] };
  refuseErased(session);
  refuseLaterTrials(session, fresh);
  if (!takesStill(session, context, fresh))
    throw problem('SESSION_ENDED', {
      detail:
        `The session is ${session.status}: only what began before its end is accepted, until the time when it ` +
        `would have expired. Deliver later results by /api/sync/responses.`,
    });
  const now = nowMs();
  refuseFaults(summaries, trials, fresh, modules);
  const rows = fresh.map((content) =>
    taskRows(
      content,
      { session_id: session.id, study_id: session.study_id, local_id: null },
      modules,
      now,
      Date.parse(session.started_at),
    ),
  );
  await insertTasks(
    tx,
    rows.map(({ row }) => row),
  );
  await insertTrials(
    tx,
    rows.map((row) => row.trials),
  );
  // The push at the session's end did not include them.
  if (session.status === 'completed') await requestPushes(tx, [session.id]);
  audit.record({
    user_id: null,
    request_id: context.requestId,
    study_id: session.study_id,
    action: 'results_submitted',
    resource_type: 'session',
    resource_id: session.id,
    // The audit chain has the hash of every result: stored results can always be verified against it.
    metadata: {
      ...sessionOpener(session, context),
      tasks: Object.fromEntries(
        fresh.map(({ task, hash, trials: own }) => [task, { trials: own.length, sha256: hash }]),
      ),
    },
  });
  return {
    ...answer,
    status: 'accepted',
    warnings: rows.flatMap(({ remarks }) => remarks.warnings),
    quality_flags: rows.flatMap(({ remarks }) => remarks.flags),
  };
}

/**
 * Whether new results are accepted: of an active session; of a completed one, if they began before its end; of an
 * expired one, if they were in progress then. An ended session's id is shown to all readers of the study, so what was
 * recorded before the end is accepted by the id alone only for as long as the session would have lasted. Later, and of
 * a session that was off line, the device delivers it by the sync, where it logs in.
 */
function takesStill(
  { status, completed_at, expires_at }: SessionRow,
  { receivedMs: arrived }: RequestContext,
  fresh: readonly TaskContent[],
): boolean {
  if (status === 'active') return true;
  if (status === 'completed' && completed_at !== null && arrived <= Date.parse(completed_at)) return true;
  if (expires_at === null || arrived > Date.parse(expires_at)) return false;
  return (
    status === 'expired' ||
    (status === 'completed' &&
      completed_at !== null &&
      beganBefore(Date.parse(completed_at), { arrived, at: fresh.flatMap(({ at }) => at) }))
  );
}

/** The one task of a submission that names its module. @throws 422 UNKNOWN_MODULE, TASK_OF_OTHER_MODULE, ONE_TASK */
function inModule(contents: readonly TaskContent[], module_id: string, modules: KnownModules | null): TaskContent {
  const [content] = contents;
  if (contents.length !== 1)
    throw invalid('module_id', 'ONE_TASK', `is given with results of ${contents.length} tasks: a module has one`);
  const placed = ofModule(content!, module_id, modules);
  if ('code' in placed) throw invalid('module_id', placed.code, placed.message);
  return placed;
}

/**
 * Refuses a submission in which no task has a metric or a trial. Beside others, a task may have neither. @throws 422
 * EMPTY
 */
function refuseEmpty(summaries: SubmittedSummaries, trials: readonly RawTrial[]): void {
  if (trials.length > 0 || Object.values(summaries).some((summary) => Object.keys(summary ?? {}).length > 0)) return;
  const message = 'task_summaries has no metric, and raw_trials has no trial';
  throw problem('EMPTY', { detail: message, errors: [{ path: 'task_summaries', code: 'EMPTY', message }] });
}

/** The tasks that are not stored yet. @throws 409 TASK_CONFLICT naming each that is stored with other content */
async function newTasks(tx: Tx, sessionId: string, contents: readonly TaskContent[]): Promise<TaskContent[]> {
  const known = new Map((await taskHashes(tx, [sessionId])).map((row) => [row.task, row.content_hash]));
  const other = contents.filter(({ task, hash }) => known.has(task) && known.get(task) !== hash);
  if (other.length > 0) {
    throw problem('TASK_CONFLICT', {
      errors: other.map(({ task }) => ({
        path: `task_summaries.${task}`,
        code: 'TASK_CONFLICT',
        message: `the session has other data for ${task}`,
      })),
    });
  }
  return contents.filter(({ task }) => !known.has(task));
}

function refuseFaults(
  summaries: SubmittedSummaries,
  sent: readonly RawTrial[],
  contents: readonly TaskContent[],
  modules: KnownModules | null,
): void {
  // Computed only for a fault: a content's trials are those of the body.
  const place = (trial: unknown): string => `raw_trials.${sent.indexOf(trial as RawTrial)}`;
  const errors = contentFaults(contents, modules, {
    task: ({ task, trials }) =>
      Object.hasOwn(summaries, task) ? `task_summaries.${task}` : `${place(trials[0])}.task`,
    trial: place,
  });
  if (errors.length === 0) return;
  const detail = errors
    .slice(0, 3)
    .map((fault) => fault.message)
    .join('; ');
  throw problem('VALIDATION_FAILED', { detail, errors });
}

/**
 * The modules by which results of a session are known: those of its battery and, where these are not enough, of the
 * study's others: a session may have no battery, or another one by now than its device used. Null: there are none.
 */
export async function modulesOf(
  tx: Tx,
  session: { study_id: string; battery_id: number | null; battery_version: number | null },
  sent: readonly { task: string; module_id: string | null }[],
): Promise<KnownModules | null> {
  const { study_id, battery_id, battery_version } = session;
  const own =
    battery_id === null || battery_version === null ? null : await modulesOfSession(tx, battery_id, battery_version);
  if (sent.every((one) => arePlaced(one, own))) return own;
  const others = [...(own?.others ?? []), ...(await modulesOfStudy(tx, study_id, battery_id))];
  return own ? { ...own, others } : { tasks: [], names: [], ids: [], others, none: true };
}
