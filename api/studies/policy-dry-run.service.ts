import { readFacts } from '../../db/participants/facts.queries.js';
import { readScheduleInputs, readScheduleSources } from '../../db/scheduling/schedules.queries.js';
import { visitKey } from '../../db/audit/hashing.js';
import { factsOf } from '../../workflows/domain/anchor/facts.js';
import type { Policy } from '../../workflows/domain/anchor/policy-schema.js';
import { reanchor } from '../../workflows/domain/anchor/reanchoring.js';
import type { EvaluationResult } from '../../workflows/domain/util/types.js';
import type { Tx } from '../../db/client/database.js';

/** Small, since planning visits keeps the process busy: other requests are answered between two batches. */
const BATCH = 100;
const MOST_EXAMPLES = 20;

/** `unchanged` counts those for whom no source gives a date as well: nothing of theirs changes. */
export const outcomes = [
  'unchanged',
  'proposed',
  'set',
  'changed',
  'finalized',
  'override_required',
  'validation_failed',
] as const;
export type DryRunOutcome = (typeof outcomes)[number];

type Example = DryRunOutcome | 'schedules_regenerated' | 'moved_by_earlier_override';

export interface DryRun {
  dry_run: true;
  /** The policy as it would be stored, defaults filled in. */
  policy: Policy;
  /** Enrolled participants; who has withdrawn is not evaluated. */
  total: number;
  /** Whose anchor would move or change its status. */
  would_change: number;
  counts: Record<DryRunOutcome, number>;
  schedules_regenerated: number;
  /** Of them, those whom an override had left on the former date: all of their visits move. */
  moved_by_earlier_override: number;
  /** Up to 20 participants of each kind; `unchanged` is left out. */
  examples: Partial<Record<Example, string[]>>;
}

/**
 * What a policy would do to every participant of the study, by the decision that the change itself would make of the
 * same facts. Reads in batches and writes nothing.
 */
export async function dryRunPolicy(tx: Tx, studyId: string, policy: Policy): Promise<DryRun> {
  const run: DryRun = {
    dry_run: true,
    policy,
    total: 0,
    would_change: 0,
    schedules_regenerated: 0,
    moved_by_earlier_override: 0,
    examples: {},
    counts: Object.fromEntries(outcomes.map((outcome) => [outcome, 0])) as Record<DryRunOutcome, number>,
  };
  const example = (of: Example, id: string) => {
    const list = (run.examples[of] ??= []);
    if (list.length < MOST_EXAMPLES) list.push(id);
  };
  const sources = await readScheduleSources(tx, studyId);
  for (let after = '00000000-0000-0000-0000-000000000000'; ;) {
    const ids: string[] = await tx('participants')
      .where({ study_id: studyId, status: 'enrolled' })
      .where('id', '>', after)
      .orderBy('id')
      .limit(BATCH)
      .pluck('id');
    if (ids.length === 0) return run;
    after = ids.at(-1)!;
    const rows = await readFacts(tx, ids);
    const inputs = await readScheduleInputs(tx, studyId, ids, sources);
    for (const row of rows) {
      const id = row.participant_id;
      const { decision, schedule } = reanchor(policy, factsOf(row, policy), inputs.get(id)!, (identity) =>
        visitKey(id, identity),
      );
      const outcome = outcomeOf(decision.result);
      run.total += 1;
      run.counts[outcome] += 1;
      if (decision.transitions.length > 0) run.would_change += 1;
      if (outcome !== 'unchanged') example(outcome, id);
      if (schedule !== null) {
        run.schedules_regenerated += 1;
        example('schedules_regenerated', id);
        const { current_date } = inputs.get(id)!;
        if (decision.transitions.length === 0 && current_date !== null && current_date !== schedule.date) {
          run.moved_by_earlier_override += 1;
          example('moved_by_earlier_override', id);
        }
      }
    }
  }
}

const outcomeOf = (result: EvaluationResult): DryRunOutcome => (result === 'none' ? 'unchanged' : result);
