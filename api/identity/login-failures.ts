import { countFailedLogin, originOf } from '../../db/identity/login-failures.queries.js';
import type { LoginOrigin } from '../../db/identity/login-failures.queries.js';
import type { WriteTransaction } from '../../db/client/transaction.js';
import { notifyUser } from './account-notices.js';
import type { Tx } from '../../db/client/database.js';
import type { RequestContext } from '../http/request-context.js';

/** The origin of a request, as a user's account knows it. */
export const originIn = (tx: Tx, userId: string, context: RequestContext): Promise<LoginOrigin> =>
  originOf(tx, userId, { ip: context.ip, userAgent: context.userAgent ?? null });

/** Counts a wrong password or code. A lock is recorded in the audit log, and the owner is notified. */
export async function countFailure(
  { tx, audit }: WriteTransaction,
  userId: string,
  origin: LoginOrigin,
  context: RequestContext,
  action: 'account_locked' | 'reauthentication_locked' = 'account_locked',
): Promise<void> {
  const locked = await countFailedLogin(tx, userId, origin);
  if (!locked) return;
  audit.record({
    study_id: null,
    user_id: userId,
    action,
    resource_type: 'user',
    resource_id: userId,
    request_id: context.requestId,
    metadata: { scope: locked },
  });
  await notifyUser(tx, userId, action, context);
}
