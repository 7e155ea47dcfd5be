import PostalMime from 'postal-mime';
import { sessionSecret } from '../auth/portal.js';
import { problem } from '../errors.js';
import { subjectOf } from '../../db/signed-links.js';
import { isDeadAddress, readBounce } from '../../workflows/domain/reminders/bounces.js';
import type { Services } from '../services.js';
import { noteDeliveryReport } from './delivery-reports.js';

const RETURNED = ['message/rfc822', 'message/rfc822-headers', 'text/rfc822-headers'];

/**
 * Takes a mail that came back (RFC 3464). It says which message it was by the header that the mail bore, which also
 * proves that it was ours: who has never seen it can report nothing.
 * @throws 422 NO_DELIVERY_REPORT for any other mail, 404 for a message that is not ours
 */
export async function takeBounce(services: Services, raw: Buffer): Promise<void> {
  const { attachments } = await PostalMime.parse(raw, {
    forceRfc822Attachments: true,
    attachmentEncoding: 'utf8',
  }).catch((fault: unknown) => {
    throw problem('NO_DELIVERY_REPORT', {
      detail: `The body is no mail: ${fault instanceof Error ? fault.message : 'it cannot be read'}.`,
    });
  });
  const parts = (...types: string[]) =>
    attachments
      .filter(({ mimeType }) => types.includes(mimeType))
      .map(({ content }) => String(content))
      .join('\n');
  const bounce = readBounce(parts('message/delivery-status'), parts(...RETURNED));
  if (!bounce) throw problem('NO_DELIVERY_REPORT');
  const id =
    bounce.token === undefined
      ? undefined
      : subjectOf(sessionSecret(services.settings), 'delivery-report', bounce.token);
  if (id === undefined) throw problem('NOT_FOUND', { detail: 'The report returns none of our messages.' });
  // It is still being tried.
  if (bounce.outcome === 'delayed') return;
  await noteDeliveryReport(services, id, {
    status: bounce.outcome,
    error: bounce.status === null ? null : `the mail came back (${bounce.status})`,
    addressIsDead: bounce.outcome === 'undelivered' && bounce.status !== null && isDeadAddress(bounce.status),
  });
}
