import { query } from './query.js';
import type { Tx } from './database.js';

/** Of JSON as it is stored, compressed, and as it is written: the same letters again and again are stored in little. */
const STORED_BYTES = 16 * 1024,
  WRITTEN_BYTES = 64 * 1024;
/** Bytes that the driver decodes at a time. */
const PIECE = 256 * 1024;

/** A condition: whether a JSON column, or an expression, is so long that a list of many should not have it at once. */
export const isLongJson = (json: string): string =>
  `(pg_column_size(${json}) > ${STORED_BYTES} or octet_length(${json}::text) > ${WRITTEN_BYTES})`;

/**
 * A statement's one JSON value in pieces of UTF-8, neither parsed nor joined: it may be megabytes long. None: there is
 * no such row, or its value is null.
 * @param sql selects the value
 */
export async function writtenJson(tx: Tx, sql: string, values: readonly unknown[]): Promise<Buffer[]> {
  const rows = await query<{ piece: Buffer }>(
    tx,
    `with c(bytes) as materialized (select convert_to(v.value::text, 'UTF8') from (${sql}) as v(value))
     select substring(c.bytes from p.first for ${PIECE}) as piece from c
       cross join lateral generate_series(1, length(c.bytes), ${PIECE}) as p(first) order by p.first`,
    values,
  );
  return rows.map(({ piece }) => piece);
}
