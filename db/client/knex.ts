import k from 'knex';
import type { Knex } from 'knex';
import pg from 'pg';
import { ConnectionWatchdog } from './connection/connection-watchdog.js';
import type { Database } from './database.js';

const { knex } = k;
const DATE = 1082,
  TIMESTAMPTZ = 1184,
  BIGINT = 20,
  NUMERIC = 1700;
/** '2026-01-05 10:00:00.5+00' → '2026-01-05T10:00:00.500Z'; the session's zone is UTC. */
export function isoTimestamp(value: string): string {
  const [whole, fraction = ''] = value.slice(0, value.lastIndexOf('+')).split('.');
  return `${whole!.replace(' ', 'T')}.${fraction.padEnd(3, '0')}Z`;
}
// A calendar date is text from the table to the wire: a `Date` would be read in a local time zone and shift.
pg.types.setTypeParser(DATE, (value) => value);
pg.types.setTypeParser(TIMESTAMPTZ, isoTimestamp);
pg.types.setTypeParser(BIGINT, Number);
pg.types.setTypeParser(NUMERIC, Number);

export interface DatabaseOptions {
  /** The owner's URL. */
  url: string;
  /** Set: log in as research_app. Not set: log in as the owner and take the role. */
  appPassword?: string | undefined;
  poolMax?: number;
  /** The number of connections that stay open once opened (see openConnections). */
  poolMin?: number;
  /** How long to wait for a connection when all are in use or the server does not answer; default 10 s. */
  acquireMs?: number;
  /** The longest wait of a statement for a lock, and its longest run; default: unlimited (but see `withFileLimits`). */
  limits?: { lockMs: number; statementMs: number };
  /**
   * After this long without an answer the server is probed; if it is unreachable, waiting callers get an error (see
   * ConnectionWatchdog). Default: never.
   */
  muteMs?: number;
  /** Shown in pg_stat_activity. */
  name: string;
  /**
   * Keep the owner's rights (migrations, verification): row-level security still applies to an owner that is not a
   * superuser.
   */
  asOwner?: boolean;
}

/** Whole milliseconds; zero would mean no limit. */
const atLeastOne = (ms: number): number => Math.max(1, Math.round(ms));

/** The login, and the role to take after it, as a connection option. */
export function loginOf({
  url: owners,
  appPassword,
  asOwner,
}: Pick<DatabaseOptions, 'url' | 'appPassword' | 'asOwner'>): { url: string; role: string } {
  const url = new URL(owners);
  if (asOwner) return { url: url.toString(), role: '' };
  if (!appPassword) return { url: url.toString(), role: ' -c role=research_app' };
  url.username = 'research_app';
  url.password = encodeURIComponent(appPassword);
  return { url: url.toString(), role: '' };
}

/** Opens a pool as the application role, which owns nothing, or as the owner. */
export function openDatabase(options: DatabaseOptions): Database {
  const { url, role } = loginOf(options);
  // Session options, so that they cost requests nothing.
  const limits = options.limits
    ? ` -c lock_timeout=${atLeastOne(options.limits.lockMs)} -c ` +
      `statement_timeout=${atLeastOne(options.limits.statementMs)}`
    : '';
  const watch = options.muteMs === undefined ? undefined : new ConnectionWatchdog(options.muteMs);
  const connection: Knex.PgConnectionConfig & pg.ClientConfig = {
    connectionString: url,
    application_name: options.name,
    options: `-c timezone=UTC${role}${limits}`,
    // An idle transaction left behind by a frozen process must not hold its locks forever.
    idle_in_transaction_session_timeout: 30_000,
    connectionTimeoutMillis: 5_000,
    // Statements issued together are sent without waiting for each answer.
    pipeline: true,
  };
  const database = knex({
    client: 'pg',
    // An error's message names its statement, never the values in it.
    compileSqlOnError: false,
    // Its warnings carry a stack that is of no use in a log: the caller reports the failure itself.
    log: {
      warn: (message: unknown) => {
        // One for each attempt of a request that ends with this fault.
        if (String(message).startsWith('Acquire connection error')) return;
        process.stderr.write(`${String(message).split('\n', 1)[0]!}\n`);
      },
    },
    connection,
    // A new connection plans everything again: the first commands on it take three times as long. Idle connections are
    // closed after ten minutes.
    pool: {
      min: options.poolMin ?? 0,
      max: options.poolMax ?? 10,
      acquireTimeoutMillis: options.acquireMs ?? 10_000,
      idleTimeoutMillis: 600_000,
      ...(watch && { afterCreate: watch.opened }),
    },
  });
  watch?.start(database);
  return database;
}

/**
 * Opens connections one after another, ahead of their use: ten at once keep a small machine busy for a tenth of a
 * second.
 */
export async function openConnections(database: Database, count: number): Promise<void> {
  const held: unknown[] = [];
  try {
    while (held.length < count) held.push(await database.client.acquireConnection());
  } finally {
    for (const connection of held) await database.client.releaseConnection(connection);
  }
}
