/**
 * Every workflow id, message and activity type, once; imported by both sides of the wire. The messages can also be sent
 * from the Temporal UI and CLI, so their fields have the REST API's names.
 */
import { defineQuery, defineSignal, defineUpdate } from '@temporalio/workflow';
import type { AnchorStatus, EvaluationResult, Fault } from './domain/util/types.js';

// --- ids: without anything that identifies a person

export const participantAnchorId = (participantId: string) => `participant-anchor/${participantId}`;
export const datacaptureTriggerId = (eventId: string) => `datacapture-trigger/${eventId}`;
export const pushResultsId = (sessionId: string) => `push-results/${sessionId}`;
export const datacaptureSyncId = (syncId: string) => `datacapture-sync/${syncId}`;
/** The Temporal Schedule of a study's polls, and the prefix of its runs' ids. */
export const datacapturePollId = (studyId: string) => `datacapture-poll/${studyId}`;
export const studyExportId = (exportId: string) => `study-export/${exportId}`;
export const studySimulationId = (simulationId: string) => `study-simulation/${simulationId}`;
export const auditVerificationId = (verificationId: string) => `audit-verification/${verificationId}`;
export const eventDeliveryId = (deliveryId: string) => `event-delivery/${deliveryId}`;
export const studyReanchoringId = (studyId: string, changeId: string) => `study-reanchoring/${studyId}/${changeId}`;

/** Temporal Schedules have the names of their jobs. */
export const scheduleIds = {
  visitStatuses: 'update_visit_statuses',
  sessionExpiry: 'expire_assessment_sessions',
  reminders: 'process_pending_reminders',
  dailySummary: 'send_daily_summary',
} as const;

export const workflowTypes = {
  participantAnchor: 'participantAnchor',
  datacaptureTrigger: 'datacaptureTrigger',
  datacaptureSync: 'datacaptureSync',
  datacapturePoll: 'datacapturePoll',
  studyReanchoring: 'studyReanchoring',
  studyExport: 'studyExport',
  studySimulation: 'studySimulation',
  pushResults: 'pushResults',
  updateVisitStatuses: 'updateVisitStatuses',
  expireSessions: 'expireSessions',
  processPendingReminders: 'processPendingReminders',
  sendDailySummary: 'sendDailySummary',
  eventDelivery: 'eventDelivery',
  auditVerification: 'auditVerification',
} as const;

// --- search attributes

export { searchAttributes } from './search-attributes.js';

// --- the participant's workflow

export interface ParticipantAnchorStart {
  participant_id: string;
  study_id: string;
  site_id?: string | null;
  /** Kept over a continue-as-new. */
  carried?: { handled: number };
}

/** The sender of a message and its request; the rights of any sender are checked against the database. */
export interface Sender {
  actor_user_id?: string | null;
  /** `participant`: the participant's own wish, from the portal. */
  actor_type?: 'user' | 'participant' | 'system' | 'workflow';
  /** Signed by the API for the sender; see docs/temporal.md. */
  authorization?: string | null;
  /** The caregiver who acts for the participant, for the audit log. */
  caregiver_id?: string | null;
  request_id?: string | null;
  ip_address?: string | null;
  user_agent?: string | null;
  /** The row with reason, address and browser, which the API leaves in the database. */
  details_id?: string | null;
}

export interface SetEnrollmentDate extends Sender {
  enrollment_date: string;
  reason?: string | null;
  /** The anchor's version that the sender saw: another one refuses (If-Match). */
  expected_version?: number | null;
}
export interface RequestOverride extends Sender {
  new_enrollment_date: string;
  reason?: string | null;
  regenerate_schedule?: boolean;
  preview_hash?: string | null;
  expected_version?: number | null;
}
export interface CancelProposal extends Sender {
  reason?: string | null;
  expected_version?: number | null;
}
export interface OverrideBack extends Sender {
  reason?: string | null;
  expected_version?: number | null;
}
export interface Evaluate extends Sender {
  /** The evaluated date makes the next schedule version even if it is a proposal (a trigger's changed date). */
  ensure_schedule?: boolean;
  reason?: string | null;
}
export interface OverrideDecision {
  request_id: string;
  decision: 'approve' | 'deny';
  actor_user_id?: string;
  /** The former name of `actor_user_id`. */
  approver_user_id: string;
  reason?: string | null;
  preview_hash?: string | null;
  authorization?: string | null;
  http_request_id?: string | null;
  ip_address?: string | null;
  user_agent?: string | null;
  /** The row with reason, address and browser, which the API leaves in the database. */
  details_id?: string | null;
}

/** The outcome of a message. `refused` has the HTTP status and code that decisions.md assigns. */
export interface AnchorOutcome {
  result:
    | EvaluationResult
    | 'applied'
    | 'pending_approval'
    | 'denied'
    | 'cancelled'
    | 'reverted'
    | 'withdrawn'
    | 'reinstated'
    | 'refused';
  refused?: { status: number; code: string; detail: string; preview?: unknown };
  errors: Fault[];
  warnings: Fault[];
  source_type?: string | null;
  override_request_id?: string;
  schedule_version_id?: string | null;
  impact?: unknown;
  waiting: WaitingState;
  /** The request of the API that was carried out or refused: a repeat under the same id gets the same result. */
  http_request_id?: string | null;
}

