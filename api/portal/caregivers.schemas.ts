import {
  nameText,
  Email,
  Instant,
  Language,
  Type,
  Uuid,
  nullable,
  oneOf,
  partial,
  named,
  record,
  input,
} from '../http/common.schemas.js';
import { Phone } from '../participants/participants.schemas.js';

export const CaregiverStatus = named('CaregiverStatus', oneOf('active', 'inactive'));
const fields = {
  id: Uuid,
  study_id: Uuid,
  name: nullable(Type.String()),
  email: nullable(Type.String()),
  phone: nullable(Type.String()),
  preferred_language: nullable(Type.String()),
  status: CaregiverStatus,
};
const Care = record('CaregiverAssignment', { participant_id: Uuid, relationship: Type.String() });
export const Caregiver = record('Caregiver', {
  ...fields,
  participants: Type.Array(Care, { description: 'whom it cares for, as far as the caller sees them' }),
  created_at: Instant,
  updated_at: Instant,
});
/** A caregiver of one participant. */
export const CaregiverOf = record('ParticipantCaregiver', {
  ...fields,
  relationship: Type.String(),
  since: Instant,
  created_at: Instant,
  updated_at: Instant,
});

export const NewCaregiver = input('CaregiverCreate', {
  name: Type.Optional(nullable(nameText(200))),
  email: Type.Optional(nullable(Email)),
  phone: Type.Optional(nullable(Phone)),
  preferred_language: Type.Optional(nullable(Language)),
  status: Type.Optional(CaregiverStatus),
});
export const CaregiverChange = named('CaregiverPatch', partial(NewCaregiver));
export const CareGiven = input('CaregiverAssign', { relationship: nameText(100) });
