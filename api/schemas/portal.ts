import { IsoDate, Type, Uuid, body, nullable, oneOf, text } from './common.js';

export const MagicLink = body({ participant_id: Uuid, channel: oneOf('email', 'sms') });
/** The token is in the message alone. */
export const LinkQueued = Type.Object({ status: oneOf('queued') }, { additionalProperties: false });

export const OpenLink = body({ token: text(200, 1) });
export const PortalParticipant = Type.Object({
  id: Uuid, study_id: Uuid, participant_code: Type.String(), preferred_language: nullable(Type.String()), status: oneOf('enrolled'),
}, { additionalProperties: false });
export const PortalSession = Type.Object({ portal_token: Type.String(), expires_in: Type.Integer({ description: 'seconds' }), participant: PortalParticipant });

export const PortalVisit = Type.Object({
  id: Uuid, name: Type.String(), target_date: IsoDate, window_open: IsoDate, window_close: IsoDate,
  status: oneOf('scheduled', 'open', 'completed', 'missed'), battery_id: nullable(Type.Integer()),
}, { additionalProperties: false });
export const DataStatus = Type.Object({ has_failed_sync: Type.Boolean() });
