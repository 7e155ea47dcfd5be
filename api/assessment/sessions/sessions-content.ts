import { hash as digest } from 'node:crypto';
import { canonicalJson } from '../../../db/audit/canonical-json.js';
import type { TaskRow } from '../../../db/assessment/submissions.queries.js';
import type { TrialsOf } from '../../../db/assessment/trials.queries.js';
import { modulePath } from '../../../workflows/domain/assessment/modules.js';
import type { ModuleFault } from '../../../workflows/domain/assessment/modules.js';
import { isKnownTask, taskResult } from '../../../workflows/domain/assessment/submission.js';
import type { KnownModules, TaskResult } from '../../../workflows/domain/assessment/submission.js';
import type { Remark } from '../../../workflows/domain/assessment/types.js';
import type { FaultEntry } from '../../http/errors.js';

const MAX_FAULTS = 100;
/** A trial whose task is known. */
export interface SubmittedTrial {
  trial_index: number;
  rt: number | null;
  correct: boolean | null;
  timestamp: string;
  data?: Record<string, unknown>;
  practice?: boolean;
}
export interface RawTrial extends SubmittedTrial {
  task: string;
}
export type SubmittedSummaries = Record<string, SentSummary>;
/** As sent: null means that the metric was not measured. */
export type SentSummary = Record<string, number | null>;
const measured = (summary: SentSummary): Record<string, number> =>
  Object.fromEntries(Object.entries(summary).filter((entry): entry is [string, number] => entry[1] !== null));

/**
 * One task of a submission or of an offline response: its content for storing, and the hash that identifies a repeat.
 */
export interface TaskContent {
  task: string;
  summary: Record<string, number>;
  trials: readonly SubmittedTrial[];
  /** Milliseconds since 1970 of each trial. */ at: number[];
  hash: string;
  /** The module that the client named, and the task whose rules apply. */
  module_id?: string;
  kind?: string;
}
export interface Content {
  tasks: TaskContent[];
  /** SHA-256, hex, of the canonical JSON of {raw_trials, task_summaries}. */ checksum: string;
}

/**
 * The sent content, by task. The hashes are of the content as sent: the same values have the same hash. Each trial is
 * serialized once for both hashes, and parsed once for its time: there are thousands of them.
 */
export function readContent(summaries: SubmittedSummaries, trials: readonly RawTrial[]): Content {
  const names = new Map<string, string>();
  const texts = trials.map((trial) => {
    let name = names.get(trial.task);
    if (name === undefined) names.set(trial.task, (name = JSON.stringify(trial.task)));
    return canonicalTrial(trial, name);
  });
  const tasks = byTask(summaries, trials, texts);
  return {
    tasks: [...tasks].map(([task, { summary, trials: own, texts: written }]) => contentOf(task, summary, own, written)),
    checksum: sha256(`{"raw_trials":[${texts.join(',')}],"task_summaries":${canonicalJson(summaries)}}`),
  };
}

/** The same for a single task, whose trials need not name it. */
export function readTask(task: string, sent: SentSummary, trials: readonly SubmittedTrial[]): TaskContent {
  const name = JSON.stringify(task);
  return contentOf(
    task,
    measured(sent),
    trials,
    trials.map((trial) => canonicalTrial(trial, name)),
  );
}

const contentOf = (
  task: string,
  summary: Record<string, number>,
  trials: readonly SubmittedTrial[],
  texts: readonly string[],
): TaskContent => ({
  task,
  summary,
  trials,
  at: trials.map((trial) => Date.parse(trial.timestamp)),
  hash: sha256(`{"summary":${canonicalJson(summary)},"trials":[${texts.join(',')}]}`),
});

const sha256 = (text: string): string => digest('sha256', text, 'hex');

/** Characters that JSON writes unescaped. */
const PLAIN = /^[\w:.+\- ]*$/;

/**
 * Writes a trial as canonicalJson does, field by field, without sorting them for each trial. `task` is serialized
 * already.
 */
