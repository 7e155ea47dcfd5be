import { tokenUsed } from '../../../db/v1/api-tokens.queries.js';
import type { Dependencies } from '../../dependencies.js';

const INTERVAL_MS = 10_000;
const MAX_TOKENS = 10_000;
const noted = new Map<string, number>();

/** Records the use of a token; each process writes it at most every ten seconds. */
export async function recordLastUse({ database }: Dependencies, tokenId: string): Promise<void> {
  const now = performance.now();
  const last = noted.get(tokenId);
  if (last !== undefined && now - last < INTERVAL_MS) return;
  if (noted.size >= MAX_TOKENS) noted.clear();
  noted.set(tokenId, now);
  await tokenUsed(database, tokenId);
}
