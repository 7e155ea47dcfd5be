import { begin } from '../../../db/client/opening.js';
import type { Database, Tx } from '../../../db/client/database.js';
import { callerLookup } from '../../../db/client/request.js';
import { runIn } from '../../../db/client/transaction.js';
import { seesAll } from '../../../db/operations/idempotency.queries.js';
import { problem } from '../errors.js';
import { JsonStream } from '../json/json-stream.js';
import type { Reply } from '../reply.js';
import type { RouteContext } from '../state.js';

const UUIDS = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/gi;
/** Ids of a longer text are looked for in its beginning. */
const MAX_BYTES = 1024 * 1024;

const textOf = (bytes: Buffer): string => bytes.subarray(0, MAX_BYTES).toString('latin1');
const answerOf = ({ body }: Reply): string =>
  body instanceof JsonStream ? body.pieces.map(textOf).join('') : JSON.stringify(body ?? null);
const idsIn = (text: string): string[] => text.match(UUIDS) ?? [];

/**
 * Admits a user to a stored answer as to a new one: since then the user, or a participant, may have been moved to
 * another study or site.
 * @throws 404 if the request or its answer names something that the caller may not see any more
 */
export async function requireReplayAccess(
  { state, path }: RouteContext,
  stored: Reply,
  database: Database,
  tx: Tx | undefined,
): Promise<void> {
  const { principal } = state;
  if (principal?.kind !== 'user') return;
  const ids = [...new Set([path, textOf(state.raw), answerOf(stored)].flatMap(idsIn))];
  const caller = callerLookup({ userId: principal.userId, login: principal.credential.sid });
  const sees = (within: Tx) => seesAll(within, caller, ids);
  const admitted = tx
    ? await sees(tx)
    : await runIn(await begin(database, { mode: 'read', opening: caller }), ({ tx: read }) => sees(read));
  if (!admitted)
    throw problem('NOT_FOUND', {
      detail: 'The stored answer of this Idempotency-Key names something that you have no access to any more.',
    });
}
