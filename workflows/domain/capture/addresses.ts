import ipaddr from 'ipaddr.js';

/**
 * Whether an address is on the public internet: not loopback, private, link-local, carrier-grade, multicast or
 * reserved.
 */
export function isPublicAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return false;
  // For the connecting socket ::ffff:10.0.0.1 is 10.0.0.1.
  const known = ipaddr.process(address);
  return known.range() === 'unicast' && (!(known instanceof ipaddr.IPv6) || isGlobal(known));
}

/**
 * Whether an IPv6 address is globally assigned (2000::/3), and contains no IPv4 address for a tunnel (ISATAP, RFC
 * 5214). `::127.0.0.1` is neither.
 */
function isGlobal({ parts }: ipaddr.IPv6): boolean {
  const [first, , , , above, tunnel] = parts;
  return first! >= 0x2000 && first! <= 0x3fff && !(tunnel === 0x5efe && (above === 0 || above === 0x0200));
}

/** Names without a public address: those of this machine, of a local network, and names without a dot. */
const PRIVATE_NAME = /^[^.]+$|(^|\.)(localhost|localdomain|local|internal|intranet|lan|home|corp|home\.arpa)$/i;

/** The literal address in a URL's host (`[::1]`, `127.0.0.1`); undefined for a name, which must be resolved. */
export function literalAddress(hostname: string): string | undefined {
  const bare = hostname.startsWith('[') && hostname.endsWith(']') ? hostname.slice(1, -1) : hostname;
  return ipaddr.isValid(bare) ? bare : undefined;
}

/**
 * Describes the fault of a capture system's or subscriber's URL; undefined: none. Names are not resolved here: every
 * address of the name is checked when a connection is made.
 * @param field its name in the description
 */
export function captureUrlFault(text: string, allowPrivate: boolean, field = 'api_url'): string | undefined {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    return `${field} is not a URL`;
  }
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return `${field} must begin with https:// or http://`;
  if (url.username || url.password) return `${field} must not contain a user name or password`;
  if (allowPrivate) return undefined;
  const literal = literalAddress(url.hostname);
  if (literal ? !isPublicAddress(literal) : PRIVATE_NAME.test(url.hostname.replace(/\.+$/, ''))) {
    return `${field} points to a private address, which ALLOW_PRIVATE_URLS forbids here`;
  }
  return undefined;
}
