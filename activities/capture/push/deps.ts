import type { Logger } from 'pino';
import type { Settings } from '../../../settings.js';
import type { CaptureDeps } from '../deps.js';

/** The dependencies of push activities. */
export interface PushDeps extends CaptureDeps {
  settings: CaptureDeps['settings'] &
    Pick<
      Settings,
      | 'DATACAPTURE_BREAKER_FAILURES'
      | 'DATACAPTURE_PUSHES_PER_MINUTE'
      | 'DATACAPTURE_BREAKER_COOLDOWN_SECONDS'
      | 'PUSH_RETRY_INITIAL_SECONDS'
      | 'PUSH_RETRY_MAX_DAYS'
    >;
  log: Pick<Logger, 'info' | 'warn' | 'error' | 'fatal'>;
}

/** The kind of a failed attempt; `internal`: an unforeseen fault of the service. */
export type PushErrorType =
  | 'circuit_open'
  | 'connection_error'
  | 'http_error'
  | 'timeout'
  | 'invalid_response'
  | 'rejected'
  | 'configuration'
  | 'internal';
const RETRIED: ReadonlySet<string> = new Set([
  'circuit_open',
  'connection_error',
  'http_error',
  'timeout',
  'invalid_response',
] satisfies PushErrorType[]);
export const isRetried = (type: PushErrorType): boolean => RETRIED.has(type);
