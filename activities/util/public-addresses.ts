import { lookup } from 'node:dns';
import type { LookupAddress } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { isPublicAddress } from '../../workflows/domain/capture/addresses.js';

/**
 * A DNS look-up that fails for host names with a private address. Addresses are checked when the socket is opened, each
 * of them: checking the name before would allow DNS rebinding. node:http accepts a custom look-up, the built-in fetch
 * does not.
 */
export const publicAddresses =
  (refusal: () => Error): LookupFunction =>
  (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, addresses: LookupAddress[]) => {
      if (error) return callback(error, '');
      if (addresses.length === 0 || addresses.some(({ address }) => !isPublicAddress(address)))
        return callback(refusal(), '');
      if (options.all) return callback(null, addresses);
      return callback(null, addresses[0]!.address, addresses[0]!.family);
    });
  };
