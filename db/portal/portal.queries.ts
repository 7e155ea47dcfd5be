import { createHmac } from 'node:crypto';
import { raw } from 'objection';
import type { Model, QueryBuilder } from 'objection';
import type { Knex } from 'knex';
import { Notification } from '../models/messages.js';
import { Caregiver, PortalLink } from '../models/portal.js';
import { Participant } from '../models/records.js';
import type { ScheduledVisit } from '../models/records.js';
import { PRESENT_STATUS, WHERE_VISIT_IS } from '../scheduling/effective-status.js';
import { hasEnded } from '../studies/study-ended.js';
import { execute, query } from '../client/query.js';
import type { Statement } from '../client/query.js';
import { page } from '../client/paging.js';
import type { Listed, Page } from '../client/paging.js';
import type { PortalCallerRow } from '../participants/portal-caller.js';
import type { Tx } from '../client/database.js';

/** A participant's own data, as the portal shows it. */
export type PortalParticipant = Omit<PortalCallerRow, 'site_id' | 'login_ended'>;

/**
 * The caregiver of a portal token, and the participant it acts for; `id` null: several and none named, or one that it
 * is not assigned to.
 */
export type CaregiverCallerRow = { [K in keyof PortalCallerRow]: PortalCallerRow[K] | null } & {
  caregiver_id: string;
  caregiver_name: string | null;
  caregiver_language: string | null;
  caregiver_status: 'active' | 'inactive';
  caregiver_study: string;
  /** The number of enrolled participants. */
  cares_for: number;
  /** Nobody of its care takes part any more: they have withdrawn. */
  all_withdrawn?: boolean;
  /** The epoch that its tokens must have. */
  session_epoch: number;
};
/** A participant, as a caregiver sees it. */
export type CaredFor = PortalParticipant & { relationship: string };

/** The caller of a portal token: a participant, or a caregiver for the named participant. */
export type PortalAsker = (
  { kind: 'participant'; id: string } | { kind: 'caregiver'; id: string; participantId: string | undefined }
) & { login: string | undefined };

const callerFrom = (call: string) => `select c.*, portal_login_ended($1) as login_ended from ${call} c`;
const PARTICIPANT = callerFrom('request_participant($2)');
const CAREGIVER = callerFrom('request_caregiver($2, $3)');
/**
 * The opening of a transaction of the portal: narrows it to the caller's study, and returns its row, or nothing.
 * Whether the login was ended is queried after the caller's look-up has narrowed the transaction.
 */
export const portalLookup = (asker: PortalAsker): Statement =>
  asker.kind === 'participant'
    ? { sql: PARTICIPANT, values: [asker.login ?? null, asker.id] }
    : { sql: CAREGIVER, values: [asker.login ?? null, asker.id, asker.participantId ?? null] };

/** Narrows a transaction that sees nothing to a study. */
export async function enterStudy(tx: Tx, studyId: string): Promise<void> {
  await execute(tx, `select set_config('app.studies', $1, true)`, [studyId]);
}

/** Whether a login was ended. The lookup of a withdrawn participant opens no study, and sees no login. */
export async function isEndedLogin(tx: Tx, login: string): Promise<boolean> {
  const [row] = await query<{ ended: boolean }>(tx, 'select portal_login_ended($1) as ended', [login]);
  return row!.ended;
}

/**
 * A caregiver's row with a participant of its care who has withdrawn: the named one, or else its only one; the
 * transaction then sees their study. Another row, or one that has a participant, stays as it is.
 */
