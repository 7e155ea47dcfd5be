import {
  conflictHead,
  writtenContent,
  copySession,
  isVisitOf,
  replaceSession,
  resolveConflict,
} from '../../../db/assessment/offline-conflicts.queries.js';
import type { ConflictHead, ConflictReader, ServerSide } from '../../../db/assessment/offline-conflicts.queries.js';
import { lockAnchors } from '../../../db/anchor/anchors.queries.js';
import { syncBatteries, syncParticipants, syncVisits } from '../../../db/assessment/offline.queries.js';
import type { ParticipantRecord } from '../../../db/participants/participants.queries.js';
import { requestPushes } from '../../../db/capture/push-requests.queries.js';
import { lockSession } from '../../../db/assessment/sessions.queries.js';
import type { SessionRow } from '../../../db/assessment/sessions.queries.js';
import { liveVisit } from '../../../db/assessment/sessions-visits.queries.js';
import { hashOf } from '../../../db/audit/hashing.js';
import { NOT_OF_START } from '../../../workflows/domain/assessment/sync.js';
import { visitOf } from '../../../workflows/domain/assessment/sync-visits.js';
import { datedStart, expiryOf, timeFlags } from '../../../workflows/domain/assessment/times.js';
import { dateAt } from '../../../workflows/domain/util/dates.js';
import { problem } from '../../http/errors.js';
import { JsonPieces, jsonStream } from '../../http/json/json-stream.js';
import type { JsonStream } from '../../http/json/json-stream.js';
import { auditActor } from '../../http/audit-actor.js';
import { lockForShare } from '../../participants/participants.service.js';
import type { RequestScope } from '../../http/state.js';
import { localContent, putAside, writeKept } from './sync-conflicts-results.js';
import type { KeptResponse } from './sync-conflicts-results.js';
import { participantRef, timesOf } from './references.js';
import { retell, takeBack, tellVisit } from './sync-conflicts-visit.js';
import type { Ending } from './sync-conflicts-visit.js';
import type { Tx } from '../../../db/client/database.js';

export type Keep = 'server' | 'local' | 'both';
/** Of the data that a resolution replaces, which stay in the conflict, those that are not stored there yet. */
type PutAside = ServerSide;

/**
 * Resolves a conflict for the server's side, the device's, or both. Nothing is lost: replaced data are stored with the
 * conflict; the audit log has the user and the reason.
 * @throws 404, 409 CONFLICT_RESOLVED, 409 CONFLICT for a session that another resolution has set aside, 400 if the
 *   device's content belongs to another participant
 */
export async function resolve(
  change: RequestScope,
  studyId: string,
  id: string,
  input: { keep: Keep; reason: string },
): Promise<void> {
  const { tx, audit, actor, context } = change;
  const { participant_id, session_id } = await getConflictOrThrow(tx, studyId, id);
  // The same lock order as schedules and syncs: anchor, participant, session, conflict, visit.
  await lockAnchors(tx, [participant_id]);
  const participant = await lockForShare(tx, participant_id);
  const session = session_id === null ? undefined : await lockSession(tx, session_id);
  const conflict = await getConflictOrThrow(tx, studyId, id, { lock: true });
  if (conflict.status === 'resolved')
    throw problem('CONFLICT_RESOLVED', { detail: `The conflict was resolved for ${conflict.keep} already.` });
  if (!session) throw problem('NOT_FOUND', { detail: 'The session of the conflict is gone.' });
  const server = await applyResolution(change, { conflict, session, participant }, input.keep);
  await resolveConflict(tx, id, { ...input, resolved_by_id: actor.id, server });
  audit.record({
    ...auditActor(actor, context),
    study_id: studyId,
    action: 'sync_conflict_resolved',
    resource_type: 'sync_conflict',
    resource_id: id,
    metadata: {
      conflict_type: conflict.conflict_type,
      session_id: session.id,
      task: conflict.task,
      keep: input.keep,
      reason: input.reason,
    },
  });
}

