import {
  Instant,
  IsoDate,
  Type,
  Uuid,
  importClaims,
  extension,
  nullable,
  oneOf,
  text,
  record,
  named,
  input,
  extended,
  Json,
} from '../http/common.schemas.js';
import { Signature } from '../identity/reauthentication.schemas.js';
import { VersionSummary } from '../scheduling/schedule-versions.schemas.js';

const Named = record('AnchorFinding', {
  code: Type.String(),
  message: Type.String(),
  rule: Type.Optional(Type.String()),
});
const Ref = nullable(Json);
export const ActorType = named('ActorType', oneOf('user', 'system', 'participant', 'workflow'));
export const AnchorStatus = named('AnchorStatus', oneOf('unset', 'provisional', 'finalized'));

/** Interface, "Anchor response". `partial_value` says `2024-02` or `2024` where the precision is partial. */
export const Anchor = record('AnchorDate', {
  participant_id: Uuid,
  enrollment_date: nullable(IsoDate),
  enrollment_datetime: nullable(Instant),
  precision: oneOf('date', 'datetime', 'partial_year', 'partial_month'),
  partial_value: extension(nullable(Type.String()), 'the original text of a partial date: `2024-02` or `2024`'),
  timezone: nullable(Type.String()),
  status: AnchorStatus,
  source_type: nullable(Type.String()),
  source_ref: Ref,
  is_override: Type.Boolean(),
  override_reason: nullable(Type.String()),
  version: Type.Integer(),
  current_schedule_version_id: nullable(Uuid),
  created_at: Instant,
  updated_at: Instant,
});
const result = named(
  'EvaluationResult',
  oneOf('none', 'validation_failed', 'override_required', 'unchanged', 'proposed', 'set', 'changed', 'finalized'),
);
export const AnchorWithEvaluation = extended('AnchorDateEvaluated', Anchor, {
  evaluation: Type.Object({
    result,
    source_type: nullable(Type.String()),
    errors: Type.Array(Named),
    warnings: Type.Array(Named),
  }),
});
export const Evaluation = record('AnchorEvaluation', {
  result,
  errors: Type.Array(Named),
  warnings: Type.Array(Named),
  anchor: Anchor,
});

export const SetDate = input('AnchorDateSet', {
  enrollment_date: IsoDate,
  source_type: Type.Optional(oneOf('manual_entry')),
  reason: Type.Optional(nullable(text(2000))),
});
export const Evaluate = input('AnchorEvaluate', { reason: Type.Optional(nullable(text(2000))) });
export const Cancel = input('AnchorCancel', { reason: Type.Optional(nullable(text(2000))) });
export const OverrideBack = input('AnchorOverrideRevert', { reason: text(2000, 1) });
export const Override = input('AnchorOverride', {
  new_enrollment_date: IsoDate,
  reason: Type.Optional({
    ...nullable(text(2000)),
    description: 'needed where the policy’s `override_requires_reason` is true (the default); blanks are no reason',
  }),
  regenerate_schedule: Type.Optional(Type.Boolean({ default: true })),
  preview_hash: Type.Optional(text(64)),
});

export const HistoryEntry = record('AnchorHistoryEntry', {
  id: Uuid,
  event_type: Type.String(),
  enrollment_date_value: nullable(IsoDate),
  status_before: nullable(AnchorStatus),
  status_after: AnchorStatus,
  source_type: Type.String(),
  source_ref: extension(Ref, 'what the value came from'),
  previous_enrollment_date: nullable(IsoDate),
  change_delta_days: nullable(Type.Integer()),
  actor_user_id: nullable(Uuid),
  actor_type: ActorType,
  reason: nullable(Type.String()),
  request_id: extension(nullable(Type.String()), 'the request that made the entry'),
  schedule_version_created_id: extension(nullable(Uuid), 'the schedule version that the entry made'),
  anchor_version: extension(Type.Integer(), 'the version of the anchor after the entry'),
  ...importClaims,
  created_at: Instant,
});

export const Preview = record('ImpactPreview', {
  completed_visits_to_reconcile: Type.Integer(),
  pending_visits_to_reschedule: Type.Integer(),
  new_schedule_version: Type.Integer(),
  warnings: Type.Array(Type.String()),
  visits: Type.Array(
    Type.Object({
      visit_key: Uuid,
      name: Type.String(),
      action: oneOf('keep', 'move', 'supersede', 'new'),
      from: Type.Optional(IsoDate),
      to: Type.Optional(IsoDate),
      notes: Type.Array(Type.String()),
    }),
  ),
  preview_hash: Type.String(),
});
export const OverrideApplied = record('OverrideApplied', {
  status: oneOf('applied'),
  anchor: Anchor,
  schedule_version: nullable(VersionSummary),
  impact: Preview,
  warnings: Type.Array(Named),
  override_request_id: Type.Optional(Uuid),
});
export const OverridePending = record('OverridePending', {
  status: oneOf('pending_approval'),
  override_request_id: Uuid,
  impact: Preview,
  warnings: Type.Array(Named),
});
export const OverrideDenied = record('OverrideDenied', {
  status: oneOf('denied'),
  override_request_id: Uuid,
  anchor: Anchor,
});

export const OverrideStatus = named('OverrideStatus', oneOf('pending', 'approved', 'denied'));
export const OverrideRequest = record('OverrideRequest', {
  id: Uuid,
  override_request_id: Uuid,
  study_id: Uuid,
  participant_id: Uuid,
  participant_code: Type.String(),
  enrollment_date: IsoDate,
  new_enrollment_date: IsoDate,
  reason: nullable(Type.String()),
  regenerate_schedule: Type.Boolean(),
  requested_by_id: nullable(Uuid),
  requested_at: Instant,
  expires_at: Instant,
  status: OverrideStatus,
  decided_by_id: nullable(Uuid),
  decided_at: nullable(Instant),
  decision_reason: nullable(Type.String()),
  signature: nullable(Signature),
  ...importClaims,
  impact: Preview,
});
