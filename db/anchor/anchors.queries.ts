import { prepared, queryAllAsPlanned } from '../client/query.js';
import type { Statement } from '../client/one-trip.js';
import { insertStatement, insertInto } from '../client/sets/bulk-insert.js';
import type { Insert } from '../client/sets/bulk-insert.js';
import type { MessageDetails } from '../participants/message-details.queries.js';
import type { Tx } from '../client/database.js';

/**
 * Locks the anchor's row for this transaction. Everything written afterwards has the time of the lock (db function
 * `moment`). No row: the participant does not exist.
 */
export const lockAnchorStatement = (participantId: string): Statement => ({
  sql: `with held as materialized (select a.participant_id from anchor_dates a where a.participant_id = $1 for update)
    select set_config('app.moment', clock_timestamp()::text, true) from held`,
  values: [participantId],
});

/** What the database knows of a message to a participant's workflow. */
export interface KnownMessage {
  /** The result of an earlier attempt at the same command; null: there was none. */
  earlier: unknown;
  /** Details of the message that are stored with the API. */
  details: MessageDetails | null;
  /** Public key (PEM) that its authorization names; null: unknown or expired. */
  public_key: string | null;
  /** Whether a command was carried out, or refused, under its authorization. */
  is_used: boolean;
}

/**
 * How long an authorization signed by a replaced key stays valid: as long as the API's own messages may be in transit.
 */
const KEY_OVERLAP = `interval '24 hours'`;

/** Reads a `KnownMessage`. Runs as its own statement after the lock, so that it sees what was committed meanwhile. */
export const knownMessageStatement = (message: {
  commandId: string;
  participantId: string;
  detailsId: string | null;
  keyId: string | null;
  authorizationId: string | null;
}): Statement => ({
  sql: `select (select c.outcome from anchor_commands c where c.id = $1) as earlier,
      (select jsonb_build_object('reason', d.reason, 'ip_address', d.ip_address, 'user_agent', d.user_agent)
       from message_details d where d.id = $2::uuid and d.participant_id = $3) as details,
      (select k.public_key from message_keys k where k.key_id = $4
         and (k.superseded_at is null or k.superseded_at > clock_timestamp() - ${KEY_OVERLAP})) as public_key,
      exists (select from anchor_commands u where u.authorization_id = $5::uuid) as is_used`,
  values: [message.commandId, message.detailsId, message.participantId, message.keyId, message.authorizationId],
});

/**
 * Locks many anchors in one order and waits for rows that another transaction holds. `moment` is the time of the last
 * lock.
 */
export async function lockAnchors(tx: Tx, participantIds: readonly string[]): Promise<void> {
  await queryAllAsPlanned(tx, [
    {
      sql: 'select 1 from anchor_dates where participant_id = any($1::uuid[]) order by participant_id for update',
      values: [`{${participantIds.join(',')}}`],
    },
    { sql: `select set_config('app.moment', clock_timestamp()::text, true)`, values: [] },
  ]);
}

export interface CommandWrite {
  id: string;
  study_id: string;
  participant_id: string;
  kind: string;
  outcome: unknown;
  authorization_id: string | null;
}
/** Stores a command's result: a repeated command gets the same answer. */
export const rememberCommandStatement = (command: CommandWrite): Statement =>
  insertStatement(
    insertInto<CommandWrite>(
      'anchor_commands',
      ['id', 'study_id', 'participant_id', 'kind', 'outcome', 'authorization_id'],
      [command],
    ),
  );

/** The last entry of a participant's history, in words: what it was, the date that it gave, and when. */
export async function lastChange(tx: Tx, participantId: string): Promise<string | null> {
  const [entry] = await prepared<{ words: string }>(
    tx,
    `select concat_ws(' ', event_type, enrollment_date_value::text,
      to_char(created_at at time zone 'UTC', '"at" YYYY-MM-DD"T"HH24:MI:SS"Z"')) as words
     from anchor_date_history where participant_id = $1 order by seq desc limit 1`,
    [participantId],
  );
  return entry?.words ?? null;
}

