import { createHash, hash as digest } from 'node:crypto';
import type { Hash } from 'node:crypto';
import { canonicalJson, canonicalJsonInSlices } from '../../../db/audit/canonical-json.js';
import type { TaskRow } from '../../../db/assessment/submissions.queries.js';
import type { TrialsOf } from '../../../db/assessment/trials.queries.js';
import { modulePath, spelledTask } from '../../../workflows/domain/assessment/modules.js';
import type { ModuleFault } from '../../../workflows/domain/assessment/modules.js';
import { isKnownTask, taskResult } from '../../../workflows/domain/assessment/submission.js';
import type { KnownModules, TaskResult } from '../../../workflows/domain/assessment/submission.js';
import type { Remark } from '../../../workflows/domain/assessment/types.js';
import { isLong } from '../../../workflows/domain/util/length.js';
import { invalid } from '../../http/errors.js';
import type { FaultEntry } from '../../http/errors.js';
import type { YieldingWork } from '../../util/in-turns.js';
import { isUsual, millisecondsOf } from './instants.js';

const MAX_FAULTS = 100;
/** Characters written and hashed before yielding to other requests. */
const SLICE = 128 * 1024;
/** A trial whose task is known; null as optional field: it has none. */
export interface SubmittedTrial {
  trial_index: number;
  rt: number | null;
  correct: boolean | null;
  timestamp: string;
  data?: Record<string, unknown> | null;
  practice?: boolean | null;
}
export interface RawTrial extends SubmittedTrial {
  task: string;
}
/** By task; null: the client has no summary of it. */
export type SubmittedSummaries = Record<string, SentSummary | null>;
/** As sent: null means that the metric was not measured. */
export type SentSummary = Record<string, number | null>;
function measured(summary: SentSummary): Record<string, number> {
  const values: Record<string, number> = {};
  for (const [metric, value] of Object.entries(summary)) if (value !== null) values[metric] = value;
  return values;
}

/**
 * One task of a submission or of an offline response: its content for storing, and the hash that identifies a repeat.
 */
export interface TaskContent {
  task: string;
  summary: Record<string, number>;
  trials: readonly SubmittedTrial[];
  /** Milliseconds since 1970 of each trial. */ at: number[];
  /** The JSON of each trial's `data`; null: it has none. */ data: (string | null)[];
  /** Every trial's time is in whole milliseconds. */ whole: boolean;
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
 * serialized once for both hashes and for storing, and parsed once for its time: there are thousands of them.
 */
export function* readContent(summaries: SubmittedSummaries, trials: readonly RawTrial[]): YieldingWork<Content> {
  const tasks = new TaskReaders();
  for (const [task, summary] of Object.entries(summaries)) {
    const other = tasks.of(task);
    if (other) throw sameTask(task, other.task);
    tasks.add(task, measured(summary ?? {}));
  }
  const whole = new ListHash('{"raw_trials":[');
  let letters = 0;
  for (const trial of trials) {
    const task = tasks.of(trial.task) ?? tasks.add(trial.task, {});
    const { data } = trial;
    const text = task.take(
      trial,
      data == null ? null : isLong(data) ? yield* inSlices(data) : canonicalJson(data),
      trial.task,
    );
    whole.add(text);
    if (whole.isFull) yield* whole.update();
    if (task.hash.isFull) yield* task.hash.update();
    if ((letters += text.length) < SLICE) continue;
    letters = 0;
    yield undefined;
  }
  const read: TaskContent[] = [];
  for (const task of tasks.all) read.push(yield* task.end());
  return { tasks: read, checksum: yield* whole.end(`],"task_summaries":${canonicalJson(summaries)}}`) };
}

/** The same for a single task, whose trials need not name it. */
export function* readTask(
  task: string,
  sent: SentSummary,
  trials: readonly SubmittedTrial[],
): YieldingWork<TaskContent> {
  const reader = new TaskReader(task, measured(sent));
  let letters = 0;
  for (const trial of trials) {
    const { data } = trial;
    const text = data == null ? null : isLong(data) ? yield* inSlices(data) : canonicalJson(data);
    if ((letters += reader.take(trial, text).length) < SLICE) continue;
    letters = 0;
    yield* reader.hash.update();
    yield undefined;
  }
  return yield* reader.end();
}

const inSlices = (data: Record<string, unknown>) => canonicalJsonInSlices(data, SLICE);

const sameTask = (task: string, other: string) =>
  invalid(`task_summaries.${task}`, 'DUPLICATE_FIELD', `is the task ${other} in another spelling: send it once`);

/** The tasks of a submission. One that is spelled with composed and with decomposed letters is one task. */
class TaskReaders {
  readonly all: TaskReader[] = [];
  private readonly named = new Map<string, TaskReader>();

  of = (task: string): TaskReader | undefined => this.named.get(task) ?? this.named.get(task.normalize('NFC'));

