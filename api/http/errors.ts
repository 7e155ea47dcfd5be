import type { Database } from '../../db/client/database.js';
import type { RequestContext } from './request-context.js';

/**
 * The single registry of errors: a stable code, its HTTP status, and the default sentence. Clients see nothing else.
 */
export interface FaultEntry {
  path?: string;
  row?: number;
  code: string;
  message: string;
}

const registry = {
  BAD_REQUEST: [400, 'The request cannot be read.'],
  MALFORMED_JSON: [400, 'The body is not valid JSON.'],
  CONTEXT_CONFLICT: [400, 'The body names another study than X-Study-ID or the query.'],
  FILE_UNREADABLE: [400, 'Unsupported kind of file.'],
  HEADER_INVALID: [400, 'The file’s header row is invalid.'],
  PASSWORD_TOO_COMMON: [400, 'The password is too common.'],
  WRONG_CODE: [400, 'The code does not match the authenticator’s current code.'],
  INVALID_CURSOR: [400, 'The cursor is invalid for this list.'],
  PARTICIPANT_REQUIRED: [400, 'Several participants are assigned to you: name one in X-Participant-ID.'],
  RULE_VIOLATED: [400, 'The request breaks a rule.'],
  REASON_REQUIRED: [400, 'A reason is required.'],
  NO_CHANGE: [400, 'The enrollment date is this already.'],
  NOTHING_TO_RETURN_TO: [400, 'No source gives a date to return to.'],
  NOT_ALLOWED_AFTER_SCHEDULING: [400, 'The policy forbids another date after a schedule was made.'],
  NOT_ALLOWED_AFTER_DATA_ENTERED: [400, 'The policy forbids another date after data were entered.'],
  NOT_ALLOWED_AFTER_SIGNATURE: [400, 'The policy forbids another date after a form was signed.'],
  NOT_ALLOWED_AFTER_LOCK: [400, 'The policy forbids another date after a form was locked.'],
  CONNECTION_FAILED: [400, 'The capture system is not reached, or refuses.'],
  NO_ENROLLMENT_INSTRUMENT: [400, 'The configuration names no enrollment_instrument: there is nothing to read.'],
  SAVE_CONNECTION_FIRST: [
    400,
    'A strict check asks the stored connection: save api_url and api_token first, then the mapping.',
  ],
  UNKNOWN_NAMES: [400, 'The mapping names what the capture system does not have.'],
  UNAUTHENTICATED: [401, 'An access token is required: Authorization: Bearer <token>.'],
  INVALID_TOKEN: [401, 'The access token is not valid or has expired.'],
  INVALID_CREDENTIALS: [401, 'Email or password is wrong.'],
  INVALID_REFRESH_TOKEN: [401, 'The refresh token is not valid or has expired.'],
  INVALID_CODE: [401, 'The code is wrong or was used already.'],
  REAUTHENTICATION_REQUIRED: [
    401,
    'This needs your password or a code again: X-Reauthentication, or password or code in the body.',
  ],
  REAUTHENTICATION_FAILED: [401, 'The password or code is wrong.'],
  INVALID_SIGNATURE: [401, 'The trigger is not signed with the webhook secret of its project.'],
  INVALID_LINK: [401, 'The link is invalid, has expired, or was used already.'],
  FORBIDDEN: [403, 'Your role does not allow this.'],
  SELF_APPROVAL: [403, 'Who asked for an override, or wrote a waiver, does not decide it.'],
  MISSING_SCOPE: [403, 'The token lacks the required scope.'],
  MFA_REQUIRED: [403, 'Your role requires a second factor.'],
  RECIPIENT_NOT_ALLOWED: [
    403,
    'Test messages go to yourself; those of an admin also to addresses of staff, participants and caregivers.',
  ],
  SITE_NOT_ASSIGNED: [403, 'You are not assigned to that site.'],
  CSRF_REFUSED: [403, 'A change by the portal’s cookie needs the header X-Portal-CSRF: 1.'],
  RESULTS_NOT_SHARED: [403, 'The study does not show participants their results.'],
  NOT_FOUND: [404, 'There is no such resource.'],
  CONFIG_NOT_FOUND: [404, 'Capture-system config not found for this study.'],
  OVERRIDE_REQUEST_NOT_FOUND: [404, 'There is no such override request of this participant.'],
  METHOD_NOT_ALLOWED: [405, 'This path does not support the method.'],
  NOT_ACCEPTABLE: [406, 'Only application/json is available.'],
  EXPECTATION_FAILED: [417, 'Unsupported Expect header.'],
  REQUEST_TIMEOUT: [408, 'The request took too long to arrive.'],
  CONFLICT: [409, 'The request conflicts with what is stored.'],
  STALE: [409, 'The resource has changed since you read it.'],
  STALE_VERSION: [409, 'The enrollment date has changed since you read it.'],
  PREVIEW_STALE: [409, 'What the preview showed has changed since.'],
  OVERRIDE_REQUIRED: [409, 'The enrollment date is final: a change needs an override.'],
  OVERRIDE_PENDING: [409, 'An override request is pending already.'],
  NOT_FINALIZED: [409, 'Only a final enrollment date is overridden.'],
  NOT_PROVISIONAL: [409, 'Only a proposed enrollment date is cancelled.'],
  NOT_PENDING: [409, 'The override request is decided.'],
  NOT_FAILED: [409, 'Only a failed trigger can be retried.'],
  DATACAPTURE_DISABLED: [
    409,
    'The study does not take part in the exchange with a capture system (datacapture_enabled is false).',
  ],
  IDEMPOTENCY_KEY_REUSED: [409, 'This Idempotency-Key was used with another body.'],
  IDEMPOTENCY_IN_PROGRESS: [409, 'A request with this Idempotency-Key is still running.'],
  STUDY_CODE_TAKEN: [409, 'Another study has this study_code.'],
  TEMPLATE_ID_TAKEN: [409, 'Another template has this template_id.'],
  EMPTY: [422, 'The submission has no result.'],
  STUDY_NOT_EMPTY: [409, 'The study has participants and cannot be deleted.'],
  STUDY_CLOSED: [409, 'The study is completed or archived: it enrolls nobody.'],
  SITE_CLOSED: [409, 'The site is closed (inactive): nobody is enrolled there, or moved to it.'],
  SITE_CODE_TAKEN: [409, 'Another site of the study has this site_code.'],
  PARTICIPANT_CODE_TAKEN: [409, 'Another participant of the study has this participant_code.'],
  DUPLICATE_EXTERNAL_ID: [409, 'Another participant of the study has this external_id.'],
  PARTICIPANT_HAS_DATA: [409, 'The participant has data: withdraw instead of deleting.'],
  PARTICIPANT_ERASED: [409, 'The participant is already erased; it can’t be erased or re-imported.'],
  NOT_WITHDRAWN: [409, 'The participant has not withdrawn.'],
  PARTICIPANT_WITHDRAWN: [409, 'The participant has withdrawn.'],
  ALREADY_RANDOMIZED: [409, 'The participant is already randomized.'],
  INVALID_TRANSITION: [409, 'The record can’t change from its current status to the requested one.'],
  FORM_FROZEN: [409, 'The form is signed: its items cannot be changed.'],
  WINDOW_CODE_TAKEN: [409, 'Another visit window of the study has this code.'],
  WINDOW_IN_USE: [409, 'The visit window has visits and cannot be deleted.'],
  EVENT_OID_TAKEN: [409, 'Another event definition of the study has this event_oid.'],
  EVENT_IN_USE: [409, 'An instance of this event was completed: the event cannot be deleted.'],
  CALENDAR_NAME_TAKEN: [409, 'Another holiday calendar of the study has this name.'],
  SITE_HAS_CALENDAR: [409, 'The site already has a holiday calendar.'],
  TOO_MANY_SIMULATIONS: [409, 'Ten simulations of the study are already pending or running.'],
  NOTHING_TO_REVIEW: [409, 'The visit is not flagged for review.'],
  BATTERY_CODE_TAKEN: [409, 'Another battery of the study has this code.'],
  BATTERY_IN_USE: [409, 'The battery is used by windows, visits, sessions or the mapping: retire it instead.'],
  BATTERY_RETIRED: [409, 'The battery is retired.'],
  NO_ADDRESS: [400, 'The recipient has no address for this channel.'],
  CAREGIVER_INACTIVE: [409, 'The caregiver is not active.'],
  CARES_FOR_NOBODY: [409, 'No active participants are assigned to this caregiver.'],
  CUSTOM_SCHEMA_INVALID: [400, 'The study’s schema of custom tasks is invalid.'],
  SESSION_UNKNOWN: [401, 'A valid session id is required: X-Session-ID.'],
  SESSION_EXPIRED: [401, 'The session has expired.'],
  SESSION_MISMATCH: [400, 'X-Session-ID and session_id name different sessions.'],
  SESSION_ENDED: [409, 'The session has ended.'],
  SESSION_NOT_COMPLETED: [409, 'The session is not completed.'],
  TASK_CONFLICT: [409, 'The session has other data for a task: nothing was overwritten.'],
  VISIT_COMPLETED: [409, 'The visit is completed.'],
  VISIT_NOT_OPEN: [409, 'The visit is not open.'],
  CONFLICT_RESOLVED: [409, 'The conflict is already resolved.'],
  VISIT_CLOSED: [409, 'The visit is superseded or cancelled.'],
  MFA_ENABLED: [409, 'A second factor is already set up.'],
  MFA_NOT_SET_UP: [409, 'No second factor is set up.'],
  AUDIT_BROKEN: [409, 'An audit chain contradicts its last checkpoint: no checkpoint was signed.'],
  NOT_CHECKPOINTED: [409, 'No checkpoint covers the record yet.'],
  NOTIFICATION_PENDING: [409, 'The notification is still pending.'],
  NOTIFICATION_SETTLED: [409, 'The notification is already sent or cancelled.'],
  NOTIFICATION_BEING_SENT: [409, 'The notification is being sent right now.'],
  REMINDER_NOT_SENT: [409, 'No reminder can be sent to the participant.'],
  QUIET_HOURS: [409, 'The participant has quiet hours.'],
  SUBSCRIPTION_DISABLED: [409, 'The subscription is disabled: enable it first.'],
  EMAIL_TAKEN: [409, 'Another user has this email.'],
  LAST_ADMIN: [409, 'The last active admin cannot be deactivated or lose the role.'],
  TOO_LARGE: [413, 'The request is too large.'],
  RANGE_NOT_SATISFIABLE: [416, 'Range not satisfiable.'],
  UNSUPPORTED_MEDIA_TYPE: [415, 'Unsupported content type.'],
  VALIDATION_FAILED: [422, 'The request does not match its schema.'],
  TOKEN_REQUIRED: [422, 'Another server in api_url needs its api_token in the same request.'],
  NO_DELIVERY_REPORT: [422, 'The mail is not a delivery status notification (RFC 3464).'],
  INVALID_VALUE: [422, 'A value cannot be stored.'],
  HEADERS_TOO_LARGE: [431, 'The headers are too large.'],
  RATE_LIMITED: [429, 'Too many requests.'],
  QUOTA_EXCEEDED: [429, 'The quota is exhausted for now.'],
  INTERNAL: [500, 'Internal error.'],
  UNAVAILABLE: [503, 'The service is stopping or not ready.'],
  SECRET_UNREADABLE: [503, 'The webhook secret of this project cannot be read at the moment.'],
  DATABASE_UNAVAILABLE: [503, 'The database is unavailable.'],
  TEMPORAL_UNAVAILABLE: [503, 'The workflow service is unavailable.'],
  BROWSER_UNAVAILABLE: [503, 'PDF rendering is unavailable.'],
  WORKER_UNAVAILABLE: [503, 'No worker answered in time.'],
} as const satisfies Record<string, readonly [number, string]>;

