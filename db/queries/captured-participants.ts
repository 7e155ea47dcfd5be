import type { Tx } from '../knex.js';
import { prepared } from '../prepared.js';

/** Of a participant, what the capture system may change. */
export interface CapturedColumns {
  participant_code?: string;
  site_id?: string;
  preferred_language?: string;
  email?: string;
  phone?: string;
  timezone?: string;
  date_of_birth?: string;
  arm?: string;
}
export type CapturedRow = Required<{ [K in keyof CapturedColumns]: string | null }> & { id: string; status: 'enrolled' | 'withdrawn' };

/** The participant of a record (trigger rule 5), locked, so that what is compared is what is changed. */
export async function lockByExternalId(tx: Tx, studyId: string, record: string): Promise<CapturedRow | undefined> {
  const [row] = await prepared<CapturedRow>(tx,
    `select id, status, participant_code, site_id, preferred_language, email, phone, timezone, date_of_birth, arm
       from participants where study_id = $1 and external_id = $2 for update`, [studyId, record]);
  return row;
}

export async function recordHasParticipant(tx: Tx, studyId: string, record: string): Promise<boolean> {
  return (await prepared(tx, 'select 1 from participants where study_id = $1 and external_id = $2', [studyId, record])).length > 0;
}

/** A study's sites by code. */
export async function sitesOf(tx: Tx, studyId: string): Promise<{ id: string; site_code: string }[]> {
  return tx('sites').where({ study_id: studyId }).orderBy('site_code').select('id', 'site_code');
}

/** Enrolls the participant of a record, with the anchor row that everyone has from the start (unset, version 1). */
export async function insertCaptured(tx: Tx, studyId: string, record: string, columns: CapturedColumns & { participant_code: string }): Promise<string> {
  const [row] = await prepared<{ id: string }>(tx,
    `insert into participants (study_id, external_id, participant_code, site_id, preferred_language, email, phone, timezone, date_of_birth, arm)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) returning id`,
    [studyId, record, columns.participant_code, ...optional.map((name) => columns[name] ?? null)]);
  await prepared(tx, 'insert into anchor_dates (participant_id, study_id) values ($1, $2)', [row!.id, studyId]);
  return row!.id;
}
const optional = ['site_id', 'preferred_language', 'email', 'phone', 'timezone', 'date_of_birth', 'arm'] as const;

export async function updateCaptured(tx: Tx, id: string, columns: CapturedColumns): Promise<void> {
  await tx('participants').where({ id }).update(columns);
}

export interface CaptureForm { id: string; status: 'draft' | 'complete' | 'signed' | 'locked'; items: Record<string, unknown> }

/** The facts that came from the capture system, as one form of the participant. */
export async function findCaptureForm(tx: Tx, participantId: string, formOid: string): Promise<CaptureForm | undefined> {
  return tx('form_instances').where({ participant_id: participantId, form_oid: formOid, origin: 'datacapture' }).first('id', 'status', 'items');
}

export async function insertCaptureForm(tx: Tx, studyId: string, participantId: string, formOid: string, form: Omit<CaptureForm, 'id'>): Promise<void> {
  await prepared(tx, `insert into form_instances (study_id, participant_id, form_oid, origin, status, items) values ($1, $2, $3, 'datacapture', $4, $5)`,
    [studyId, participantId, formOid, form.status, JSON.stringify(form.items)]);
}

export async function updateCaptureForm(tx: Tx, form: CaptureForm): Promise<void> {
  await tx('form_instances').where({ id: form.id }).update({ status: form.status, items: JSON.stringify(form.items) });
}

/** The enrollment policy that holds in the study; null when it has none. */
export async function currentPolicy(tx: Tx, studyId: string): Promise<unknown> {
  const [row] = await prepared<{ policy: unknown }>(tx,
    `select coalesce(p.policy, s.config -> 'enrollment_date_policy') as policy
       from studies s left join enrollment_policies p on p.study_id = s.id and p.policy_version = s.policy_version
      where s.id = $1`, [studyId]);
  return row?.policy ?? null;
}

/**
 * Sees to it that a new participant's workflow runs, also when the trigger that made the participant never gets to
 * its evaluation, which starts it sooner: this message is for later, and taken back when it is not needed.
 */
export async function startParticipantLater(tx: Tx, studyId: string, participantId: string, siteId: string | null, seconds: number): Promise<void> {
  await prepared(tx,
    `insert into outbox (topic, study_id, subject, payload, available_at)
     values ('participant-start', $1, $2, $3, clock_timestamp() + make_interval(secs => $4))`,
    [studyId, participantId, JSON.stringify({ site_id: siteId }), seconds]);
}

export async function participantStarted(tx: Tx, participantId: string): Promise<void> {
  await prepared(tx, `delete from outbox where topic = 'participant-start' and subject = $1 and available_at > clock_timestamp()`, [participantId]);
}

/**
 * Tells the study's active coordinators, those of the participant's site where they are assigned to sites, that a
 * trigger brought another date for a finalized anchor. Told once for each trigger.
 */
export async function tellCoordinators(tx: Tx, studyId: string, participantId: string, eventId: string): Promise<void> {
  await tx.raw(
    `insert into notifications (study_id, participant_id, user_id, subject_id, kind, channel, dedupe_key)
     select p.study_id, p.id, u.id, ?::uuid, 'trigger_override_required', 'email', 'trigger-override/' || ? || '/' || u.id
       from participants p
       join user_studies us on us.study_id = p.study_id
       join users u on u.id = us.user_id and u.role = 'coordinator' and u.status = 'active'
      where p.study_id = ? and p.id = ?
        and (not exists (select from user_sites x join sites s on s.id = x.site_id where x.user_id = u.id and s.study_id = p.study_id)
             or exists (select from user_sites x where x.user_id = u.id and x.site_id = p.site_id))
     on conflict (dedupe_key) do nothing`, [eventId, eventId, studyId, participantId]);
}
