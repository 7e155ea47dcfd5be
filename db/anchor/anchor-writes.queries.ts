import type { Statement } from '../client/one-trip.js';
import { insertInto, insertStatement } from '../client/sets/bulk-insert.js';
import type { Insert } from '../client/sets/bulk-insert.js';

/**
 * The new state of an anchor; `expected_version` is the version that the decision was based on. The anchor of a
 * participant whom this transaction has enrolled is not stored yet (`is_new`).
 */
export interface AnchorWrite {
  id: string;
  participant_id: string;
  study_id: string;
  is_new: boolean;
  expected_version: number;
  /** The schedule version that the decision makes; null: the current one stays. */
  current_schedule_version_id: string | null;
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
  update anchor_dates a set ${ANCHOR_COLUMNS.map((c) => `${c} = w.${c}`).join(', ')},
    current_schedule_version_id = coalesce(w.current_schedule_version_id, a.current_schedule_version_id)
  from wanted w where a.participant_id = any($2::uuid[]) and a.participant_id = w.participant_id
    and a.version = w.expected_version
  returning a.participant_id, a.enrollment_date_value
), mirrored as (
  update participants p set enrollment_date = w.enrollment_date_value from written w
  where p.id = any($2::uuid[]) and p.id = w.participant_id and p.enrollment_date is distinct
    from w.enrollment_date_value
)
select count(*)::integer as written from written`;

// Stored once, decided: an unset anchor that its decision changes costs its indexes and foreign keys a second time.
const NEW_COLUMNS = ['id', 'participant_id', 'study_id', ...ANCHOR_COLUMNS, 'current_schedule_version_id'].join(', ');
const INSERT_ANCHORS = `
with made as (
  insert into anchor_dates (${NEW_COLUMNS}, updated_at)
  select ${NEW_COLUMNS}, moment() from jsonb_populate_recordset(null::anchor_dates, $1::jsonb)
  returning participant_id, enrollment_date_value
), mirrored as (
  update participants p set enrollment_date = m.enrollment_date_value from made m
  where p.id = any($2::uuid[]) and p.id = m.participant_id and m.enrollment_date_value is not null
)
select count(*)::integer as written from made`;

/**
 * Writes anchors by compare-and-set on their version, those of participants whom this transaction has enrolled as new
 * rows, and the participants' enrollment_date that mirrors them. Each returns one row with the number `written`: see
 * `assertWritten`.
 */
export function writeAnchorsStatements(anchors: readonly AnchorWrite[]): Statement[] {
  const made = anchors.filter((a) => a.is_new),
    changed = anchors.filter((a) => !a.is_new);
  return [
    ...(made.length > 0
      ? [{ sql: INSERT_ANCHORS, values: [JSON.stringify(made), made.map((a) => a.participant_id)] }]
      : []),
    ...(changed.length > 0
      ? [
          {
            sql: WRITE_ANCHORS,
            values: [
              JSON.stringify(changed),
              changed.map((a) => a.participant_id),
              changed.map((a) => String(a.expected_version)),
            ],
          },
        ]
      : []),
  ];
}

/** @throws StaleAnchor when an anchor has moved on since it was read */
export function assertWritten(results: readonly unknown[][], anchors: readonly AnchorWrite[]): void {
  const written = (results as { written: number }[][]).reduce((sum, [row]) => sum + row!.written, 0);
  if (written !== anchors.length) throw new StaleAnchor('an anchor moved on since it was read');
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
