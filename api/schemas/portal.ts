import { SummarySource } from './sessions.js';
import { Instant, IsoDate, Type, Uuid, body, nullable, oneOf, text } from './common.js';

export const MagicLink = body(
  { participant_id: Type.Optional(Uuid), caregiver_id: Type.Optional(Uuid), channel: oneOf('email', 'sms') },
  { description: 'exactly one of participant_id and caregiver_id' },
);
/** The token is in the message alone. */
export const LinkQueued = Type.Object({ status: oneOf('queued') }, { additionalProperties: false });

export const OpenLink = body({ token: text(200, 1) });
export const PortalParticipant = Type.Object(
  {
    id: Uuid,
    study_id: Uuid,
    participant_code: Type.String(),
    preferred_language: nullable(Type.String()),
    status: oneOf('enrolled'),
  },
  { additionalProperties: false },
);
export const PortalCaregiver = Type.Object(
  { id: Uuid, study_id: Uuid, name: nullable(Type.String()), preferred_language: nullable(Type.String()) },
  { additionalProperties: false },
);
const fields = PortalParticipant.properties;
export const CaredFor = Type.Object(
  {
    ...fields,
    relationship: nullable(
      Type.String({ description: 'of the caregiver to the participant; null: it is the participant itself' }),
    ),
  },
  { additionalProperties: false },
);
export const Household = Type.Object({
  caregiver: nullable(PortalCaregiver),
  items: Type.Array(CaredFor),
  total: Type.Integer(),
});
export const PortalSession = Type.Object({
  portal_token: Type.String(),
  expires_in: Type.Integer({ description: 'seconds' }),
  participant: { ...nullable(PortalParticipant), description: 'null: of a caregiver with several' },
  caregiver: Type.Optional(PortalCaregiver),
  participants: Type.Optional(Type.Array(CaredFor)),
});

export const PortalVisit = Type.Object(
  {
    id: Uuid,
    name: Type.String(),
    target_date: IsoDate,
    window_open: IsoDate,
    window_close: IsoDate,
    status: oneOf('scheduled', 'open', 'completed', 'missed'),
    battery_id: nullable(Type.Integer()),
  },
  { additionalProperties: false },
);
export const PortalResult = Type.Object(
  {
    session_id: Uuid,
    visit_id: nullable(Uuid),
    visit_name: nullable(Type.String()),
    visit_code: nullable(Type.String({ description: 'of the visit’s window' })),
    completed_at: Instant,
    tasks: Type.Array(
      Type.Object({
        task: Type.String(),
        title: Type.Optional(Type.String({ description: 'of the module, where it has one' })),
        metrics: Type.Record(Type.String(), Type.Number()),
        summary_source: SummarySource,
        metric_titles: Type.Optional(
          Type.Record(Type.String(), Type.String(), {
            description: 'of those metrics that the module’s `result_schema` gives one',
          }),
        ),
      }),
    ),
  },
  { additionalProperties: false },
);
export const DataStatus = Type.Object({ has_failed_sync: Type.Boolean() });
