import { putOutbox } from '../../db/outbox/outbox.js';
import { insertNotice } from '../../db/identity/account-notices.queries.js';
import type { NoticeDetails, NoticeKind } from '../../db/identity/account-notices.queries.js';
import type { Tx } from '../../db/client/database.js';
import type { RequestContext } from '../http/request-context.js';

/** An attacker who guesses passwords must not fill the owner's mailbox. */
const QUIET_MINUTES: Partial<Record<NoticeKind, number>> = { account_locked: 60, reauthentication_locked: 60 };

/** Notifies a user by mail of an account event and its origin. The mail is sent after the commit. */
export async function notifyUser(
  tx: Tx,
  userId: string,
  kind: NoticeKind,
  context: RequestContext,
  more: NoticeDetails = {},
): Promise<void> {
  const details = { ip: context.ip, user_agent: context.userAgent ?? null, ...more };
  const id = await insertNotice(tx, { userId, kind, details }, QUIET_MINUTES[kind]);
  if (id) await putOutbox(tx, [{ topic: 'user-link', studyId: null, subject: id, payload: { notice: true } }]);
}
