import { lockAnchors } from '../../db/queries/anchors.js';
import { readScheduleInputs, readScheduleSources } from '../../db/queries/schedules.js';
import type { Work } from '../../db/transaction.js';
import { evaluate } from '../../workflows/domain/decide.js';
import type { ScheduleInputs } from '../../workflows/domain/regeneration.js';
import { scheduleFollows } from '../../workflows/domain/regeneration.js';
import type { Decision, Fault } from '../../workflows/domain/types.js';
import { readCases } from './context.js';
import type { Case } from './context.js';
import { writeOutcomes } from './write.js';
import type { Outcome } from './write.js';

/** What an evaluation has come to. `changed`: the anchor's status is another one, so that its process waits for other things. */
export interface Decided { result: Decision['result'] | 'withdrawn'; errors: Fault[]; candidate: string | null; changed: boolean }

/**
 * Evaluates anchors of one study in the caller's transaction and writes what follows, schedule version 1 included
 * where there is none: what the participants' workflows do with the message `evaluate`, in sets. For participants that
 * this transaction makes, whose workflows do not run yet, and for what concerns a whole study (decisions, section 5);
 * the writes compare the anchors' versions as always.
 */
export async function decideTogether({ tx, audit }: Work, studyId: string, participantIds: readonly string[]): Promise<Map<string, Decided>> {
  const decided = new Map<string, Decided>();
  if (participantIds.length === 0) return decided;
  await lockAnchors(tx, participantIds);
  const cases = await readCases(tx, participantIds);
  const sources = await readScheduleSources(tx, studyId);
  const inputs = await readScheduleInputs(tx, studyId, participantIds, sources);
  const outcomes: Outcome[] = [];
  for (const each of cases) {
    const id = each.row.participant_id;
    if (each.row.participant.status === 'withdrawn') {
      decided.set(id, { result: 'withdrawn', errors: [], candidate: null, changed: false });
      continue;
    }
    const decision = evaluate(each.policy, each.facts);
    const outcome = outcomeOf(each, decision, inputs.get(id)!);
    if (outcome) outcomes.push(outcome);
    const last = decision.transitions.at(-1);
    decided.set(id, {
      result: decision.result, errors: decision.errors, candidate: decision.candidate?.date ?? null,
      changed: last !== undefined && last.status_after !== each.facts.anchor.status,
    });
  }
  await writeOutcomes(tx, audit, studyId, outcomes);
  return decided;
}

function outcomeOf(each: Case, decision: Decision, inputs: ScheduleInputs): Outcome | null {
  const hasCurrent = each.row.anchor.current_schedule_version_id !== null;
  if (decision.transitions.length === 0 && hasCurrent) return null;
  const schedule = scheduleAfter(each, decision, inputs, true);
  return {
    case: each, transitions: decision.transitions, trace: decision.trace, command: { kind: 'evaluate' }, sender: { actor_type: 'workflow' }, reason: null,
    ...(schedule && { schedule }),
  };
}

/**
 * The schedule that follows from a decision: from its date, or from today where there is none and one is to be there
 * all the same. The same date from another source, or a proposal that becomes final, leaves a schedule that fits as it is.
 */
export function scheduleAfter({ policy, facts, row }: Case, decision: Decision, inputs: ScheduleInputs, ensure: boolean): Outcome['schedule'] {
  const hasCurrent = row.anchor.current_schedule_version_id !== null;
  if (!ensure && !scheduleFollows(decision, policy, hasCurrent)) return undefined;
  const last = decision.transitions.at(-1);
  const from = (last ? last.value!.date : facts.anchor.date) ?? facts.today;
  return inputs.current_date === from ? undefined : { inputs, date: from, reason: hasCurrent ? 'anchor_changed' : 'first' };
}

/** Whether an evaluation would write anything: where not, a participant's workflow need not be asked. */
export async function wouldDecide({ tx }: Work, participantId: string): Promise<{ needed: true } | { needed: false; decided: Decided }> {
  const [each] = await readCases(tx, [participantId]);
  if (!each || each.row.participant.status === 'withdrawn' || each.row.anchor.current_schedule_version_id === null || each.row.study.scheduling_mode === 'edc') return { needed: true };
  const decision = evaluate(each.policy, each.facts);
  if (decision.transitions.length > 0) return { needed: true };
  return { needed: false, decided: { result: decision.result, errors: decision.errors, candidate: decision.candidate?.date ?? null, changed: false } };
}
