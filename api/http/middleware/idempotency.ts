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
 * Answers a repeat under the same Idempotency-Key with what was answered (409 where it asks for something else). Claim
 * and answer commit with the change where a transaction that writes is open.
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
 * The request under its key. Beside the body it is what its query says and the study that it names: an import that was
 * only tried is not taken for done.
 */
function keyOf(ctx: RouteContext, route: Route, secret: string): IdempotencyKey {
  const { state } = ctx;
  // Of a form its parts count: what stands between them is another at each sending.
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

/** Whose key it is. What a caregiver asks for one participant is answered for no other. */
function ownerOf({ state: { principal, actor }, headers }: RouteContext): string {
  if (!principal) return sessionIdOf(headers);
  return principal.kind === 'caregiver' ? `${principal.id} ${actor!.id}` : principal.id;
}
