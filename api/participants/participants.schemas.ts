import {
  externalId,
  nameText,
  Code,
  Email,
  Instant,
  IsoDate,
  Language,
  Reason,
  TimeZone,
  Type,
  Uuid,
  nullable,
  oneOf,
  partial,
  named,
  record,
  input,
} from '../http/common.schemas.js';

export const ParticipantStatus = named('ParticipantStatus', oneOf('enrolled', 'withdrawn'));
export const Participant = record('Participant', {
  id: Uuid,
  study_id: Uuid,
  participant_code: Type.String(),
  external_id: nullable(Type.String()),
  site_id: nullable(Uuid),
  site_code: nullable(Type.String()),
  preferred_language: nullable(Type.String()),
  status: ParticipantStatus,
  enrollment_date: nullable(IsoDate),
  email: nullable(Type.String()),
  phone: nullable(Type.String()),
  timezone: nullable(Type.String()),
  date_of_birth: nullable(IsoDate),
  arm: nullable(Type.String()),
  withdrawn_at: nullable(Instant),
  withdrawal_reason: nullable(Type.String()),
  reinstated_at: nullable({ ...Instant, description: 'when the last withdrawal was reversed' }),
  created_at: Instant,
  updated_at: Instant,
});

export const Phone = Type.String({ pattern: '^[+(0-9][0-9 ()./-]{2,39}$', maxLength: 40 });
/** enrollment_date is not included: it mirrors the anchor date, which has its own routes. */
export const NewParticipant = input('ParticipantCreate', {
  participant_code: Code,
  external_id: Type.Optional(nullable(externalId(200))),
  site_id: Type.Optional(nullable(Uuid)),
  site_code: Type.Optional(nullable(Code)),
  preferred_language: Type.Optional(nullable(Language)),
  email: Type.Optional(nullable(Email)),
  phone: Type.Optional(nullable(Phone)),
  timezone: Type.Optional(nullable(TimeZone)),
  date_of_birth: Type.Optional(nullable(IsoDate)),
  arm: Type.Optional(nullable(nameText(100))),
});
export const ParticipantChange = named('ParticipantPatch', partial(NewParticipant));
export const Reinstatement = input('ParticipantReinstate', { reason: Reason });
export const Withdrawal = input('ParticipantWithdraw', { reason: Reason, withdrawn_at: Type.Optional(Instant) });
