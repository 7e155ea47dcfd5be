import type { AuditTrail } from '../../../db/audit/audit.js';
import { participantByCode, participantById } from '../../../db/participants/participants.queries.js';
import type { ParticipantRecord } from '../../../db/participants/participants.queries.js';
import {
  currentBattery,
  insertSession,
  openVisits,
  sessionById,
  visitToStart,
} from '../../../db/assessment/sessions.queries.js';
import type { SessionRecord, StartVisit } from '../../../db/assessment/sessions.queries.js';
import { studyPhase } from '../../../db/studies/study-ended.js';
import { siteByCode, siteById, siteInReach } from '../../../db/studies/sites.queries.js';
import { tasksOfSession } from '../../../db/assessment/submissions.queries.js';
import type { TaskRecord } from '../../../db/assessment/submissions.queries.js';
import { settingFlags } from '../../../workflows/domain/assessment/times.js';
import { severalOpenVisits } from '../../../workflows/domain/assessment/sync-visits.js';
import { brokenRule, invalid, problem } from '../../http/errors.js';
import { withKnownSettings } from './device-settings.js';
import { lockForShare } from '../../participants/participants.service.js';
import type { Actor } from '../../http/access.js';
import { mayWriteSessions, requireOwn } from './sessions-caller.service.js';
import type { SessionCaller } from './sessions-caller.service.js';
import type { Tx } from '../../../db/client/database.js';
import type { RequestContext } from '../../http/request-context.js';
import { UUID } from '../../../db/client/uuid.js';

export interface StartRequest {
  participant_id: string;
  site_id?: string | null;
  language?: string | null;
  visit_id?: string | null;
  study_id?: string | null;
  battery_id?: number | null;
  timezone?: string | null;
  device_id?: string | null;
}
export interface Started {
  sessionId: string;
  expiresAt: string;
  visitId: string | null;
  batteryId: number | null;
  batteryVersion: number | null;
  warnings: { code: string; message: string; visit_ids?: string[] }[];
}
export interface Starting {
  tx: Tx;
  audit: AuditTrail;
  caller: SessionCaller;
  context: RequestContext;
  minutes: number;
}

/**
 * Starts a session, for the named visit or the participant's only open one.
 * @throws 403 SITE_NOT_ASSIGNED, 404, 409 PARTICIPANT_WITHDRAWN, VISIT_COMPLETED, VISIT_CLOSED, VISIT_NOT_OPEN, 422 a
 * code without a study, 400 an unknown site or battery
 */
export async function startSession(
  { tx, audit, caller, context, minutes }: Starting,
  contextStudy: string | undefined,
  input: StartRequest,
): Promise<Started> {
  if (input.study_id && contextStudy && input.study_id.toLowerCase() !== contextStudy)
    throw problem('CONTEXT_CONFLICT');
  const studyId = input.study_id?.toLowerCase() ?? contextStudy;
  const { id: participantId } = await participantOf(tx, input.participant_id, studyId);
  requireOwn(caller, participantId);
  const participant = await lockForShare(tx, participantId);
  if (participant.status === 'withdrawn') throw problem('PARTICIPANT_WITHDRAWN');
  const siteId = input.site_id ? await siteOf(tx, input.site_id, participant.study_id) : participant.site_id;
  // Only staff who work at another site may choose it; participants and caregivers may not.
  const elsewhere = siteId !== participant.site_id;
  if (elsewhere && (caller.participantId !== null || !(await siteInReach(tx, participant.study_id, siteId))))
    throw problem('SITE_NOT_ASSIGNED');
  const { item: known, unknown } = withKnownSettings(input);
  const { language, timezone } = known as StartRequest;
  const remarks = settingFlags(unknown);
  const open = input.visit_id ? [] : await openVisits(tx, participant.id);
  const visit = input.visit_id
    ? await namedVisit(tx, participant.id, input.visit_id)
    : open.length === 1
      ? open[0]!
      : null;
  const warnings = [
    ...(await phaseWarnings(tx, participant.study_id, caller)),
    ...(visit ? windowWarnings(visit, caller) : []),
    ...remarks,
    ...(open.length > 1 ? [severalOpenVisits(open.map(({ id }) => id))] : []),
  ];
  const battery = await batteryOf(
    tx,
    input.battery_id ?? visit?.battery_id ?? null,
    participant.study_id,
    input.battery_id != null,
  );
  const { id, expires_at } = await insertSession(tx, {
    study_id: participant.study_id,
    participant_id: participant.id,
    site_id: siteId,
    visit_id: visit?.id ?? null,
    battery_id: battery?.id ?? null,
    battery_version: battery?.version ?? null,
    language: language ?? participant.preferred_language,
    timezone: timezone ?? participant.timezone,
    quality_flags: JSON.stringify(remarks),
    device_id: input.device_id ?? null,
    started_by_id: caller.userId,
    minutes,
  });
  audit.record({
    user_id: caller.userId,
    request_id: context.requestId,
    study_id: participant.study_id,
    action: 'session_started',
    resource_type: 'session',
    resource_id: id,
    metadata: {
      participant_id: participant.id,
      visit_id: visit?.id ?? null,
      battery_id: battery?.id ?? null,
      battery_version: battery?.version ?? null,
    },
  });
  return {
    sessionId: id,
    expiresAt: expires_at,
    visitId: visit?.id ?? null,
    batteryId: battery?.id ?? null,
    batteryVersion: battery?.version ?? null,
    warnings,
  };
}

