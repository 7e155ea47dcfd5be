import { sessionSecret } from '../http/security/portal.js';
import { problem } from '../http/errors.js';
import { subjectOfToken } from '../../db/notifications/signed-links.js';
import { isDeadAddress, reportTokens } from '../../workflows/domain/notifications/bounces.js';
import type { Dependencies } from '../dependencies.js';
import { readMailInThread } from './bounces/in-thread.js';
import { noteDeliveryReport } from './delivery-reports.service.js';

/**
 * Processes a bounce (RFC 3464). A header of the original mail identifies the message, and proves that this service
 * sent it: only its receivers can report anything. The header is checked first: other mails are not parsed.
 * @throws 422 NO_DELIVERY_REPORT for any other mail, 404 for an unknown message, 503 when too many wait
 */
export async function takeBounce(services: Dependencies, raw: Buffer): Promise<void> {
  const text = raw.toString('latin1');
  const secret = sessionSecret(services.settings);
  const ours = (token: string) => subjectOfToken(secret, 'delivery-report', token);
  const id = reportTokens(text, (base64) => Buffer.from(base64, 'base64').toString('latin1'))
    .map(ours)
    .find((subject) => subject !== undefined);
  if (id === undefined)
    throw text.includes('message/delivery-status')
      ? problem('NOT_FOUND', { detail: 'The report returns none of our messages.' })
      : problem('NO_DELIVERY_REPORT');
  const bounce = await readMailInThread(raw);
  if (!bounce) throw problem('NO_DELIVERY_REPORT');
  if (bounce.token === undefined || ours(bounce.token) !== id)
    throw problem('NOT_FOUND', { detail: 'The report returns none of our messages.' });
  // The provider is still retrying.
  if (bounce.outcome === 'delayed') return;
  await noteDeliveryReport(services, id, {
    status: bounce.outcome,
    error: bounce.status === null ? null : `the mail came back (${bounce.status})`,
    addressIsDead: bounce.outcome === 'undelivered' && bounce.status !== null && isDeadAddress(bounce.status),
  });
}
