import { modulesWith } from './modules.js';
import type { KnownModules } from './modules.js';
import { AHEAD_MS, orderWarnings, qualityFlags, summaryFlags } from './quality.js';
import type { TrialTimes } from './quality.js';
import { summaryDifference, summarise } from './summary.js';
import type { Remark, Summary, Trial } from './types.js';

export { arePlaced, isKnownTask } from './modules.js';
export type { KnownModules } from './modules.js';

/** One task's part of a submission; `at` is each trial's time in milliseconds since 1970. */
export interface TaskSent {
  task: string;
  summary: Summary;
  trials: readonly Trial[];
  at: readonly number[];
  /** The task whose rules apply, if it is stored under another name. */
  kind?: string | undefined;
  /** The client named its module. */
  named?: boolean;
}
export interface TaskResult {
  computed_summary: Summary;
  summary_difference: Summary;
  quality_flags: Remark[];
  warnings: Remark[];
}

export const MAX_TRIALS = 50_000;

/**
 * Whether results that arrive after a session's end began before it, and are still accepted: by the start of their
 * request or, since a device may be offline for long, because every trial was recorded before. The same rule for
 * submissions and sync.
 */
export const beganBefore = (end: number, { arrived, at }: { arrived: number; at: readonly number[] }): boolean =>
  arrived <= end || (at.length > 0 && at.every((time) => time <= end + AHEAD_MS));

/** All values computed from a submitted task. */
export function taskResult(
  { task, summary, trials: all, at: allAt, kind = task, named = false }: TaskSent,
  modules: KnownModules | null,
  times: TrialTimes,
): TaskResult {
  const practice = all.filter((trial) => trial.practice);
  const [trials, at] =
    practice.length === 0
      ? [all, allAt]
      : [all.filter((trial) => !trial.practice), allAt.filter((_, i) => !all[i]!.practice)];
  const computed = trials.length > 0 ? summarise(trials) : {};
  const warnings = orderWarnings(task, trials, practice);
  const several = named ? 0 : modulesWith(task, modules);
  if (several > 1)
    warnings.push({
      code: 'TASK_IN_SEVERAL_MODULES',
      task,
      count: several,
      message: 'the battery has several modules of this task: module_id says which one it was',
    });
  if (!named && modules !== null && !modules.none && !modules.tasks.includes(task) && !modules.names.includes(task)) {
    warnings.push({ code: 'TASK_NOT_IN_BATTERY', task, count: 1, message: 'the battery has no such module' });
  }
  return {
    computed_summary: computed,
    summary_difference: summaryDifference(summary, computed),
    quality_flags: [
      ...summaryFlags(task, summary),
      ...qualityFlags(kind, trials, at, times).map((flag) => ({ ...flag, task })),
    ],
    warnings,
  };
}
