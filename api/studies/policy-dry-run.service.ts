import { setImmediate } from 'node:timers/promises';
import { enrolledAfter } from '../../db/participants/enrolled.queries.js';
import { readFacts } from '../../db/participants/facts.queries.js';
import { readScheduleInputs, readScheduleSources } from '../../db/scheduling/schedules.queries.js';
import type { ScheduleSources } from '../../db/scheduling/schedules.queries.js';
import { visitKey } from '../../db/audit/hashing.js';
import { factsOf } from '../../workflows/domain/anchor/facts.js';
import type { Policy } from '../../workflows/domain/anchor/policy-schema.js';
import { reanchor, reschedule } from '../../workflows/domain/anchor/reanchoring.js';
import type { ScheduleInputs } from '../../workflows/domain/anchor/regeneration.js';
import type { EvaluationResult } from '../../workflows/domain/util/types.js';
import type { Tx } from '../../db/client/database.js';
import { currentPolicy } from './policy.service.js';

/** Small, since a batch is processed without yielding. */
const BATCH = 50;
/** Deciding blocks the process: after this long it yields to other requests. */
const TURN_MS = 10;
const MAX_EXAMPLES = 20;

/** `unchanged` includes those without a date from any source. */
export const dryRunOutcomes = [
  'unchanged',
  'proposed',
  'set',
  'changed',
  'finalized',
  'override_required',
  'validation_failed',
] as const;
export type DryRunOutcome = (typeof dryRunOutcomes)[number];

type Example = DryRunOutcome | 'schedules_regenerated' | 'moved_by_earlier_override';

export interface DryRun {
  dry_run: true;
  /** The policy for storing, with defaults. */
  policy: Policy;
  /** Enrolled participants; withdrawn ones are not evaluated. */
  total: number;
  /** Participants whose anchor would move or change its status. */
  would_change: number;
  counts: Record<DryRunOutcome, number>;
  schedules_regenerated: number;
  /** Those of them whom an override had left on the former date: all of their visits move. */
  moved_by_earlier_override: number;
  /** Up to 20 participants of each kind, without `unchanged`. */
  examples: Partial<Record<Example, string[]>>;
}

/**
 * Evaluates a policy for every participant of the study, with the same decision on the same facts as the actual change.
 * Reads in batches and writes nothing.
 */
export async function dryRunPolicy(tx: Tx, studyId: string, policy: Policy): Promise<DryRun> {
  return (await dryRunWithCodes(tx, studyId, policy)).run;
}

/** A dry run with the codes of its examples. */
export interface CodedRun {
  run: DryRun;
  codes: Map<string, string>;
}

/**
 * `dryRunPolicy` with the codes of the examples, for people.
 * @param onSeen called with the number of processed participants
 */
export async function dryRunWithCodes(
  tx: Tx,
  studyId: string,
  policy: Policy,
  onSeen?: (n: number) => void,
): Promise<CodedRun> {
  const run: DryRun = {
    dry_run: true,
    policy,
    total: 0,
    would_change: 0,
    schedules_regenerated: 0,
    moved_by_earlier_override: 0,
    examples: {},
    counts: Object.fromEntries(dryRunOutcomes.map((outcome) => [outcome, 0])) as Record<DryRunOutcome, number>,
  };
  const codes = new Map<string, string>();
  const example = (kind: Example, { participant_id, participant_code }: Enrolled['row']) => {
    const list = (run.examples[kind] ??= []);
    if (list.length >= MAX_EXAMPLES) return;
    list.push(participant_id);
    codes.set(participant_id, participant_code);
  };
  const sources = await readScheduleSources(tx, studyId);
  for await (const { row, inputs } of everyEnrolled(tx, studyId, sources)) {
    const id = row.participant_id;
    const { decision, schedule } = reanchor(policy, factsOf(row, policy), inputs, (identity) => visitKey(id, identity));
    const outcome = outcomeOf(decision.result);
    run.total += 1;
    onSeen?.(run.total);
    run.counts[outcome] += 1;
    if (decision.transitions.length > 0) run.would_change += 1;
    if (outcome !== 'unchanged') example(outcome, row);
    if (schedule !== null) {
      run.schedules_regenerated += 1;
      example('schedules_regenerated', row);
      if (decision.transitions.length === 0 && wasLeft(inputs, schedule)) {
        run.moved_by_earlier_override += 1;
        example('moved_by_earlier_override', row);
      }
    }
  }
  return { run, codes };
}

/** The number of participants whose schedule a change would replace. */
export interface ScheduleDryRun {
  total: number;
  schedules: number;
  /** Those of them whom an override had left on the former date: all of their visits move. */
  moved_by_earlier_override: number;
  /** Some of them. */
  examples: { participant_id: string; participant_code: string }[];
}

/** Computes the effect of another plan on every schedule of the study. Reads in batches and writes nothing. */
export async function dryRunSchedules(
  tx: Tx,
  studyId: string,
  change: (sources: ScheduleSources) => ScheduleSources,
): Promise<ScheduleDryRun> {
  const policy = await currentPolicy(tx, studyId);
  const run: ScheduleDryRun = { total: 0, schedules: 0, moved_by_earlier_override: 0, examples: [] };
  for await (const { row, inputs } of everyEnrolled(tx, studyId, change(await readScheduleSources(tx, studyId)))) {
    const { participant_id, participant_code } = row;
    run.total += 1;
    const next = reschedule(policy, factsOf(row, policy), inputs, (identity) => visitKey(participant_id, identity));
    if (next === null) continue;
    run.schedules += 1;
    if (wasLeft(inputs, next)) run.moved_by_earlier_override += 1;
    if (run.examples.length < MAX_EXAMPLES) run.examples.push({ participant_id, participant_code });
  }
  return run;
}

/** Whether the present schedule has another date than the next one, with an anchor that stays. */
const wasLeft = ({ current_date }: ScheduleInputs, next: { date: string }): boolean =>
  current_date !== null && current_date !== next.date;

interface Enrolled {
  row: Awaited<ReturnType<typeof readFacts>>[number];
  inputs: ScheduleInputs;
}
/** All enrolled participants, with the facts of a decision and the inputs of the next schedule. */
async function* everyEnrolled(tx: Tx, studyId: string, sources: ScheduleSources): AsyncGenerator<Enrolled> {
  let since = performance.now();
  for (let after = '00000000-0000-0000-0000-000000000000'; ;) {
    const ids = await enrolledAfter(tx, studyId, after, BATCH);
    if (ids.length === 0) return;
    after = ids.at(-1)!;
    const rows = await readFacts(tx, ids);
    const inputs = await readScheduleInputs(tx, studyId, ids, sources);
    for (const row of rows) {
      yield { row, inputs: inputs.get(row.participant_id)! };
      if (performance.now() - since < TURN_MS) continue;
      await setImmediate();
      since = performance.now();
    }
  }
}

/** The number of participants in a dry run. */
export async function enrolledIn(tx: Tx, studyId: string): Promise<number> {
  const [row] = (await tx('participants').where({ study_id: studyId, status: 'enrolled' }).count('* as n')) as [
    { n: number },
  ];
  return row.n;
}

const outcomeOf = (result: EvaluationResult): DryRunOutcome => (result === 'none' ? 'unchanged' : result);