function canonicalTrial(trial: SubmittedTrial, task: string): string {
  const data = trial.data === undefined ? '' : `"data":${canonicalJson(trial.data)},`;
  const at = PLAIN.test(trial.timestamp) ? `"${trial.timestamp}"` : JSON.stringify(trial.timestamp);
  const practice = trial.practice === undefined ? '' : `"practice":${trial.practice},`;
  return `{"correct":${trial.correct},${data}${practice}"rt":${trial.rt === 0 ? 0 : trial.rt},"task":${task},"timestamp":${at},"trial_index":${trial.trial_index === 0 ? 0 : trial.trial_index}}`;
}

/** A task may have a summary, trials, or both; its trials keep the order in which they were sent. */
function byTask(
  summaries: SubmittedSummaries,
  trials: readonly RawTrial[],
  texts: readonly string[],
): Map<string, { summary: Record<string, number>; trials: RawTrial[]; texts: string[] }> {
  const tasks = new Map(
    Object.entries(summaries).map(([task, summary]) => [
      task,
      { summary: measured(summary), trials: [] as RawTrial[], texts: [] as string[] },
    ]),
  );
  trials.forEach((trial, i) => {
    let entry = tasks.get(trial.task);
    if (!entry) tasks.set(trial.task, (entry = { summary: {}, trials: [], texts: [] }));
    entry.trials.push(trial);
    entry.texts.push(texts[i]!);
  });
  return tasks;
}

/** The content under the name of its module's results. */
export function ofModule(
  content: TaskContent,
  module_id: string,
  modules: KnownModules | null,
): TaskContent | ModuleFault {
  const place = modulePath({ task: content.task, module_id }, modules);
  return 'code' in place ? place : { ...content, ...place, module_id: module_id.toLowerCase() };
}

/** The paths of a task's name and of a trial in a request. */
export interface Places {
  task: (content: TaskContent) => string;
  trial: (trial: SubmittedTrial) => string;
}

/** Rules for a trial's time and a task's name that a schema cannot express. */
export function contentFaults(
  contents: readonly TaskContent[],
  modules: KnownModules | null,
  places: Places,
): FaultEntry[] {
  const faults: FaultEntry[] = [];
  for (const content of contents) {
    const { task, trials, at } = content;
    if (content.module_id === undefined && !isKnownTask(task, modules))
      faults.push({
        path: places.task(content),
        code: 'UNKNOWN_TASK',
        message: `${task} is not a task${modules ? ' of the battery' : ''}`,
      });
    for (let i = 0; i < at.length && faults.length < MAX_FAULTS; i++) {
      if (!Number.isNaN(at[i])) continue;
      const trial = trials[i]!;
      faults.push({
        path: `${places.trial(trial)}.timestamp`,
        code: 'FORMAT',
        message: `timestamp of trial ${trial.trial_index} of ${task} is no time`,
      });
    }
  }
  return faults;
}

/** The rows of a task, with all values computed from its trials. */
export function taskRows(
  content: TaskContent,
  session: { session_id: string; study_id: string; local_id: string | null },
  modules: KnownModules | null,
  now: number,
  since: number | null = null,
): { row: TaskRow; trials: TrialsOf; remarks: { warnings: Remark[]; flags: Remark[] } } {
  const { task, summary, trials, at, hash, module_id = null, kind } = content;
  const named = module_id !== null;
  const result: TaskResult = taskResult({ task, summary, trials, at, kind, named }, modules, { now, since });
  return {
    row: {
      ...session,
      task,
      module_id,
      summary,
      computed_summary: result.computed_summary,
      summary_difference: result.summary_difference,
      quality_flags: result.quality_flags,
      warnings: result.warnings,
      trial_count: trials.length,
      content_hash: hash,
    },
    trials: { session_id: session.session_id, study_id: session.study_id, task, trials, at },
    remarks: { warnings: result.warnings, flags: result.quality_flags },
  };
}
