import type { Tx } from '../../db/knex.js';
import { conflictById, copySession, replaceSession, resolveConflict, retellVisit } from '../../db/queries/offline-conflicts.js';
import type { ConflictRecord } from '../../db/queries/offline-conflicts.js';
import { requestPushes } from '../../db/queries/push-requests.js';
import { lockSession } from '../../db/queries/sessions.js';
import type { SessionRow } from '../../db/queries/sessions.js';
import { completeVisits, liveVisit } from '../../db/queries/sessions-visits.js';
import { deleteTask, insertTasks, tasksOfSession } from '../../db/queries/submissions.js';
import { deleteTrials, insertTrials, nextTrials } from '../../db/queries/trials.js';
import type { StoredTrial } from '../../db/queries/trials.js';
import { hashOf } from '../../db/hashing.js';
import { problem } from '../errors.js';
import { by } from '../record.js';
import { readTask, taskRows } from './sessions-content.js';
import type { Trial } from './sessions-content.js';
import { modulesOf } from './sessions-submit.js';
import type { Change } from './studies.js';

export type Keep = 'server' | 'local' | 'both';
/** What is put aside by a resolution; it stays in the conflict. Null: nothing is. */
type PutAside = Record<string, unknown> | null;

/**
 * Resolves a conflict for the server's side, the device's, or both. Nothing is lost: what gives way is kept with the
 * conflict, and who decided and why stands in the audit log.
 * @throws 404, 409 CONFLICT_RESOLVED, 400 where the device's content belongs to another participant
 */
export async function resolve({ tx, audit, actor, context }: Change, studyId: string, id: string, given: { keep: Keep; reason: string }): Promise<ConflictRecord> {
  const conflict = await existingConflict(tx, studyId, id, true);
  if (conflict.status === 'resolved') throw problem('CONFLICT_RESOLVED', { detail: `The conflict was resolved for ${conflict.keep} already.` });
  const session = conflict.session_id === null ? undefined : await lockSession(tx, conflict.session_id);
  if (!session) throw problem('NOT_FOUND', { detail: 'The session of the conflict is gone.' });
  const aside = await carryOut(tx, conflict, session, given.keep);
  await resolveConflict(tx, id, { ...given, resolved_by_id: actor.id, server_content: aside ?? conflict.server_content });
  audit.record({
    ...by(actor, context), study_id: studyId, action: 'sync_conflict_resolved', resource_type: 'sync_conflict', resource_id: id,
    metadata: { conflict_type: conflict.conflict_type, session_id: session.id, task: conflict.task, keep: given.keep, reason: given.reason },
  });
  return existingConflict(tx, studyId, id);
}

function carryOut(tx: Tx, conflict: ConflictRecord, session: SessionRow, keep: Keep): Promise<PutAside> {
  switch (conflict.conflict_type) {
    case 'duplicate_response': return keep === 'server' ? nothing() : keep === 'local' ? replaceResponse(tx, conflict, session) : besideResponse(tx, conflict, session);
    case 'duplicate_session': return keep === 'server' ? nothing() : keep === 'local' ? replaceWhole(tx, conflict, session) : besideSession(tx, conflict, session);
    // The server took these beside what it had; the choice is whether they count.
    case 'visit_already_completed': return keep === 'local' ? tellVisit(tx, session) : keep === 'server' ? setAside(tx, session) : nothing();
    default: return keep === 'server' ? setAside(tx, session) : nothing();
  }
}
const nothing = async (): Promise<PutAside> => null;

async function writeResponse(tx: Tx, conflict: ConflictRecord, session: SessionRow, sessionId: string): Promise<void> {
  const { task, summary, trials } = conflict.local_content as { task: string; summary: Record<string, number>; trials: Trial[] };
  const rows = taskRows(readTask(task, summary, trials), { session_id: sessionId, study_id: session.study_id, local_id: conflict.local_id }, await modulesOf(tx, session), Date.parse(conflict.detected_at));
  await insertTasks(tx, [rows.row]);
  await insertTrials(tx, [rows.trials]);
}

