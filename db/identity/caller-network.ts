import ipaddr from 'ipaddr.js';

/** The prefix that a provider assigns to one customer, who could otherwise send from any number of its addresses. */
const PREFIX_PARTS = 4;

/** The network by which callers are counted: an IPv4 address, or the first 64 bits of an IPv6 address. */
export function networkOf(address: string): string {
  if (!ipaddr.isValid(address)) return address;
  const known = ipaddr.process(address);
  if (!(known instanceof ipaddr.IPv6)) return known.toString();
  const parts = known.parts.slice(0, PREFIX_PARTS).map((part) => part.toString(16));
  return `${parts.join(':')}::/64`;
}
