import { randomUUID } from 'node:crypto';
import type { Stage } from './stage.js';

/**
 * In an order in which each may name those before it. What triggers make of them (states of visits, reminders) comes of
 * itself.
 */
const TABLES = [
  'participants',
  'anchor_dates',
  'form_instances',
  'schedule_versions',
  'scheduled_visits',
  'anchor_date_history',
  'anchor_decisions',
  'domain_events',
  'datacapture_records',
  'audit_log',
  'outbox',
];
/** Beyond what the other study's chain has by itself. */
const SEQ_AHEAD = 100_000;
const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;

type Row = Record<string, unknown>;
/** For each record what is inserted: rows by table. */
export interface SameRows {
  insert: string;
  of: (records: readonly string[]) => string[];
}

/**
 * What a sync has made of a study's records, as it would be of another study: the same rows under other ids, and the
 * one statement that inserts those of a page into the service's own tables, with their indexes, keys and triggers.
 */
export async function sameRows(stage: Stage, from: string, to: string): Promise<SameRows> {
  const rows = new Map<string, Row[]>();
  for (const table of TABLES) {
    const { rows: found } = await stage.sql.query<{ row: Row }>(
      `select to_jsonb(t) as row from ${table} t where study_id = $1 ${table === 'audit_log' ? `and resource_type = 'participant'` : table === 'outbox' ? `and topic = 'participant-start'` : ''}`,
      [from],
    );
    rows.set(
      table,
      found.map(({ row }) => row),
    );
  }
  const people = new Map(rows.get('participants')!.map((row) => [row['id'] as string, row['external_id'] as string]));
  const ids = new Map([
    [from, to],
    ...[...rows.values()]
      .flat()
      .flatMap(({ id, visit_key }) => [id, visit_key])
      .filter((id): id is string => typeof id === 'string' && id.length === 36)
      .map((id): [string, string] => [id, randomUUID()]),
  ]);
  const columns = await columnsOf(stage);
  const byRecord = new Map<string, Map<string, Row[]>>();
  for (const [table, all] of rows) {
    for (const row of all) {
      const record = (row['record'] ??
        people.get((row['participant_id'] ?? row['resource_id'] ?? row['subject'] ?? row['id']) as string)) as string;
      const own = byRecord.get(record) ?? new Map<string, Row[]>();
      byRecord.set(record, own);
      const other = JSON.parse(JSON.stringify(row).replaceAll(UUID, (id) => ids.get(id) ?? id)) as Row;
      own.set(table, [
        ...(own.get(table) ?? []),
        table === 'audit_log' ? { ...other, seq: Number(other['seq']) + SEQ_AHEAD } : other,
      ]);
    }
  }
  const insert = TABLES.map(
    (table, i) =>
      `t${i} as (insert into ${table} (${columns.get(table)!}) select ${columns.get(table)!} from jsonb_populate_recordset(null::${table}, $${i + 1}::jsonb))`,
  ).join(', ');
  return {
    insert: `with ${insert} select 1`,
    of: (records) =>
      TABLES.map((table) => JSON.stringify(records.flatMap((record) => byRecord.get(record)?.get(table) ?? []))),
  };
}

/** Columns that are written: numbers that the database draws stay its own. */
async function columnsOf(stage: Stage): Promise<Map<string, string>> {
  const { rows } = await stage.sql.query<{ table_name: string; names: string }>(
    `select table_name, string_agg('"' || column_name || '"', ', ' order by ordinal_position) as names from information_schema.columns
      where table_schema = 'public' and table_name = any($1) and is_identity = 'NO' and is_generated = 'NEVER' and coalesce(column_default, '') not like 'nextval%' group by table_name`,
    [TABLES],
  );
  return new Map(rows.map((row) => [row.table_name, row.names]));
}