/** The device's values take the place of the server's, which go into the conflict. */
async function replaceResponse(tx: Tx, conflict: ConflictRecord, session: SessionRow): Promise<PutAside> {
  const task = conflict.task!;
  const before = (await tasksOfSession(tx, session.id)).find((one) => one.task === task);
  const trials: StoredTrial[] = [];
  for (let at = await nextTrials(tx, session.id, null, task); at; at = await nextTrials(tx, session.id, at.cursor, task)) trials.push(...at.trials);
  await deleteTask(tx, session.id, task);
  await deleteTrials(tx, session.id, task);
  await writeResponse(tx, conflict, session, session.id);
  await requestPushes(tx, [session.id]);
  return before ? { ...before, trials } : {};
}

/** The device's values as a session of their own, beside the server's. */
async function besideResponse(tx: Tx, conflict: ConflictRecord, session: SessionRow): Promise<PutAside> {
  const beside = await copySession(tx, session.id, besideIds(conflict));
  await writeResponse(tx, conflict, session, beside);
  return { beside_session_id: beside };
}

const besideIds = (conflict: ConflictRecord) => {
  const hash = hashOf(['beside', conflict.id]);
  return { local_id: `${conflict.local_id.slice(0, 150)}#${conflict.id}`, source: 'offline', content_hash: hash, start_hash: hash };
};

interface LocalSession { participantId: string; status: string; startedAt: string; completedAt: string | null; batteryVersion: number | null; language: string | null; timezone: string | null; deviceId: string | null }
const fieldsOf = (local: LocalSession) => ({
  status: local.status, started_at: local.startedAt, completed_at: local.completedAt, timezone: local.timezone, device_id: local.deviceId,
  ...(local.language !== null && { language: local.language }), ...(local.batteryVersion !== null && { battery_version: local.batteryVersion }),
});

async function replaceWhole(tx: Tx, conflict: ConflictRecord, session: SessionRow): Promise<PutAside> {
  const local = conflict.local_content as unknown as LocalSession;
  // Of the time when a local id was the study's: no such conflict is made any more.
  if (local.participantId !== session.participant_id) {
    throw problem('RULE_VIOLATED', { detail: 'The device’s session is of another participant: it can only be kept beside the server’s.', errors: [{ path: 'keep', code: 'OTHER_PARTICIPANT', message: 'keep must be server or both' }] });
  }
  await replaceSession(tx, session.id, { ...fieldsOf(local), content_hash: hashOf(local) });
  const live = local.completedAt !== null && session.visit_id !== null ? await liveVisit(tx, session.visit_id) : undefined;
  if (live) await completeVisits(tx, [{ id: live.id, session_id: session.id, completed_at: local.completedAt! }]);
  await requestPushes(tx, [session.id]);
  return conflict.server_content;
}

async function besideSession(tx: Tx, conflict: ConflictRecord, session: SessionRow): Promise<PutAside> {
  const local = conflict.local_content as unknown as LocalSession;
  const beside = await copySession(tx, session.id, { ...fieldsOf(local), participant_id: local.participantId, ...besideIds(conflict) });
  return { ...conflict.server_content, beside_session_id: beside };
}

/** The visit is told by the device's session from now on. */
async function tellVisit(tx: Tx, session: SessionRow): Promise<PutAside> {
  const before = session.visit_id === null ? undefined : await retellVisit(tx, session.visit_id, session.id);
  if (before) await requestPushes(tx, [session.id]);
  return before ? { visit_id: session.visit_id, ...before } : null;
}

/** The device's session is kept and does not count. */
async function setAside(tx: Tx, session: SessionRow): Promise<PutAside> {
  await replaceSession(tx, session.id, { status: 'abandoned', completed_at: null });
  return { status: session.status, completed_at: session.completed_at };
}

export async function existingConflict(tx: Tx, studyId: string, id: string, lock = false): Promise<ConflictRecord> {
  const conflict = await conflictById(tx, studyId, id, lock);
  if (!conflict) throw problem('NOT_FOUND', { detail: 'There is no such conflict.' });
  return conflict;
}
