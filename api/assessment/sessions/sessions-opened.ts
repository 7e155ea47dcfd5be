import ipaddr from 'ipaddr.js';
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
