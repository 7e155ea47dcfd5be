import { Signature, proof, signerFields } from '../identity/reauthentication.schemas.js';
import {
  nameText,
  Instant,
  IsoDate,
  Json,
  Type,
  Uuid,
  body,
  importClaims,
  nullable,
  oneOf,
  partial,
  text,
  named,
  record,
  input,
} from '../http/common.schemas.js';

// --- consents

export const ConsentStatus = named('ConsentStatus', oneOf('pending', 'signed', 'declined', 'revoked'));
export const Consent = record('Consent', {
  id: Uuid,
  study_id: Uuid,
  participant_id: Uuid,
  consent_version_id: nullable(Type.String()),
  status: ConsentStatus,
  signed_at: nullable(Instant),
  revoked_at: nullable(Instant),
  purpose: nullable(Type.String()),
  ...importClaims,
  created_at: Instant,
  updated_at: Instant,
});
export const NewConsent = input('ConsentCreate', {
  consent_version_id: Type.Optional(nullable(text(200))),
  status: Type.Optional(ConsentStatus),
  signed_at: Type.Optional(nullable(Instant)),
  revoked_at: Type.Optional(nullable(Instant)),
  purpose: Type.Optional(nullable(text(200))),
});
export const ConsentChange = named('ConsentPatch', partial(NewConsent));

// --- eligibility

export const EligibilityStatus = named('EligibilityStatus', oneOf('pending', 'eligible', 'ineligible', 'deferred'));
const criterion = (answer: 'met' | 'present') =>
  Type.Record(
    Type.String(),
    named(
      answer === 'met' ? 'InclusionCriterion' : 'ExclusionCriterion',
      Type.Object(
        {
          [answer]: Type.Optional(nullable(Type.Boolean())),
          value: Type.Optional(Type.Unknown()),
          notes: Type.Optional(nullable(text(5000))),
        },
        { additionalProperties: false },
      ),
    ),
  );
const assessed = {
  status: Type.Optional(EligibilityStatus),
  inclusion_criteria: Type.Optional(criterion('met')),
  exclusion_criteria: Type.Optional(criterion('present')),
  confirmed_at: Type.Optional(nullable(Instant)),
  has_waiver: Type.Optional(Type.Boolean()),
  waiver_criteria_ids: Type.Optional(Type.Array(text(200, 1), { maxItems: 200 })),
  waiver_reason: Type.Optional(nullable(text(5000))),
  source_documents: Type.Optional(
    Type.Array(
      body({ type: text(100, 1), ref: Type.Optional(nullable(text(500))), date: Type.Optional(nullable(IsoDate)) }),
      { maxItems: 200 },
    ),
  ),
};
/** With the proof of identity of who approves a waiver. */
export const PutEligibility = named('EligibilitySet', body({ ...assessed, ...proof }));
export const Eligibility = record('Eligibility', {
  id: Uuid,
  participant_id: Uuid,
  study_id: Uuid,
  status: EligibilityStatus,
  inclusion_criteria: Json,
  exclusion_criteria: Json,
  confirmed_at: nullable(Instant),
  confirmed_by_id: nullable(Uuid),
  has_waiver: Type.Boolean(),
  waiver_criteria_ids: Type.Array(Type.String()),
  waiver_reason: nullable(Type.String()),
  waiver_requested_by_id: nullable({ ...Uuid, description: 'who wrote the waiver' }),
  waiver_approved_by_id: nullable({ ...Uuid, description: 'another person; null: the waiver counts for nothing yet' }),
  waiver_approved_at: nullable(Instant),
  source_documents: Type.Array(Json),
  ...importClaims,
  created_at: Instant,
  updated_at: Instant,
});

// --- randomization

export const NewRandomization = input('RandomizationCreate', {
  arm: nameText(100),
  randomized_at: Instant,
  stratum: Type.Optional(nullable(text(200))),
});
export const Randomization = record('Randomization', {
  id: Uuid,
  study_id: Uuid,
  participant_id: Uuid,
  arm: Type.String(),
  randomized_at: Instant,
  stratum: nullable(Type.String()),
  ...importClaims,
  created_at: Instant,
});

// --- forms

export const FormStatus = named('FormStatus', oneOf('draft', 'complete', 'signed', 'locked'));
export const NewForm = input('FormCreate', {
  form_oid: nameText(200),
  status: Type.Optional(FormStatus),
  items: Type.Optional(Json),
  ...signerFields,
});
export const FormChange = named('FormPatch', partial(body({ status: FormStatus, items: Json, ...signerFields })));
export const FormInstance = record('Form', {
  id: Uuid,
  study_id: Uuid,
  participant_id: Uuid,
  form_oid: Type.String(),
  status: FormStatus,
  items: Json,
  signed_at: nullable(Instant),
  signed_by_id: nullable(Uuid),
  signature: nullable(Signature),
  signature_verified: nullable(
    Type.Boolean({
      description: 'of a signed form that was imported: whether its document bears this service’s own signature',
    }),
  ),
  locked_at: nullable(Instant),
  origin: oneOf('service', 'datacapture'),
  ...importClaims,
  created_at: Instant,
  updated_at: Instant,
});