export type ErrorCode = keyof typeof registry;

export interface ProblemOptions {
  detail?: string;
  errors?: readonly FaultEntry[];
  warnings?: readonly unknown[];
  headers?: Record<string, string>;
  /** The refusal is an audit record already. */
  recorded?: true;
  /** Further keys beside `detail`, such as a new preview. */
  extra?: Record<string, unknown>;
  cause?: unknown;
}

/** An answer other than success; can be thrown anywhere below a route. */
export class Problem extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    detail: string,
    readonly options: ProblemOptions = {},
  ) {
    super(detail, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'Problem';
  }

  /** Called after the rollback of the request's transaction, to store refusals that are counted. */
  afterRollback?(database: Database, context: RequestContext): Promise<void>;

  /** The body of the answer (detail, code, errors?, warnings?, request_id). */
  body(requestId: string): Record<string, unknown> {
    const { errors, warnings, extra } = this.options;
    return {
      detail: this.message,
      code: this.code,
      ...(errors && { errors }),
      ...(warnings && { warnings }),
      ...extra,
      request_id: requestId,
    };
  }
}

/** The problem of a registered code. */
export function problem(code: ErrorCode, options: ProblemOptions = {}): Problem {
  const [status, detail] = registry[code];
  const soon = status === 503 || code === 'IDEMPOTENCY_IN_PROGRESS';
  const headers = soon ? { 'Retry-After': '1', ...options.headers } : options.headers;
  return new Problem(status, code, options.detail ?? detail, { ...options, ...(headers && { headers }) });
}

