import { nudgeRelay, putOutbox } from '../outbox/outbox.js';
import type { Statement } from '../client/one-trip.js';
import { prepared } from '../client/query.js';
import type { TraceCarrier } from '../client/trace-context.js';
import { OF_SITES } from '../studies/sites.queries.js';
import type { Database } from '../client/database.js';
import type { Tx } from '../client/database.js';

export type WebhookStatus = 'received' | 'processing' | 'processed' | 'duplicate' | 'failed';

export interface WebhookEventRow {
  id: string;
  seq: number;
  study_id: string;
  project_id: string;
  record: string;
  instrument: string;
  event_name: string | null;
  data_access_group: string | null;
  repeat_instance: string | null;
  raw_body_hash: Buffer;
  status: WebhookStatus;
  outcome: string | null;
  error: string | null;
  duplicate_of_id: string | null;
  participant_id: string | null;
  warnings: { code: string; message: string }[];
  attempt: number;
  received_at: string;
  processed_at: string | null;
}

export interface NewTrigger {
  project_id: string;
  record: string;
  instrument: string;
  event_name: string | null;
  data_access_group: string | null;
  repeat_instance: string | null;
  raw_body_hash: Buffer;
}

/** A study that takes triggers of a project, with its stored webhook secret. */
export interface TriggerTaker {
  config_id: string;
  study_id: string;
  webhook_secret_encrypted: string | null;
  webhook_auth: 'header' | 'url';
  /** All studies that take the project's triggers, each with its stored secret. */
  among: string;
}
/**
 * A trigger for one study with a verified signature; the caller assigns the event's id. `trace`: of the request that
 * brought it.
 */
export interface CheckedTrigger {
  id: string;
  trigger: NewTrigger;
  taker: TriggerTaker;
  trace: TraceCarrier;
}

const SCOPE = `with scope as materialized (select set_config('app.studies', '*', true) as studies)`;

/*
 * Studies that take triggers of a project: integration and webhook enabled. `among` is the same text while the studies
 * and their secrets are the same.
 */
const takersOf = (project: string) => `(
  select c.id as config_id, c.study_id, c.webhook_secret_encrypted, c.webhook_auth, c.last_webhook_received,
         md5(string_agg(c.id::text || ' ' || coalesce(c.webhook_secret_encrypted, '') || ' ' || c.webhook_auth, ', ')
           over (order by c.id rows between unbounded preceding and unbounded following)) as among
    from datacapture_configs c join studies s on s.id = c.study_id
   where c.project_id = ${project} and c.webhook_enabled and s.datacapture_enabled)`;

/*
 * Scope, look-up, events, outbox messages: one statement, one round trip, one commit for a whole batch. It inserts only
 * while the project's studies and secrets are those that the caller verified the signature with. So the caller may
 * cache them: a changed secret, or a newly connected study, refuses the write. "offset 0" makes the look-up run after
 * the scope that row-level security reads: without it the planner may read the tables first and see nothing.
 */
const ACCEPT = `${SCOPE},
incoming as materialized (
  select n.*, t.study_id, t.last_webhook_received
    from scope, lateral (
      select * from unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[],
        $8::text[], $9::text[], $10::bytea[], $11::jsonb[])
        as n (id, config_id, among, project_id, record, instrument, event_name, data_access_group, repeat_instance,
          raw_body_hash, trace)
       where scope.studies = '*' offset 0) n,
    lateral (select * from ${takersOf('n.project_id')} t where t.config_id = n.config_id
      and t.among = n.among offset 0) t
),
event as (
  insert into webhook_events (id, study_id, project_id, record, instrument, event_name, data_access_group,
    repeat_instance, raw_body_hash)
  select id, study_id, project_id, record, instrument, event_name, data_access_group, repeat_instance, raw_body_hash
    from incoming
),
message as (
  insert into outbox (topic, study_id, subject, payload) select 'trigger', study_id, id::text, trace from incoming
),
noted as (
  -- Once a second is enough for "last received"; a row that another trigger is writing is left alone.
  update datacapture_configs set last_webhook_received = clock_timestamp() where id in (
    select id from datacapture_configs
     where id in (select config_id from incoming where last_webhook_received is null
       or last_webhook_received < clock_timestamp() - interval '1 second')
       for no key update skip locked)
)
select id from incoming`;

