import type { Database, Tx } from './knex.js';
import { planned, textOf } from './one-trip.js';
import type { Connection, Opening, Statement } from './one-trip.js';

/** As much of knex's transaction as the beginning of one needs. */
interface KnexTransaction {
  begin: (connection: Connection) => Promise<unknown>;
  commit: (connection: Connection, value: unknown) => Promise<unknown>;
  _completed: boolean;
  _resolver: (value: unknown) => void;
}
interface Config {
  readOnly?: boolean;
  snapshot?: boolean;
  opening?: {
    opening: Opening;
    first: readonly Statement[];
    plans: 'here' | 'already';
    opened: (rows: unknown[], first: unknown[][]) => void;
  };
  closing?: () => string | undefined;
  meanwhile?: ((value: unknown) => void) | undefined;
}
type Transact = (container: unknown, config: Config, outer?: unknown) => KnexTransaction;

/**
 * Lets a pool's transactions begin and end with statements of their own in the same round trips. Each round trip is
 * about a tenth of the processor time of a small request; every transaction here starts by saying what it may see, and
 * may read with it what it is about, and the lock of an audit chain, taken by the last statement, does not wait for us
 * to say commit.
 */
export function withOpenings(database: Database): Database {
  const transact = database.client.transaction.bind(database.client) as Transact;
  database.client.transaction = ((container, config, outer) => {
    const transaction = transact(container, config, outer);
    const { opening, closing, meanwhile, readOnly, snapshot } = config;
    // knex calls begin later, when it has a connection.
    if (opening)
      transaction.begin = (connection) =>
        begin(
          connection,
          opening,
          `${snapshot ? ' isolation level repeatable read' : ''}${readOnly ? ' read only' : ''}`,
        );
    if (closing) {
      const commit = transaction.commit.bind(transaction);
      transaction.commit = (connection, value) => {
        const sql = closing();
        return sql === undefined
          ? commit(connection, value)
          : commitWith(transaction, connection, sql, value, meanwhile);
      };
    }
    return transaction;
  }) satisfies Transact;
  return database;
}

/** Texts go to the driver directly: knex would take a question mark in a literal for a placeholder. */
async function begin(
  connection: Connection,
  { opening, first, plans, opened }: NonNullable<Config['opening']>,
  mode: string,
): Promise<void> {
  const begun = `begin transaction${mode}; ${await textOf(connection, opening)}`;
  const more = first.length > 0 ? await planned(connection, first, plans) : undefined;
  try {
    if (more) {
      const answers = await connection.query(`${begun}; ${more.sql}`);
      opened(answers[1]!.rows, more.rowsOf(answers));
    } else opened((await connection.query(begun)).at(-1)!.rows, []);
  } catch (fault) {
    // The transaction may have begun: its connection must not go back to the pool within it. One that is broken has
    // nothing to roll back, and what is told is the first fault.
    await connection.query('rollback').catch(() => undefined);
    throw fault;
  }
}

/** When it fails knex rolls back, as after any fault of the work itself, and tells that fault. */
async function commitWith(
  transaction: KnexTransaction,
  connection: Connection,
  sql: string,
  value: unknown,
  meanwhile?: (value: unknown) => void,
): Promise<void> {
  const committed = connection.query(`${sql}; commit`);
  try {
    meanwhile?.(value);
  } finally {
    await committed;
  }
  transaction._completed = true;
  transaction._resolver(value);
}

/**
 * A transaction that begins with `opening`; `work` gets the rows that it answers.
 * @param options `opening`: of a text without parameters, every value in it must have been checked to be harmless.
 * `snapshot`: every statement sees what the first one saw. `closing`: what is run with the commit, asked for when the
 * work is done; `meanwhile`: called with what the work came to while that is under way, which is not committed yet.
 * `first`: what is read in the round trip that opens, as `opening` has narrowed it; `work` gets the rows of each;
 * `plans`: `already` where `opening` says itself that plans of before are used
 */
export async function openedBy<Row, T>(
  database: Database,
  options: {
    readOnly: boolean;
    snapshot?: boolean;
    opening: Opening;
    closing?: () => string | undefined;
    meanwhile?: ((value: T) => void) | undefined;
    first?: readonly Statement[];
    plans?: 'already';
  },
  work: (tx: Tx, rows: Row[], first: unknown[][]) => Promise<T>,
): Promise<T> {
  let rows: Row[] = [];
  let found: unknown[][] = [];
  const { first = [], plans = 'here', meanwhile, ...rest } = options;
  const config: Config = {
    ...rest,
    ...(meanwhile && {
      meanwhile: (value) => {
        meanwhile(value as T);
      },
    }),
    opening: {
      opening: options.opening,
      first,
      plans,
      opened: (given, more) => {
        rows = given as Row[];
        found = more;
      },
    },
  };
  return database.transaction((tx) => work(tx, rows, found), config);
}
