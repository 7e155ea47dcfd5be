import { formerPolicy } from '../../db/studies/policies.queries.js';
import { enrolledAfter } from '../../db/participants/enrolled.queries.js';
import { lastWaitingFor } from '../../db/anchor/anchor-commands.queries.js';
import { lockAnchors } from '../../db/anchor/anchors.queries.js';
import { closeChange, notedChange } from '../../db/outbox/pending-work.queries.js';
import { followBaseline } from '../../db/scheduling/schedule-writes.queries.js';
import { newerChanges, readScheduleInputs, readScheduleSources } from '../../db/scheduling/schedules.queries.js';
import { putOutbox } from '../../db/outbox/outbox.js';
import { chunk } from '../../db/client/sets/chunk.js';
import { withStudyScope, readInScope } from '../../db/client/transaction.js';
import { dateAhead } from '../../workflows/domain/anchor/decide.js';
import { factsOf, policyOf } from '../../workflows/domain/anchor/facts.js';
import type { Policy } from '../../workflows/domain/anchor/policy-schema.js';
import { reanchor, reschedule } from '../../workflows/domain/anchor/reanchoring.js';
import type { ScheduleDate } from '../../workflows/domain/anchor/reanchoring.js';
import { waitingConditions } from '../../workflows/domain/anchor/waiting.js';
import type { Facts } from '../../workflows/domain/util/types.js';
import type { UnsignedMessages } from './authorization.js';
import { noTrace } from './commands/outcome.js';
import type { AnchorDecision } from './commands/outcome.js';
import { loadSnapshots } from './snapshot.js';
import type { AnchorSnapshot } from './snapshot.js';
import { yieldAfter } from '../util/yield-after.js';
import { pipelined } from '../util/pipelined.js';
import type { WriteSlot } from '../util/pipelined.js';
import { writeDecisions } from './write.js';
import type { Database } from '../../db/client/database.js';
import type { Tx } from '../../db/client/database.js';

/**
 * Changes that no anchor depends on. They are cheaper, so one piece at a time is fast enough, and delays concurrent
 * readers less.
 */
const SCHEDULE_ONLY = ['windows', 'events', 'calendar', 'mapping', 'capture'];
/** What the service finds in the capture system by itself: another arm of a record, another name of an event. */
const FOUND = 'capture';
/** Another window or event is the baseline: its visits are marked in place, without new schedules. */
const BASELINE = 'baseline';

export interface ReanchoringChange {
  study_id: string;
  kind: string;
  actor_user_id: string | null;
}
/** `change_id`: the change is complete when no participant is left. */
export interface Batch {
  change: ReanchoringChange;
  after: string;
  size: number;
  change_id?: string;
}
export interface BatchReport {
  last: string | null;
  seen: number;
  moved: number;
  schedules: number;
}

/** Participants of one transaction: few enough that nobody waits long for a participant's lock. */
const CHUNK_SIZE = 150;
/** The first chunk of a batch is decided while nothing is being written: it is short. */
const FIRST_CHUNK_SIZE = 25;

/**
 * Applies a study's change to one batch of participants, in chunks: each is a transaction, with the same pure decision
 * and the same compare-and-set write as for one participant, in sets. Reprocessing a batch, or a part of it, is
 * idempotent: a participant in the state of the facts has nothing to write.
 */
export const reanchorBatch =
  (database: Database, heartbeat: () => void, unsigned: UnsignedMessages = 'accept') =>
  async ({ change: requested, after, size, change_id }: Batch): Promise<BatchReport> => {
    const change = await provenChange(database, requested, change_id, unsigned);
    const ids = await readInScope(database, change.study_id, (tx) => enrolledAfter(tx, change.study_id, after, size));
    if (ids.length === 0) {
      if (change_id !== undefined)
        await withStudyScope(database, change.study_id, ({ tx }) => closeChange(tx, change.study_id, change_id));
      return { last: null, seen: 0, moved: 0, schedules: 0 };
    }
    const pieces = [ids.slice(0, FIRST_CHUNK_SIZE), ...chunk(ids.slice(FIRST_CHUNK_SIZE), CHUNK_SIZE)];
    const done = await pipelined(
      pieces,
      async (piece, slot) => {
        const report = await reanchorPiece(database, change, piece, slot);
        heartbeat();
        return report;
      },
      SCHEDULE_ONLY.includes(change.kind) ? 1 : 2,
    );
    return {
      last: ids.at(-1)!,
      seen: ids.length,
      moved: done.reduce((sum, { moved }) => sum + moved, 0),
      schedules: done.reduce((sum, { schedules }) => sum + schedules, 0),
    };
  };

