import { exportsHeldBy, linksSentTo, resentTo } from '../../db/identity/quotas.queries.js';
import type { LinkRecipient } from '../../db/identity/quotas.queries.js';
import type { Settings } from '../../settings.js';
import { problem } from '../http/errors.js';
import type { Tx } from '../../db/client/database.js';

/**
 * Refuses another background export while a user has too many of the study that are unfinished or have files.
 * @throws 429 QUOTA_EXCEEDED
 */
export async function requireExportQuota(
  tx: Tx,
  { EXPORTS_PER_USER: most }: Settings,
  holder: { userId: string; studyId: string },
): Promise<void> {
  if ((await exportsHeldBy(tx, holder)) < most) return;
  throw problem('QUOTA_EXCEEDED', {
    detail: `You have ${most} exports of this study that are unfinished or kept: wait until some have expired.`,
    headers: { 'Retry-After': '600' },
  });
}

/** Whether a recipient may get another link this hour. */
export const maySendLink = async (tx: Tx, { LINKS_PER_HOUR: most }: Settings, to: LinkRecipient): Promise<boolean> =>
  (await linksSentTo(tx, to)) < most;

/** @throws 429 QUOTA_EXCEEDED */
export async function requireLinkQuota(tx: Tx, settings: Settings, to: LinkRecipient): Promise<void> {
  if (await maySendLink(tx, settings, to)) return;
  throw problem('QUOTA_EXCEEDED', {
    detail: `This recipient was sent ${settings.LINKS_PER_HOUR} links within an hour.`,
    headers: { 'Retry-After': '600' },
  });
}

/** As many messages are sent again to a recipient as links, whatever their kind. @throws 429 QUOTA_EXCEEDED */
export async function requireResendQuota(tx: Tx, { LINKS_PER_HOUR: most }: Settings, to: LinkRecipient): Promise<void> {
  if ((await resentTo(tx, to)) < most) return;
  throw problem('QUOTA_EXCEEDED', {
    detail: `This recipient was sent ${most} messages again within an hour.`,
    headers: { 'Retry-After': '600' },
  });
}
