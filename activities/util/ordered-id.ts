import { randomUUID } from 'node:crypto';
import { nowMs } from '../../db/client/clock.js';

/** Numbers of three digits, written with one before it that is the version. */
const FIRST = 0x7000,
  END = 0x8000;
let lastMs = 0,
  time = '',
  order = FIRST;

/**
 * An id (UUID, version 7) greater than those that this process made before: rows made together lie together in their
 * indexes, where rows of random ids are each in a place of their own. It tells when it was made: not for what an id
 * gives access to.
 */
export function orderedId(now = nowMs()): string {
  order += 1;
  // A clock that was set back is waited for, in the time of the ids before.
  if (now > lastMs || order === END) {
    lastMs = Math.max(now, lastMs + 1);
    const digits = lastMs.toString(16).padStart(12, '0');
    time = `${digits.slice(0, 8)}-${digits.slice(8)}`;
    order = FIRST;
  }
  // The rest of a random id: its variant, and 62 random bits.
  return `${time}-${order.toString(16)}-${randomUUID().slice(19)}`;
}
