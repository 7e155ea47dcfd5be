import { AnchorStudy, DAY, Person, Stage } from '../anchor/stage.js';
import { goodPassword, login, newParticipant, newStudy, unique } from '../support/http.js';
import type { Loose } from '../support/http.js';
import { enterAsCaregiver, enterPortal } from '../support/portal.js';

/** What a caller that knows the contract alone needs to get somewhere: tokens, and ids of what is there. */
export interface World {
  api: string;
  admin: { email: string; password: string };
  /** Another admin, whose logins may be ended. */
  passing: { email: string; password: string };
  /** Users who must stay as they are. */
  kept: string[];
  /** A user and a participant with whom anything may be done. */
  user_id: string;
  leaving_participant_id: string;
  leaving_caregiver_id: string;
  scoped_token: string;
  portal_token: string;
  /** Of a caregiver of two participants, who says for whom it asks. */
  caregiver_token: string;
  ids: Record<string, string | number>;
}

const SCOPES = [
  'studies:read',
  'participants:read',
  'schedules:read',
  'anchors:read',
  'sessions:read',
  'exports:read',
  'snapshots:read',
  'authoring:write',
];

/** A study that has one of most things. */
export async function makeWorld(stage: Stage): Promise<World> {
  const { admin, run } = stage;
  const { id } = await newStudy(admin, {
    study_name: 'Contract',
    config: {
      portal_results: 'summary',
      enrollment_date_policy: {
        prerequisites: { require_eligibility_confirmed: false },
        permissions: { override_requires_approval: true },
      },
    },
  });
  const at = `/api/studies/${id}`;
  const make = (path: string, body: unknown, status = 201): Promise<Loose> => admin.expect(status, 'POST', path, body);
  const passing = { email: `${unique('passing')}@example.org`, password: goodPassword };
  const { id: passingId } = await make('/api/auth/register', { ...passing, name: 'A passing admin', role: 'admin' });
  const { id: userId } = await make('/api/auth/register', {
    email: `${unique('user')}@example.org`,
    password: goodPassword,
    name: 'A user',
    role: 'coordinator',
    study_ids: [id],
  });
  await admin.expect(201, 'PATCH', `/api/datacapture/config/${id}`, {
    api_url: 'http://127.0.0.1:9/api/',
    api_token: '0123456789ABCDEF'.repeat(2),
    project_id: unique('project'),
  });
  const site = await make(`${at}/sites`, { site_code: 'HERE', name: 'Here' });
  const study = new AnchorStudy(stage, id);
  const window = await study.window(0);
  const { id: participantId } = await newParticipant(admin, id, { external_id: unique('E'), site_id: site.id });
  const person = new Person(study, participantId);
  const { id: leaving } = await newParticipant(admin, id, { site_id: site.id });
  const consent = await person.consent('2024-03-01T09:00:00Z');
  await person.becomes({ status: 'finalized' });
  const form = await person.form('F', { item: 'value' });
  const battery = await make('/api/batteries', {
    study_id: id,
    code: unique('B'),
    name: 'Battery',
    modules: [{ task: 'stroop', name: 'Stroop' }],
  });
  const [version] = await person.versions();
  const [visit] = await person.standing();
  const [entry] = await person.history();
  const asked = await person.override(DAY, admin);
  const event = await make(`${at}/event-definitions`, { event_oid: unique('E'), name: 'Event', target_day: 0 });
  const calendar = await make(`${at}/holiday-calendars`, {
    name: 'Days',
    holidays: [{ date: '2026-12-25', name: 'Day' }],
  });
  const subscription = await make(`${at}/event-subscriptions`, {
    url: 'https://example.org/hook',
    events: ['ENROLLMENT_DATE_SET'],
  });
  const exported = await make('/api/exports/csv', { study_id: id, dataset: 'participants', mode: 'background' }, 202);
  // By the other admin: what ends tokens takes those that it finds in the list of the first.
  const minted = await (
    await login(run.api, passing.email, passing.password)
  ).http.expect<Loose>(201, 'POST', '/api/v1/tokens', {
    name: 'contract',
    scopes: SCOPES,
    study_ids: [id],
    expires_in_days: 1,
  });
  const participant = await enterPortal(admin, participantId);
  const { id: caregiverId } = await make(`${at}/caregivers`, { name: 'Who cares' });
  for (const one of [participantId, (await newParticipant(admin, id, { site_id: site.id })).id])
    await admin.expect(200, 'PUT', `${at}/caregivers/${caregiverId}/participants/${one}`, { relationship: 'guardian' });
  const caregiver = await enterAsCaregiver(admin, id, caregiverId);
  const { id: leavingCaregiver } = await make(`${at}/caregivers`, {
    name: 'Who leaves',
    email: `${unique('leaves')}@example.org`,
  });
  const session = await make('/api/session/start', { participant_id: participantId, visit_id: visit!.id });
  return {
    api: run.api,
    admin: { email: run.admin_email, password: run.admin_password ?? '' },
    passing,
    kept: [admin.userId!, passingId],
    user_id: userId,
    leaving_participant_id: leaving,
    leaving_caregiver_id: leavingCaregiver,
    scoped_token: String(minted.token),
    portal_token: participant.token!,
    caregiver_token: caregiver.token!,
    ids: {
      study_id: id,
      site_id: site.id,
      participant_id: participantId,
      caregiver_id: caregiverId,
      consent_id: consent.id,
      form_id: form.id,
      window_id: window.id,
      visit_id: visit!.id,
      version_id: version!.id,
      a_id: version!.id,
      b_id: version!.id,
      history_id: entry!.id,
      session_id: String(session.sessionId),
      battery_id: Number(battery.id),
      module_id: (battery.modules as Loose[])[0]!.id,
      override_request_id: String(asked.body.override_request_id),
      event_definition_id: event.id,
      calendar_id: calendar.id,
      subscription_id: subscription.id,
      export_id: String(exported.export_id),
      plot: 'enrollment.svg',
      policy_version: 1,
      change_id: 'policy-1',
      template_id: 'longitudinal-cognition',
    },
  };
}
