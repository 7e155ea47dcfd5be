import ipaddr from 'ipaddr.js';
import { problem } from '../../http/errors.js';

type Range = [ipaddr.IPv4 | ipaddr.IPv6, number];
const parsed = new WeakMap<readonly string[], Range[]>();

function rangesOf(list: readonly string[]): Range[] {
  let ranges = parsed.get(list);
  if (!ranges) {
    ranges = list.map((entry) => {
      if (entry.includes('/') && ipaddr.isValidCIDR(entry)) return ipaddr.parseCIDR(entry);
      if (!ipaddr.isValid(entry))
        throw new Error(`WEBHOOK_ALLOWED_IPS holds "${entry}", which is neither an address nor a CIDR.`);
      const address = ipaddr.process(entry);
      return [address, address.kind() === 'ipv4' ? 32 : 128];
    });
    parsed.set(list, ranges);
  }
  return ranges;
}

/** Refuses triggers from other addresses; without a list every address is allowed. @throws 403 */
export function assertAllowedAddress(address: string, list: readonly string[] | undefined): void {
  if (!list) return;
  const caller = ipaddr.isValid(address) ? ipaddr.process(address) : undefined;
  const allowed =
    caller !== undefined &&
    rangesOf(list).some(([range, bits]) => caller.kind() === range.kind() && caller.match(range, bits));
  if (!allowed) throw problem('FORBIDDEN', { detail: 'Triggers are not taken from this address.' });
}
