import { hash, verify } from '@node-rs/argon2';

/** argon2id with the library's defaults (19 MiB, 2 passes), which follow OWASP's advice. */
export const hashPassword = (password: string): Promise<string> => hash(password);

/** True when `password` is the one behind `stored`. */
export const verifyPassword = (stored: string, password: string): Promise<boolean> => verify(stored, password);
