import { createHash, randomUUID } from 'node:crypto';
import { nowMs, nowIso } from '../../../db/client/clock.js';
import { acquirePermit } from '../../../db/capture/breakers.queries.js';
import type { BreakerPermit } from '../../../db/capture/breakers.queries.js';
import {
  findConfig,
  isStillConnected,
  noteConnection,
  updateConfig,
} from '../../../db/capture/datacapture-configs.queries.js';
import type { DatacaptureConfigRow } from '../../../db/capture/datacapture-configs.queries.js';
import { retryForbidden } from '../../../db/capture/push-requests.queries.js';
import {
  keepTarget,
  lockBeginning,
  noteAttempt,
  pushFacts,
  slotIn,
  takeTarget,
  tasksDelivered,
} from '../../../db/capture/pushes.queries.js';
import type { PushTarget } from '../../../db/capture/pushes.queries.js';
import { withStudyScope } from '../../../db/client/transaction.js';
import type { PushReport, PushResultsStart } from '../../../workflows/contract.js';
import { fieldsTaken, planPush } from '../../../workflows/domain/capture/push-record.js';
import type { PushPlan } from '../../../workflows/domain/capture/push-record.js';
import { CaptureFailure, recordBusy } from '../client/failure.js';
import { placeOfPush } from '../client/rate-limit.js';
import { isRetried } from './deps.js';
import type { PushDeps } from './deps.js';
import { completePush } from './complete-push.js';
import type { PushAttempt, PushOutcome } from './complete-push.js';
import { pushRecord } from './push-record.js';

/**
 * Longer than one call to the capture system may take; extended before each, so that a dead attempt frees its record
 * soon.
 */
const leaseSeconds = ({ settings }: PushDeps) => settings.DATACAPTURE_TIMEOUT_SECONDS + 3;
/** All calls of an attempt together, and a margin: a probe that is silent for longer was lost. */
const probeSeconds = ({ settings }: PushDeps) => 10 * settings.DATACAPTURE_TIMEOUT_SECONDS + 5;

const report = (status: PushReport['status']): PushReport => ({
  status,
  error_type: null,
  records_imported: null,
  wait_ms: null,
});

/** A shorter wait for a slot happens here. */
const NEAR_MS = 20;

type Begun =
  | { over: PushReport }
  | { turnIn: number }
  | { attempt: PushAttempt; outcome: PushOutcome; forbidden: boolean }
  | {
      attempt: PushAttempt & { id: string };
      plan: Extract<PushPlan, { kind: 'push' }>;
      config: DatacaptureConfigRow;
      unanswered: boolean;
      /** The fields in which results of another visit stand. */
      taken: string[];
      /** The previous attempt was refused access. */
      forbidden: boolean;
    };

/**
 * One attempt: decides from the database what to push, locks the record's event, acquires a breaker permit, calls the
 * capture system and writes the result. From the time it may send, the push is marked as unanswered: the attempt after
 * a lost one reads back first.
 * @param early before the planned time
 */
export async function pushOnce(deps: PushDeps, start: PushResultsStart, early: boolean): Promise<PushReport> {
  const begun = await begin(deps, start, early);
  if ('over' in begun) return begun.over;
  // Temporal waits, without occupying a worker slot.
  if ('turnIn' in begun) throw recordBusy(begun.turnIn);
  if ('outcome' in begun) {
    const report = await completePush(deps, start, begun.attempt, begun.outcome);
    if (begun.forbidden) await passTrialOn(deps, start.study_id, begun.outcome);
    return report;
  }
  const { attempt, forbidden } = begun;
  const target = attempt.target!;
  const outcome = await pushRecord(deps, begun, () => keep(deps, target, attempt.id));
  const report = await completePush(deps, start, attempt, outcome);
  await noteOutcome(deps, begun.config, forbidden, outcome);
  if (forbidden) await passTrialOn(deps, start.study_id, outcome);
  return report;
}