export async function withWithdrawn(
  tx: Tx,
  row: CaregiverCallerRow,
  { participantId, login }: { participantId: string | undefined; login: string | undefined },
): Promise<CaregiverCallerRow> {
  if (row.id !== null || (participantId === undefined && row.cares_for > 0)) return row;
  await enterStudy(tx, row.caregiver_study);
  const [person, another] = await Caregiver.relatedQuery<Participant>('participants', tx)
    .for(row.caregiver_id)
    .where('status', 'withdrawn')
    .whereNull('erased_at')
    .modify((q) => {
      if (participantId !== undefined) void q.where('participants.id', participantId);
    })
    .select(
      'participants.id',
      'participants.study_id',
      'participants.site_id',
      'participants.participant_code',
      'participants.preferred_language',
      'participants.status',
    );
  if (!person || another) return row;
  const { id, study_id, site_id, participant_code, preferred_language, status } = person;
  const ended = login !== undefined && (await isEndedLogin(tx, login));
  return {
    ...row,
    ...{ id, study_id, site_id, participant_code, preferred_language, status },
    cares_for: row.cares_for + 1,
    login_ended: ended,
  };
}

/** Whether the participants of a caregiver who cares for nobody else have withdrawn, and its login was not ended. */
export async function haveAllWithdrawn(tx: Tx, row: CaregiverCallerRow, login: string | undefined): Promise<boolean> {
  if (row.cares_for > 0) return false;
  await enterStudy(tx, row.caregiver_study);
  const gone = await Caregiver.relatedQuery<Participant>('participants', tx)
    .for(row.caregiver_id)
    .where('status', 'withdrawn')
    .whereNull('erased_at')
    .resultSize();
  return gone > 0 && !(login !== undefined && (await isEndedLogin(tx, login)));
}

/** When a participant withdrew, in milliseconds since 1970. */
export async function withdrawalOf(tx: Tx, participantId: string): Promise<number | null> {
  const participant = await Participant.query(tx)
    .findById(participantId)
    .select(raw('(extract(epoch from withdrawn_at) * 1000)::double precision as at'))
    .castTo<{ at: number | null } | undefined>();
  return participant?.at ?? null;
}

/** The caregiver's fields in an audit record for a participant. */
export const asCaregiver = (id: string) => ({ actor_type: 'caregiver', caregiver_id: id }) as const;

/** The stored hash of a link's token. Keyed: write access to the database alone can't create a valid link. */
export const linkHash = (secret: string, token: string): Buffer => createHmac('sha256', secret).update(token).digest();

/** Inserts a message to a participant or caregiver with a link. @returns its id */
export async function insertLinkNotification(
  tx: Tx,
  link: { studyId: string; to: { participant_id: string } | { caregiver_id: string }; channel: 'email' | 'sms' },
): Promise<string> {
  const { id } = await Notification.query(tx)
    .insert({ study_id: link.studyId, ...link.to, kind: 'magic_link', channel: link.channel })
    .returning('id');
  return id;
}

/** How many lifetimes of a link, of so many minutes, have passed since its notification was created. */
export async function linkPeriod(tx: Tx, notificationId: string, minutes: number): Promise<number> {
  const [row] = await query<{ period: number }>(
    tx,
    `select floor(extract(epoch from clock_timestamp() - created_at) / ($2::float8 * 60))::integer as period
       from notifications where id = $1`,
    [notificationId, minutes],
  );
  return row?.period ?? 0;
}

/** Locks the participant or caregiver whom a row names: their address changes before this transaction, or after it. */
async function lockHolder(tx: Tx, named: (key: string) => Knex.QueryBuilder): Promise<void> {
  for (const [holders, key] of [
    ['participants', 'participant_id'],
    ['caregivers', 'caregiver_id'],
  ] as const)
    await tx(holders).whereIn('id', named(key)).forShare().select('id');
}

/**
 * Stores the hash of the token in a notification that is about to be sent; the last one counts. An address is corrected
 * before this transaction, or after it, and then ends the link.
 * @param minutes lifetime of the link
 * @param to the address that it is sent to
 * @returns `opened`: the message arrived and need not be sent again; `moved`: its recipient has another address now
 */
