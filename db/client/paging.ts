import type { Knex } from 'knex';
import { runTogether } from './builders.js';
import type { Tx } from './database.js';

export interface Page {
  skip: number;
  limit: number;
  sort: string;
}
export interface Listed<T> {
  items: T[];
  total: number;
}

interface PageOptions {
  /** A cheaper query that counts the same rows, as `count`. */
  counted?: Knex.QueryBuilder;
  /** Sort words whose columns are never null: an index on them can be read backwards. */
  filled?: readonly string[];
}

/**
 * One page of a query and the number of all its rows, in one round trip. `columns` maps each sort word to its column;
 * `tie` breaks ties, so that paging never shows a row twice.
 */
export async function page<T>(
  tx: Tx,
  rows: Knex.QueryBuilder,
  select: string,
  paging: Page,
  columns: Record<string, string>,
  tie: string,
  { counted, filled }: PageOptions = {},
): Promise<Listed<T>> {
  const [number, items] = await runTogether<[{ count: number }, T]>(tx, [
    counted ?? rows.clone().count('* as count'),
    rows
      .clone()
      .select(tx.raw(select))
      .orderByRaw(orderBy(paging.sort, columns, tie, filled))
      .offset(paging.skip)
      .limit(paging.limit),
  ]);
  return { items, total: number[0]!.count };
}

/**
 * `order by` for a sort word; words and columns are constants of the program. Rows without a value come last; `filled`
 * words have none.
 */
export function orderBy(
  sort: string,
  columns: Record<string, string>,
  tie: string,
  filled: readonly string[] = [],
): string {
  const descending = sort.startsWith('-');
  const word = descending ? sort.slice(1) : sort;
  const column = columns[word];
  if (!column) throw new Error(`no column to sort by: ${sort}`);
  const direction = descending ? 'desc' : 'asc';
  return `${column} ${direction} ${filled.includes(word) ? '' : 'nulls last'}, ${tie} ${direction}`;
}

/** The columns of a row in order and nothing else, from a model that a write returned. */
export function orderClause<T extends object>(row: T, columns: string): T {
  const source = row as Record<string, unknown>;
  return Object.fromEntries(
    columns
      .split(',')
      .map((name) => name.trim())
      .map((name) => [name, source[name]]),
  ) as T;
}