  add(task: string, summary: Record<string, number>): TaskReader {
    const reader = new TaskReader(task, summary);
    this.all.push(reader);
    this.named.set(task.normalize('NFC'), reader);
    return reader;
  }
}

/** A task whose trials are read one after another, in the order in which they were sent. */
class TaskReader {
  readonly hash: ListHash;
  private readonly trials: SubmittedTrial[] = [];
  private readonly at: number[] = [];
  private readonly data: (string | null)[] = [];
  private whole = true;
  private readonly name: string;

  constructor(
    readonly task: string,
    private readonly summary: Record<string, number>,
  ) {
    this.name = nameOf(task);
    this.hash = new ListHash(`{"summary":${canonicalJson(summary)},"trials":[`);
  }

  /** Adds a trial, with its task as it was sent. @returns its canonical JSON */
  take(trial: SubmittedTrial, data: string | null, sent = this.task): string {
    const usual = isUsual(trial.timestamp);
    if (!usual) this.whole = false;
    const text = canonicalTrial(
      trial,
      sent === this.task ? this.name : nameOf(sent),
      usual ? `"${trial.timestamp}"` : JSON.stringify(trial.timestamp),
      data,
    );
    this.hash.add(text);
    this.trials.push(trial);
    this.at.push(usual ? millisecondsOf(trial.timestamp) : Date.parse(trial.timestamp));
    this.data.push(data);
    return text;
  }

  *end(): YieldingWork<TaskContent> {
    const { task, summary, trials, at, data, whole } = this;
    return { task, summary, trials, at, data, whole, hash: yield* this.hash.end(']}') };
  }
}

const nameOf = (task: string): string => `,"task":${JSON.stringify(task)},"timestamp":`;

/** SHA-256 of a text around a list, whose items are added one by one. */
class ListHash {
  /** Undefined while the text is short. */
  private hash: Hash | undefined;
  /** What is not hashed yet. One text that grows takes half the time of items that are joined. */
  private text: string;
  private first = true;

  constructor(before: string) {
    this.text = before;
  }

  /** Whether `update` should be called, so that not too much is hashed in one go. */
  get isFull(): boolean {
    return this.text.length > SLICE;
  }

  add(item: string): void {
    this.text += this.first ? item : `,${item}`;
    this.first = false;
  }

  *end(after: string): YieldingWork<string> {
    if (!this.hash) return digest('sha256', this.text + after, 'hex');
    yield* this.update();
    return this.hash.update(after).digest('hex');
  }

  /** Hashes what was added since the last time. */
  *update(): YieldingWork<void> {
    const { text } = this;
    this.text = '';
    this.hash ??= createHash('sha256');
    if (text.length <= 2 * SLICE) {
      this.hash.update(text);
      return;
    }
    const bytes = Buffer.from(text);
    for (let at = 0; at < bytes.length; at += 4 * SLICE) {
      this.hash.update(bytes.subarray(at, at + 4 * SLICE));
      yield undefined;
    }
  }
}

/**
 * Writes a trial as canonicalJson does, field by field, without sorting them for each trial. `task`, with the names
 * around it, `at` and `written` are serialized already. (Zero has no sign in a text.)
 */
function canonicalTrial(trial: SubmittedTrial, task: string, at: string, written: string | null): string {
  // As it was sent: an app may write null for what there is not.
  const data = trial.data === undefined ? '' : `"data":${written},`;
  const practice = trial.practice === undefined ? '' : `"practice":${trial.practice},`;
  const { correct, rt, trial_index } = trial;
  return `{"correct":${correct},${data}${practice}"rt":${rt}${task}${at},"trial_index":${trial_index}}`;
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

/** The content under the name that the battery has for its task. */
export function spelled(content: TaskContent, modules: KnownModules | null): TaskContent {
  const task = spelledTask(content.task, modules);
  return task === content.task ? content : { ...content, task };
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
        message: `${task} is not a task${modules && !modules.none ? ' of the battery' : ''}`,
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
  const { task, summary, trials, at, data, whole, hash, module_id = null, kind } = content;
  const { session_id, study_id, local_id } = session;
  const named = module_id !== null;
  const result: TaskResult = taskResult({ task, summary, trials, at, kind, named }, modules, { now, since });
  // Field by field: the engine makes a hidden class for each row that begins with another's fields.
  return {
    row: {
      session_id,
      task,
      study_id,
      local_id,
      module_id,
      summary,
      computed_summary: result.computed_summary,
      summary_difference: result.summary_difference,
      quality_flags: result.quality_flags,
      warnings: result.warnings,
      trial_count: trials.length,
      content_hash: hash,
    },
    trials: { session_id, study_id, task, trials, at, data, whole },
    remarks: { warnings: result.warnings, flags: result.quality_flags },
  };
}