function begin(deps: PushDeps, start: PushResultsStart, early: boolean): Promise<Begun> {
  const { study_id: studyId, session_id: sessionId } = start;
  return withStudyScope(deps.database, studyId, async ({ tx }): Promise<Begun> => {
    const push = await lockBeginning(tx, sessionId);
    const facts = await pushFacts(tx, sessionId);
    if (!push || !facts) return { over: report('gone') };
    if (push.status === 'synced' || push.status === 'failed' || push.status === 'skipped')
      return { over: report(push.status === 'synced' ? 'success' : push.status) };
    const left = push.next_attempt_at === null ? 0 : Date.parse(push.next_attempt_at) - nowMs();
    // The previous attempt was stored, but its report was lost.
    if (!early && left > 100) return { over: { ...report('retry'), error_type: push.error_type, wait_ms: left } };
    const config = await findConfig(tx, studyId);
    const plan = planPush({ ...facts, session_id: sessionId }, config?.data_field_mapping);
    const attempt: PushAttempt & { id: string } = {
      id: randomUUID(),
      startedAt: nowIso(),
      requested: push.requested,
      target: undefined,
      passage: undefined,
    };
    if (plan.kind === 'later') return { over: report('later') };
    const begins = (sends: boolean) => noteAttempt(tx, sessionId, attempt.id, sends);
    if (plan.kind !== 'push') {
      await begins(false);
      return {
        attempt,
        forbidden: push.forbidden,
        outcome:
          plan.kind === 'skip'
            ? { kind: 'skipped', message: plan.reason }
            : {
                kind: 'failed',
                type: 'configuration',
                message: plan.reason,
                contacted: false,
                sent: push.unanswered ? 'perhaps' : 'no',
              },
      };
    }

    // Record and event are looked up; a record that may have been written is also read back: three calls, or four.
    const calls = push.unanswered ? 4 : 3;
    const turnIn = await slotIn(tx, push, () =>
      placeOfPush(tx, config!.api_url, calls, deps.settings.DATACAPTURE_PUSHES_PER_MINUTE),
    );
    if (turnIn > NEAR_MS) return { turnIn };
    const target: PushTarget = { studyId, record: plan.record, event: plan.event };
    if (!(await takeTarget(tx, target, attempt.id, leaseSeconds(deps)))) throw recordBusy(300 + Math.random() * 700);
    const passage: BreakerPermit = { studyId, connection: connectionOf(config!), attempt: attempt.id };
    const mine = { ...attempt, target, passage };
    const retryAt = await acquirePermit(tx, passage, probeSeconds(deps));
    await begins(retryAt === null);
    if (retryAt !== null)
      return { attempt: mine, forbidden: push.forbidden, outcome: { kind: 'circuit_open', retryAt } };
    const taken = fieldsTaken(plan, await tasksDelivered(tx, push, plan.event), config!.data_field_mapping);
    return { attempt: mine, plan, config: config!, taken, unanswered: push.unanswered, forbidden: push.forbidden };
  });
}

/**
 * Stores the state of the connection, as triggers do: the configuration has the fault, or none any more. A push with
 * regained access releases all that were refused.
 */
async function noteOutcome(
  deps: PushDeps,
  used: DatacaptureConfigRow,
  wasForbidden: boolean,
  outcome: PushOutcome,
): Promise<void> {
  const { study_id: studyId, sync_status } = used;
  if (outcome.kind === 'failed' && (outcome.type !== 'rejected' || outcome.forbidden)) {
    await withStudyScope(deps.database, studyId, async ({ tx }) => {
      if (await isStillConnected(tx, studyId, used)) await noteConnection(tx, studyId, outcome.message);
    });
  } else if (outcome.kind === 'success' && (wasForbidden || sync_status === 'error')) {
    await withStudyScope(deps.database, studyId, async ({ tx }) => {
      if (!(await isStillConnected(tx, studyId, used))) return;
      await updateConfig(tx, studyId, { sync_status: 'active', sync_error_message: null });
      await retryForbidden(tx, studyId, 'write');
    });
  }
}

/**
 * A push that was to try a new token, and ends for a reason of its own (its record was deleted), tells nothing of the
 * others: the next one tries it.
 */
async function passTrialOn(deps: PushDeps, studyId: string, outcome: PushOutcome): Promise<void> {
  const ownReason =
    outcome.kind === 'skipped' || (outcome.kind === 'failed' && !isRetried(outcome.type) && !outcome.forbidden);
  if (ownReason) await withStudyScope(deps.database, studyId, ({ tx }) => retryForbidden(tx, studyId, 'unknown'));
}

/** A capture system by address and token: another one has another breaker and another dictionary. */
const connectionOf = (config: DatacaptureConfigRow): string =>
  createHash('sha256').update(`${config.api_url}\0${config.api_token_encrypted}`).digest('hex');

/**
 * Extends the lease before each call. @throws CaptureFailure when it expired and another push holds the record by now
 */
async function keep(deps: PushDeps, target: PushTarget, owner: string): Promise<void> {
  if (
    await withStudyScope(deps.database, target.studyId, ({ tx }) => keepTarget(tx, target, owner, leaseSeconds(deps)))
  )
    return;
  throw new CaptureFailure('timeout', 'The attempt took so long that another push has the record by now.');
}
