import { nowMs, nowIso } from '../../../db/client/clock.js';
import type { AuditTrail } from '../../../db/audit/audit.js';
import { releaseProbe, isClosed, recordSuccess, recordFailure } from '../../../db/capture/breakers.queries.js';
import type { BreakerPermit } from '../../../db/capture/breakers.queries.js';
import { requeueWaitingPushes } from '../../../db/capture/push-requests.queries.js';
import { endAttempt, lockEnding, releaseTarget } from '../../../db/capture/pushes.queries.js';
import type { PushResult, PushRemark, PushRow, PushTarget } from '../../../db/capture/pushes.queries.js';
import { withStudyScope } from '../../../db/client/transaction.js';
import type { PushReport, PushResultsStart } from '../../../workflows/contract.js';
import { pushRemedy } from '../../../workflows/domain/capture/push-remedy.js';
import { breakerWait, retryWait } from '../../../workflows/domain/capture/push-retry.js';
import { isRetried } from './deps.js';
import type { PushDeps, PushErrorType } from './deps.js';
import type { Tx } from '../../../db/client/database.js';

export interface PushAttempt {
  /** Null: no attempt began; the push as a whole is ended. */
  id: string | null;
  startedAt: string;
  /** The number of requests when it began; null: any. */
  requested: number | null;
  target: PushTarget | undefined;
  passage: BreakerPermit | undefined;
}
export type PushOutcome =
  | { kind: 'success'; records: number; alreadyThere: boolean; warnings: PushRemark[] }
  | { kind: 'skipped'; message: string }
  /** `retryAt`: when the breaker may be tried. `closed`: it has closed since, and the push need not wait. */
  | { kind: 'circuit_open'; retryAt: string; closed?: boolean }
  /** `sent` is `perhaps` if something may have been written without confirmation. */
  | {
      kind: 'failed';
      type: Exclude<PushErrorType, 'circuit_open'>;
      message: string;
      /** For the log, without the capture system's own words; not set: the message has none. */
      inShort?: string;
      contacted: boolean;
      /** Access was refused. */
      forbidden?: boolean;
      sent: 'no' | 'perhaps';
      /** So many records have the other results. */
      records?: number;
      /** Of these. */
      warnings?: PushRemark[];
      /** It asks to be called again after so many milliseconds. */
      limitedMs?: number;
      /** It has not answered earlier calls: the call was not made, and counts as no failure. */
      unasked?: boolean;
    };

const GAVE_UP = 'It was tried for as long as PUSH_RETRY_MAX_DAYS allows. Last: ';

/**
 * Stores the end of an attempt: the attempt, the push, the sync status of session and visit together, the breaker and
 * the audit record, in one transaction; and logs failures.
 */
export async function completePush(
  deps: PushDeps,
  start: PushResultsStart,
  attempt: PushAttempt,
  outcome: PushOutcome,
): Promise<PushReport> {
  const ended = await withStudyScope(deps.database, start.study_id, async ({ tx, audit }) => {
    const locked = await lockEnding(tx, start.session_id);
    const { push, visitId } = locked ?? {};
    if (!push || visitId === undefined || !isItsEnd(push, attempt)) return undefined;
    const ending = pushResultOf(deps, push, attempt, await withBreakerState(tx, attempt, outcome));
    const firstFailure = ending.attempt.status === 'failed' && push.status !== 'waiting' && push.error_type === null;
    await endAttempt(tx, push, visitId, ending);
    if (attempt.target && attempt.id !== null) await releaseTarget(tx, attempt.target, attempt.id);
    if (attempt.passage) await tellBreaker(deps, tx, attempt.passage, outcome);
    record(audit, start, visitId, ending, firstFailure);
    return { ending, visitId, firstFailure, again: push.requested > ending.push.done };
  });
  if (!ended) return { status: 'gone', error_type: null, records_imported: null, wait_ms: null };
  tell(deps, start, ended, outcome);
  return reportOf(ended.ending, ended.again);
}

/**
 * A breaker that closed between the attempt and its end has woken the pushes that waited then, without this one. The
 * breaker's lock decides: either this push sees it closed, or the closing one sees this push waiting.
 */
