import { randomUUID } from 'node:crypto';
import { DAY, AnchorStudy, Person } from '../../anchor/stage.js';
import type { Stage } from '../../anchor/stage.js';
import { instant } from '../../assessment/stage.js';
import { Http, newParticipant, newStudy, unique, user } from '../../support/http.js';
import type { Loose } from '../../support/http.js';
import { enterAsCaregiver, enterPortal } from '../../support/portal.js';

/** Ids by the name under which requests have them. */
export type Ids = Record<string, string | number>;

export interface Filled {
  id: string;
  /** In every name, code and address. */
  mark: string;
  /** Of what belongs to the study. */
  ids: Ids;
  /** One at each of two sites, each with everything that a participant can have. */
  people: [Ids, Ids];
}

const SCOPES = ['studies', 'participants', 'schedules', 'anchors', 'sessions', 'exports', 'snapshots'].map(
  (name) => `${name}:read`,
);

/** A study in which every list has something. */
export async function filled(stage: Stage, mark: string): Promise<Filled> {
  const { admin } = stage;
  const { id } = await newStudy(admin, {
    study_code: unique(mark),
    study_name: mark,
    config: {
      portal_results: 'summary',
      enrollment_date_policy: {
        prerequisites: { require_eligibility_confirmed: false },
        permissions: {
          override_requires_approval: true,
          participant_can_set: true,
          override_approver_roles: ['admin', 'coordinator', 'investigator'],
        },
      },
    },
  });
  const at = `/api/studies/${id}`;
  const make = (path: string, body?: unknown, status = 201): Promise<Loose> => admin.expect(status, 'POST', path, body);
  await admin.expect(201, 'PATCH', `/api/datacapture/config/${id}`, {
    api_url: 'http://127.0.0.1:9/api/',
    api_token: '0123456789ABCDEF'.repeat(2),
    project_id: unique(mark),
  });
  const window = await new AnchorStudy(stage, id).window(0, { name: mark });
  const battery = await make('/api/batteries', {
    study_id: id,
    code: unique('B'),
    name: mark,
    modules: [{ task: 'stroop', name: mark }],
  });
  const event = await make(`${at}/event-definitions`, { event_oid: unique(mark), name: mark, target_day: 0 });
  const calendar = await make(`${at}/holiday-calendars`, {
    name: mark,
    holidays: [{ date: '2026-12-25', name: mark }],
  });
  const imported = randomUUID();
  await admin.expect(200, 'POST', `${at}/participants/import/csv?import_id=${imported}`, undefined, {
    raw: {
      type: 'multipart/form-data; boundary=b',
      content:
        `--b\r\nContent-Disposition: form-data; name="file"; ` +
        `filename="a.csv"\r\n\r\nparticipant_code\n${mark}-imported\n\r\n--b--\r\n`,
    },
  });
  const people = [await person(stage, id, `${mark}one`), await person(stage, id, `${mark}two`)] as [Ids, Ids];
  const exported = await make('/api/exports/csv', { study_id: id, dataset: 'participants', mode: 'background' }, 202);
  const simulation = await make(`${at}/simulations`, { participants: 10, months: 1 }, 202);
  const subscription = await make(`${at}/event-subscriptions`, {
    url: `https://example.org/${mark}`,
    events: ['ENROLLMENT_DATE_SET'],
  });
  const ids: Ids = {
    study_id: id,
    window_id: window.id,
    battery_id: Number(battery.id),
    module_id: (battery.modules as Loose[])[0]!.id,
    event_definition_id: event.id,
    calendar_id: calendar.id,
    subscription_id: subscription.id,
    export_id: String(exported.export_id),
    import_id: imported,
    simulation_id: String(simulation.simulation_id ?? simulation.id),
    delivery_id: await row(
      stage,
      `insert into event_deliveries (study_id, subscription_id, event_id, status, next_attempt_at, last_error) values (?, ?, ?, 'failed', null, ?)`,
      [id, subscription.id, people[1].event_id!, mark],
    ),
    sync_id: await row(
      stage,
      `insert into datacapture_syncs (study_id, kind, status, error, finished_at) values (?, 'sync', 'failed', ?, now())`,
      [id, mark],
    ),
  };
  return { id, mark, ids, people };
}

/** The id of a row of what only workers write, put there by the database's owner. */
async function row(stage: Stage, statement: string, values: unknown[]): Promise<string> {
  const [made] = await stage.sql<{ id: string }>(`${statement} returning id`, values);
  return made!.id;
}

