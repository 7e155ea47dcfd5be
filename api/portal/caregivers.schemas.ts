import { Email, Instant, Language, Type, Uuid, body, nullable, oneOf, partial, text } from '../http/common.schemas.js';
import { Phone } from '../participants/participants.schemas.js';

export const CaregiverStatus = oneOf('active', 'inactive');
const fields = {
  id: Uuid,
  study_id: Uuid,
  name: nullable(Type.String()),
  email: nullable(Type.String()),
  phone: nullable(Type.String()),
  preferred_language: nullable(Type.String()),
  status: CaregiverStatus,
};
const Care = Type.Object({ participant_id: Uuid, relationship: Type.String() });
export const Caregiver = Type.Object({
  ...fields,
  participants: Type.Array(Care, { description: 'whom it cares for, as far as the caller sees them' }),
  created_at: Instant,
  updated_at: Instant,
});
/** As one participant's. */
export const CaregiverOf = Type.Object({
  ...fields,
  relationship: Type.String(),
  since: Instant,
  created_at: Instant,
  updated_at: Instant,
});

export const NewCaregiver = body({
  name: Type.Optional(nullable(text(200, 1))),
  email: Type.Optional(nullable(Email)),
  phone: Type.Optional(nullable(Phone)),
  preferred_language: Type.Optional(nullable(Language)),
  status: Type.Optional(CaregiverStatus),
});
export const CaregiverChange = partial(NewCaregiver);
export const CareGiven = body({ relationship: text(100, 1) });
