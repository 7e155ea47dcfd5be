import { createHmac } from 'node:crypto';
import type { Database, Tx } from '../knex.js';
import { openedBy } from '../opening.js';
import { inScope } from '../transaction.js';
import type { Work } from '../transaction.js';
import { page } from './paging.js';
import type { Listed, Page } from './paging.js';

/** The participant of a portal token as the database knows it at this moment. */
export interface PortalCallerRow {
  id: string; study_id: string; site_id: string | null; participant_code: string; preferred_language: string | null; status: 'enrolled' | 'withdrawn';
}
/** What a participant is told of itself. */
export type PortalParticipant = Omit<PortalCallerRow, 'site_id'>;

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
function callerSql(participantId: string): string {
  if (!UUID.test(participantId)) throw new Error('not a uuid');
  return `select * from request_participant('${participantId}')`;
}

/** Loads the participant, without a transaction: for routes that open none. Undefined: there is none (any more). */
export async function loadParticipant(database: Database, participantId: string): Promise<PortalCallerRow | undefined> {
  const { rows } = await database.raw(callerSql(participantId));
  return rows[0];
}

type Admit<A> = (row: PortalCallerRow | undefined) => A;

/** A read-only transaction narrowed to the participant's study. `admit` sees the participant first and throws to refuse. */
export async function readAsParticipant<A, T>(database: Database, participantId: string, admit: Admit<A>, work: (tx: Tx, admitted: A) => Promise<T>): Promise<T> {
  return openedBy(database, { readOnly: true, sql: callerSql(participantId) }, async (tx, [row]: PortalCallerRow[]) => work(tx, admit(row)));
}

/**
 * A transaction narrowed to the participant's study, with audit and outbox as `inScope` has them. It sees nothing
 * before its first statement has said who calls.
 */
export async function changeAsParticipant<A, T>(database: Database, participantId: string, admit: Admit<A>, work: (work: Work, admitted: A) => Promise<T>): Promise<T> {
  return inScope(database, [], async (opened) => {
    const { rows } = await opened.tx.raw(callerSql(participantId));
    return work(opened, admit(rows[0]));
  });
}

/** What is stored of a link's token. Keyed: who can write to the database alone cannot make a link that opens. */
export const linkHash = (secret: string, token: string): Buffer => createHmac('sha256', secret).update(token).digest();

/** A message to the participant that bears a link, to be sent. @returns its id */
export async function insertLinkNotification(tx: Tx, link: { studyId: string; participantId: string; channel: 'email' | 'sms' }): Promise<string> {
  const [row] = await tx('notifications').insert({ study_id: link.studyId, participant_id: link.participantId, kind: 'magic_link', channel: link.channel }).returning('id') as [{ id: string }];
  return row.id;
}

/**
 * Keeps the hash of the token that a notification is about to carry; written again, the last one counts.
 * @param minutes how long it opens
 * @returns false when the link was opened already: the message arrived and need not be sent again
 */
export async function keepLink(tx: Tx, link: { notificationId: string; hash: Buffer; minutes: number }): Promise<boolean> {
  const { rowCount } = await tx.raw(
    `insert into portal_links (notification_id, study_id, participant_id, token_hash, expires_at)
     select n.id, n.study_id, n.participant_id, ?, clock_timestamp() + ? * interval '1 minute' from notifications n where n.id = ?
     on conflict (notification_id) do update set token_hash = excluded.token_hash, made_at = excluded.made_at, expires_at = excluded.expires_at
       where portal_links.used_at is null`,
    [link.hash, link.minutes, link.notificationId]);
  return rowCount === 1;
}

/** Opens a link: once, in time, for who still takes part. Of two at the same moment one finds nothing. */
export async function openLink(tx: Tx, hash: Buffer): Promise<PortalParticipant | undefined> {
  const { rows } = await tx.raw(
    `update portal_links l set used_at = clock_timestamp() from participants p
     where p.id = l.participant_id and p.status = 'enrolled' and l.token_hash = ? and l.used_at is null and l.expires_at > clock_timestamp()
     returning p.id, p.study_id, p.participant_code, p.preferred_language, p.status`, [hash]);
  return rows[0];
}

/** Why a link that is known does not open, for the record; undefined: it is not known. */
export async function closedLink(tx: Tx, hash: Buffer): Promise<{ study_id: string; participant_id: string; reason: 'used' | 'expired' | 'withdrawn' } | undefined> {
  const { rows } = await tx.raw(
    `select l.study_id, l.participant_id, case when l.used_at is not null then 'used' when p.status = 'withdrawn' then 'withdrawn' else 'expired' end as reason
     from portal_links l join participants p on p.id = l.participant_id where l.token_hash = ?`, [hash]);
  return rows[0];
}

export interface PortalVisit {
  id: string; name: string; target_date: string; window_open: string; window_close: string; status: 'scheduled' | 'open' | 'completed' | 'missed'; battery_id: number | null;
}

/** A participant's visits that count (neither superseded nor cancelled), by target date. */
export function portalVisits(tx: Tx, participantId: string, range: Pick<Page, 'skip' | 'limit'>): Promise<Listed<PortalVisit>> {
  const found = tx('scheduled_visits as v').where('v.participant_id', participantId).whereNotIn('v.status', ['superseded', 'cancelled']);
  return page(tx, found, 'v.id, v.name, v.target_date, v.window_open, v.window_close, v.status, v.battery_id', { ...range, sort: 'target_date' }, { target_date: 'v.target_date' }, 'v.id');
}

/** Whether results of any of the participant's visits did not reach the capture system (interface, "Errors" 9). */
export async function hasFailedSync(tx: Tx, participantId: string): Promise<boolean> {
  const { rows } = await tx.raw(`select exists (select from scheduled_visits where participant_id = ? and data_sync_status = 'failed') as failed`, [participantId]);
  return rows[0].failed;
}