interface LockedConflict {
  conflict: ConflictHead;
  session: SessionRow;
  participant: ParticipantRecord;
}

async function applyResolution(
  change: RequestScope,
  { conflict, session, participant }: LockedConflict,
  keep: Keep,
): Promise<PutAside> {
  const { tx } = change;
  switch (conflict.conflict_type) {
    case 'duplicate_response':
      return keep === 'server'
        ? nothing()
        : keep === 'local'
          ? replaceResponse(tx, conflict, session)
          : besideResponse(tx, conflict, session);
    case 'duplicate_session':
      return keep === 'server'
        ? nothing()
        : keep === 'local'
          ? replaceWhole(change, { conflict, session, participant })
          : besideSession(change, { conflict, session, participant });
    // The server stored these beside its own; the choice is whether they count.
    default:
      if (keep === 'server') return setAside(change, session);
      await requireCounting(tx, conflict, session);
      return keep === 'local' && conflict.conflict_type === 'visit_already_completed'
        ? countsNow(change, { conflict, session, participant })
        : nothing();
  }
}
const nothing = async (): Promise<PutAside> => null;

/** @throws 409 if another conflict of the session was resolved against it: it does not count any more */
async function requireCounting(tx: Tx, conflict: ConflictHead, { status }: SessionRow): Promise<void> {
  if (status !== 'abandoned') return;
  const { status: sent } = (await localContent(tx, conflict.id)) as LocalSession;
  if (sent !== 'abandoned')
    throw problem('CONFLICT', {
      detail: 'The session was set aside when another of its conflicts was resolved: it can only be kept so (server).',
      errors: [{ path: 'keep', code: 'SESSION_SET_ASIDE', message: 'keep must be server' }],
    });
}

/** Replaces the server's values by the device's; the conflict keeps the old ones. */
async function replaceResponse(tx: Tx, conflict: ConflictHead, session: SessionRow): Promise<PutAside> {
  const kept = await putAside(tx, conflict.id, session.id, conflict.task!);
  await writeKept(tx, session, [(await localContent(tx, conflict.id)) as KeptResponse], conflict.detected_at);
  await requestPushes(tx, [session.id]);
  return kept ? null : { replaced: {} };
}

/** Stores the device's values as a second session, beside the server's. */
async function besideResponse(tx: Tx, conflict: ConflictHead, session: SessionRow): Promise<PutAside> {
  const beside = await copySession(tx, session.id, besideIds(conflict));
  const response = (await localContent(tx, conflict.id)) as KeptResponse;
  await writeKept(tx, { ...session, id: beside }, [response], conflict.detected_at);
  return { replaced: { beside_session_id: beside } };
}

const besideIds = (conflict: ConflictHead) => {
  const hash = hashOf(['beside', conflict.id]);
  return {
    local_id: `${conflict.local_id.slice(0, 150)}#${conflict.id}`,
    source: 'offline',
    content_hash: hash,
    start_hash: hash,
  };
};

interface LocalSession {
  participantId: string;
  studyId: string;
  status: string;
  startedAt: string;
  completedAt: string | null;
  visitId: string | null;
  batteryId: number | null;
  batteryVersion: number | null;
  language: string | null;
  timezone: string | null;
  deviceId: string | null;
  /** Responses that were sent with it, and refused with it. */
  responses?: KeptResponse[];
}
/** The device's session data without responses. */
const contentOfLocal = ({ responses: _, ...local }: LocalSession): Omit<LocalSession, 'responses'> => local;
const endingOf = (
  { started_at, completed_at }: Pick<Ending, 'started_at' | 'completed_at'>,
  { detected_at }: ConflictHead,
  { created_at }: ParticipantRecord,
): Ending => ({ started_at, completed_at, arrived_at: detected_at, entered_at: created_at });
const fieldsOf = (local: LocalSession, { detected_at }: ConflictHead, { created_at }: ParticipantRecord) => ({
  quality_flags: JSON.stringify(
    timeFlags(timesOf({ started_at: local.startedAt, completed_at: local.completedAt }), {
      now: Date.parse(detected_at),
      entered: Date.parse(created_at),
    }),
  ),
  status: local.status,
  started_at: local.startedAt,
  completed_at: local.completedAt,
  timezone: local.timezone,
  device_id: local.deviceId,
  ...(local.language !== null && { language: local.language }),
  ...(local.batteryVersion !== null && { battery_version: local.batteryVersion }),
});

