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

/**
 * One page of a query and the number of all its rows, in one round trip. `columns` names, for each word that may be
 * sorted by, the column behind it; ties are broken by `tie`, so that paging never shows a row twice.
 */
export async function page<T>(
  tx: Tx,
  found: Knex.QueryBuilder,
  select: string,
  at: Page,
  columns: Record<string, string>,
  tie: string,
): Promise<Listed<T>> {
  const [counted, items] = await runTogether<[{ count: number }, T]>(tx, [
    found.clone().count('* as count'),
    found
      .clone()
      .select(tx.raw(select))
      .orderByRaw(orderBy(at.sort, columns, tie))
      .offset(at.skip)
      .limit(at.limit),
  ]);
  return { items, total: counted[0]!.count };
}

/** `order by` for a sort word; words and columns are the program's own. Rows without a value come last. */
export function orderBy(sort: string, columns: Record<string, string>, tie: string): string {
  const descending = sort.startsWith('-');
  const column = columns[descending ? sort.slice(1) : sort];
  if (!column) throw new Error(`no column to sort by: ${sort}`);
  const direction = descending ? 'desc' : 'asc';
  return `${column} ${direction} nulls last, ${tie} ${direction}`;
}

/** The columns of a row in their order and nothing else, from a model that a write returned. */
export function orderClause<T extends object>(row: T, columns: string): T {
  const source = row as Record<string, unknown>;
  return Object.fromEntries(
    columns
      .split(',')
      .map((name) => name.trim())
      .map((name) => [name, source[name]]),
  ) as T;
}
