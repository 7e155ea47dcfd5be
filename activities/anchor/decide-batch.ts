import { lockAnchors } from '../../db/anchor/anchors.queries.js';
import { newcomersScheduleInputs, readScheduleInputs } from '../../db/scheduling/schedules.queries.js';
import type { WriteTransaction } from '../../db/client/transaction.js';
import { dateAhead, evaluateUnlessAtRest } from '../../workflows/domain/anchor/decide.js';
import type { ScheduleInputs } from '../../workflows/domain/anchor/regeneration.js';
import { scheduleAfter } from '../../workflows/domain/anchor/regeneration.js';
import type { Decision, Fault } from '../../workflows/domain/util/types.js';
import type { Via } from './authorization.js';
import type { AnchorDecision } from './commands/outcome.js';
import { loadNewcomers, loadSnapshots } from './snapshot.js';
import type { AnchorSnapshot } from './snapshot.js';
import { writeDecisions } from './write.js';
import { yieldAfter } from '../../db/client/yield-after.js';

/** The result of an evaluation. */
export interface EvaluationSummary {
  result: Decision['result'] | 'withdrawn';
  errors: Fault[];
  candidate: string | null;
  /** The anchor's status changed, or its date is in the future, so that its workflow waits for something else. */
  changed: boolean;
  /** The date of an anchor that was already final, and the time zone for displaying days; null: it was not final. */
  final: { date: string; zone: string } | null;
}
const WITHDRAWN: EvaluationSummary = { result: 'withdrawn', errors: [], candidate: null, changed: false, final: null };

/**
 * Schedules beyond those that the policy requires: `always` for a participant that the capture system creates (from
 * today without a date), `of_date` for one whose date it changed (the date makes the next version, also a proposal).
 * One that is created is so in the same transaction, and its anchor is stored with this decision, its first.
 */
export type EnsureScheduleOptions = 'always' | 'of_date' | 'by_policy';

/**
 * Evaluates anchors of one study in the caller's transaction and writes the results, in sets: the same as the
 * participants' workflows do with the message `evaluate`. For participants created in this transaction, whose workflows
 * do not run yet, and for changes of a whole study; writes compare the anchors' versions as always.
 */
export async function decideBatch(
  { tx, audit }: WriteTransaction,
  studyId: string,
  wanted: ReadonlyMap<string, EnsureScheduleOptions>,
  via: Via = 'workflow',
): Promise<Map<string, EvaluationSummary>> {
  const decided = new Map<string, EvaluationSummary>();
  const isNew = (id: string) => wanted.get(id) === 'always';
  const participantIds = [...wanted.keys()].sort();
  if (participantIds.length === 0) return decided;
  const [newcomers, others] = [participantIds.filter(isNew), participantIds.filter((id) => !isNew(id))];
  await lockAnchors(tx, others);
  const snapshots = [...(await loadNewcomers(tx, newcomers)), ...(await loadSnapshots(tx, others))];
  const inputs = await (others.length === 0 ? newcomersScheduleInputs : readScheduleInputs)(
    tx,
    studyId,
    participantIds,
  );
  const decisions: AnchorDecision[] = [];
  const serveOthers = yieldAfter();
  for (const snapshot of snapshots) {
    await serveOthers();
    const id = snapshot.row.participant_id;
    if (snapshot.row.participant.status === 'withdrawn') {
      decided.set(id, WITHDRAWN);
      continue;
    }
    const decision = evaluateUnlessAtRest(snapshot.policy, snapshot.facts);
    const anchorDecision = anchorDecisionOf(snapshot, decision, inputs.get(id)!, wanted.get(id)!);
    if (anchorDecision) decisions.push({ ...anchorDecision, via });
    decided.set(id, decidedOf(snapshot, decision));
  }
  await writeDecisions(tx, audit, studyId, decisions);
  return decided;
}

function decidedOf({ facts: { anchor, zone } }: AnchorSnapshot, decision: Decision): EvaluationSummary {
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
  const { policy, facts, row } = snapshot;
  const hasCurrent = row.anchor.current_schedule_version_id !== null;
  const makesFirst = ensuring === 'always' && !hasCurrent;
  if (decision.transitions.length === 0 && !makesFirst) return null;
  const ensure = ensuring !== 'by_policy';
  const schedule = scheduleAfter(policy, facts, decision, inputs, { hasCurrent, ensure });
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
 * The result that an evaluation would have, and whether it would write anything: if not, the participant's workflow
 * need not be called.
 */
export async function wouldChange(
  { tx }: WriteTransaction,
  participantId: string,
): Promise<{ needed: boolean; decided: EvaluationSummary }> {
  const [snapshot] = await loadSnapshots(tx, [participantId]);
  if (!snapshot || snapshot.row.participant.status === 'withdrawn') return { needed: true, decided: WITHDRAWN };
  const decision = evaluateUnlessAtRest(snapshot.policy, snapshot.facts);
  // In `edc` mode a schedule also depends on the participant's site. The workflow waits for a future date.
  return {
    needed:
      decision.transitions.length > 0 || dateAhead(decision) !== null || snapshot.row.study.scheduling_mode === 'edc',
    decided: decidedOf(snapshot, decision),
  };
}
