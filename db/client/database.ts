import type { Knex } from 'knex';
/**
 * A connection pool; rows carry `date` as `YYYY-MM-DD`, timestamps as ISO 8601 UTC with microseconds, bigint as number.
 */
export type Database = Knex;

/** A transaction in a study's scope (see transaction.ts). A query function takes one; nothing is ambient. */
export type Tx = Knex & Pick<Knex.Transaction, 'savepoint'>;
