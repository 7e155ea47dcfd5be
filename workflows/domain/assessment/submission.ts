import { orderWarnings, qualityFlags, summaryFlags } from './quality.js';
import type { TrialTimes } from './quality.js';
import { difference, summarise } from './summary.js';
import { isTask } from './tasks.js';
import type { Remark, Summary, Trial } from './types.js';

/** What a session's battery knows of tasks; null: the session has no battery. */
export interface KnownModules {
  tasks: readonly string[];
  names: readonly string[];
}

/** One task's part of what was sent; `at` is each trial's time in milliseconds since 1970. */
export interface TaskSent {
  task: string;
  summary: Summary;
  trials: readonly Trial[];
  at: readonly number[];
}
export interface TaskResult {
  computed_summary: Summary;
  summary_difference: Summary;
  quality_flags: Remark[];
  warnings: Remark[];
}

export const MAX_TRIALS = 50_000;

/** A task of the registry, or a module of the battery by its task or name (a study's own task is told by its name). */
export const isKnownTask = (task: string, modules: KnownModules | null): boolean =>
  isTask(task) || (modules !== null && (modules.tasks.includes(task) || modules.names.includes(task)));

/** Everything that is worked out from what was sent of a task. */
export function taskResult(
  { task, summary, trials, at }: TaskSent,
  modules: KnownModules | null,
  times: TrialTimes,
): TaskResult {
  const computed = trials.length > 0 ? summarise(trials) : {};
  const warnings = orderWarnings(task, trials);
  if (modules !== null && !modules.tasks.includes(task) && !modules.names.includes(task)) {
    warnings.push({ code: 'TASK_NOT_IN_BATTERY', task, count: 1, message: 'the battery has no such module' });
  }
  return {
    computed_summary: computed,
    summary_difference: difference(summary, computed),
    quality_flags: [...summaryFlags(task, summary), ...qualityFlags(task, trials, at, times)],
    warnings,
  };
}
