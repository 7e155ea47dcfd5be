import type { Statement } from '../client/one-trip.js';
import { putOutbox } from '../outbox/outbox.js';
import { prepared, query } from '../client/query.js';
import { hasEnded } from '../studies/study-ended.js';
import { carriedTrace } from '../client/trace-context.js';
import type { Tx } from '../client/database.js';

/** The columns of a participant that the capture system may change. */
export interface CapturedColumns {
  participant_code?: string;
  site_id?: string;
  preferred_language?: string;
  email?: string;
  phone?: string;
  timezone?: string;
  date_of_birth?: string;
  arm?: string;
  /** The arm's number in the capture system. */
  datacapture_arm?: number;
}
export type CapturedRow = Required<{ [K in keyof CapturedColumns]: CapturedColumns[K] | null }> & {
  id: string;
  external_id: string;
  status: 'enrolled' | 'withdrawn';
  /** Its identity was erased. */
  erased: boolean;
};

// A decision that holds the anchor adds rows of the participant: it does not wait for a capture. One participant is
// queried by a single value: a statement with an array is planned again every time (as in facts.ts).
const locking = (whose: string) => `
select id, external_id, status, participant_code, site_id, preferred_language, email, phone, timezone, date_of_birth,
  arm, datacapture_arm, erased_at is not null as erased
  from participants where study_id = $1 and external_id ${whose} order by id for no key update`;
const LOCK_ONE = locking('= $2'),
  LOCK_MANY = locking('= any($2::text[])');

/**
 * The participants of records, locked, so that the compared rows are the changed ones. Queries for many records are
 * planned each time: a sync fills a study that has no statistics yet, and a cached plan compares each participant with
 * each record in a nested loop.
 */
export async function lockByExternalId(
  tx: Tx,
  studyId: string,
  records: readonly string[],
): Promise<Map<string, CapturedRow>> {
  const rows =
    records.length === 1
      ? await prepared<CapturedRow>(tx, LOCK_ONE, [studyId, records[0]])
      : await query<CapturedRow>(tx, LOCK_MANY, [studyId, [...records]]);
  return new Map(rows.map((row) => [row.external_id, row]));
}

/**
 * Locks the anchors of the participants of records; the participants are locked afterwards. Decisions and
 * reinstatements lock the anchor first, too. @returns whether there are any
 */
export async function lockAnchorsOfRecords(tx: Tx, studyId: string, records: readonly string[]): Promise<boolean> {
  if (records.length === 0) return false;
  const held = await query(
    tx,
    `select 1 from anchor_dates where participant_id in (select id from participants
      where study_id = $1 and external_id = any($2::text[]))
     order by participant_id for update`,
    [studyId, [...records]],
  );
  return held.length > 0;
}

/** Returns a row if the record has a participant. */
export const recordHasParticipant = (studyId: string, record: string): Statement => ({
  sql: 'select 1 from participants where study_id = $1 and external_id = $2',
  values: [studyId, record],
});

/** A participant whose external_id differs from the record's name only in cases. */
export interface OtherSpelling {
  id: string;
  external_id: string;
  record: string;
}

/**
 * Those of records that no participant has by name: a person entered the record id, in cases of their own. It goes
 * through the study's participants (row-level security keeps `folded` from an index): only new records are asked for.
 */
export async function otherSpellings(tx: Tx, studyId: string, records: readonly string[]): Promise<OtherSpelling[]> {
  if (records.length === 0) return [];
  const rows = await query<{ id: string; external_id: string }>(
    tx,
    `select id, external_id from participants where study_id = $1
      and folded(external_id) in (select folded(t) from unnest($2::text[]) t) order by id`,
    [studyId, [...records]],
  );
  return records.flatMap((record) => {
    const [only, ...others] = rows.filter(({ external_id }) => sameName(external_id, record));
    return only && others.length === 0 && only.external_id !== record ? [{ ...only, record }] : [];
  });
}

const sameName = (a: string, b: string): boolean => nameOf(a) === nameOf(b);
const nameOf = (record: string): string => record.normalize('NFC').toLowerCase();

/** Gives participants the capture system's spelling of their record. Their anchors are locked first. */
export async function adoptSpelling(tx: Tx, studyId: string, spelled: readonly OtherSpelling[]): Promise<void> {
  await lockAnchorsOfRecords(
    tx,
    studyId,
    spelled.map(({ external_id }) => external_id),
  );
  await query(
    tx,
    `update participants p set external_id = w.record from jsonb_to_recordset($2::jsonb) as w (id uuid, record text)
      where p.study_id = $1 and p.id = w.id`,
    [studyId, JSON.stringify(spelled)],
  );
}