async function withBreakerState(tx: Tx, { passage }: PushAttempt, outcome: PushOutcome): Promise<PushOutcome> {
  if (outcome.kind !== 'circuit_open' || !passage) return outcome;
  return { ...outcome, closed: await isClosed(tx, passage) };
}

/** An attempt that was given up as lost and ends nevertheless is ignored. */
const isItsEnd = (push: PushRow, { id }: PushAttempt): boolean =>
  id === null ? push.status === 'pending' || push.status === 'waiting' : push.attempt_id === id;

/** Ends a push that can't continue: an internal fault, or a cancelled run. */
export function failPush(
  deps: PushDeps,
  start: PushResultsStart,
  fault: { type: string; message: string },
): Promise<PushReport> {
  const attempt: PushAttempt = {
    id: null,
    startedAt: nowIso(),
    requested: null,
    target: undefined,
    passage: undefined,
  };
  return completePush(deps, start, attempt, {
    kind: 'failed',
    type: 'internal',
    message: `${fault.type}: ${fault.message}`.slice(0, 900),
    inShort: fault.type,
    contacted: false,
    sent: 'perhaps',
  });
}

function pushResultOf(deps: PushDeps, push: PushRow, attempt: PushAttempt, outcome: PushOutcome): PushResult {
  const base = {
    error_type: null,
    message: null,
    records_imported: null,
    already_there: false,
    warnings: [],
    started_at: attempt.startedAt,
  };
  const over = {
    done: attempt.requested ?? push.requested,
    failures: 0,
    waits: 0,
    unanswered: push.unanswered,
    forbidden: outcome.kind === 'failed' && outcome.forbidden === true,
    next_attempt_at: null,
  };
  switch (outcome.kind) {
    case 'success':
      return {
        attempt: {
          ...base,
          status: 'success',
          records_imported: outcome.records,
          already_there: outcome.alreadyThere,
          warnings: outcome.warnings,
        },
        push: { ...over, status: 'synced', unanswered: false },
      };
    case 'skipped':
      return {
        attempt: { ...base, status: 'skipped', message: outcome.message },
        push: { ...over, status: 'skipped' },
      };
    case 'circuit_open':
    case 'failed':
      return failedResult(deps, push, base, over, outcome);
  }
}

type Failed = Extract<PushOutcome, { kind: 'circuit_open' | 'failed' }>;

function failedResult(
  deps: PushDeps,
  push: PushRow,
  base: Omit<PushResult['attempt'], 'status'>,
  over: Omit<PushResult['push'], 'status'>,
  outcome: Failed,
): PushResult {
  const {
    PUSH_RETRY_INITIAL_SECONDS: initial,
    DATACAPTURE_BREAKER_COOLDOWN_SECONDS: cooldown,
    PUSH_RETRY_MAX_DAYS: days,
  } = deps.settings;
  const open = outcome.kind === 'circuit_open';
  const type = open ? ('circuit_open' as const) : outcome.type;
  const message = open ? 'The circuit breaker is open: the capture system was not asked.' : outcome.message;
  const failures = open || outcome.unasked ? push.failures : push.failures + 1;
  const putOff = open ? !outcome.closed : outcome.unasked;
  const waits = putOff ? push.waits + 1 : 0;
  const unanswered = open ? push.unanswered : outcome.sent === 'perhaps';
  const now = nowMs();
  const wait = open
    ? breakerWait(outcome.closed ? 0 : Date.parse(outcome.retryAt) - now, cooldown * 1000, waits, Math.random())
    : Math.max(retryWait(initial * 1000, failures + waits, Math.random()), outcome.limitedMs ?? 0);
  const until = Date.parse(push.requested_at) + days * 86_400_000;
  const records_imported = open ? null : (outcome.records ?? null);
  const warnings = open ? [] : (outcome.warnings ?? []);
  const failed = { ...base, status: 'failed' as const, error_type: type, message, records_imported, warnings };
  if (!isRetried(type)) return { attempt: failed, push: { ...over, status: 'failed', unanswered } };
  if (now >= until)
    return { attempt: { ...failed, message: GAVE_UP + message }, push: { ...over, status: 'failed', unanswered } };
  // The last attempt is at the deadline, whatever the back-off is by then.
  const nextTry = Math.min(now + wait, until);
  return {
    attempt: failed,
    push: {
      ...over,
      status: 'waiting',
      done: push.done,
      failures,
      waits,
      unanswered,
      // A trial that was put off is still one.
      forbidden: push.forbidden || over.forbidden,
      next_attempt_at: new Date(nextTry).toISOString(),
    },
  };
}

