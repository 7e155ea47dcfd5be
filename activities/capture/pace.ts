import { setTimeout as sleep } from 'node:timers/promises';

/** Between two exports of a sync: 240 a minute at most, where a capture system bans an address for ever at 600. */
const APART_MS = 250;
const nextAt = new Map<string, number>();

/** Waits for the turn of a call to this capture system; triggers and pushes, which come one by one, do not take turns. */
export async function takeTurn(apiUrl: string): Promise<void> {
  const now = performance.now();
  const turn = Math.max(now, nextAt.get(apiUrl) ?? 0);
  if (nextAt.size > 1_000) nextAt.clear();
  nextAt.set(apiUrl, turn + APART_MS);
  if (turn > now) await sleep(turn - now);
}
