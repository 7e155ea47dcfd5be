import { SummarySource } from '../assessment/sessions/sessions.schemas.js';
import { Phone } from '../participants/participants.schemas.js';
import {
  Email,
  Instant,
  IsoDate,
  Type,
  Uuid,
  body,
  nullable,
  oneOf,
  text,
  named,
  input,
  record,
  NumberMap,
} from '../http/common.schemas.js';

export const MagicLink = named(
  'PortalLinkSend',
  body(
    { participant_id: Type.Optional(Uuid), caregiver_id: Type.Optional(Uuid), channel: oneOf('email', 'sms') },
    { description: 'exactly one of participant_id and caregiver_id' },
  ),
);
export const NewLink = named(
  'PortalLinkRequest',
  body({ email: Type.Optional(Email), phone: Type.Optional(Phone) }, { description: 'exactly one of email and phone' }),
);
/** It does not reveal whether there was a recipient. */
export const LinkAsked = named(
  'PortalLinkAccepted',
  Type.Object({ status: oneOf('accepted') }, { additionalProperties: false }),
);
/** Only the message contains the token. */
export const LinkQueued = named(
  'PortalLinkQueued',
  Type.Object({ status: oneOf('queued') }, { additionalProperties: false }),
);

export const OpenLink = input('PortalSessionOpen', {
  token: text(200, 1),
  remember: Type.Optional(
    Type.Boolean({ description: 'a page keeps the refresh token as well, in the cookie `portal_refresh`' }),
  ),
});
const Refresh = text(200, 1);
export const RefreshPortal = input('PortalTokensRefresh', {
  refresh_token: Type.Optional({ ...Refresh, description: 'left out: that of the cookie `portal_refresh`' }),
});
export const LeavePortal = input('PortalLogout', { refresh_token: Type.Optional(Refresh) });
const tokens = {
  portal_token: Type.String(),
  expires_in: Type.Integer({ description: 'seconds' }),
  refresh_token: Type.String({ description: 'good once, for POST /api/portal/refresh' }),
  refresh_expires_in: Type.Integer({ description: 'seconds' }),
};
export const PortalTokens = named('PortalTokens', Type.Object(tokens));
export const PortalLogin = named(
  'PortalLogin',
  Type.Object(
    {
      id: Uuid,
      created_at: Instant,
      last_used_at: Instant,
      expires_at: Instant,
      user_agent: nullable(Type.String()),
      ip_address: nullable(Type.String()),
    },
    { additionalProperties: false },
  ),
);
export const PortalParticipant = named(
  'PortalParticipant',
  Type.Object(
    {
      id: Uuid,
      study_id: Uuid,
      participant_code: Type.String(),
      preferred_language: nullable(Type.String()),
      status: oneOf('enrolled'),
    },
    { additionalProperties: false },
  ),
);
export const PortalCaregiver = named(
  'PortalCaregiver',
  Type.Object(
    { id: Uuid, study_id: Uuid, name: nullable(Type.String()), preferred_language: nullable(Type.String()) },
    { additionalProperties: false },
  ),
);
const fields = PortalParticipant.properties;
export const CaredFor = named(
  'PortalCaredFor',
  Type.Object(
    {
      ...fields,
      relationship: nullable(
        Type.String({ description: 'of the caregiver to the participant; null: it is the participant itself' }),
      ),
    },
    { additionalProperties: false },
  ),
);
export const Household = record('PortalHousehold', {
  caregiver: nullable(PortalCaregiver),
  items: Type.Array(CaredFor),
  total: Type.Integer(),
});
export const PortalSession = record('PortalSession', {
  ...tokens,
  participant: { ...nullable(PortalParticipant), description: 'null: of a caregiver with several' },
  caregiver: Type.Optional(PortalCaregiver),
  participants: Type.Optional(Type.Array(CaredFor)),
});

export const PortalVisit = named(
  'PortalVisit',
  Type.Object(
    {
      id: Uuid,
      name: Type.String(),
      target_date: IsoDate,
      window_open: IsoDate,
      window_close: IsoDate,
      status: oneOf('scheduled', 'open', 'completed', 'missed'),
      battery_id: nullable(Type.Integer()),
      completed_on: Type.Optional({ ...IsoDate, description: 'the day on which it was done' }),
    },
    { additionalProperties: false },
  ),
);
export const PortalOverview = named(
  'PortalOverview',
  Type.Object(
    {
      language: {
        ...nullable(Type.String()),
        description: 'of the page: the reader’s, else the study’s default; null: neither is built in',
      },
      study: Type.Object({
        name: Type.String({ description: '`config.public_name` of the study, else its name' }),
        contact: nullable(
          Type.Object({
            name: Type.Optional(Type.String()),
            email: Type.Optional(Type.String()),
            phone: Type.Optional(Type.String()),
          }),
        ),
      }),
      channels: Type.Object(
        { email: Type.Boolean(), sms: Type.Boolean(), push: Type.Boolean() },
        { description: 'on which of them the participant can be reached: there is an address, a number, a device' },
      ),
      results_passed_on: {
        ...oneOf('none', 'waiting', 'failed', 'sent'),
        description: 'to the study’s capture system; `none`: there is none, or nothing to pass on',
      },
    },
    { additionalProperties: false },
  ),
);
export const PortalResult = named(
  'PortalResult',
  Type.Object(
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
          metrics: NumberMap,
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
  ),
);
export const DataStatus = record('PortalDataStatus', { has_failed_sync: Type.Boolean() });
