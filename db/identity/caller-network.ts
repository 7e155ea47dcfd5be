import ipaddr from 'ipaddr.js';

/** What one customer of a provider has of IPv6: each of its addresses could be a caller of its own. */
const PREFIX_PARTS = 4;

/** The network by which callers are counted: an IPv4 address, or the first 64 bits of an IPv6 address. */
export function networkOf(address: string): string {
  if (!ipaddr.isValid(address)) return address;
  const known = ipaddr.process(address);
  if (!(known instanceof ipaddr.IPv6)) return known.toString();
  const parts = known.parts.slice(0, PREFIX_PARTS).map((part) => part.toString(16));
  return `${parts.join(':')}::/64`;
}