export async function keepLink(
  tx: Tx,
  link: { notificationId: string; hash: Buffer; minutes: number; to: string },
): Promise<'kept' | 'opened' | 'moved'> {
  await lockHolder(tx, (key) => tx('notifications').where({ id: link.notificationId }).select(key));
  const present = (await tx('notifications as n')
    .leftJoin('participants as p', 'p.id', 'n.participant_id')
    .leftJoin('caregivers as c', 'c.id', 'n.caregiver_id')
    .where('n.id', link.notificationId)
    .first(
      tx.raw(
        `case n.channel when 'sms' then coalesce(p.phone, c.phone) else coalesce(p.email, c.email) end as address`,
      ),
    )) as { address: string | null } | undefined;
  if (present?.address !== link.to) return 'moved';
  const rowCount = await execute(
    tx,
    `insert into portal_links (notification_id, study_id, participant_id, caregiver_id, token_hash, expires_at)
     select n.id, n.study_id, n.participant_id, n.caregiver_id, $1, clock_timestamp() + $2 * interval '1 minute'
       from notifications n where n.id = $3
     on conflict (notification_id) do update set token_hash = excluded.token_hash, made_at = excluded.made_at,
       expires_at = excluded.expires_at
       where portal_links.used_at is null`,
    [link.hash, link.minutes, link.notificationId],
  );
  return rowCount === 1 ? 'kept' : 'opened';
}

/**
 * Locks the holder of a link until the commit. Who corrects the address ends the link before it is opened, or the login
 * that came of it.
 */
export const lockHolderOfLink = (tx: Tx, hash: Buffer): Promise<void> =>
  lockHolder(tx, (key) => tx('portal_links').where({ token_hash: hash }).select(key));

/** Opens a link: once, before it expires, for an enrolled participant. Of two concurrent requests one finds nothing. */
export async function openLink(tx: Tx, hash: Buffer): Promise<PortalParticipant | undefined> {
  const opened = await useLink(tx, hash, PortalLink.relatedQuery('participant').where({ status: 'enrolled' }));
  if (!opened) return undefined;
  return Participant.query(tx)
    .findById(opened.participant_id!)
    .select('id', 'study_id', 'participant_code', 'preferred_language', 'status');
}

/** Marks an unexpired link as used if its holder has access. */
async function useLink(tx: Tx, hash: Buffer, holder: QueryBuilder<Model, Model[]>): Promise<PortalLink | undefined> {
  const [used] = await PortalLink.query(tx)
    .where({ token_hash: hash })
    .whereNull('used_at')
    .where('expires_at', '>', raw('clock_timestamp()'))
    .whereExists(holder)
    .patch({ used_at: raw('clock_timestamp()') })
    .returning(['participant_id', 'caregiver_id']);
  return used;
}

export interface PortalCaregiver {
  id: string;
  study_id: string;
  name: string | null;
  preferred_language: string | null;
}
/** The same with the epoch for its token. */
export type OpenedCaregiver = PortalCaregiver & { session_epoch: number };

/** The same for a caregiver: once, before it expires, if it is active and has an enrolled participant. */
export async function openCaregiverLink(tx: Tx, hash: Buffer): Promise<OpenedCaregiver | undefined> {
  const opened = await useLink(
    tx,
    hash,
    PortalLink.relatedQuery('caregiver')
      .where({ status: 'active' })
      .whereExists(Caregiver.relatedQuery('participants').where({ status: 'enrolled' })),
  );
  if (!opened) return undefined;
  return Caregiver.query(tx)
    .findById(opened.caregiver_id!)
    .select('id', 'study_id', 'name', 'preferred_language', 'session_epoch');
}

/** A caregiver's enrolled participants, by code. */
export async function caredFor(
  tx: Tx,
  caregiverId: string,
  { skip, limit }: Pick<Page, 'skip' | 'limit'>,
): Promise<Listed<CaredFor>> {
  const rows: CaredFor[] = await tx('caregiver_participants as k')
    .join('participants as p', 'p.id', 'k.participant_id')
    .where({ 'k.caregiver_id': caregiverId, 'p.status': 'enrolled' })
    .orderBy(['p.participant_code', 'p.id'])
    .select('p.id', 'p.study_id', 'p.participant_code', 'p.preferred_language', 'p.status', 'k.relationship');
  return { items: rows.slice(skip, skip + limit), total: rows.length };
}

