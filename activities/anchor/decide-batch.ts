import { lockAnchors } from '../../db/anchor/anchors.queries.js';
import { readScheduleInputs } from '../../db/scheduling/schedules.queries.js';
import type { WriteTransaction } from '../../db/client/transaction.js';
import { dateAhead, evaluate, isReopenedAndUnchanged } from '../../workflows/domain/anchor/decide.js';
import type { ScheduleInputs } from '../../workflows/domain/anchor/regeneration.js';
import { scheduleFollows } from '../../workflows/domain/anchor/regeneration.js';
import type { Decision, Fault } from '../../workflows/domain/util/types.js';
import type { AnchorDecision } from './commands/outcome.js';
import { loadSnapshots } from './snapshot.js';
import type { AnchorSnapshot } from './snapshot.js';
import { writeDecisions } from './write.js';

/** What an evaluation has come to. */
export interface Decided {
  result: Decision['result'] | 'withdrawn';
  errors: Fault[];
  candidate: string | null;
  /** The anchor's status is another one, or its date lies ahead, so that its process waits for other things. */
  changed: boolean;
  /** The date of an anchor that was finalized before, and the zone in which days are told; null: it was not. */
  final: { date: string; zone: string } | null;
}
const WITHDRAWN: Decided = { result: 'withdrawn', errors: [], candidate: null, changed: false, final: null };

/**
 * Which schedules are made beyond rule 7: `always` of a participant that the capture system creates (from today where
 * there is no date), `of_date` of one whose date it changed (the date makes the next version, a proposal as well).
 */
export type EnsureScheduleOptions = 'always' | 'of_date' | 'rule_7';

/**
 * Evaluates anchors of one study in the caller's transaction and writes what follows: what the participants' workflows
 * do with the message `evaluate`, in sets. For participants that this transaction makes, whose workflows do not run
 * yet, and for what concerns a whole study (decisions, section 5); the writes compare the anchors' versions as always.
 */
export async function decideBatch(
  { tx, audit }: WriteTransaction,
  studyId: string,
  wanted: ReadonlyMap<string, EnsureScheduleOptions>,
): Promise<Map<string, Decided>> {
  const decided = new Map<string, Decided>();
  const participantIds = [...wanted.keys()].sort();
  if (participantIds.length === 0) return decided;
  await lockAnchors(tx, participantIds);
  const snapshots = await loadSnapshots(tx, participantIds);
  const inputs = await readScheduleInputs(tx, studyId, participantIds);
  const decisions: AnchorDecision[] = [];
  for (const snapshot of snapshots) {
    const id = snapshot.row.participant_id;
    if (snapshot.row.participant.status === 'withdrawn') {
      decided.set(id, WITHDRAWN);
      continue;
    }
    const decision = decisionOf(snapshot);
    const anchorDecision = anchorDecisionOf(snapshot, decision, inputs.get(id)!, wanted.get(id)!);
    if (anchorDecision) decisions.push(anchorDecision);
    decided.set(id, decidedOf(snapshot, decision));
  }
  await writeDecisions(tx, audit, studyId, decisions);
  return decided;
}

/**
 * What a capture system's reading comes to: a reopened anchor that rests is left alone by what changes none of its
 * sources.
 */
function decisionOf({ policy, facts }: AnchorSnapshot): Decision {
  const decision = evaluate(policy, facts);
  return isReopenedAndUnchanged(policy, facts) ? { ...decision, result: 'unchanged', transitions: [] } : decision;
}

function decidedOf({ facts: { anchor, zone } }: AnchorSnapshot, decision: Decision): Decided {
  const last = decision.transitions.at(-1);
  return {
    result: decision.result,
    errors: decision.errors,
    candidate: decision.candidate?.date ?? null,
    changed: dateAhead(decision) !== null || (last !== undefined && last.status_after !== anchor.status),
    final: anchor.status === 'finalized' && anchor.date !== null ? { date: anchor.date, zone } : null,
  };
}

function anchorDecisionOf(
  snapshot: AnchorSnapshot,
  decision: Decision,
  inputs: ScheduleInputs,
  ensuring: EnsureScheduleOptions,
): AnchorDecision | null {
  const makesFirst = ensuring === 'always' && snapshot.row.anchor.current_schedule_version_id === null;
  if (decision.transitions.length === 0 && !makesFirst) return null;
  const schedule = scheduleAfter(snapshot, decision, inputs, ensuring !== 'rule_7');
  return {
    snapshot,
    transitions: decision.transitions,
    trace: decision.trace,
    command: { kind: 'evaluate' },
    sender: { actor_type: 'workflow' },
    reason: null,
    ...(schedule && { schedule }),
  };
}

/**
 * The schedule that follows from a decision: from its date, or from today where there is none and one is to be there
 * all the same. The same date from another source, or a proposal that becomes final, leaves a schedule that fits as it
 * is.
 */
export function scheduleAfter(
  { policy, facts, row }: AnchorSnapshot,
  decision: Decision,
  inputs: ScheduleInputs,
  ensure: boolean,
): AnchorDecision['schedule'] {
  const hasCurrent = row.anchor.current_schedule_version_id !== null;
  if (!ensure && !scheduleFollows(decision, policy, hasCurrent)) return undefined;
  const last = decision.transitions.at(-1);
  const from = (last ? last.value!.date : facts.anchor.date) ?? facts.today;
  return inputs.current_date === from
    ? undefined
    : { inputs, date: from, reason: hasCurrent ? 'anchor_changed' : 'first' };
}

/**
 * What an evaluation would come to, and whether it would write anything: where not, a participant's workflow need not
 * be asked.
 */
export async function wouldChange(
  { tx }: WriteTransaction,
  participantId: string,
): Promise<{ needed: boolean; decided: Decided }> {
  const [snapshot] = await loadSnapshots(tx, [participantId]);
  if (!snapshot || snapshot.row.participant.status === 'withdrawn') return { needed: true, decided: WITHDRAWN };
  const decision = decisionOf(snapshot);
  // In `edc` mode a schedule follows the participant's site as well. A date ahead is waited for by the workflow.
  return {
    needed:
      decision.transitions.length > 0 || dateAhead(decision) !== null || snapshot.row.study.scheduling_mode === 'edc',
    decided: decidedOf(snapshot, decision),
  };
}