/** Only faults of the capture system count; a refusal is an answer. */
async function tellBreaker(deps: PushDeps, tx: Tx, passage: BreakerPermit, outcome: PushOutcome): Promise<void> {
  if (outcome.kind === 'circuit_open') return;
  if (outcome.kind === 'failed' && outcome.unasked) return releaseProbe(tx, passage);
  const { DATACAPTURE_BREAKER_FAILURES: failures, DATACAPTURE_BREAKER_COOLDOWN_SECONDS: cooldownSeconds } =
    deps.settings;
  if (outcome.kind === 'failed' && isRetried(outcome.type))
    return recordFailure(tx, passage, `${outcome.type}: ${outcome.message}`, {
      failures,
      cooldownSeconds: Math.max(cooldownSeconds, (outcome.limitedMs ?? 0) / 1000),
    });
  if (outcome.kind === 'success' || (outcome.kind === 'failed' && outcome.contacted)) {
    if (await recordSuccess(tx, passage)) await requeueWaitingPushes(tx, passage.studyId);
    return undefined;
  }
  return releaseProbe(tx, passage);
}

/** Success, the first failure and the last are audit records; others are only attempts. */
function record(
  audit: AuditTrail,
  start: PushResultsStart,
  visitId: string | null,
  { attempt, push }: PushResult,
  firstFailure: boolean,
): void {
  const final = push.status !== 'waiting';
  if (!final && !firstFailure) return;
  audit.record({
    study_id: start.study_id,
    user_id: null,
    resource_type: 'session',
    resource_id: start.session_id,
    action: { success: 'results_pushed', failed: 'push_failed', skipped: 'push_skipped' }[attempt.status],
    metadata: {
      visit_id: visitId,
      ...(attempt.status === 'success' && {
        records_imported: attempt.records_imported,
        already_there: attempt.already_there,
      }),
      ...(attempt.status === 'failed' && { error_type: attempt.error_type, final }),
      ...(attempt.status === 'skipped' && { reason: attempt.message }),
    },
  });
}

function tell(
  deps: PushDeps,
  start: PushResultsStart,
  { ending, visitId, firstFailure }: { ending: PushResult; visitId: string | null; firstFailure: boolean },
  outcome: PushOutcome,
): void {
  const { attempt, push } = ending;
  if (attempt.status !== 'failed') return;
  const facts = {
    session_id: start.session_id,
    study_id: start.study_id,
    visit_id: visitId,
    error_type: attempt.error_type,
    next_attempt_at: push.next_attempt_at,
    reason: (outcome.kind === 'failed' ? outcome.inShort : undefined) ?? attempt.message,
  };
  if (push.status === 'failed' || firstFailure)
    deps.log.fatal(
      { ...facts, severity: 'critical', fallback_used: false },
      'results were not pushed to the capture system',
    );
  else deps.log.warn(facts, 'results were not pushed yet');
}

function reportOf({ attempt, push }: PushResult, again: boolean): PushReport {
  const common = { error_type: attempt.error_type, records_imported: attempt.records_imported };
  if (push.status === 'waiting')
    return { ...common, status: 'retry', wait_ms: Math.max(1, Date.parse(push.next_attempt_at!) - nowMs()) };
  if (again) return { ...common, status: 'retry', wait_ms: 1 };
  return {
    ...common,
    status: attempt.status,
    wait_ms: null,
    ...(attempt.status === 'failed' && {
      message: attempt.message,
      remedy: pushRemedy(attempt.error_type, attempt.message),
    }),
  };
}
