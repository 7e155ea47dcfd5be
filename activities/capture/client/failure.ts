import { ApplicationFailure, ApplicationFailureCategory } from '@temporalio/common';
import { CONNECTION_ERROR } from '../../../db/client/connection/driver-faults.js';
import { AnchorUpdateTimeoutError } from '../../../workflows/client.js';
import type { FieldFault } from '../../../workflows/domain/capture/push-record.js';

/** The kind of a failed call to a capture system (`error_type` of an attempt). */
export type CaptureErrorType =
  'connection_error' | 'http_error' | 'timeout' | 'invalid_response' | 'rejected' | 'configuration';

const RETRYABLE: ReadonlySet<CaptureErrorType> = new Set([
  'connection_error',
  'http_error',
  'timeout',
  'invalid_response',
]);

/**
 * A failed call. The message has no token, but may quote the capture system, whose words nobody knows: they may name a
 * person. It is for those who see the study's data; a log gets `inShort`.
 */
export class CaptureFailure extends Error {
  /** The message without the capture system's own words. */
  readonly inShort: string;
  readonly retryable: boolean;
  /** Status of a refusing answer. */
  readonly status: number | undefined;
  /** Access was refused: another token may work. */
  readonly forbidden: boolean;
  /** It asks for fewer calls, and says when it can be called again: milliseconds; 0: it does not say when. */
  readonly limitedMs: number | undefined;
  /** The call was not made: the capture system has not answered those before it. */
  readonly unasked: boolean;
  /** The fields that a refused import names, each with its rule. */
  readonly faults: readonly FieldFault[];

  constructor(
    readonly errorType: CaptureErrorType,
    message: string,
    options: {
      cause?: unknown;
      /** The capture system's own words, with which the message ends. */
      said?: string | undefined;
      /** Not set: the message without `said`. */
      inShort?: string;
      status?: number;
      forbidden?: boolean;
      limitedMs?: number;
      unasked?: boolean;
      faults?: readonly FieldFault[];
    } = {},
  ) {
    super(message, options);
    this.name = 'CaptureFailure';
    this.inShort = options.inShort ?? inShortOf(message, options.said);
    this.status = options.status;
    this.limitedMs = options.limitedMs;
    this.unasked = options.unasked ?? false;
    this.faults = options.faults ?? [];
    this.forbidden = options.forbidden ?? (options.status === 401 || options.status === 403);
    this.retryable = RETRYABLE.has(errorType);
  }

  /** Tells nothing of what was asked: the capture system is asked again later. */
  get isPutOff(): boolean {
    return this.unasked || this.limitedMs !== undefined;
  }
}

const inShortOf = (message: string, said = ''): string =>
  said !== '' && message.endsWith(said)
    ? `${message.slice(0, -said.length)}${said.length} characters, which are not logged`
    : message;

/** A trigger that can't succeed: it ends as `failed` with this code. */
export class TriggerRefused extends Error {
  constructor(
    readonly code: string,
    message: string,
  ) {
    super(message);
    this.name = 'TriggerRefused';
  }
}

/** The code of what was ended because the study takes part no more; it goes on once it does again. */
export const EXCHANGE_OFF = 'DATACAPTURE_DISABLED';
export const exchangeOff = (): TriggerRefused =>
  new TriggerRefused(
    EXCHANGE_OFF,
    'The study does not take part in the exchange with the capture system (datacapture_enabled is false).',
  );

/** The export lacks the enrollment form: whether the record is enrolled is unknown. */
export const formNotExported = (instrument: string): TriggerRefused =>
  new TriggerRefused(
    'INSTRUMENT_NOT_EXPORTED',
    `The capture system gave nothing of the instrument "${instrument}": the token's user may not export it, or it is ` +
      'not in this event.',
  );

/** Another trigger holds the record, or took it meanwhile: expected, retried soon. */
export function recordBusy(milliseconds: number): ApplicationFailure {
  return ApplicationFailure.create({
    type: 'RECORD_BUSY',
    message: 'Another trigger of this record is being worked off.',
    nextRetryDelay: milliseconds,
    category: ApplicationFailureCategory.BENIGN,
  });
}

export interface RetryLimits {
  /** How long an unavailable capture system is retried, milliseconds. */
  captureMs: number;
  /** The most attempts after unforeseen faults. */
  attempts: number;
}
export const defaultLimits: RetryLimits = { captureMs: 15 * 60_000, attempts: 10 };

/** Errors of an unavailable or overloaded database: they are unrelated to the trigger, which is retried. */
const DATABASE_AWAY = /^(ECONN|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|08|53|57P|40001|40P01|55P03)/;

function databaseAway(thrown: unknown): boolean {
  const { code, message } = thrown as { code?: unknown; message?: unknown };
  return (
    (typeof code === 'string' && DATABASE_AWAY.test(code)) ||
    (typeof message === 'string' && CONNECTION_ERROR.test(message))
  );
}

/**
 * Temporal's handling of a failed attempt: a refusal ends it, an unavailable capture system is retried within limits,
 * an unforeseen fault is retried a few times, so that no trigger is retried forever.
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
      // A call that was not made yet is not given up: its turn comes.
      nonRetryable:
        !thrown.retryable || (!thrown.unasked && attempt.ageMs >= limits.captureMs + (thrown.limitedMs ?? 0)),
      ...(thrown.limitedMs && { nextRetryDelay: thrown.limitedMs }),
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
  // The message may contain a statement or personal data: it is in the worker's log, not in the event.
  return ApplicationFailure.create({
    type: 'INTERNAL',
    message: 'Internal error.',
    nonRetryable: attempt.number >= limits.attempts,
  });
}