/**
 * Commits triggers, all at once.
 * @returns the ids of the accepted ones; none of a project whose studies or secrets changed since the check
 */
export async function acceptTriggers(database: Database, arrived: readonly CheckedTrigger[]): Promise<Set<string>> {
  const column = (valueOf: (item: CheckedTrigger) => unknown) => arrived.map(valueOf);
  const rows = await prepared<{ id: string }>(database, ACCEPT, [
    column((a) => a.id),
    column((a) => a.taker.config_id),
    column((a) => a.taker.among),
    column((a) => a.trigger.project_id),
    column((a) => a.trigger.record),
    column((a) => a.trigger.instrument),
    column((a) => a.trigger.event_name),
    column((a) => a.trigger.data_access_group),
    column((a) => a.trigger.repeat_instance),
    column((a) => a.trigger.raw_body_hash),
    column((a) => JSON.stringify(a.trace)),
  ]);
  if (rows.length > 0) nudgeRelay(database);
  return new Set(rows.map((row) => row.id));
}

const TAKERS = `${SCOPE}
select t.config_id, t.study_id, t.webhook_secret_encrypted, t.webhook_auth, t.among
  from scope, lateral (select * from ${takersOf('$1')} t where scope.studies = '*' order by t.config_id offset 0) t`;

/** The studies that take triggers of a project now: integration and webhook enabled. */
export const triggerTakers = (database: Database, projectId: string): Promise<TriggerTaker[]> =>
  prepared(database, TAKERS, [projectId]);

const EVENT = 'select * from webhook_events where id = $1';
export async function findWebhookEvent(tx: Tx, id: string, lock?: 'for update'): Promise<WebhookEventRow | undefined> {
  const [row] = await prepared<WebhookEventRow>(tx, lock ? `${EVENT} for update` : EVENT, [id]);
  return row;
}

export interface WebhookFilter {
  status?: WebhookStatus;
  record?: string;
  skip: number;
  limit: number;
}

/** A study's triggers, newest first; for a caller restricted to sites, those of the participants there. */
export async function listWebhookEvents(
  tx: Tx,
  studyId: string,
  filter: WebhookFilter,
): Promise<{ items: WebhookEventRow[]; total: number }> {
  const query = tx<WebhookEventRow>('webhook_events').where({ study_id: studyId }).whereRaw(OF_SITES);
  if (filter.status) query.where({ status: filter.status });
  if (filter.record !== undefined) query.where({ record: filter.record });
  const [count] = await query.clone().count({ total: '*' });
  const items = await query.orderBy('seq', 'desc').offset(filter.skip).limit(filter.limit);
  return { items: items as WebhookEventRow[], total: Number(count!.total) };
}

/** Requeues a failed trigger. The results of an earlier attempt (participant, outcome) are kept. */
export async function retryWebhookEvent(tx: Tx, event: WebhookEventRow): Promise<WebhookEventRow> {
  const [row] = await tx<WebhookEventRow>('webhook_events')
    .where({ id: event.id, status: 'failed' })
    .update({ status: 'received', error: null, processed_at: null, attempt: event.attempt + 1 })
    .returning('*');
  await putOutbox(tx, [
    { topic: 'trigger', studyId: event.study_id, subject: event.id, payload: { attempt: event.attempt + 1 } },
  ]);
  return row as WebhookEventRow;
}

/** Older ones are left to a person: their records have been read since, or are gone. */
const RETRIED_DAYS = 30;

/**
 * Requeues triggers that failed for lack of access, as the capture system grants it (again): it refused the token, or
 * the stored token or address was of no use (`configuration`).
 */
export const retryForbiddenTriggers = (tx: Tx, studyId: string): Promise<void> =>
  retryFailedTriggers(tx, studyId, '^(rejected: The capture system refused \\((401|403)\\)|configuration: )');

/** Requeues triggers whose record, form or fields the token did not see, as another one is saved. */
export const retryUnseenTriggers = (tx: Tx, studyId: string): Promise<void> =>
  retryFailedTriggers(tx, studyId, '^(RECORD_NOT_FOUND|INSTRUMENT_NOT_EXPORTED|FIELD_NOT_EXPORTED): ');

/** Requeues triggers that were accepted before the exchange was switched off, as it is on again. */
export const retryDisabledTriggers = (tx: Tx, studyId: string): Promise<void> =>
  retryFailedTriggers(tx, studyId, '^DATACAPTURE_DISABLED: ');

