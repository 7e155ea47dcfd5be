import { begin } from './opening.js';
import { queryInSingleRoundTrip, queriesInSingleRoundTrip } from './one-trip.js';
import type { Statement } from './one-trip.js';
import { prepared } from './query.js';
import { beginAudited, runIn } from './transaction.js';
import type { WriteTransaction } from './transaction.js';
import type { Database } from './database.js';
import type { Tx } from './database.js';

/** The caller, and the objects that the request names. */
export interface Caller {
  userId: string;
  /** The login behind its access token. */
  login?: string | undefined;
  studyId?: string | undefined;
  siteId?: string | undefined;
  participantId?: string | undefined;
  /** Set: the caller uses a token of /api/v1 that the user created. The hash is SHA-256, hex. */
  token?: { id: string; hash: string } | undefined;
}

/** The caller's current state in the database, and whether the named objects are visible. */
export interface CallerRow {
  id: string;
  email: string;
  name: string;
  role: 'admin' | 'researcher' | 'coordinator' | 'investigator' | 'data_manager';
  status: 'active' | 'inactive';
  study_ids: string[];
  site_ids: string[];
  study_seen: boolean;
  site_seen: boolean;
  participant_seen: boolean;
  /** Of valid logins; it increases when all logins are ended. */
  session_epoch: number;
  /** The caller's login was ended. */
  login_ended: boolean;
  /** For a token: its id and what it may be used for. */
  token_id?: string;
  scopes?: string[];
}

const CALLER = 'select * from request_caller($1, $2, $3, $4, $5)';
const TOKEN_CALLER = 'select * from request_token($1, $2, $3, $4, $5)';
/** The opening of a caller's transaction: narrows it to the caller, and returns a `CallerRow`, or nothing. */
export function callerLookup({ userId, login, studyId, siteId, participantId, token }: Caller): Statement {
  const named = [studyId ?? null, siteId ?? null, participantId ?? null];
  return token
    ? { sql: TOKEN_CALLER, values: [token.id, token.hash, ...named] }
    : { sql: CALLER, values: [userId, ...named, login ?? null] };
}

/** Looks a caller up without a transaction: for routes that open none. Undefined: no such caller. */
export async function lookUp<Row>(database: Database, { sql, values }: Statement): Promise<Row | undefined> {
  return (await prepared<Row>(database, sql, values))[0];
}
export const loadCaller = (database: Database, caller: Caller): Promise<CallerRow | undefined> =>
  lookUp(database, callerLookup(caller));

/**
 * A read-only transaction narrowed to the caller, with one snapshot. `admit` sees the caller first and throws to
 * refuse.
 */
export async function readAsCaller<A, T>(
  database: Database,
  caller: Caller,
  admit: (row: CallerRow | undefined) => A,
  work: (tx: Tx, admitted: A) => Promise<T>,
): Promise<T> {
  const begun = await begin<CallerRow>(database, { mode: 'read', opening: callerLookup(caller) });
  return runIn(begun, async ({ tx, rows }) => work(tx, admit(rows[0])));
}

/**
 * A transaction narrowed to the caller whose audit records are sealed as its last statement: a change without its
 * record cannot commit. Its outbox messages are relayed after the commit.
 */
export async function writeAsCaller<A, T>(
  database: Database,
  caller: Caller,
  admit: (row: CallerRow | undefined) => A,
  work: (work: WriteTransaction, admitted: A) => Promise<T>,
): Promise<T> {
  const begun = await beginAudited<CallerRow>(database, { mode: 'write', opening: callerLookup(caller) });
  return runIn(begun, async ({ tx, audit, rows }) => work({ tx, audit }, admit(rows[0])));
}

/**
 * The statement of a list. Every row has `total`, the number of all matching rows; an empty page has one row with a
 * null `id`.
 */
export type PageStatement = Statement;
export interface PageRows {
  items: Record<string, unknown>[];
  total: number;
}
type PageRow = Record<string, unknown> & { total?: number };

/**
 * Runs a list under the caller's rights in one round trip. The caller of this function admits `row` before anything is
 * answered: isolation has already limited the rows. Having the database write the answer as JSON was tried: it takes
 * twice the processor time that it saves here.
 * @param lookup `callerLookup`
 */
export async function listAsCaller(
  database: Database,
  lookup: Statement,
  statement: PageStatement,
): Promise<{ row: unknown; page: PageRows }> {
  const { opened, rows } = await queryInSingleRoundTrip<PageRow>(database, lookup, statement);
  return { row: opened[0], page: pageOf(rows) };
}

/** Reads in one round trip: as in `listAsCaller`, `row` is admitted before anything is answered. */
export async function queryAsCaller(
  database: Database,
  lookup: Statement,
  statements: readonly Statement[],
): Promise<{ row: unknown; first: unknown[][] }> {
  const { opened, found } = await queriesInSingleRoundTrip(database, lookup, statements);
  return { row: opened[0], first: found };
}

function pageOf(rows: PageRow[]): PageRows {
  const [first] = rows;
  const total = first?.total ?? 0;
  if (!first || first.id === null) return { items: [], total };
  // A property that is deleted turns the row into a hash table: four times the memory, and slow to write as JSON.
  return { items: rows.map(({ total: _total, ...row }) => row), total };
}