/** The participant codes of these that are taken in the study. */
export async function takenCodes(tx: Tx, studyId: string, codes: readonly string[]): Promise<Set<string>> {
  const rows = await prepared<{ participant_code: string }>(
    tx,
    'select participant_code from participants where study_id = $1 and participant_code = any($2)',
    [studyId, [...codes]],
  );
  return new Set(rows.map((row) => row.participant_code));
}

export interface SiteRow {
  id: string;
  site_code: string;
  /** Nobody is enrolled there any more. */
  closed?: boolean;
}
/** A study's sites by code. */
export async function sitesOf(tx: Tx, studyId: string): Promise<SiteRow[]> {
  return prepared<SiteRow>(
    tx,
    `select id, site_code, status = 'inactive' as closed from sites where study_id = $1 order by site_code`,
    [studyId],
  );
}

/** The codes that a study's sites had before they were renamed, as the audit log has them; the last one first. */
export async function formerCodesOf(tx: Tx, studyId: string): Promise<{ id: string; site_code: string }[]> {
  return prepared<{ id: string; site_code: string }>(
    tx,
    `select resource_id as id, audit_metadata ->> 'site_code_before' as site_code from audit_log
      where study_id = $1 and resource_type = 'site' and action = 'site_changed'
        and audit_metadata ->> 'site_code_before' is not null order by seq desc`,
    [studyId],
  );
}

/** Creates a site, or finds the one that was created concurrently. @returns its id and whether it is new */
export async function makeSite(tx: Tx, studyId: string, code: string): Promise<{ id: string; made: boolean }> {
  const [made] = await prepared<{ id: string }>(
    tx,
    `insert into sites (study_id, site_code, name) values ($1, $2, $2) on conflict (study_id, site_code) do nothing
      returning id`,
    [studyId, code],
  );
  if (made) return { id: made.id, made: true };
  const [found] = await prepared<{ id: string }>(tx, 'select id from sites where study_id = $1 and site_code = $2', [
    studyId,
    code,
  ]);
  return { id: found!.id, made: false };
}

/** A participant built from a record, with the form that stores its facts. */
export interface NewCaptured extends CapturedColumns {
  record: string;
  participant_code: string;
  form_status: string;
  items: Record<string, string>;
}

/**
 * Inserts participant, form, and the low-priority message that starts the participant's workflow. The first decision is
 * made together with the participant, and stores the anchor (`decideBatch`): nothing waits for the workflow.
 */
const ENROLL = `
with wanted as materialized (
  select * from jsonb_to_recordset($2::jsonb) as w (record text, participant_code text, site_id uuid,
    preferred_language text, email text, phone text,
    timezone text, date_of_birth date, arm text, datacapture_arm integer, form_status text, items jsonb)
), made as (
  insert into participants (study_id, external_id, participant_code, site_id, preferred_language, email, phone,
    timezone, date_of_birth, arm, datacapture_arm)
  select $1, record, participant_code, site_id, preferred_language, email, phone, timezone, date_of_birth, arm,
    datacapture_arm from wanted
  on conflict do nothing returning id, external_id, site_id
), forms as (
  insert into form_instances (study_id, participant_id, form_oid, origin, status, items)
  select $1, m.id, $3, 'datacapture', w.form_status, w.items from made m join wanted w on w.record = m.external_id
), starts as (
  insert into outbox (topic, study_id, subject, payload, patient) select 'participant-start', $1, id::text,
    jsonb_build_object('site_id', site_id) || $4::jsonb, true from made
)
select id, external_id from made`;

/**
 * Enrolls the participants of records. @returns their ids by record; a missing one had a code or record that is taken.
 */
export async function enrollCaptured(
  tx: Tx,
  studyId: string,
  formOid: string,
  rows: readonly NewCaptured[],
): Promise<Map<string, string>> {
  if (rows.length === 0) return new Map();
  const made = await prepared<{ id: string; external_id: string }>(tx, ENROLL, [
    studyId,
    JSON.stringify(rows),
    formOid,
    JSON.stringify(carriedTrace()),
  ]);
  return new Map(made.map((row) => [row.external_id, row.id]));
}

const UPDATE = `
update participants p set
  participant_code = coalesce(w.participant_code, p.participant_code), site_id = coalesce(w.site_id, p.site_id),
    preferred_language = coalesce(w.preferred_language, p.preferred_language),
  email = coalesce(w.email, p.email), phone = coalesce(w.phone, p.phone), timezone = coalesce(w.timezone, p.timezone),
  date_of_birth = coalesce(w.date_of_birth, p.date_of_birth), arm = coalesce(w.arm, p.arm),
  datacapture_arm = coalesce(w.datacapture_arm, p.datacapture_arm)
from jsonb_to_recordset($1::jsonb) as w (id uuid, participant_code text, site_id uuid, preferred_language text,
  email text, phone text, timezone text, date_of_birth date, arm text, datacapture_arm integer)
where p.id = any($2) and p.id = w.id`;