/** `begun_at`: when it was made, ISO 8601; runs of earlier releases lack it. */
type ProvenChange = ReanchoringChange & { begun_at?: string };

/** The author and time of the change come from the database, not from the workflow's input. */
async function provenChange(
  database: Database,
  change: ReanchoringChange,
  changeId: string | undefined,
  unsigned: UnsignedMessages,
): Promise<ProvenChange> {
  const noted =
    changeId === undefined
      ? undefined
      : await readInScope(database, change.study_id, (tx) => notedChange(tx, change.study_id, changeId));
  if (noted !== undefined) return { ...change, ...noted };
  return unsigned === 'accept' ? change : { ...change, actor_user_id: null };
}

const reanchorPiece = async (
  database: Database,
  change: ProvenChange,
  ids: string[],
  slot: WriteSlot,
): Promise<{ moved: number; schedules: number }> =>
  withStudyScope(database, change.study_id, async ({ tx, audit }) => {
    await lockAnchors(tx, ids);
    if (change.kind === BASELINE) await followBaseline(tx, ids);
    const snapshots = await loadSnapshots(tx, ids);
    const sources = await readScheduleSources(tx, change.study_id);
    const inputs = await readScheduleInputs(tx, change.study_id, ids, sources);
    const former = change.kind === 'policy' ? await policyBefore(tx, change.study_id) : null;
    const causes = await causesOf(tx, change, ids);
    const told = await waitingToldTo(tx, change, snapshots);
    const decisions: AnchorDecision[] = [];
    const awake: string[] = [];
    const serveOthers = yieldAfter();
    for (const snapshot of snapshots) {
      await serveOthers();
      const id = snapshot.row.participant_id;
      const { decision, ahead } = decisionFor(snapshot, inputs.get(id)!, change, causes.get(id) ?? change.kind);
      if (decision) decisions.push(decision);
      if (
        ahead ||
        changesStatus(decision) ||
        (former && waitsForOther(snapshot, former)) ||
        asks(snapshot, change) ||
        waitsForOtherThan(snapshot, told.get(id))
      )
        awake.push(id);
    }
    await slot.acquire();
    await writeDecisions(tx, audit, change.study_id, decisions, { schedulesWritten: slot.release });
    await putOutbox(
      tx,
      awake.map((id) => ({
        topic: 'sources-changed',
        studyId: change.study_id,
        subject: id,
        payload: { actor_user_id: change.actor_user_id },
      })),
    );
    return {
      moved: decisions.filter((d) => d.transitions.length > 0).length,
      schedules: decisions.filter((d) => d.schedule).length,
    };
  });

/** `ahead`: a source's date is in the future, and the workflow is to wait for that day. */
function decisionFor(
  snapshot: AnchorSnapshot,
  inputs: NonNullable<AnchorDecision['schedule']>['inputs'],
  change: ProvenChange,
  cause: string,
): { decision: AnchorDecision | null; ahead: boolean } {
  const { policy, facts, keyOf } = snapshot;
  const from = scheduleDate(snapshot, change);
  const { decision: evaluated, schedule } = SCHEDULE_ONLY.includes(change.kind)
    ? { decision: null, schedule: reschedule(policy, facts, inputs, keyOf, from) }
    : reanchor(policy, facts, inputs, keyOf, from);
  const { transitions, trace } = evaluated ?? { transitions: [], trace: noTrace };
  const ahead = evaluated !== null && dateAhead(evaluated) !== null;
  if (transitions.length === 0 && schedule === null) return { decision: null, ahead };
  const decision: AnchorDecision = {
    snapshot,
    transitions,
    trace,
    command: { kind: 'evaluate', study_change: change.kind },
    sender: { actor_user_id: change.actor_user_id, actor_type: 'workflow' },
    reason: null,
    ...(schedule !== null && { schedule: { inputs, ...schedule, reason: `${cause}_changed`.slice(0, 200) } }),
  };
  return { decision, ahead };
}

