/** Types of the anchor service. Dates are `YYYY-MM-DD`, instants ISO 8601 UTC, whole-day arithmetic only. */
export type AnchorStatus = 'unset' | 'provisional' | 'finalized';
export type Precision = 'date' | 'datetime' | 'partial_year' | 'partial_month';
export type PolicySourceType =
  'consent_workflow' | 'eligibility_workflow' | 'randomization' | 'form_item' | 'computed_rule' | 'manual_entry';
export type SourceType = PolicySourceType | 'override';
export type ActorType = 'user' | 'system' | 'participant' | 'workflow';
export type HistoryType =
  'PROPOSED' | 'SET' | 'CHANGED' | 'FINALIZED' | 'OVERRIDE_REQUESTED' | 'OVERRIDE_GRANTED' | 'OVERRIDE_DENIED';
export type EvaluationResult =
  'none' | 'validation_failed' | 'override_required' | 'unchanged' | 'proposed' | 'set' | 'changed' | 'finalized';

/** A broken rule (error) or a warning. */
export interface Fault {
  code: string;
  message: string;
  rule?: string;
  /** The message's field with the fault. */
  path?: string;
}

/** A date from a source or a person, with its precision. */
export interface AnchorValue {
  date: string;
  /** The instant, when the policy's precision is datetime and the source knows it. */
  datetime: string | null;
  /** `2024-02` or `2024`: the given text; `date` is the day that the policy's handling makes of it. */
  partial: string | null;
  precision: Precision;
  timezone: string | null;
}

export interface AnchorState extends Omit<AnchorValue, 'date'> {
  date: string | null;
  status: AnchorStatus;
  source_type: SourceType | null;
  source_ref: Record<string, unknown> | null;
  is_override: boolean;
  version: number;
  /** Reopened by an override-back: a restart alone does not finalize it. */
  reopened: boolean;
  /** Sources and prerequisites at that override-back; while they are the same only `evaluate` moves it. */
  reopened_facts: string | null;
  /** The source facts at a cancel; while they are the same nothing is proposed. */
  cancelled_facts: string | null;
}

export interface ConsentFact {
  id: string;
  consent_version_id: string | null;
  status: string;
  signed_at: string | null;
}
export interface FormFact {
  id: string;
  form_oid: string;
  status: string;
  origin: 'service' | 'datacapture';
  created_at: string;
  /** Only the items that the policy names. */
  items: Record<string, unknown>;
}
export interface VisitFact {
  id: string;
  completed_at: string | null;
  status: string;
  is_baseline: boolean;
}

/** Personal facts that only expressions read: each is present if the policy has an expression that names it. */
export interface PersonalFacts {
  site_code: string | null;
  arm: string | null;
  preferred_language: string | null;
  age_years: number | null;
}

/** The known facts of a decision: only those that the policy reads. Never a name, an address or a birth date. */
export interface Facts {
  anchor: AnchorState;
  /** The time zone that converts instants into dates, by the policy's timezone_policy. */
  zone: string;
  /** The time of the decision, and its date in `zone`. */
  now: string;
  today: string;
  study: { start_date: string | null; consent_mode: 'none' | 'external' | 'econsent'; timezone: string };
  participant: { status: 'enrolled' | 'withdrawn' } & Partial<PersonalFacts>;
  consents: ConsentFact[];
  eligibility: { id: string; status: string; confirmed_at: string | null } | null;
  randomization: { id: string; randomized_at: string; arm?: string } | null;
  forms: FormFact[];
  baseline: VisitFact[];
  manual: { enrollment_date: string; entered_by_user_id: string | null } | null;
  /** A capture-system configuration maps the enrollment date: it counts as a form item of the lowest priority. */
  captureMapping: { form_oid: string; item_oid: string } | null;
  /** Existing data that re-anchoring would affect. */
  stored: { has_schedule: boolean; data_entered: boolean; signed: boolean; locked: boolean };
  /** The value that the last override replaced. */
  beforeOverride: (AnchorValue & { source_type: SourceType; source_ref: Record<string, unknown> | null }) | null;
}

/** A source's candidate for the anchor. */
export interface Candidate extends AnchorValue {
  source_type: SourceType;
  source_ref: Record<string, unknown>;
}

export interface SourceTrace {
  type: string;
  priority: number;
  outcome: 'chosen' | 'no_date' | 'inactive' | 'not_reached' | 'error';
  date?: string;
  reason?: string;
}
export interface Trace {
  sources: SourceTrace[];
  validation: { rule: string; passed: boolean }[];
  prerequisites: { name: string; met: boolean; reason?: string }[];
}

/** One applied line of the state table: becomes one history entry. */
export interface Transition {
  event_type: HistoryType;
  status_before: AnchorStatus;
  status_after: AnchorStatus;
  value: (AnchorValue & { source_type: SourceType; source_ref: Record<string, unknown> }) | null;
  previous_date: string | null;
  previous_source_type: SourceType | null;
  delta_days: number | null;
  is_override: boolean;
}

export interface Decision {
  result: EvaluationResult;
  transitions: Transition[];
  errors: Fault[];
  warnings: Fault[];
  candidate: Candidate | null;
  prerequisites_met: boolean;
  trace: Trace;
}
