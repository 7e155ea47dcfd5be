import { median } from './figure.js';
import type { Measured } from './load.js';

export interface Pair {
  ours: Measured;
  baseline: Measured;
}

/**
 * Rounds of ours and the baseline side by side, in turn one first and then the other, after one of each that is not
 * counted. A machine that becomes slower or faster on the way does so for both.
 */
export async function inPairs(
  rounds: number,
  ours: (round: number) => Promise<Measured>,
  baseline: (round: number) => Promise<Measured>,
): Promise<Pair[]> {
  const pairs: Pair[] = [];
  for (let round = 0; round <= rounds; round += 1) {
    const first = round % 2 === 0 ? await ours(round) : await baseline(round);
    const second = round % 2 === 0 ? await baseline(round) : await ours(round);
    const pair = round % 2 === 0 ? { ours: first, baseline: second } : { ours: second, baseline: first };
    if (round > 0) pairs.push(pair);
  }
  return pairs;
}

/** The median of the rounds' ratios, beside the medians of both sides. */
export function compared(
  pairs: readonly Pair[],
  of: (measured: Measured) => number,
): { ratio: number; ours: number; baseline: number } {
  return {
    ratio: median(pairs.map((p) => of(p.ours) / of(p.baseline))),
    ours: median(pairs.map((p) => of(p.ours))),
    baseline: median(pairs.map((p) => of(p.baseline))),
  };
}
