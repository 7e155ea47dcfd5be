import { AuditTrail } from '../audit/audit.js';
import { beginWith } from './opening.js';
import { queryInSingleRoundTrip, queriesInSingleRoundTrip } from './one-trip.js';
import type { Statement } from './one-trip.js';
import { nudgeFor } from '../outbox/outbox.js';
import { prepared } from './query.js';
import { closingOf } from './transaction.js';
import type { WriteTransaction } from './transaction.js';
import type { MarkedTransaction } from './marked-transaction.js';
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
/** The opening of each transaction: narrows it to the caller, and returns a `CallerRow`, or nothing. */
function opening({ userId, login, studyId, siteId, participantId, token }: Caller): Statement {
  const named = [studyId ?? null, siteId ?? null, participantId ?? null];
  return token
    ? { sql: TOKEN_CALLER, values: [token.id, token.hash, ...named] }
    : { sql: CALLER, values: [userId, ...named, login ?? null] };
}

/** Loads the caller without a transaction: for routes that open none. Undefined: no such user. */
export async function loadCaller(database: Database, caller: Caller): Promise<CallerRow | undefined> {
  const { sql, values } = opening(caller);
  return (await prepared<CallerRow>(database, sql, values))[0];
}

/**
 * A read-only transaction narrowed to the caller, with one snapshot. `admit` sees the caller first and throws to
 * refuse.
 * @param options `first`: run in the round trip that opens it, `work` gets the rows of each
 */
export async function readAsCaller<A, T>(
  database: Database,
  caller: Caller,
  admit: (row: CallerRow | undefined) => A,
  work: (tx: Tx, admitted: A, first: unknown[][]) => Promise<T>,
  options: { first?: readonly Statement[] } = {},
): Promise<T> {
  return beginWith(
    database,
    { mode: 'read', opening: opening(caller), ...(options.first && { first: options.first }) },
    async (tx, [row]: CallerRow[], rows) => work(tx, admit(row), rows),
  );
}

/**
 * A transaction narrowed to the caller whose audit records are sealed as its last statement: a change without its
 * record cannot commit (decisions, section 7). Its outbox messages are relayed after the commit.
 * @param options `first`: run in the round trip that opens it; a refused caller gets nothing of it. `meanwhile`: called
 * with the answer while the database commits, which may still fail; `trial`: only previews a change, in one snapshot
 */
export async function writeAsCaller<A, T>(
  database: Database,
  caller: Caller,
  admit: (row: CallerRow | undefined) => A,
  work: (work: WriteTransaction, admitted: A, first: unknown[][]) => Promise<T>,
  {
    trial = false,
    ...options
  }: { trial?: boolean; first?: readonly Statement[]; meanwhile?: (answer: T) => void } = {},
): Promise<T> {
  let marked: MarkedTransaction | undefined;
  const audit = new AuditTrail();
  const answer = await beginWith(
    database,
    { mode: trial ? 'trial' : 'write', opening: opening(caller), beforeCommit: () => closingOf(audit), ...options },
    async (tx, [row]: CallerRow[], rows) => {
      const admitted = admit(row);
      const result = await work({ tx, audit }, admitted, rows);
      marked = tx as MarkedTransaction;
      return result;
    },
  );
  if (marked) nudgeFor(database, marked);
  return answer;
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
 * Runs a list under the caller's rights in one round trip. `admit` decides afterwards, before anything is answered:
 * isolation has already limited the rows. Having the database write the answer as JSON was tried: it takes twice the
 * processor time that it saves here.
 */
export async function listAsCaller(
  database: Database,
  caller: Caller,
  admit: (row: CallerRow | undefined) => void,
  statement: PageStatement,
): Promise<PageRows> {
  const { opened, rows } = await queryInSingleRoundTrip<PageRow>(database, opening(caller), statement);
  admit(opened[0] as CallerRow | undefined);
  return pageOf(rows);
}

/** Reads in one round trip: as in `listAsCaller`, the caller is admitted before anything is answered. */
export async function queryAsCaller<A>(
  database: Database,
  caller: Caller,
  admit: (row: CallerRow | undefined) => A,
  statements: readonly Statement[],
): Promise<{ admitted: A; first: unknown[][] }> {
  const { opened, found } = await queriesInSingleRoundTrip(database, opening(caller), statements);
  return { admitted: admit(opened[0] as CallerRow | undefined), first: found };
}

function pageOf(rows: PageRow[]): PageRows {
  const total = rows[0]!.total!;
  if (rows[0]!.id === null) return { items: [], total };
  // A property that is deleted turns the row into a hash table: four times the memory, and slow to write as JSON.
  return { items: rows.map(({ total: _total, ...row }) => row), total };
}