async function participantOf(tx: Tx, idOrCode: string, studyId: string | undefined): Promise<ParticipantRecord> {
  const byId = UUID.test(idOrCode) ? await participantById(tx, idOrCode) : undefined;
  if (byId && (!studyId || byId.study_id === studyId)) return byId;
  if (!studyId && !UUID.test(idOrCode))
    throw invalid(
      'study_id',
      'REQUIRED',
      'is required with a participant code: in the body, as X-Study-ID or as a query',
    );
  const byCode = studyId ? await participantByCode(tx, studyId, idOrCode) : undefined;
  if (!byCode) throw problem('NOT_FOUND', { detail: 'There is no such participant.' });
  return byCode;
}

async function siteOf(tx: Tx, idOrCode: string, studyId: string): Promise<string> {
  const site =
    (UUID.test(idOrCode) ? await siteById(tx, idOrCode) : undefined) ?? (await siteByCode(tx, studyId, idOrCode));
  if (!site || site.study_id !== studyId) throw brokenRule('site_id', 'UNKNOWN_SITE', 'is not a site of the study');
  return site.id;
}

async function namedVisit(tx: Tx, participantId: string, visitId: string): Promise<StartVisit> {
  const visit = await visitToStart(tx, participantId, visitId);
  if (!visit) throw problem('NOT_FOUND', { detail: 'The participant has no such visit.' });
  if (visit.status === 'completed') throw problem('VISIT_COMPLETED');
  if (visit.status === 'superseded' || visit.status === 'cancelled')
    throw problem('VISIT_CLOSED', { detail: `The visit is ${visit.status}.` });
  return visit;
}

/**
 * Staff may complete the data of a study that has ended or is paused and get a warning; a participant has nothing to do
 * there. What a device recorded meanwhile off line is taken: it must not be lost.
 */
async function phaseWarnings(tx: Tx, studyId: string, caller: SessionCaller): Promise<Started['warnings']> {
  const phase = await studyPhase(tx, studyId);
  if (phase === 'running') return [];
  const warning = phaseWarning[phase];
  if (caller.participantId !== null) throw problem('VISIT_NOT_OPEN', { detail: warning.message });
  return [warning];
}

const phaseWarning = {
  ended: { code: 'STUDY_ENDED', message: 'The study has ended.' },
  paused: { code: 'STUDY_PAUSED', message: 'The study is paused.' },
} as const;

/** Staff may hold a session outside the window and get a warning; a participant may not. */
function windowWarnings(visit: StartVisit, caller: SessionCaller): Started['warnings'] {
  if (visit.window_open <= visit.today && visit.today <= visit.window_close) return [];
  const message = `The visit is open from ${visit.window_open} to ${visit.window_close}; today is ${visit.today}.`;
  if (caller.participantId !== null) throw problem('VISIT_NOT_OPEN', { detail: message });
  return [{ code: 'OUTSIDE_WINDOW', message }];
}

async function batteryOf(
  tx: Tx,
  id: number | null,
  studyId: string,
  named: boolean,
): Promise<{ id: number; version: number } | undefined> {
  const battery = id === null ? undefined : await currentBattery(tx, id, studyId);
  if (named && !battery) throw brokenRule('battery_id', 'UNKNOWN_BATTERY', 'is not a battery of the study');
  return battery;
}

export async function getSessionOrThrow(tx: Tx, id: string): Promise<SessionRecord> {
  const session = await sessionById(tx, id);
  if (!session) throw problem('NOT_FOUND', { detail: 'There is no such session.' });
  return session;
}

/** A session with its tasks' results, as the reader may see it. @throws 404 */
export async function sessionDetails(
  tx: Tx,
  id: string,
  actor: Actor,
): Promise<ShownSession<SessionRecord> & { tasks: TaskRecord[] }> {
  const session = await getSessionOrThrow(tx, id);
  return { ...shownTo(actor, session), tasks: await tasksOfSession(tx, session.id) };
}

export type ShownSession<Session extends SessionRecord> = Omit<Session, 'id'> & { id: string | null };

/** An active session's id is the credential for its results: only users who may write sessions see it. */
export const shownTo = <Session extends SessionRecord>(actor: Actor, session: Session): ShownSession<Session> => ({
  ...session,
  id: session.status === 'active' && !mayWriteSessions(actor) ? null : session.id,
});