/**
 * An override after the change has decided about the schedule itself. A change that nobody makes moves no visits that
 * an earlier override left: nobody could be told beforehand (`moved_by_earlier_override`).
 */
const scheduleDate = ({ row: { anchor } }: AnchorSnapshot, { kind, begun_at }: ProvenChange): ScheduleDate =>
  kind === FOUND ||
  (anchor.is_override && anchor.override_at !== null && begun_at !== undefined && anchor.override_at > begun_at)
    ? 'schedule'
    : 'anchor';

/**
 * An earlier change's run may reach a participant after a later change: if the participant's schedule already includes
 * the earlier one, the later one is the cause. Returns only such participants.
 */
async function causesOf(tx: Tx, change: ReanchoringChange, ids: readonly string[]): Promise<Map<string, string>> {
  const rows = await newerChanges(tx, change.study_id, change.kind, ids);
  return new Map(rows.map((row) => [row.participant_id, row.kind]));
}

/**
 * Whether the participant's workflow must be notified: a date that moves within its status does not change its waiting
 * state. Notifying ten thousand takes the Temporal server minutes, and each reads the database again with its next
 * message.
 */
const changesStatus = (decision: AnchorDecision | null): boolean => {
  const last = decision?.transitions.at(-1);
  return last !== undefined && last.status_after !== decision!.snapshot.facts.anchor.status;
};

async function policyBefore(tx: Tx, studyId: string): Promise<Policy | null> {
  const former = await formerPolicy(tx, studyId);
  return former === undefined ? null : policyOf(former);
}

/**
 * Whether an override of this participant waits for a decision that others may make under another policy: those who
 * were not told of it yet are.
 */
const asks = ({ row }: AnchorSnapshot, { kind }: ReanchoringChange): boolean =>
  kind === 'policy' && row.pending_override !== null;

/** Whether a proposal waits for something else under the new policy, or is hindered by other rules. */
function waitsForOther({ facts, policy, row }: AnchorSnapshot, former: Policy): boolean {
  if (facts.anchor.status === 'finalized') return false;
  const shown = (by: Policy, known: Facts) => {
    const { waiting_for, date_ahead, rule_errors } = waitingConditions(by, known, row.pending_override !== null);
    return JSON.stringify([waiting_for, date_ahead?.date ?? null, rule_errors]);
  };
  return shown(former, factsOf(row, former)) !== shown(policy, facts);
}

/** Changes of which conditions of a date depend, besides those of a policy. */
const OF_CONDITIONS = ['study', BASELINE];

/**
 * What the workflows of those without a final date were told to wait for, if the change may make them wait for other
 * things.
 */
const waitingToldTo = (
  tx: Tx,
  { kind }: ReanchoringChange,
  snapshots: readonly AnchorSnapshot[],
): Promise<Map<string, string[]>> =>
  OF_CONDITIONS.includes(kind)
    ? lastWaitingFor(
        tx,
        snapshots.filter(({ facts }) => facts.anchor.status !== 'finalized').map(({ row }) => row.participant_id),
      )
    : Promise.resolve(new Map());

/** Whether a date that is not final waits for other things than its workflow was told. */
function waitsForOtherThan({ facts, policy, row }: AnchorSnapshot, told: readonly string[] | undefined): boolean {
  if (told === undefined) return false;
  const { waiting_for } = waitingConditions(policy, facts, row.pending_override !== null);
  return waiting_for.join() !== told.join();
}