export interface ClosedLink {
  study_id: string;
  participant_id: string | null;
  caregiver_id: string | null;
  reason: 'used' | 'expired' | 'withdrawn' | 'inactive';
}

/** Why a known link does not open, for the record; undefined: it is unknown. */
export async function closedLink(tx: Tx, hash: Buffer): Promise<ClosedLink | undefined> {
  return PortalLink.query(tx)
    .alias('l')
    .leftJoinRelated('participant', { alias: 'p' })
    .where('l.token_hash', hash)
    .select('l.study_id', 'l.participant_id', 'l.caregiver_id')
    .select(
      raw(`case when l.used_at is not null then 'used' when p.status = 'withdrawn' then 'withdrawn'
        when l.caregiver_id is not null and l.expires_at > clock_timestamp()
          then 'inactive' else 'expired' end as reason`),
    )
    .first()
    .castTo<ClosedLink | undefined>();
}

export interface PortalVisit {
  id: string;
  name: string;
  target_date: string;
  window_open: string;
  window_close: string;
  status: 'scheduled' | 'open' | 'completed' | 'missed';
  battery_id: number | null;
  /** In the participant's time zone; null: it is not completed. */
  completed_on: string | null;
}

/**
 * A participant's visits, without superseded and cancelled ones, by target date. Of a study that has ended nothing is
 * ahead.
 */
export function portalVisits(
  tx: Tx,
  participantId: string,
  range: Pick<Page, 'skip' | 'limit'>,
): Promise<Listed<PortalVisit>> {
  const found = tx('scheduled_visits as v')
    .joinRaw(`${WHERE_VISIT_IS} cross join lateral (select ${PRESENT_STATUS} as status) z`)
    .where('v.participant_id', participantId)
    .whereNotIn('v.status', ['superseded', 'cancelled'])
    .whereRaw(`not (${hasEnded('y')} and z.status in ('scheduled', 'open'))`);
  return page(
    tx,
    found,
    'v.id, v.name, v.target_date, v.window_open, v.window_close, z.status, v.battery_id, (v.completed_at at ' +
      'time zone coalesce(p.timezone, w.timezone, y.timezone))::date as completed_on',
    { ...range, sort: 'target_date' },
    { target_date: 'v.target_date' },
    'v.id',
  );
}

/** Whether pushing the results of any of the participant's visits failed. */
export async function hasFailedSync(tx: Tx, participantId: string): Promise<boolean> {
  const failed = await Participant.relatedQuery('visits', tx)
    .for(participantId)
    .where({ data_sync_status: 'failed' })
    .select('id')
    .first();
  return failed !== undefined;
}

/** The channels on which a participant, or the requesting caregiver, can be reached. */
export async function reachableChannels(
  tx: Tx,
  participantId: string,
): Promise<{ email: boolean; sms: boolean; push: boolean }> {
  return Participant.query(tx)
    .findById(participantId)
    .select(
      raw('email is not null as email'),
      raw('phone is not null as sms'),
      raw('exists (select from push_tokens k where k.participant_id = participants.id) as push'),
    )
    .throwIfNotFound()
    .castTo<{ email: boolean; sms: boolean; push: boolean }>();
}

/** The status of pushing a participant's results: the worst of all visits. */
export async function resultsPassedOn(tx: Tx, participantId: string): Promise<'none' | 'waiting' | 'failed' | 'sent'> {
  const visits = await Participant.relatedQuery<ScheduledVisit>('visits', tx)
    .for(participantId)
    .whereNotNull('data_sync_status')
    .distinct('data_sync_status');
  const states = visits.map(({ data_sync_status }) => data_sync_status);
  if (states.includes('failed')) return 'failed';
  if (states.includes('pending')) return 'waiting';
  return states.includes('synced') ? 'sent' : 'none';
}
