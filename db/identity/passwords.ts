import { hash, verify } from '@node-rs/argon2';

/** With composed letters (RFC 8265): keyboards and programs differ in how they write an `é`. */
const composed = (password: string): string => password.normalize('NFC');

/** argon2id with the library's defaults (19 MiB, 2 passes), which follow OWASP's advice. */
export const hashPassword = (password: string): Promise<string> => hash(composed(password));

/** True when `password` is the one behind `stored`. Hashes of earlier releases are of the password as it was typed. */
export async function verifyPassword(stored: string, password: string): Promise<boolean> {
  const same = composed(password);
  return (await verify(stored, same)) || (same !== password && (await verify(stored, password)));
}
