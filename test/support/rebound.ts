import dns from 'node:dns';
import type { LookupFunction } from 'node:net';
import { syncBuiltinESMExports } from 'node:module';

/** The ending of names that lead to this machine meanwhile. */
const REBOUND = '.rebound.example.org';

/**
 * Works while names with this ending lead this process to its own machine, as a name whose owner has changed its entry
 * since it was checked. Only the answer of the name server is replaced: nothing here can be asked for such a name.
 */
export async function whereNamesLeadHome<T>(work: () => Promise<T>): Promise<T> {
  const { lookup } = dns;
  const answering: LookupFunction = (name, options, callback) =>
    lookup(name.endsWith(REBOUND) ? '127.0.0.1' : name, options, callback);
  Object.assign(dns, { lookup: answering });
  syncBuiltinESMExports();
  try {
    return await work();
  } finally {
    Object.assign(dns, { lookup });
    syncBuiltinESMExports();
  }
}
