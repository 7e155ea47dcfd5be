import { query } from './query.js';
import type { Tx } from './database.js';

/** An instant, or an array of them, as JSON with Z: the server itself writes an offset. */
const inJson = (expression: string) => `replace(to_json(${expression})::text, '+00:00"', 'Z"')::json`;

/**
 * The select list for tables with alias `t` that writes every instant in their JSON with Z. By column type: free text
 * that looks like an instant stays as it is.
 */
export async function columnsForJson(
  tx: Tx,
  tables: readonly string[],
): Promise<Map<string, { name: string; sql: string }[]>> {
  const rows = await query<{ table: string; column: string; instant: boolean }>(
    tx,
    `select c.relname as table, a.attname as column,
      a.atttypid in ('timestamptz'::regtype, 'timestamptz[]'::regtype) as instant
     from pg_attribute a join pg_class c on c.oid = a.attrelid
     where a.attrelid = any ($1::text[]::regclass[]) and a.attnum > 0 and not a.attisdropped
       order by a.attrelid, a.attnum`,
    [[...tables]],
  );
  const found = new Map<string, { name: string; sql: string }[]>(tables.map((table) => [table, []]));
  for (const { table, column, instant } of rows) {
    found.get(table)!.push({ name: column, sql: instant ? `${inJson(`t.${column}`)} as ${column}` : `t.${column}` });
  }
  return found;
}
