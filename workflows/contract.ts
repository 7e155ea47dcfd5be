/**
 * Every workflow id, message and activity type, once; imported by both sides of the wire. The messages can be sent
 * from the Temporal UI and CLI as well, so their fields are named as the REST API names them.
 */
import { defineQuery, defineSignal, defineUpdate } from '@temporalio/workflow';
import type { AnchorStatus, EvaluationResult, Fault } from './domain/util/types.js';

// --- ids: nothing that identifies a person in them

export const participantAnchorId = (participantId: string) => `participant-anchor/${participantId}`;
export const datacaptureTriggerId = (eventId: string) => `datacapture-trigger/${eventId}`;
export const pushResultsId = (sessionId: string) => `push-results/${sessionId}`;
export const datacaptureSyncId = (syncId: string) => `datacapture-sync/${syncId}`;
/** The Temporal Schedule by which a study's capture system is polled, and the beginning of its runs' ids. */
export const datacapturePollId = (studyId: string) => `datacapture-poll/${studyId}`;
export const studyExportId = (exportId: string) => `study-export/${exportId}`;
export const studySimulationId = (simulationId: string) => `study-simulation/${simulationId}`;
export const auditVerificationId = (verificationId: string) => `audit-verification/${verificationId}`;
export const eventDeliveryId = (deliveryId: string) => `event-delivery/${deliveryId}`;
export const studyReanchoringId = (studyId: string, changeId: string) => `study-reanchoring/${studyId}/${changeId}`;

/** Temporal Schedules bear the names of their jobs. */
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

// --- search attributes, registered by `npm start` and the compose file

export const searchAttributes = {
  StudyId: 'Keyword',
  SiteId: 'Keyword',
  AnchorStatus: 'Keyword',
  AwaitingSince: 'Datetime',
  Outcome: 'Keyword',
  StudyCode: 'Keyword',
  ParticipantCode: 'Keyword',
  WaitingFor: 'KeywordList',
} as const;

// --- the participant's workflow

export interface ParticipantAnchorStart {
  participant_id: string;
  study_id: string;
  site_id?: string | null;
  /** Carried over a continue-as-new. */
  carried?: { handled: number };
}

/** Who sends a message and by what request; the rights are checked against the database, whoever it is. */
export interface Sender {
  actor_user_id?: string | null;
  /** The participant's own wish, from the portal. */
  actor_type?: 'user' | 'participant' | 'system' | 'workflow';
  /** Signed by the API for the person who sends it; see docs/temporal.md. */
  authorization?: string | null;
  /** Who said it for the participant, for the audit log. */
  caregiver_id?: string | null;
  request_id?: string | null;
  ip_address?: string | null;
  user_agent?: string | null;
  /** The row that holds reason, address and browser, which the API leaves in the database. */
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
  /**
   * The date that the evaluation gives makes the next schedule version also where it is a proposal (a trigger's changed
   * date).
   */
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
  /** The row that holds reason, address and browser, which the API leaves in the database. */
  details_id?: string | null;
}

/** What came of a message. `refused` carries the HTTP status and code that decisions.md gives the case. */
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
}

/** By what operators know a participant. A search attribute that the Temporal server does not have is not among them. */
export interface OperatorLabels {
  study_code?: string;
  /** A pseudonym, where the deployment wants it in Temporal; null: it does not. */
  participant_code?: string | null;
  waiting_for?: true;
  /** The address of the timeline page. */
  timeline: string;
  /** The address of the participant’s page of the console; not set: it is switched off. */
  page?: string;
}

/** What the participant's workflow waits for; everything in it comes from the database. */
export interface WaitingState {
  status: AnchorStatus;
  version: number;
  enrollment_date: string | null;
  schedule_version_id: string | null;
  /** e.g. ["consent", "eligibility"], ["approval"], ["date"]; empty: nothing. */
  waiting_for: string[];
  since: string;
  /** The last message that changed something, and what it came to. */
  last_decision: string;
  /** The last entry of the anchor's history, where a run that has just begun needs to know it. */
  last_change?: string | null;
  /** The last message, where it changed nothing: it was refused, or there was nothing to do. */
  last_message?: string | null;
  /** The participant has left or is gone: nothing moves any more. */
  closed: boolean;
  pending_override: { request_id: string; remind_at: string | null; expires_at: string } | null;
  /** Rules of the policy that could not be run when it was last looked. */
  rule_errors?: Fault[];
  labels?: OperatorLabels;
  /** A source's date that lies ahead: it is evaluated again when its day begins in the policy's zone. */
  date_ahead?: { date: string; begins_at: string; wait_ms: number } | null;
}

export const setEnrollmentDate = defineUpdate<AnchorOutcome, [SetEnrollmentDate]>('setEnrollmentDate');
export const requestOverride = defineUpdate<AnchorOutcome, [RequestOverride]>('requestOverride');
export const cancelProposal = defineUpdate<AnchorOutcome, [CancelProposal]>('cancelProposal');
export const overrideBack = defineUpdate<AnchorOutcome, [OverrideBack]>('overrideBack');
/** The decision of an approver, for callers that want the answer (the signal below gives none). */
export const decideOverride = defineUpdate<AnchorOutcome, [OverrideDecision]>('decideOverride');
export const evaluate = defineUpdate<AnchorOutcome, [Evaluate]>('evaluate');
export const sourcesChanged = defineSignal<[Sender?]>('sourcesChanged');
export const overrideDecision = defineSignal<[OverrideDecision]>('overrideDecision');
export const withdrawn = defineSignal<[Sender?]>('withdrawn');
export const reinstated = defineSignal<[Sender?]>('reinstated');
export const anchorState = defineQuery<WaitingState | null>('anchorState');

// --- a study's change

/** How far a study's change has got: participants seen, dates moved and schedules made, of all that are enrolled. */
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

// --- a session's results on their way to the capture system

export interface PushResultsStart {
  session_id: string;
  study_id: string;
}
/** How an attempt left it: `retry` in so many milliseconds, or one of the ends. */
export interface PushReport {
  status: 'success' | 'failed' | 'skipped' | 'retry' | 'later' | 'gone';
  error_type: string | null;
  records_imported: number | null;
  wait_ms: number | null;
  /** Of a push that failed for good: why, without record ids and values, and what to do. */
  message?: string | null;
  remedy?: string;
}
/** Try now: somebody asked for it, results were added, or the capture system is back. */
export const pushNow = defineSignal('pushNow');
// --- a reading of a capture system's records

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

// --- audit chains verified in the background

export interface AuditVerificationStart {
  verification_id: string;
}

// --- an event on its way to a subscriber

export interface EventDeliveryStart {
  delivery_id: string;
  study_id: string;
}
/** When it is due has changed (redelivery): look again. */
export const deliveryChanged = defineSignal('deliveryChanged');
