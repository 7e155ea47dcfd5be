import { lastAnswers } from '../../db/anchor/anchor-commands.queries.js';
import { enrolledAfter } from '../../db/participants/enrolled.queries.js';
import { keepOutImports } from '../../db/participants/import-lock.queries.js';
import { lockAnchors } from '../../db/anchor/anchors.queries.js';
import { closeChange, notedChange } from '../../db/outbox/pending-work.queries.js';
import { followBaseline, followWindows } from '../../db/scheduling/schedule-writes.queries.js';
import { newerChanges, readScheduleInputs, readScheduleSources } from '../../db/scheduling/schedules.queries.js';
import { putOutbox } from '../../db/outbox/outbox.js';
import { chunk } from '../../db/client/sets/chunk.js';
import { withStudyScope, readInScope } from '../../db/client/transaction.js';
import { dateAhead } from '../../workflows/domain/anchor/decide.js';
import { reanchor, reschedule } from '../../workflows/domain/anchor/reanchoring.js';
import type { ScheduleDate } from '../../workflows/domain/anchor/reanchoring.js';
import { waitingConditions } from '../../workflows/domain/anchor/waiting.js';
import { sameJson } from '../../workflows/domain/util/same.js';
import type { AnchorOutcome, WaitingState } from '../../workflows/contract.js';
import { noTrace } from './commands/outcome.js';
import type { AnchorDecision } from './commands/outcome.js';
import { loadSnapshots } from './snapshot.js';
import type { AnchorSnapshot } from './snapshot.js';
import { yieldAfter } from '../../db/client/yield-after.js';
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
/** Windows may have been made of events whose visits the mapping had planned. */
const OF_WINDOWS = ['windows', BASELINE];

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
 * @param ownOnly a change that the service has not made is not applied
 */
export const reanchorBatch =
  (database: Database, heartbeat: () => void, ownOnly = false) =>
  async ({ change: requested, after, size, change_id }: Batch): Promise<BatchReport> => {
    const change = await provenChange(database, requested, change_id, ownOnly);
    if (!change) return { last: null, seen: 0, moved: 0, schedules: 0 };
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

/**
 * Kind, author and time of the change come from the database, not from the workflow's input. Undefined: the service has
 * no such change, or it is complete. A person with access to Temporal could invent one, and so move visits that an
 * override had left as they were.
 */
async function provenChange(
  database: Database,
  change: ReanchoringChange,
  changeId: string | undefined,
  ownOnly: boolean,
): Promise<ProvenChange | undefined> {
  const noted =
    changeId === undefined
      ? undefined
      : await readInScope(database, change.study_id, (tx) => notedChange(tx, change.study_id, changeId));
  if (noted !== undefined) return { ...change, ...noted };
  return ownOnly ? undefined : change;
}

const reanchorPiece = async (
  database: Database,
  change: ProvenChange,
  ids: string[],
  slot: WriteSlot,
): Promise<{ moved: number; schedules: number }> =>
  withStudyScope(database, change.study_id, async ({ tx, audit }) => {
    await keepOutImports(tx, change.study_id);
    await lockAnchors(tx, ids);
    if (OF_WINDOWS.includes(change.kind)) await followWindows(tx, change.study_id, ids);
    if (change.kind === BASELINE) await followBaseline(tx, ids);
    const snapshots = await loadSnapshots(tx, ids);
    const sources = await readScheduleSources(tx, change.study_id);
    const inputs = await readScheduleInputs(tx, change.study_id, ids, sources);
    const told = SCHEDULE_ONLY.includes(change.kind) ? null : await toldLast(tx, snapshots);
    const causes = await causesOf(tx, change, ids);
    const decisions: AnchorDecision[] = [];
    const awake: string[] = [];
    const serveOthers = yieldAfter();
    for (const snapshot of snapshots) {
      await serveOthers();
      const id = snapshot.row.participant_id;
      const { decision, ahead } = decisionFor(snapshot, inputs.get(id)!, change, causes.get(id) ?? change.kind);
      if (decision) decisions.push(decision);
      if (ahead || changesStatus(decision) || (told && waitsForOther(snapshot, told.get(id))) || asks(snapshot, change))
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
    via: 'workflow',
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

/** What the workflows of those whose anchor is not final were last told to wait for. */
async function toldLast(tx: Tx, snapshots: readonly AnchorSnapshot[]): Promise<Map<string, WaitingState>> {
  const open = snapshots.filter(({ facts }) => facts.anchor.status !== 'finalized');
  const answers = await lastAnswers(
    tx,
    open.map(({ row }) => row.participant_id),
  );
  return new Map(
    answers.map(({ participant_id, outcome }) => [participant_id, (outcome as Pick<AnchorOutcome, 'waiting'>).waiting]),
  );
}

/**
 * Whether an override of this participant waits for a decision that others may make under another policy: those who
 * were not told of it yet are.
 */
const asks = ({ row }: AnchorSnapshot, { kind }: ReanchoringChange): boolean =>
  kind === 'policy' && row.pending_override !== null;

/**
 * Whether the workflow waits for something else than it was told, or is hindered by other rules. It is compared with
 * what it knows, not with the facts before this change: of several changes at once the first may have had the facts of
 * the last. One that was told nothing yet reads the facts when it starts.
 */
function waitsForOther({ facts, policy, row }: AnchorSnapshot, told: WaitingState | undefined): boolean {
  if (told === undefined) return false;
  return !sameJson(shown(told), shown(waitingConditions(policy, facts, row.pending_override !== null)));
}

const shown = ({
  waiting_for,
  date_ahead,
  rule_errors = [],
}: Pick<WaitingState, 'waiting_for' | 'date_ahead' | 'rule_errors'>) => [
  waiting_for,
  date_ahead?.begins_at ?? null,
  rule_errors,
];
