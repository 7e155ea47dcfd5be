import { jwtSecret } from '../security/tokens.js';
import type { Dependencies } from '../../dependencies.js';
import { sessionIdOf } from '../security/session-credential.js';
import {
  claimCommitted,
  claimInTransaction,
  idempotencyKeyOf,
  releaseKey,
  storeResponse,
} from '../conventions/idempotency-keys.js';
import type { IdempotencyKey } from '../conventions/idempotency-keys.js';
import type { Reply, Route } from '../route.js';
import type { RouteContext, RouteMiddleware } from '../state.js';
import type { Database } from '../../../db/client/database.js';
import type { Tx } from '../../../db/client/database.js';

/**
 * Answers a repeat under the same Idempotency-Key with the stored answer (409 if the request differs). Claim and answer
 * commit with the change if a writing transaction is open.
 */
export function idempotency(route: Route, { database, settings }: Dependencies): RouteMiddleware {
  const waitSeconds = settings.REQUEST_TIMEOUT_SECONDS + 5;
  const inTransaction = async (tx: Tx, key: IdempotencyKey, work: () => Promise<Reply>): Promise<Reply> => {
    const stored = await claimInTransaction(tx, key);
    if (stored) return stored;
    const reply = await work();
    await storeResponse(tx, key, reply);
    return reply;
  };
  const committed = async (db: Database, key: IdempotencyKey, work: () => Promise<Reply>): Promise<Reply> => {
    const stored = await claimCommitted(db, key, waitSeconds);
    if (stored) return stored;
    try {
      const reply = await work();
      await storeResponse(db, key, reply);
      return reply;
    } catch (fault) {
      await releaseKey(db, key);
      throw fault;
    }
  };
  return async (ctx, next) => {
    const { state } = ctx;
    if (ctx.headers['idempotency-key'] === undefined) return next();
    const key = keyOf(ctx, route, jwtSecret(settings));
    state.key = key;
    const work = async () => {
      await next();
      return state.reply!;
    };
    const { tx } = state.opened;
    state.reply = tx ? await inTransaction(tx, key, work) : await committed(database, key, work);
  };
}

/**
 * The request under its key. Beside the body, its query and study count: an import's dry run is not taken for the
 * import.
 */
function keyOf(ctx: RouteContext, route: Route, secret: string): IdempotencyKey {
  const { state } = ctx;
  // The parts of a form count, not its boundaries, which differ each time.
  const body = state.upload ? Buffer.concat([state.raw, Buffer.from(JSON.stringify(state.upload.parts))]) : state.raw;
  const names = Object.keys((route.query as { properties?: object } | undefined)?.properties ?? {}).filter(
    (name) => name !== 'study_id' && state.search.has(name),
  );
  const beside = {
    ...Object.fromEntries(names.map((name) => [name, state.search.getAll(name)])),
    ...(state.studyId && !state.params.study_id && { study_id: state.studyId }),
  };
  const content = Object.keys(beside).length > 0 ? Buffer.concat([body, Buffer.from(JSON.stringify(beside))]) : body;
  return idempotencyKeyOf(
    ownerOf(ctx),
    route.method,
    ctx.path,
    String(ctx.headers['idempotency-key']),
    content,
    secret,
  );
}

/** The owner of a key. A caregiver's request for one participant is not answered for another. */
function ownerOf({ state: { principal, actor }, headers }: RouteContext): string {
  if (!principal) return sessionIdOf(headers);
  return principal.kind === 'caregiver' ? `${principal.id} ${actor!.id}` : principal.id;
}
