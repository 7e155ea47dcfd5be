import {
  nameText,
  Code,
  Instant,
  IsoDate,
  Json,
  TimeZone,
  Type,
  Uuid,
  earlierOverrides,
  nullable,
  oneOf,
  partial,
  text,
  named,
  record,
  input,
  extended,
  about,
} from '../http/common.schemas.js';

export const StudyStatus = named('StudyStatus', oneOf('draft', 'active', 'paused', 'completed', 'archived'));
const IntegrationMode = named('IntegrationMode', oneOf('standalone', 'datacapture'));
/** Earlier names of the capture system. */
const GivenIntegrationMode = {
  ...oneOf('standalone', 'datacapture', 'redcap'),
  description: '`redcap` is read as `datacapture`',
};
const ConsentMode = named('ConsentMode', oneOf('none', 'external', 'econsent'));
const config = about(
  Json,
  'enrollment_date_policy, scheduling_mode (legacy, the default, or edc), notifications, portal_results (what ' +
    'participants see of their results: none, the default, or summary), public_name (what participants call the ' +
    'study: a text, or texts by language; default study_name), contact ({name, email, phone}: whom participants ' +
    'may ask), signatures (`reauthenticate`: signing asks for password or code again, default true in ' +
    'production) and further settings; PATCH merges (RFC 7396)',
);

export const Study = record('Study', {
  id: Uuid,
  study_code: Type.String(),
  study_name: Type.String(),
  description: nullable(Type.String()),
  status: StudyStatus,
  start_date: nullable(IsoDate),
  end_date: nullable(IsoDate),
  timezone: Type.String(),
  integration_mode: IntegrationMode,
  datacapture_enabled: Type.Boolean(),
  consent_mode: ConsentMode,
  config: Json,
  created_at: Instant,
  updated_at: Instant,
});
/** As a change of it is answered. */
export const ChangedStudy = extended('StudyChanged', Study, earlierOverrides);

export const NewStudy = input('StudyCreate', {
  study_code: Code,
  study_name: nameText(300),
  description: Type.Optional(nullable(text(10_000))),
  status: Type.Optional(StudyStatus),
  start_date: Type.Optional(nullable(IsoDate)),
  end_date: Type.Optional(nullable(IsoDate)),
  timezone: Type.Optional(TimeZone),
  integration_mode: Type.Optional(GivenIntegrationMode),
  datacapture_enabled: Type.Optional(Type.Boolean()),
  consent_mode: Type.Optional(ConsentMode),
  config: Type.Optional(Type.Unsafe<Record<string, unknown>>(config)),
});
export const StudyChange = named('StudyPatch', partial(NewStudy));

export const SiteStatus = named('SiteStatus', oneOf('active', 'inactive'));
export const Site = record('Site', {
  id: Uuid,
  study_id: Uuid,
  site_code: Type.String(),
  name: nullable(Type.String()),
  timezone: nullable(Type.String()),
  status: SiteStatus,
  created_at: Instant,
  updated_at: Instant,
});
/** As a change of it is answered. */
export const ChangedSite = extended('SiteChanged', Site, earlierOverrides);
export const NewSite = input('SiteCreate', {
  site_code: Code,
  name: Type.Optional(nullable(nameText(300))),
  timezone: Type.Optional(nullable(TimeZone)),
  status: Type.Optional(SiteStatus),
});
export const SiteChange = named('SitePatch', partial(NewSite));
