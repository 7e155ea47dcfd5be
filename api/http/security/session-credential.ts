import type { IncomingHttpHeaders } from 'node:http';
import { enterStudyOf, lockSession, sessionExists } from '../../../db/assessment/sessions.queries.js';
import type { SessionRow } from '../../../db/assessment/sessions.queries.js';
import { Problem, problem } from '../errors.js';
import type { Database, Tx } from '../../../db/client/database.js';
import { UUID } from '../../../db/client/uuid.js';

/** The session in X-Session-ID. @throws 401 SESSION_UNKNOWN without a valid one */
export function sessionIdOf(headers: IncomingHttpHeaders): string {
  const header = headers['x-session-id'];
  if (typeof header !== 'string' || !UUID.test(header)) throw problem('SESSION_UNKNOWN');
  return header.toLowerCase();
}

/**
 * Refuses a session that does not exist before its long body is read: anybody may send one. @throws 401 SESSION_UNKNOWN
 */
export async function requireSession(database: Database, headers: IncomingHttpHeaders): Promise<void> {
  if (!(await sessionExists(database, sessionIdOf(headers))))
    throw problem('SESSION_UNKNOWN', { headers: { Connection: 'close' } });
}

/** The body names the session too. @throws 400 SESSION_MISMATCH if it names another */
export function requireNamed(session: SessionRow, bodyId: string): void {
  if (bodyId.toLowerCase() !== session.id) throw problem('SESSION_MISMATCH');
}

/**
 * The session whose id is the credential, locked; the transaction sees its study alone. @throws 401 SESSION_UNKNOWN
 */
export async function lockNamedSession(tx: Tx, id: string): Promise<SessionRow> {
  const session = (await enterStudyOf(tx, id)) ? await lockSession(tx, id) : undefined;
  if (!session) throw problem('SESSION_UNKNOWN');
  return session;
}

/**
 * The error of a request with this session. An expired session only repeats earlier answers: its expiry is reported
 * before any other error, as 401 SESSION_EXPIRED.
 */
export function expiredInstead(session: SessionRow | undefined, fault: unknown): unknown {
  if (session?.status !== 'expired' || !(fault instanceof Problem) || fault.status >= 500) return fault;
  return problem('SESSION_EXPIRED', { detail: `The session expired at ${session.expires_at}.`, cause: fault });
}