/** A participant at a site of their own, with everything that a participant can have. */
async function person(stage: Stage, studyId: string, mark: string): Promise<Ids> {
  const { admin } = stage;
  const at = `/api/studies/${studyId}`;
  const make = (path: string, body?: unknown, status = 201): Promise<Loose> => admin.expect(status, 'POST', path, body);
  const site = await make(`${at}/sites`, { site_code: unique(mark), name: mark });
  const { id, participant_code } = await newParticipant(admin, studyId, {
    participant_code: unique(mark),
    external_id: unique(mark),
    site_id: site.id,
    email: `${unique(mark)}@example.org`,
  });
  const who = new Person(new AnchorStudy(stage, studyId), id);
  const consent = await who.consent('2024-03-01T09:00:00Z', { consent_version_id: mark });
  await who.becomes({ status: 'finalized' });
  const form = await who.form(mark, { word: mark });
  const [version] = await who.versions();
  const [visit] = await who.standing();
  const [entry] = await who.history();
  await who.becomes({ status: 'finalized' });
  const asked = await who.override(DAY, admin, { reason: mark });
  const caregiver = await make(`${at}/caregivers`, { name: mark, email: `${unique(mark)}@example.org` });
  await admin.expect(200, 'PUT', `${at}/caregivers/${caregiver.id}/participants/${id}`, { relationship: mark });
  const offline = { id: unique(mark), participantId: id, studyId, status: 'completed', startedAt: instant(-7_200_000) };
  for (const minutes of [60, 30])
    await admin.expect(200, 'POST', '/api/sync/sessions', { ...offline, completedAt: instant(-minutes * 60_000) });
  const session = await make('/api/session/start', { participant_id: id, visit_id: visit!.id });
  const feed = await make(`/api/participants/${id}/calendar-feeds`);
  await enterPortal(admin, id);
  await enterAsCaregiver(admin, studyId, caregiver.id);
  const first = async (path: string, fits: (item: Loose) => boolean = () => true): Promise<string> => {
    const found = (await admin.expect(200, 'GET', path)).items.find(fits);
    if (!found) throw new Error(`${path} has nothing`);
    return String(found.id);
  };
  return {
    participant_id: id,
    participant_code: String(participant_code),
    site_id: site.id,
    site_code: String(site.site_code),
    consent_id: consent.id,
    form_id: form.id,
    version_id: version!.id,
    visit_id: visit!.id,
    history_id: entry!.id,
    override_request_id: asked.body.override_request_id,
    caregiver_id: caregiver.id,
    session_id: String(session.session_id ?? session.sessionId),
    calendar_feed_id: feed.id,
    conflict_id: await first(`${at}/sync-conflicts?limit=100&sort=-detected_at`),
    portal_session_id: await first(`/api/participants/${id}/portal-sessions`),
    caregiver_session_id: await first(`${at}/caregivers/${caregiver.id}/portal-sessions`),
    notification_id: await first(`/api/notifications?participant_id=${id}&study_id=${studyId}`),
    event_id: await first(`${at}/events?limit=100`, (item) => item.participant_id === id),
    webhook_id: await row(
      stage,
      `insert into webhook_events (study_id, project_id, record, instrument, raw_body_hash, status, error, participant_id, processed_at) values (?, ?, ?, ?, '\\x00', 'failed', ?, ?, now())`,
      [studyId, mark, mark, mark, mark, id],
    ),
  };
}

/** Who tries: each is of one study, or of one person or site of it. */
export interface Callers {
  staff: Map<string, Http>;
  /** Of the first person's site alone. */
  ofSite: Map<string, Http>;
  token: Http;
  participant: Http;
  caregiver: Http;
}

export async function callersOf(stage: Stage, { id, people: [first] }: Filled): Promise<Callers> {
  const { admin, run } = stage;
  const [staff, ofSite] = [new Map<string, Http>(), new Map<string, Http>()];
  for (const role of ['researcher', 'data_manager', 'investigator', 'coordinator'] as const) {
    staff.set(role, await user(admin, role, { study_ids: [id] }));
    if (role === 'investigator' || role === 'coordinator')
      ofSite.set(role, await user(admin, role, { study_ids: [id], site_ids: [String(first.site_id)] }));
  }
  const minted = await staff.get('researcher')!.expect<Loose>(201, 'POST', '/api/v1/tokens', {
    name: 'all of it',
    scopes: [...SCOPES, 'authoring:write'],
    study_ids: [id],
    expires_in_days: 1,
  });
  return {
    staff,
    ofSite,
    token: new Http(run.api, String(minted.token)),
    participant: await enterPortal(admin, String(first.participant_id)),
    caregiver: await enterAsCaregiver(admin, id, String(first.caregiver_id)),
  };
}
