import { prepared } from '../query.js';
import type { Statement } from '../query.js';
import type { Tx } from '../database.js';

/**
 * Rows of one table; `columns` names the written ones, others get their default. Constants of the program, never a
 * caller's.
 */
export interface Insert {
  table: string;
  columns: readonly string[];
  rows: readonly object[];
}
/** A typed insert: it takes only fields that its rows have. */
export const insertInto = <Row extends object>(
  table: string,
  columns: readonly (keyof Row & string)[],
  rows: readonly Row[],
): Insert => ({ table, columns, rows });

/**
 * The insert of one table from a JSON parameter: one parameter for any number of rows, without the limit of
 * placeholders.
 */
export function insertSql({ table, columns }: Pick<Insert, 'table' | 'columns'>, parameter: string): string {
  const list = columns.map((column) => `"${column}"`).join(', ');
  return `insert into ${table} (${list}) select ${list}
    from jsonb_populate_recordset(null::${table}, ${parameter}::jsonb)`;
}

/** The insert of one table's rows as a statement. */
export const insertStatement = ({ table, columns, rows }: Insert): Statement => ({
  sql: insertSql({ table, columns }, '$1'),
  values: [JSON.stringify(rows)],
});

/** Inserts rows in one statement. */
export async function insertRows<Row extends object>(
  tx: Tx,
  table: string,
  columns: readonly (keyof Row & string)[],
  rows: readonly Row[],
): Promise<void> {
  if (rows.length > 0) await prepared(tx, insertSql({ table, columns }, '$1'), [JSON.stringify(rows)]);
}

/** Inserts rows of several tables in one statement; foreign keys among them are checked at its end. */
export async function insertMany(tx: Tx, inserts: readonly Insert[]): Promise<void> {
  for (const { sql, values } of insertManyStatements(inserts)) await prepared(tx, sql, values);
}

/** `insertMany` as statements; none if there is nothing to insert. */
export function insertManyStatements(inserts: readonly Insert[]): Statement[] {
  if (inserts.every(({ rows }) => rows.length === 0)) return [];
  const [last, ...before] = [...inserts].reverse();
  const parts = before.reverse().map((insert, i) => `i${i} as (${insertSql(insert, `$${i + 1}`)})`);
  return [
    {
      sql: `${parts.length > 0 ? `with ${parts.join(', ')} ` : ''}${insertSql(last!, `$${inserts.length}`)}`,
      values: inserts.map(({ rows }) => JSON.stringify(rows)),
    },
  ];
}
