import { AuditTrail } from '../audit/audit.js';
import { queryInSingleRoundTrip, writeInSingleRoundTrip } from './one-trip.js';
import type { Statement } from './one-trip.js';
import { begin } from './opening.js';
import type { Begun, Closing, Opening } from './opening.js';
import { nudgeFor } from '../outbox/outbox.js';
import type { MarkedTransaction } from './marked-transaction.js';
import type { Database } from './database.js';
import type { Tx } from './database.js';
import { UUID } from './uuid.js';

/** What a transaction may see: one study, several, or everything ('*': the system itself, admins). */
export type Scope = '*' | string | readonly string[];

/** The text that row-level security reads; refuses non-uuids: the scope is a comma-separated list. */
export function scopeText(scope: Scope): string {
  if (scope === '*') return '*';
  const ids = typeof scope === 'string' ? [scope] : scope;
  for (const id of ids) if (!UUID.test(id)) throw new Error(`not a study id: ${id}`);
  return ids.join(',');
}

const SCOPE = `select set_config('app.studies', $1, true)`;
/**
 * Uses cached plans from the first time on. By default the planner plans a statement five times for its actual values,
 * on each connection, and a trigger's statements on a few rows every time: a third of the database's time of an anchor
 * command. Only where every statement looks up by id: an optional filter needs its own plan.
 */
const GENERIC_PLAN = `, set_config('plan_cache_mode', 'force_generic_plan', true)`;
/**
 * A queue is nearly empty whenever it is analyzed, and a plan that scans all of it for each of its rows looks the
 * cheapest: with fourteen thousand messages, that took the relay a minute and a half.
 */
const BY_INDEX = `, set_config('enable_seqscan', 'off', true)`;

const SCOPES = { one: SCOPE + GENERIC_PLAN, queue: SCOPE + BY_INDEX };
/** The first statement of a transaction: sets its scope and its planning. */
export const openingOf = (scope: Scope, settings?: keyof typeof SCOPES): Statement => ({
  sql: settings ? SCOPES[settings] : SCOPE,
  values: [scopeText(scope)],
});

/**
 * Replaces an ordinary request's limits by longer ones, in a transaction that transfers a file or reads a whole data
 * set. A slow reader counts, too: COPY is one statement, and runs as fast as its reader.
 */
export async function withFileLimits(tx: Tx): Promise<void> {
  await tx.raw(`select set_config('statement_timeout', '1h', true), set_config('lock_timeout', '2min', true)`);
}

export interface WriteTransaction {
  tx: Tx;
  /** Audit records of this transaction; sealed to their chains as its last statement. */
  audit: AuditTrail;
}
/** A transaction opened by `withStudyScope`. */
export interface ScopedTransaction extends WriteTransaction {
  /** Sends a statement with the commit, before the audit records: its error is the commit's, its rows are not read. */
  atCommit: (statement: Statement) => void;
}

/**
 * Runs `work` in one transaction under `scope`. Audit records are appended last and sent with the commit: a change
 * without its record cannot commit.
 * @param settings `one`: the transaction is about one participant or record, and each connection plans its statements
 * once; `queue`: it reads a queue, of few or very many rows
 * @param first run in the round trip that opens the transaction; `work` gets the rows of each
 */
export async function withStudyScope<T>(
  database: Database,
  scope: Scope,
  work: (work: ScopedTransaction, first: unknown[][]) => Promise<T>,
  settings?: 'one' | 'queue',
  first: readonly Statement[] = [],
): Promise<T> {
  const last: Statement[] = [];
  const begun = await beginAudited(
    database,
    { mode: 'write', opening: openingOf(scope, settings), first, plans: settings === 'one' ? 'already' : undefined },
    last,
  );
  return runIn(begun, ({ tx, audit, first: rows }) =>
    work({ tx, audit, atCommit: (statement) => last.push(statement) }, rows),
  );
}

/** Runs `work` in a transaction that has begun, and ends it. */
export async function runIn<T extends { commit: () => Promise<void>; rollback: () => Promise<void> }, R>(
  begun: T,
  work: (begun: T) => Promise<R>,
): Promise<R> {
  let value: R;
  try {
    value = await work(begun);
  } catch (fault) {
    await begun.rollback();
    throw fault;
  }
  await begun.commit();
  return value;
}

/**
 * Begins a transaction whose audit records are sealed as its last statement. Its outbox messages are relayed after the
 * commit.
 * @param last sent with the commit, before the audit records
 */
export async function beginAudited<Row>(
  database: Database,
  options: Opening,
  last: readonly Statement[] = [],
): Promise<Begun<Row> & WriteTransaction> {
  const audit = new AuditTrail();
  const begun = await begin<Row>(database, options);
  return {
    ...begun,
    audit,
    commit: async () => {
      let closing: Closing;
      try {
        closing = closingOf(audit, last);
      } catch (fault) {
        await begun.rollback();
        throw fault;
      }
      await begun.commit(closing);
      nudgeFor(database, begun.tx as MarkedTransaction);
    },
  };
}

/**
 * A commit keeps its locks until it is on disk, and each record of a chain waits for the one before: writers of one
 * study would write to the disk one after another. This commit therefore does not wait for the disk; the one sent after
 * it does.
 */
const COMMIT_WITHOUT_DISK = 'set local synchronous_commit = off';
/**
 * A transaction of its own, whose commit waits for the disk as the server's settings demand: the log is written in
 * order, so everything committed before is there, too, and one write serves all who wait. Nobody is answered earlier.
 */
const WAIT_FOR_DISK = `select pg_logical_emit_message(true, 'committed', '')`;

/** Sent with the commit: deferred statements, then the audit records. */
function closingOf(audit: AuditTrail, last: readonly Statement[]): Closing {
  const sealing = audit.seal();
  return sealing === undefined
    ? { statements: last }
    : { statements: [...last, `${COMMIT_WITHOUT_DISK}; ${sealing}`], after: WAIT_FOR_DISK };
}

/** Read-only `withStudyScope`: no audit, and the database refuses a write. Its statements share one snapshot. */
export async function readInScope<T>(database: Database, scope: Scope, work: (tx: Tx) => Promise<T>): Promise<T> {
  return runIn(await begin(database, { mode: 'read', opening: openingOf(scope) }), ({ tx }) => work(tx));
}

/** One statement under `scope` as a transaction of one round trip. */
export async function readOneInScope<Row>(database: Database, scope: Scope, statement: Statement): Promise<Row[]> {
  return (await queryInSingleRoundTrip<Row>(database, openingOf(scope), statement)).rows;
}

/**
 * Runs statements under `scope` as a transaction of one round trip, which may write: no audit, no message. `settings`
 * as in `withStudyScope`.
 */
export async function writeInScope(
  database: Database,
  scope: Scope,
  statements: readonly Statement[],
  settings: 'one' | 'queue',
): Promise<unknown[][]> {
  return writeInSingleRoundTrip(
    database,
    openingOf(scope, settings),
    statements,
    settings === 'one' ? 'already' : undefined,
  );
}
