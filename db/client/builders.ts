import type { Knex } from 'knex';
import { acquire, sendAll } from './connection/connection.js';
import type { Tx } from './database.js';
import type { Statement } from './query.js';

/** The query of a builder as a statement. */
export function statementOf(builder: Knex.QueryBuilder): Statement {
  const { sql, bindings } = builder.toSQL().toNative();
  return { sql, values: bindings as Statement['values'] };
}

/** Runs the statements of several builders in one round trip of an open transaction. */
export async function runTogether<Rows extends readonly unknown[]>(
  tx: Tx,
  builders: { [K in keyof Rows]: Knex.QueryBuilder },
): Promise<{ [K in keyof Rows]: Rows[K][] }> {
  const statements = (builders as readonly Knex.QueryBuilder[]).map((builder) => {
    const { sql, values } = statementOf(builder);
    return { text: sql, values: values as unknown[] };
  });
  const answers = await sendAll(await acquire(tx), statements);
  return answers.map(({ rows }) => rows as unknown[]) as { [K in keyof Rows]: Rows[K][] };
}