const refused = (detail: string, code: string) =>
  problem('RULE_VIOLATED', { detail, errors: [{ path: 'keep', code, message: 'keep must be server or both' }] });

/** Replaces the server's session, and its visit's completion, by the device's. Fields that the device omits stay. */
async function replaceWhole(
  change: RequestScope,
  { conflict, session, participant }: LockedConflict,
): Promise<PutAside> {
  const { tx } = change;
  const local = (await localContent(tx, conflict.id)) as LocalSession;
  // From the time when local ids were unique in the study: no such conflict arises any more.
  if (local.participantId !== session.participant_id)
    throw refused(
      'The device’s session is of another participant: it can only be kept beside the server’s.',
      'OTHER_PARTICIPANT',
    );
  if (local.visitId !== null && !(await isVisitOf(tx, local.visitId, session.participant_id)))
    throw refused('The device’s session names a visit that the participant does not have.', 'UNKNOWN_VISIT');
  const visitId = await plannedNow(tx, local.visitId ?? session.visit_id);
  await replaceSession(tx, session.id, {
    ...fieldsOf(local, conflict, participant),
    ...(await batteryOf(tx, local, session)),
    visit_id: visitId,
    // The same duration from its start: an active session must not expire because the server's side began earlier.
    ...(session.expires_at !== null && {
      expires_at: new Date(
        expiryOf(
          Date.parse(local.startedAt),
          Math.max(0, Date.parse(session.expires_at) - Date.parse(session.started_at)),
          Date.parse(conflict.detected_at),
        ),
      ).toISOString(),
    }),
    content_hash: hashOf(contentOfLocal(local)),
    start_hash: hashOf({ ...contentOfLocal(local), ...NOT_OF_START }),
  });
  // If the device sent results, the server's belong to another session: they all go into the conflict.
  const responses = local.responses ?? [];
  if (responses.length > 0) await putAside(tx, conflict.id, session.id);
  const replaced = { ...session, ...(await batteryOf(tx, local, session)), started_at: local.startedAt };
  await writeKept(tx, replaced, responses, conflict.detected_at);
  const done = completes(local, participant);
  if (!done || visitId !== session.visit_id) await takeBack(change, session);
  if (done && visitId !== null)
    await tellVisit(change, session, visitId, endingOf(fieldsOf(local, conflict, participant), conflict, participant));
  if (responses.length > 0) await requestPushes(tx, [session.id]);
  return null;
}

/** After a withdrawal a session completes no visit, as without a conflict. */
const completes = (local: LocalSession, participant: ParticipantRecord): boolean =>
  local.completedAt !== null &&
  !(participant.withdrawn_at !== null && Date.parse(local.startedAt) > Date.parse(participant.withdrawn_at));

async function batteryOf(
  tx: Tx,
  { batteryId, batteryVersion }: LocalSession,
  session: SessionRow,
): Promise<{ battery_id: number; battery_version: number | null } | null> {
  if (batteryId === null || batteryId === session.battery_id) return null;
  const [battery] = await syncBatteries(tx, [batteryId]);
  if (battery?.study_id !== session.study_id)
    throw refused('The device’s session names a battery that the study does not have.', 'UNKNOWN_BATTERY');
  return { battery_id: batteryId, battery_version: batteryVersion ?? battery.current_version };
}

/**
 * Stores the device's session beside the server's, with its results. It gets the visit that it would have without the
 * conflict, unless that is the server's.
 */