/** The new state of an anchor; `expected_version` is the version that the decision was based on. */
export interface AnchorWrite {
  participant_id: string;
  expected_version: number;
  enrollment_date_value: string | null;
  enrollment_datetime_value: string | null;
  partial_value: string | null;
  precision: string;
  timezone: string | null;
  source_type: string | null;
  source_ref: unknown;
  captured_at: string | null;
  status: string;
  finalized_at: string | null;
  finalized_by_id: string | null;
  is_override: boolean;
  override_reason: string | null;
  override_actor_id: string | null;
  override_at: string | null;
  override_approved: boolean | null;
  override_approved_by_id: string | null;
  override_approved_at: string | null;
  version: number;
  reopened: boolean;
  reopened_facts: string | null;
  cancelled_facts: string | null;
}

export class StaleAnchor extends Error {}

const ANCHOR_COLUMNS = [
  'enrollment_date_value',
  'enrollment_datetime_value',
  'partial_value',
  'precision',
  'timezone',
  'source_type',
  'source_ref',
  'captured_at',
  'status',
  'finalized_at',
  'finalized_by_id',
  'is_override',
  'override_reason',
  'override_actor_id',
  'override_at',
  'override_approved',
  'override_approved_by_id',
  'override_approved_at',
  'version',
  'reopened',
  'reopened_facts',
  'cancelled_facts',
] as const satisfies readonly (keyof AnchorWrite)[];

// The ids are passed beside the rows: the planner can't know how many rows a JSON document holds. It guesses a hundred
// and reads whole tables (measured with 1,500 participants: 12 ms instead of 0.5, and growing with them). Materialized:
// otherwise each row is read from the document again for each anchor that it is compared with (250 of them: 2,000 ms
// instead of 10). The versions are a list of their own: taken from each row's document, with a call for each, it is
// read in twice the time.
const WRITE_ANCHORS = `
with wanted as materialized (
  select n.*, n.unnest as expected_version
  from rows from (jsonb_populate_recordset(null::anchor_dates, $1::jsonb), unnest($3::integer[])) as n
), written as (
  update anchor_dates a set ${ANCHOR_COLUMNS.map((c) => `${c} = w.${c}`).join(', ')}
  from wanted w where a.participant_id = any($2::uuid[]) and a.participant_id = w.participant_id
    and a.version = w.expected_version
  returning a.participant_id, a.enrollment_date_value
), mirrored as (
  update participants p set enrollment_date = w.enrollment_date_value from written w
  where p.id = any($2::uuid[]) and p.id = w.participant_id and p.enrollment_date is distinct
    from w.enrollment_date_value
)
select count(*)::integer as written from written`;

/**
 * Writes anchors by compare-and-set on their version, and the participants' enrollment_date that mirrors them. Returns
 * one row with the number `written`: see `assertWritten`.
 */
export const writeAnchorsStatement = (anchors: readonly AnchorWrite[]): Statement => ({
  sql: WRITE_ANCHORS,
  values: [
    JSON.stringify(anchors),
    anchors.map((a) => a.participant_id),
    anchors.map((a) => String(a.expected_version)),
  ],
});

/** @throws StaleAnchor when an anchor has moved on since it was read */
export function assertWritten(rows: readonly unknown[], anchors: readonly AnchorWrite[]): void {
  if ((rows as { written: number }[])[0]!.written !== anchors.length)
    throw new StaleAnchor('an anchor moved on since it was read');
}

export interface HistoryWrite {
  id: string;
  anchor_date_id: string;
  participant_id: string;
  study_id: string;
  event_type: string;
  anchor_version: number;
  enrollment_date_value: string | null;
  enrollment_datetime_value: string | null;
  precision: string;
  timezone: string | null;
  status_before: string;
  status_after: string;
  source_type: string;
  source_ref: unknown;
  previous_enrollment_date: string | null;
  previous_source_type: string | null;
  change_delta_days: number | null;
  actor_user_id: string | null;
  actor_type: string;
  reason: string | null;
  ip_address: string | null;
  user_agent: string | null;
  request_id: string | null;
  schedule_version_created_id: string | null;
}

