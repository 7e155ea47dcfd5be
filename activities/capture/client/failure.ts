import { ApplicationFailure, ApplicationFailureCategory } from '@temporalio/common';
import { CONNECTION_ERROR } from '../../../db/client/connection-errors.js';
import { AnchorUpdateTimeoutError } from '../../../workflows/client.js';

/** How a call to a capture system failed (decisions, section 6: `error_type` of an attempt). */
export type CaptureErrorType =
  'connection_error' | 'http_error' | 'timeout' | 'invalid_response' | 'rejected' | 'configuration';

const RETRYABLE: ReadonlySet<CaptureErrorType> = new Set([
  'connection_error',
  'http_error',
  'timeout',
  'invalid_response',
]);

/** A failed call, in words that hold neither token nor personal data. */
export class CaptureFailure extends Error {
  readonly retryable: boolean;
  /** Of an answer that refuses. */
  readonly status: number | undefined;
  /** The service was not let in: another token may be. */
  readonly forbidden: boolean;

  constructor(
    readonly errorType: CaptureErrorType,
    message: string,
    options: { cause?: unknown; status?: number; forbidden?: boolean } = {},
  ) {
    super(message, options);
    this.name = 'CaptureFailure';
    this.status = options.status;
    this.forbidden = options.forbidden ?? (options.status === 401 || options.status === 403);
    this.retryable = RETRYABLE.has(errorType);
  }
}

/** A trigger that cannot be carried out, whatever is tried: ends it as `failed` with its code. */
export class TriggerRefused extends Error {
  constructor(
    readonly code: string,
    message: string,
  ) {
    super(message);
    this.name = 'TriggerRefused';
  }
}

/** Another trigger holds the record, or took it in between: expected, tried again soon. */
export function recordBusy(milliseconds: number): ApplicationFailure {
  return ApplicationFailure.create({
    type: 'RECORD_BUSY',
    message: 'Another trigger of this record is being worked off.',
    nextRetryDelay: milliseconds,
    category: ApplicationFailureCategory.BENIGN,
  });
}

export interface RetryLimits {
  /** How long a capture system that is away is waited for, milliseconds. */
  captureMs: number;
  /** How often what nobody foresaw is tried. */
  attempts: number;
}
export const defaultLimits: RetryLimits = { captureMs: 15 * 60_000, attempts: 10 };

/** Errors of a database that is away or too busy: they say nothing of the trigger, which waits for it. */
const DATABASE_AWAY = /^(ECONN|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|08|53|57P|40001|40P01|55P03)/;

function databaseAway(thrown: unknown): boolean {
  const { code, message } = thrown as { code?: unknown; message?: unknown };
  return (
    (typeof code === 'string' && DATABASE_AWAY.test(code)) ||
    (typeof message === 'string' && CONNECTION_ERROR.test(message))
  );
}

/**
 * What Temporal is to do with a failed attempt: a refusal ends it, a capture system that is away is waited for within
 * limits, an unforeseen fault is tried a few times, so that no trigger is tried for ever.
 */
export function attemptFailure(
  thrown: unknown,
  attempt: { number: number; ageMs: number },
  limits: RetryLimits,
): ApplicationFailure {
  if (thrown instanceof ApplicationFailure) return thrown;
  if (thrown instanceof TriggerRefused)
    return ApplicationFailure.create({ type: thrown.code, message: thrown.message, nonRetryable: true });
  if (thrown instanceof CaptureFailure) {
    return ApplicationFailure.create({
      type: thrown.errorType,
      message: thrown.message,
      nonRetryable: !thrown.retryable || attempt.ageMs >= limits.captureMs,
      category: ApplicationFailureCategory.BENIGN,
    });
  }
  if (thrown instanceof AnchorUpdateTimeoutError)
    return ApplicationFailure.create({
      type: 'ANCHOR_BUSY',
      message: "The participant's workflow gave no answer in time.",
    });
  if (databaseAway(thrown))
    return ApplicationFailure.create({
      type: 'DATABASE_UNAVAILABLE',
      message: 'The database is unavailable.',
    });
  // What it says may hold a statement or a person's data: the worker's log has it, the event does not.
  return ApplicationFailure.create({
    type: 'INTERNAL',
    message: 'Internal error.',
    nonRetryable: attempt.number >= limits.attempts,
  });
}
