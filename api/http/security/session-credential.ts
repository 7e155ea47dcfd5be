import type { IncomingHttpHeaders } from 'node:http';
import { enterStudyOf, lockSession, sessionExists } from '../../../db/assessment/sessions.queries.js';
import type { SessionRow } from '../../../db/assessment/sessions.queries.js';
import { withStudyScope } from '../../../db/client/transaction.js';
import type { WriteTransaction } from '../../../db/client/transaction.js';
import { Problem, problem } from '../errors.js';
import type { Database } from '../../../db/client/database.js';
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
 * Works on a session whose id is the credential (decisions, section 4, "Submit"). Only the look-up sees every study;
 * everything after it sees the session's own. The session is locked until the commit. An expired session only repeats
 * earlier answers; its expiry is reported before any other error.
 * @throws 401 SESSION_UNKNOWN or SESSION_EXPIRED
 */
export async function inSession<T>(
  database: Database,
  id: string,
  work: (work: WriteTransaction, session: SessionRow) => Promise<T>,
): Promise<T> {
  return withStudyScope(database, '*', async (opened) => {
    if (!(await enterStudyOf(opened.tx, id))) throw problem('SESSION_UNKNOWN');
    const session = await lockSession(opened.tx, id);
    if (!session) throw problem('SESSION_UNKNOWN');
    if (session.status !== 'expired') return work(opened, session);
    try {
      return await work(opened, session);
    } catch (fault) {
      if (!(fault instanceof Problem) || fault.status >= 500) throw fault;
      throw problem('SESSION_EXPIRED', { detail: `The session expired at ${session.expires_at}.`, cause: fault });
    }
  });
}