async function besideSession(
  change: RequestScope,
  { conflict, session, participant }: LockedConflict,
): Promise<PutAside> {
  const { tx } = change;
  const local = (await localContent(tx, conflict.id)) as LocalSession;
  const found = await visitBeside(tx, local, conflict);
  const visitId = found === (await plannedNow(tx, session.visit_id)) ? null : found;
  const fields = {
    ...fieldsOf(local, conflict, participant),
    ...(await batteryOf(tx, local, session)),
    participant_id: local.participantId,
    visit_id: visitId,
    ...besideIds(conflict),
  };
  const beside = await copySession(tx, session.id, fields);
  await writeKept(tx, { ...session, ...fields, id: beside }, local.responses ?? [], conflict.detected_at);
  if (visitId !== null && completes(local, participant))
    await tellVisit(
      change,
      { id: beside, study_id: session.study_id, participant_id: local.participantId },
      visitId,
      endingOf(fields, conflict, participant),
    );
  return { added: { beside_session_id: beside } };
}

/** A visit's row in the current schedule: an older one gets no results, and nothing of it is pushed. */
async function plannedNow(tx: Tx, visitId: string | null): Promise<string | null> {
  return visitId === null ? null : ((await liveVisit(tx, visitId))?.id ?? visitId);
}

/** The session's named visit, as it is planned now, else the one whose window contains its start. */
async function visitBeside(tx: Tx, local: LocalSession, { detected_at }: ConflictHead): Promise<string | null> {
  if (local.visitId !== null)
    return (await isVisitOf(tx, local.visitId, local.participantId)) ? plannedNow(tx, local.visitId) : null;
  const [person] = await syncParticipants(tx, [participantRef(local.studyId, local.participantId)], false);
  if (!person) return null;
  const started = datedStart({ started_ms: Date.parse(local.startedAt) }, Date.parse(detected_at));
  const local_date = started === null ? '' : dateAt(started, local.timezone ?? person.zone);
  const visit = visitOf({ visit_id: null, local_date }, await syncVisits(tx, [person.id], false));
  return visit === 'unknown' ? null : (visit?.id ?? null);
}

/** Makes the device's session the one that completed the visit. */
async function countsNow(change: RequestScope, { conflict, session, participant }: LockedConflict): Promise<PutAside> {
  const before =
    session.visit_id === null || session.completed_at === null
      ? undefined
      : await retell(change, session, session.visit_id, endingOf(session, conflict, participant));
  return before ? { replaced: { visit_id: session.visit_id, ...before } } : null;
}

/** Stores the device's session without counting it. */
async function setAside(change: RequestScope, session: SessionRow): Promise<PutAside> {
  await replaceSession(change.tx, session.id, { status: 'abandoned', completed_at: null });
  await takeBack(change, session);
  return { replaced: { status: session.status, completed_at: session.completed_at } };
}

/** A conflict as it is answered to a reader: its contents are passed on as the database writes them. @throws 404 */
export async function conflictAnswer(tx: Tx, studyId: string, id: string, reader: ConflictReader): Promise<JsonStream> {
  const conflict = await getConflictOrThrow(tx, studyId, id, { reader });
  const local = await writtenContent(tx, id, 'local_content', reader);
  const server = await writtenContent(tx, id, 'server_content', reader);
  return jsonStream({
    ...conflict,
    local_content: new JsonPieces(local),
    server_content: server.length === 0 ? null : new JsonPieces(server),
  });
}

/** A conflict without its contents. @throws 404 */
export async function getConflictOrThrow(
  tx: Tx,
  studyId: string,
  id: string,
  options?: Parameters<typeof conflictHead>[3],
): Promise<ConflictHead> {
  const conflict = await conflictHead(tx, studyId, id, options);
  if (!conflict) throw problem('NOT_FOUND', { detail: 'There is no such conflict.' });
  return conflict;
}
