import { isPlausibleTime } from './quality.js';
import type { Summary, Trial } from './types.js';

/** Rounds to six decimals; larger numbers have none. */
const round = (value: number): number => (Math.abs(value) < 1e9 ? Math.round(value * 1e6) / 1e6 : value);

/** The summary of raw trials; metrics without a value are omitted. Times in milliseconds, shares from 0 to 1. */
export function summarise(trials: readonly Trial[]): Summary {
  const summary: Summary = { total_trials: trials.length };
  let judged = 0;
  let right = 0;
  let sum = 0;
  let measured = 0;
  const times = new Float64Array(trials.length);
  for (const { rt, correct } of trials) {
    if (rt !== null && isPlausibleTime(rt)) {
      times[measured++] = rt;
      sum += rt;
    }
    if (correct !== null) {
      judged++;
      if (correct) right++;
    }
  }
  if (measured > 0) {
    const sorted = times.subarray(0, measured).sort();
    const mean = sum / measured;
    const middle = measured >> 1;
    summary.mean_rt = round(mean);
    summary.median_rt = round(measured % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2);
    if (measured > 1)
      summary.sd_rt = round(Math.sqrt(sorted.reduce((squares, rt) => squares + (rt - mean) ** 2, 0) / (measured - 1)));
  }
  if (judged > 0) summary.accuracy = round(right / judged);
  return summary;
}

/** The client's value minus ours, for every metric that both have and that differs. */
export function summaryDifference(client: Summary, computed: Summary): Summary {
  const result: Summary = {};
  for (const [metric, value] of Object.entries(client)) {
    // Names of metrics are the client's: `constructor` is none of ours.
    const own = Object.hasOwn(computed, metric) ? computed[metric] : undefined;
    if (own !== undefined && round(value - own) !== 0) result[metric] = round(value - own);
  }
  return result;
}
