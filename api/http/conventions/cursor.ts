import { createCipheriv, createDecipheriv, createHmac } from 'node:crypto';
import { problem } from '../errors.js';

const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12,
  SEAL_BYTES = 16;

/**
 * A cursor of a list, after the given row. It is sealed: it does not show the row's place, which may be an id that
 * readers do not see, and is valid for one list.
 */
export function makeCursor(secret: string, list: string, after: readonly string[]): string {
  const key = keyOf(secret);
  const place = JSON.stringify(after);
  // Derived from the content: the same place has the same cursor, and no two contents share a nonce.
  const nonce = createHmac('sha256', key).update(`${list} ${place}`).digest().subarray(0, NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, key, nonce).setAAD(Buffer.from(list));
  const hidden = Buffer.concat([nonce, cipher.update(place, 'utf8'), cipher.final()]);
  return `${hidden.toString('base64url')}.${cipher.getAuthTag().toString('base64url')}`;
}

/** @throws 400 INVALID_CURSOR for one that was made up, or is of another list */
export function readCursor(secret: string, list: string, cursor: string): string[] {
  const [hidden, seal, ...more] = cursor.split('.').map(bytesOf);
  if (!hidden || hidden.length <= NONCE_BYTES || seal?.length !== SEAL_BYTES || more.length > 0)
    throw problem('INVALID_CURSOR');
  const decipher = createDecipheriv(CIPHER, keyOf(secret), hidden.subarray(0, NONCE_BYTES))
    .setAAD(Buffer.from(list))
    .setAuthTag(seal);
  const place = decipher.update(hidden.subarray(NONCE_BYTES));
  try {
    return JSON.parse(Buffer.concat([place, decipher.final()]).toString()) as string[];
  } catch (fault) {
    throw problem('INVALID_CURSOR', { cause: fault });
  }
}

const keyOf = (secret: string): Buffer => createHmac('sha256', secret).update('cursor').digest();

/** Undefined: the text is not as these bytes are written. */
function bytesOf(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64url');
  return bytes.toString('base64url') === text ? bytes : undefined;
}