/** Updates participants; omitted columns stay (nothing is ever emptied). */
export async function updateCaptured(tx: Tx, rows: readonly ({ id: string } & CapturedColumns)[]): Promise<void> {
  if (rows.length > 0) await prepared(tx, UPDATE, [JSON.stringify(rows), rows.map(({ id }) => id)]);
}

export interface CaptureForm {
  id: string;
  participant_id: string;
  status: 'draft' | 'complete' | 'signed' | 'locked';
  items: Record<string, unknown>;
}

/**
 * The facts from the capture system, as one form of each participant, locked: a form is signed before they are written,
 * and stays as it was signed, or after it.
 */
export async function captureForms(
  tx: Tx,
  participantIds: readonly string[],
  formOid: string,
): Promise<Map<string, CaptureForm>> {
  if (participantIds.length === 0) return new Map();
  const rows = await prepared<CaptureForm>(
    tx,
    `select id, participant_id, status, items from form_instances where participant_id = any($1) and form_oid = $2
      and origin = 'datacapture' order by created_at desc for no key update`,
    [[...participantIds], formOid],
  );
  return new Map(rows.map((row) => [row.participant_id, row]));
}

export interface CaptureFormWrite {
  id?: string;
  participant_id: string;
  status: string;
  items: Record<string, unknown>;
}
const WRITE_FORMS = `
with wanted as materialized (
  select * from jsonb_to_recordset($3::jsonb) as w (id uuid, participant_id uuid, status text, items jsonb)
), changed as (
  update form_instances f set status = w.status, items = w.items from wanted w where f.id = any($4) and f.id = w.id
)
insert into form_instances (study_id, participant_id, form_oid, origin, status, items)
select $1, participant_id, $2, 'datacapture', status, items from wanted where id is null`;

/** Writes forms: updates those with an id, inserts the others. */
export async function writeCaptureForms(
  tx: Tx,
  studyId: string,
  formOid: string,
  forms: readonly CaptureFormWrite[],
): Promise<void> {
  if (forms.length > 0)
    await prepared(tx, WRITE_FORMS, [studyId, formOid, JSON.stringify(forms), forms.flatMap(({ id }) => id ?? [])]);
}

const POLICY = `
select coalesce(p.policy, s.config -> 'enrollment_date_policy') as policy,
    ${hasEnded('s')} as closed
  from studies s left join enrollment_policies p on p.study_id = s.id and p.policy_version = s.policy_version
 where s.id = $1`;
export interface PolicyOf {
  policy: unknown;
  /** The study is completed or archived: nobody is enrolled any more. */
  closed: boolean;
}
/** Statement for the study's current enrollment policy (null when it has none), and whether it enrolls. */
export const policyStatement = (studyId: string): Statement => ({ sql: POLICY, values: [studyId] });

/** The study's current enrollment policy, and whether it enrolls. */
export async function currentPolicy(tx: Tx, studyId: string): Promise<PolicyOf> {
  const [row] = await prepared<PolicyOf>(tx, POLICY, [studyId]);
  return row ?? { policy: null, closed: false };
}

/** The participant's workflow was started by a message that it answered: a pending start has nothing to do. */
export async function participantStarted(tx: Tx, participantId: string): Promise<void> {
  await prepared(tx, `delete from outbox where topic = 'participant-start' and subject = $1 and patient`, [
    participantId,
  ]);
}

/**
 * Notifies the study's active coordinators, for restricted ones those of the participant's site, that the capture
 * system sent another date for a finalized anchor: one mail to each, sent by the message. Once for each cause: a
 * trigger, or a date that a sync found.
 */
export async function notifyCoordinators(
  tx: Tx,
  studyId: string,
  participantId: string,
  cause: { id: string; key: string },
): Promise<void> {
  const rows = await query<{ id: string }>(
    tx,
    `insert into notifications (study_id, participant_id, user_id, subject_id, kind, channel, dedupe_key)
     select p.study_id, p.id, u.id, $1::uuid, 'trigger_override_required', 'email',
       'trigger-override/' || $2 || '/' || u.id
       from participants p
       join user_studies us on us.study_id = p.study_id
       join users u on u.id = us.user_id and u.role = 'coordinator' and u.status = 'active'
      where p.study_id = $3 and p.id = $4
        and (not exists (select from user_sites x join sites s on s.id = x.site_id
          where x.user_id = u.id and s.study_id = p.study_id)
             or exists (select from user_sites x where x.user_id = u.id and x.site_id = p.site_id))
     on conflict (dedupe_key) where dedupe_key is not null do nothing returning id`,
    [cause.id, cause.key, studyId, participantId],
  );
  await putOutbox(
    tx,
    rows.map(({ id }) => ({ topic: 'notification', studyId, subject: id })),
  );
}
