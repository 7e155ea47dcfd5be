import ipaddr from 'ipaddr.js';
import { problem } from '../../http/errors.js';
import type { SessionRow } from '../../../db/assessment/sessions.queries.js';
import type { RequestContext } from '../../http/request-context.js';

/**
 * Audit fields of requests authorized by a session's id alone: who opened the session, how, and the sender's network.
 * The address itself would be personal data, and audit records are never deleted.
 */
export const sessionOpener = (session: SessionRow, { ip }: RequestContext) => ({
  opened_by_id: session.started_by_id,
  opened_via: session.imported ? 'import' : session.started_by_id === null ? 'portal' : 'staff',
  opened_at_site_id: session.site_id,
  network: networkOf(ip),
});

/** The sender's network of 256 addresses, or of one household (IPv6): `203.0.113.0/24`. Null: no address. */
function networkOf(ip: string): string | null {
  if (!ipaddr.isValid(ip)) return null;
  const address = ipaddr.process(ip);
  const bits = address.kind() === 'ipv4' ? 24 : 48;
  const network = address.kind() === 'ipv4' ? ipaddr.IPv4 : ipaddr.IPv6;
  return `${network.networkAddressFromCIDR(`${address.toString()}/${bits}`).toString()}/${bits}`;
}

/** @throws 409 PARTICIPANT_WITHDRAWN for trials that were recorded after it; the sync refuses such a response, too */
export function refuseLaterTrials({ withdrawn_at }: SessionRow, contents: readonly { at: readonly number[] }[]): void {
  if (withdrawn_at === null) return;
  const end = Date.parse(withdrawn_at);
  if (contents.some(({ at }) => at.some((instant) => instant > end)))
    throw problem('PARTICIPANT_WITHDRAWN', {
      detail: 'Trials were recorded after the participant had withdrawn: nothing of this submission is taken.',
    });
}

/** @throws 409 PARTICIPANT_ERASED, as the sync says of the items of such a participant */
export function refuseErased({ erased }: SessionRow): void {
  if (erased)
    throw problem('PARTICIPANT_ERASED', { detail: 'The participant’s identity was erased: the record stays closed.' });
}
