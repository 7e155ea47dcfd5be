import { keepDeliveryReport } from '../../db/notifications/notifications.queries.js';
import { insertInstead, markAddressDead } from '../../db/notifications/reminders.queries.js';
import { subjectOfToken } from '../../db/notifications/signed-links.js';
import { withStudyScope } from '../../db/client/transaction.js';
import { channelInstead } from '../../workflows/domain/notifications/fallback.js';
import { sessionSecret } from '../http/security/portal.js';
import { problem } from '../http/errors.js';
import type { Dependencies } from '../dependencies.js';

/** Processes a gateway's report on a message. @throws 404 for a forged link, or a message that is not sent */
export async function deliveryReport(
  services: Dependencies,
  id: string,
  token: string,
  report: { status: 'delivered' | 'undelivered' | 'failed'; error_code?: string | null },
): Promise<void> {
  if (subjectOfToken(sessionSecret(services.settings), 'delivery-report', token) !== id.toLowerCase())
    throw problem('NOT_FOUND', { detail: 'There is no such notification.' });
  await noteDeliveryReport(services, id, {
    status: report.status === 'delivered' ? 'delivered' : 'undelivered',
    error: report.error_code ? `the gateway reported ${report.error_code}`.slice(0, 500) : null,
    addressIsDead: false,
  });
}

/**
 * Stores the delivery status of a sent message. The first report that a reminder did not arrive sends it on the study's
 * fallback channel; an address that does not exist gets no more reminders.
 * @throws 404 for a message that is not sent
 */
export async function noteDeliveryReport(
  { database }: Dependencies,
  id: string,
  report: { status: 'delivered' | 'undelivered'; error: string | null; addressIsDead: boolean },
): Promise<void> {
  await withStudyScope(database, '*', async ({ tx, audit }) => {
    const found = await keepDeliveryReport(tx, id, report);
    if (!found) throw problem('NOT_FOUND', { detail: 'There is no such notification.' });
    const { study_id, visit_key, channel, settings, before } = found;
    const isDead = report.addressIsDead && (await markAddressDead(tx, id));
    const instead =
      report.status === 'undelivered' && before !== 'undelivered' && visit_key !== null
        ? channelInstead({ channel, settings })
        : null;
    if (instead !== null) await insertInstead(tx, id, instead);
    audit.record({
      study_id,
      user_id: null,
      action: 'delivery_reported',
      resource_type: 'notification',
      resource_id: id,
      metadata: {
        status: report.status,
        ...(instead && { instead }),
        ...(isDead && { address: 'dead' }),
      },
    });
  });
}