/** @param error a regular expression of their errors */
async function retryFailedTriggers(tx: Tx, studyId: string, error: string): Promise<void> {
  const requeued = await prepared<{ id: string; attempt: number }>(
    tx,
    `with failed as (
       select id from webhook_events where study_id = $1 and status = 'failed'
         and received_at > clock_timestamp() - $2 * interval '1 day' and error ~ $3
        order by received_at, seq for update skip locked)
     update webhook_events e set status = 'received', error = null, processed_at = null, attempt = e.attempt + 1
       from failed where e.id = failed.id returning e.id, e.attempt`,
    [studyId, RETRIED_DAYS, error],
  );
  await putOutbox(
    tx,
    requeued.map(({ id, attempt }) => ({ topic: 'trigger' as const, studyId, subject: id, payload: { attempt } })),
  );
}

/** Statement for a trigger. */
export const eventStatement = (id: string): Statement => ({ sql: EVENT, values: [id] });

export interface EarlierTrigger {
  id: string;
  participant_id: string | null;
}

/** The last trigger with the same bytes that was processed within the time; ignored triggers do not count. */
export const earlierTrigger = (event: WebhookEventRow, hours: number): Statement => ({
  sql: `
select id, participant_id from webhook_events
 where study_id = $1 and raw_body_hash = $2::bytea and id <> $3 and status = 'processed' and outcome <> 'ignored'
   and received_at > clock_timestamp() - make_interval(secs => $4)
 order by received_at desc limit 1`,
  values: [event.study_id, `\\x${event.raw_body_hash.toString('hex')}`, event.id, hours * 3600],
});

/** Whether a trigger of the participant is being processed. */
export async function isOpenTrigger(tx: Tx, id: string, participantId: string): Promise<boolean> {
  const found: unknown = await tx('webhook_events')
    .where({ id, participant_id: participantId, status: 'processing' })
    .first('id');
  return found !== undefined;
}

/** The number of earlier open triggers of the same record. */
export async function openTriggersBefore(tx: Tx, event: WebhookEventRow): Promise<number> {
  const [row] = await tx('webhook_events')
    .where({ study_id: event.study_id, record: event.record })
    .where('seq', '<', event.seq)
    .whereIn('status', ['received', 'processing'])
    .count({ ahead: '*' });
  return Number(row!.ahead);
}

/** Stores progress of an open trigger; omitted fields stay. */
export async function noteProgress(
  tx: Tx,
  id: string,
  values: { outcome?: string; participant_id?: string; warnings?: WebhookEventRow['warnings'] },
): Promise<void> {
  await prepared(
    tx,
    `update webhook_events set status = 'processing', outcome = coalesce($2, outcome),
      participant_id = coalesce($3, participant_id), warnings = coalesce($4, warnings)
      where id = $1 and status in ('received', 'processing')`,
    [
      id,
      values.outcome ?? null,
      values.participant_id ?? null,
      values.warnings ? JSON.stringify(values.warnings) : null,
    ],
  );
}

export interface TriggerResult {
  status: 'processed' | 'duplicate' | 'failed';
  outcome?: string | null;
  error?: string | null;
  duplicate_of_id?: string | null;
  participant_id?: string;
  warnings?: WebhookEventRow['warnings'];
}

/**
 * Ends an open trigger; an ended one stays unchanged. Either way it releases the record that it holds.
 * @returns whether it was open.
 */
export async function endWebhookEvent(tx: Tx, id: string, ending: TriggerResult): Promise<boolean> {
  const ended = await prepared(
    tx,
    `with given_back as (
       update datacapture_records r set lease_owner = null, lease_until = null from webhook_events e
        where e.id = $1 and r.study_id = e.study_id and r.record = e.record and r.lease_owner = e.id
     )
     update webhook_events set status = $2, outcome = coalesce($3, outcome), error = $4, duplicate_of_id = $5,
       participant_id = coalesce($6, participant_id),
       warnings = coalesce($7, warnings), processed_at = clock_timestamp()
      where id = $1 and status in ('received', 'processing') returning 1`,
    [
      id,
      ending.status,
      ending.outcome ?? null,
      ending.error ?? null,
      ending.duplicate_of_id ?? null,
      ending.participant_id ?? null,
      ending.warnings ? JSON.stringify(ending.warnings) : null,
    ],
  );
  return ended.length === 1;
}
