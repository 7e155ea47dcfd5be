import { isLong } from '../util/length.js';
import { isPossible } from './metric-ranges.js';
import { answersDiffer } from './tasks.js';
import type { Remark, Summary, Trial } from './types.js';

/** The fastest possible reaction to a visual stimulus. */
const FASTEST_MS = 100;
const SLOWEST_MS = 60_000;
/** The longest possible reaction time: a day. */
const LONGEST_MS = 86_400_000;
/** Whether somebody can have taken so long. Another time is stored, and in no summary. */
export const isPlausibleTime = (rt: number): boolean => rt <= LONGEST_MS;
/** Fewer trials are not enough to detect a pattern. */
const PATTERN_TRIALS = 10;
const JUMP_MS = 3_600_000;
/** A device may have recorded offline; trials cannot be older than this before its session. */
const BEHIND_MS = 2 * 86_400_000;
/** The reference times of trials: the server's clock, and when it started their session; null: unknown. */
export interface TrialTimes {
  now: number;
  since: number | null;
}
/** The tolerance for a clock that is ahead. */
export const AHEAD_MS = 60_000;

/** Implausible values of one task (they are stored and flagged). Times are in milliseconds since 1970. */
export function qualityFlags(
  task: string,
  trials: readonly Trial[],
  timestamps: readonly number[],
  { now, since }: TrialTimes,
): Remark[] {
  const flags: Remark[] = [];
  const flag = (code: string, count: number, message: string) => {
    if (count > 0) flags.push({ code, task, count, message });
  };
  const times = new Alike<number>();
  const answers = new Alike<string>();
  let fast = 0,
    slow = 0,
    impossible = 0,
    judged = 0,
    right = 0,
    back = 0,
    jumps = 0,
    ahead = 0,
    behind = 0;
  trials.forEach(({ rt, correct, data }, i) => {
    if (rt !== null) {
      times.see(rt);
      if (!isPlausibleTime(rt)) impossible++;
      else if (rt < FASTEST_MS) fast++;
      else if (rt > SLOWEST_MS) slow++;
    }
    if (correct !== null) judged++;
    if (correct) right++;
    // Once two answers differ, the others need no check. No pattern has answers that are long.
    if (data?.response !== undefined && answers.same)
      answers.see(isLong(data.response) ? `answer ${i}` : JSON.stringify(data.response));
    const step = i === 0 ? 0 : timestamps[i]! - timestamps[i - 1]!;
    if (step < 0) back++;
    else if (step > JUMP_MS) jumps++;
    if (timestamps[i]! > now + AHEAD_MS) ahead++;
    if (since !== null && timestamps[i]! < since - BEHIND_MS) behind++;
  });
  flag('RT_TOO_FAST', fast, `reaction times under ${FASTEST_MS} ms`);
  flag('RT_TOO_SLOW', slow, `reaction times over ${SLOWEST_MS / 1000} s`);
  flag('IMPLAUSIBLE', impossible, 'reaction times over a day, left out of the computed summary');
  if (times.pattern) flag('RT_CONSTANT', times.seen, 'every reaction time is the same');
  if (answers.pattern && answersDiffer(task)) flag('ONE_ANSWER', answers.seen, 'every answer is the same');
  if (judged >= PATTERN_TRIALS && right === 0) flag('ALL_WRONG', judged, 'no answer is right');
  flag('CLOCK_BACKWARDS', back, 'the clock ran backwards between trials');
  flag('CLOCK_JUMP', jumps, 'more than an hour lies between trials');
  flag('CLOCK_AHEAD', ahead, 'trials lie ahead of the server’s clock');
  flag('CLOCK_BEHIND', behind, 'trials lie more than two days before the session’s start');
  return flags;
}

/** Whether all seen values are equal. */
class Alike<T> {
  seen = 0;
  same = true;
  private first: T | undefined;
  see(value: T): void {
    if (this.seen++ === 0) this.first = value;
    else if (value !== this.first) this.same = false;
  }
  get pattern(): boolean {
    return this.same && this.seen >= PATTERN_TRIALS;
  }
}

/**
 * Warnings about gaps, duplicates and disorder of one task's trial indexes. A task counts from 0 or from 1.
 * @param practice trials are counted with the others, or by themselves
 */
export function orderWarnings(task: string, trials: readonly Trial[], practice: readonly Trial[] = []): Remark[] {
  const warnings: Remark[] = [];
  const warn = (code: string, count: number, message: string) => {
    if (count > 0) warnings.push({ code, task, count, message });
  };
  let least = 1;
  let most = -1;
  let disorder = 0;
  let ascending = true;
  trials.forEach(({ trial_index }, i) => {
    if (trial_index < least) least = trial_index;
    if (trial_index > most) most = trial_index;
    if (i === 0 || trial_index > trials[i - 1]!.trial_index) return;
    ascending = false;
    if (trial_index < trials[i - 1]!.trial_index) disorder++;
  });
  const indexes = () => new Set(trials.map(({ trial_index }) => trial_index));
  // Usually they ascend: then no two are the same.
  const double = ascending ? 0 : trials.length - indexes().size;
  let distinct = trials.length - double;
  if (practice.length > 0) {
    const all = indexes();
    // Trials for practice that have indexes of their own fill the gaps between the others.
    if (!practice.some(({ trial_index }) => all.has(trial_index)))
      for (const { trial_index } of practice)
        if (trial_index < most) {
          all.add(trial_index);
          least = Math.min(least, trial_index);
        }
    distinct = all.size;
  }
  warn('TRIAL_DOUBLE', double, 'trial indexes that come more than once');
  warn('TRIAL_GAP', most - least + 1 - distinct, 'trial indexes that are missing');
  warn('TRIAL_ORDER', disorder, 'trials that come before an earlier one');
  return warnings;
}

/** No test yields a larger value: such values are stored and exported, and excluded from statistics. */
export const PLAUSIBLE_LIMIT = 1e12;

/** Metrics of a client's summary that no trials could produce: they are kept, and flagged. */
export function summaryFlags(task: string, summary: Summary): Remark[] {
  const found = Object.keys(summary)
    .filter((metric) => !isPossible(metric, summary[metric]!))
    .sort();
  const huge = Object.keys(summary)
    .filter((metric) => Math.abs(summary[metric]!) > PLAUSIBLE_LIMIT)
    .sort();
  const flag = (code: string, metrics: readonly string[], message: string): Remark[] =>
    metrics.length === 0 ? [] : [{ code, task, count: metrics.length, message: `${message}: ${metrics.join(', ')}` }];
  return [
    ...flag('SUMMARY_IMPLAUSIBLE', found, 'metrics that cannot be'),
    ...flag('IMPLAUSIBLE', huge, 'metrics that no test yields, left out of statistics'),
  ];
}
