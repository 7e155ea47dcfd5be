import { faultCode } from '../../../db/client/connection/driver-faults.js';
import type { Database, Tx } from '../../../db/client/database.js';
import { jwtSecret } from '../security/tokens.js';
import type { Dependencies } from '../../dependencies.js';
import { sessionIdOf } from '../security/session-credential.js';
import { claim, idempotencyKeyOf, releaseKey, requestKeyOf, storeResponse } from '../conventions/idempotency-keys.js';
import type { IdempotencyKey } from '../conventions/idempotency-keys.js';
import { requireReplayAccess } from '../conventions/replay-access.js';
import type { Reply } from '../reply.js';
import type { Route } from '../route.js';
import type { RouteContext, RouteMiddleware } from '../state.js';

/**
 * Answers a repeat under the same Idempotency-Key with the stored answer (409 if the request differs). Claim and answer
 * commit with the change if a writing transaction is open; else each commits on its own.
 */
export function idempotency(route: Route, { database, settings }: Dependencies): RouteMiddleware {
  const waitSeconds = settings.REQUEST_TIMEOUT_SECONDS + 5;
  return async (ctx, next) => {
    const { state } = ctx;
    if (ctx.headers['idempotency-key'] === undefined) return next();
    const key = keyOf(ctx, route, jwtSecret(settings));
    state.requestKey = requestKeyOf(key);
    const { tx } = state.opened;
    const ofTrial = tx !== undefined && route.isTrial?.(state) === true;
    const stored = ofTrial
      ? await claimInTrial(tx, database, key, waitSeconds)
      : await claim(tx ?? database, key, tx ? 'with the change' : { waitSeconds });
    if (stored) {
      await requireReplayAccess(ctx, stored, database, tx);
      state.reply = stored;
      return;
    }
    try {
      await next();
      await storeResponse(tx ?? database, key, state.reply!);
    } catch (fault) {
      if (!tx) await releaseKey(database, key);
      throw fault;
    }
  };
}

/**
 * A trial has one moment: what its twin has committed since then, it may not claim, nor can it read the answer there.
 */
async function claimInTrial(
  tx: Tx,
  database: Database,
  key: IdempotencyKey,
  waitSeconds: number,
): Promise<Reply | undefined> {
  try {
    return await tx.transaction((savepoint) => claim(savepoint as Tx, key, 'with the change'));
  } catch (fault) {
    if (faultCode(fault) !== '40001') throw fault;
    return claim(database, key, { waitSeconds });
  }
}

/**
 * The request under its key. Beside the body, its query, study and site count: an import's dry run is not taken for the
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
    ...(state.siteId && { site_id: state.siteId }),
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