const HISTORY_COLUMNS = [
  'id',
  'anchor_date_id',
  'participant_id',
  'study_id',
  'event_type',
  'anchor_version',
  'enrollment_date_value',
  'enrollment_datetime_value',
  'precision',
  'timezone',
  'status_before',
  'status_after',
  'source_type',
  'source_ref',
  'previous_enrollment_date',
  'previous_source_type',
  'change_delta_days',
  'actor_user_id',
  'actor_type',
  'reason',
  'ip_address',
  'user_agent',
  'request_id',
  'schedule_version_created_id',
] as const satisfies readonly (keyof HistoryWrite)[];

export const intoHistory = (rows: readonly HistoryWrite[]): Insert =>
  insertInto<HistoryWrite>('anchor_date_history', HISTORY_COLUMNS, rows);

export interface DecisionWrite {
  history_id: string;
  study_id: string;
  participant_id: string;
  policy_version: number;
  facts: unknown;
  command: unknown;
  trace: unknown;
  decision: unknown;
  approver_user_id: string | null;
}
export const intoDecisions = (rows: readonly DecisionWrite[]): Insert =>
  insertInto<DecisionWrite>(
    'anchor_decisions',
    [
      'history_id',
      'study_id',
      'participant_id',
      'policy_version',
      'facts',
      'command',
      'trace',
      'decision',
      'approver_user_id',
    ],
    rows,
  );

/** Replaces a manual date, if there is one; null removes it. The facts stay on record. */
export const manualEntryStatements = (
  participantId: string,
  isEarlier: boolean,
  entry: { study_id: string; enrollment_date: string; entered_by_user_id: string | null; reason: string | null } | null,
): Statement[] => [
  ...(isEarlier
    ? [
        {
          sql: `update manual_anchor_entries set withdrawn_at = clock_timestamp()
            where participant_id = $1 and withdrawn_at is null`,
          values: [participantId],
        },
      ]
    : []),
  ...(entry
    ? [
        insertStatement({
          table: 'manual_anchor_entries',
          columns: ['participant_id', 'study_id', 'enrollment_date', 'entered_by_user_id', 'reason'],
          rows: [{ participant_id: participantId, ...entry }],
        }),
      ]
    : []),
];

/** The anchor as it is returned. */
export interface AnchorResponse {
  participant_id: string;
  enrollment_date: string | null;
  enrollment_datetime: string | null;
  precision: string;
  partial_value: string | null;
  timezone: string | null;
  status: string;
  source_type: string | null;
  source_ref: Record<string, unknown> | null;
  is_override: boolean;
  override_reason: string | null;
  version: number;
  current_schedule_version_id: string | null;
  created_at: string;
  updated_at: string;
}

const ANCHOR = `
select participant_id, enrollment_date_value as enrollment_date, enrollment_datetime_value as enrollment_datetime,
  precision, partial_value, timezone,
  status, source_type, source_ref, is_override, override_reason, version, current_schedule_version_id, created_at,
    updated_at
from anchor_dates where participant_id = $1`;

export async function readAnchor(tx: Tx, participantId: string): Promise<AnchorResponse | undefined> {
  return (await prepared<AnchorResponse>(tx, ANCHOR, [participantId]))[0];
}
/** The same as a statement of its own. */
export const anchorStatement = (participantId: string): Statement => ({ sql: ANCHOR, values: [participantId] });

/** History, newest first. */
export async function readHistory(tx: Tx, participantId: string): Promise<unknown[]> {
  return tx('anchor_date_history')
    .where({ participant_id: participantId })
    .orderBy('seq', 'desc')
    .select(
      'id',
      'event_type',
      'enrollment_date_value',
      'status_before',
      'status_after',
      'source_type',
      'source_ref',
      'previous_enrollment_date',
      'change_delta_days',
      'actor_user_id',
      'actor_type',
      'reason',
      'request_id',
      'schedule_version_created_id',
      'anchor_version',
      'imported',
      'imported_by',
      'original_users',
      'created_at',
    );
}
