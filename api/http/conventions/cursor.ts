import { createHmac, timingSafeEqual } from 'node:crypto';
import { problem } from '../errors.js';

/**
 * A signed cursor of a list, after the given row. It is valid for one list: forged cursors, and those of other lists,
 * are refused.
 */
export function makeCursor(secret: string, list: string, after: readonly string[]): string {
  const place = Buffer.from(JSON.stringify(after)).toString('base64url');
  return `${place}.${seal(secret, list, place)}`;
}

/** @throws 400 INVALID_CURSOR */
export function readCursor(secret: string, list: string, cursor: string): string[] {
  const [place = '', given = '', more] = cursor.split('.');
  const expected = Buffer.from(seal(secret, list, place));
  const mine = Buffer.from(given);
  if (more !== undefined || mine.length !== expected.length || !timingSafeEqual(mine, expected))
    throw problem('INVALID_CURSOR');
  return JSON.parse(Buffer.from(place, 'base64url').toString()) as string[];
}

const seal = (secret: string, list: string, place: string): string =>
  createHmac('sha256', secret).update(`cursor ${list} ${place}`).digest('base64url').slice(0, 22);
