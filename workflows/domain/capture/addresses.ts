import ipaddr from 'ipaddr.js';

/**
 * Whether an address is on the public internet: not loopback, private, link-local, carrier-grade, multicast or
 * reserved.
 */
export function isPublicAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return false;
  // ::ffff:10.0.0.1 is 10.0.0.1 to the socket that connects to it.
  const known = ipaddr.process(address);
  return known.range() === 'unicast' && (!(known instanceof ipaddr.IPv6) || isGlobal(known));
}

/**
 * Whether an IPv6 address is one of those that are given out (2000::/3), and names no IPv4 address that a tunnel would
 * lead to (ISATAP, RFC 5214). `::127.0.0.1` is neither.
 */
function isGlobal({ parts }: ipaddr.IPv6): boolean {
  const [first, , , , above, tunnel] = parts;
  return first! >= 0x2000 && first! <= 0x3fff && !(tunnel === 0x5efe && (above === 0 || above === 0x0200));
}

/** Names that no public address has: those of this machine, of a local network, and names without a dot. */
const PRIVATE_NAME = /^[^.]+$|(^|\.)(localhost|localdomain|local|internal|intranet|lan|home|corp|home\.arpa)$/i;

/** The address that a URL's host spells out (`[::1]`, `127.0.0.1`); undefined for a name, which has to be looked up. */
export function literalAddress(hostname: string): string | undefined {
  const bare = hostname.startsWith('[') && hostname.endsWith(']') ? hostname.slice(1, -1) : hostname;
  return ipaddr.isValid(bare) ? bare : undefined;
}

/**
 * What is wrong with the URL of a capture system or subscriber as text, in words; undefined when nothing is.
 * Names are not looked up here: whoever connects checks every address that the name has at that moment.
 * @param field what the words call it
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