/**
 * A problem whose status and code come from elsewhere, such as the decisions of `AnchorOutcome.refused`. The registry
 * has each of these codes too.
 */
export const problemOf = (status: number, code: string, detail: string, options: ProblemOptions = {}): Problem =>
  new Problem(
    status,
    code,
    detail,
    status === 503 ? { ...options, headers: { 'Retry-After': '1', ...options.headers } } : options,
  );

/** A problem about one field that does not fit its schema. */
export const invalid = (path: string, code: string, message: string): Problem =>
  problem('VALIDATION_FAILED', {
    detail: `${path} ${message}`,
    errors: [{ path, code, message: `${path} ${message}` }],
  });

/**
 * A problem about a field that fits its schema and breaks a rule: it names something that the study lacks, or conflicts
 * with stored data or another field.
 */
export const brokenRule = (path: string, code: string, message: string): Problem =>
  problem('RULE_VIOLATED', {
    detail: `${path} ${message}`,
    errors: [{ path, code, message: `${path} ${message}` }],
  });

/** The errors of several fields, whose messages are sentences: up to a hundred, of which the detail has three. */
export const invalidFields = (errors: readonly FaultEntry[]): Problem =>
  problem('VALIDATION_FAILED', {
    detail: errors
      .slice(0, 3)
      .map((e) => e.message)
      .join('; '),
    errors: errors.slice(0, 100),
  });

/** Status and default sentence of every code, for the OpenAPI document. */
export const registeredErrors = (): { code: ErrorCode; status: number; detail: string }[] =>
  Object.entries(registry).map(([code, [status, detail]]) => ({ code: code as ErrorCode, status, detail }));