/**
 * The labels by which operators identify a participant. Search attributes unknown to the Temporal server are left out.
 */
export interface OperatorLabels {
  study_code?: string;
  /** A pseudonym, if the deployment allows it in Temporal; null: it does not. */
  participant_code?: string | null;
  waiting_for?: true;
  /** The participant's present site; null: none. */
  site_id?: string | null;
  /** The address of the timeline page. */
  timeline: string;
  /** The address of the participant's page in the console, if enabled. */
  console?: string;
}

/** The waiting state of a participant's workflow; everything in it comes from the database. */
export interface WaitingState {
  status: AnchorStatus;
  version: number;
  enrollment_date: string | null;
  schedule_version_id: string | null;
  /** e.g. ["consent", "eligibility"], ["approval"], ["date"]; empty: nothing. */
  waiting_for: string[];
  since: string;
  /** The last message with an effect, and its result. */
  last_decision: string;
  /** The last entry of the anchor's history, for a new run that needs it. */
  last_change?: string | null;
  /** The last message, if it had no effect: it was refused, or there was nothing to do. */
  last_message?: string | null;
  /** The participant has withdrawn or was deleted: nothing changes any more. */
  closed: boolean;
  /**
   * `wait_ms`: until its next deadline, by the database's clock; answers of earlier releases lack it.
   */
  pending_override: {
    request_id: string;
    remind_at: string | null;
    expires_at: string;
    wait_ms?: number;
  } | null;
  /** Rules of the policy that failed in the last evaluation. */
  rule_errors?: Fault[];
  labels?: OperatorLabels;
  /** A source's future date: it is evaluated again when its day begins in the policy's time zone. */
  date_ahead?: { date: string; begins_at: string; wait_ms: number } | null;
}

export const setEnrollmentDate = defineUpdate<AnchorOutcome, [SetEnrollmentDate]>('setEnrollmentDate');
export const requestOverride = defineUpdate<AnchorOutcome, [RequestOverride]>('requestOverride');
export const cancelProposal = defineUpdate<AnchorOutcome, [CancelProposal]>('cancelProposal');
export const overrideBack = defineUpdate<AnchorOutcome, [OverrideBack]>('overrideBack');
/** The decision of an approver, for callers that wait for the answer (the signal below returns none). */
export const decideOverride = defineUpdate<AnchorOutcome, [OverrideDecision]>('decideOverride');
export const evaluate = defineUpdate<AnchorOutcome, [Evaluate]>('evaluate');
export const sourcesChanged = defineSignal<[Sender?]>('sourcesChanged');
export const overrideDecision = defineSignal<[OverrideDecision]>('overrideDecision');
export const withdrawn = defineSignal<[Sender?]>('withdrawn');
export const reinstated = defineSignal<[Sender?]>('reinstated');
export const anchorState = defineQuery<WaitingState | null>('anchorState');

// --- a study's change

/**
 * The progress of a study's change: participants processed, dates moved and schedules created, of all enrolled ones.
 */
export interface ReanchoringProgress {
  seen: number;
  total: number;
  moved: number;
  schedules: number;
}
export const reanchoringProgress = defineQuery<ReanchoringProgress>('reanchoringProgress');

// --- a capture-system trigger

export interface DatacaptureTriggerStart {
  event_id: string;
  study_id: string;
  /** Runs that began without this replay as they began. */
  local_first?: boolean;
}

// --- a push of a session's results

export interface PushResultsStart {
  session_id: string;
  study_id: string;
}
/** The state after an attempt: `retry` in so many milliseconds, or a final one. */
export interface PushReport {
  status: 'success' | 'failed' | 'skipped' | 'retry' | 'later' | 'gone';
  error_type: string | null;
  records_imported: number | null;
  wait_ms: number | null;
  /** For a permanently failed push: the reason, without record ids and values, and what to do. */
  message?: string | null;
  remedy?: string;
}
/** Retry now: on request, after added results, or because the capture system is available again. */
export const pushNow = defineSignal('pushNow');
// --- a sync of a capture system's records

export interface DatacaptureSyncStart {
  sync_id: string;
  study_id: string;
}
export interface DatacapturePollStart {
  study_id: string;
}

// --- an export in the background

export interface StudyExportStart {
  export_id: string;
  study_id: string;
}

// --- a simulation of a study

export interface StudySimulationStart {
  simulation_id: string;
  study_id: string;
}

// --- a background verification of audit chains

export interface AuditVerificationStart {
  verification_id: string;
}

// --- a delivery of an event to a subscriber

export interface EventDeliveryStart {
  delivery_id: string;
  study_id: string;
}
/** The time of the next attempt has changed (redelivery): check again. */
export const deliveryChanged = defineSignal('deliveryChanged');
