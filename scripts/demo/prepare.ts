import { randomUUID } from 'node:crypto';
import { Api, logIn } from './api.js';
import { CaptureSystem, ENROLLMENT, RESULTS } from './capture.js';
import type { Place, Stage } from './place.js';
import { demand } from './telling.js';
import type { Tell, Telling } from './telling.js';

const ZONE = 'Europe/Vienna';
/** The record id of a data access group is its site's code as a slug: `Site Graz` is `site_graz`. */
const SITE = 'Site Graz';

/** The four visits: event of the capture system, and days from the enrollment date. */
const VISITS = [
  {
    code: 'BL',
    name: 'Baseline',
    event: 'baseline_arm_1',
    is_baseline: true,
    days: { target_day: 0, window_before: 0, window_after: 7 },
  },
  {
    code: 'PH',
    name: 'Phone contact',
    event: 'phone_contact_arm_1',
    is_baseline: false,
    by_phone: true,
    days: { target_day: 30, window_before: 10, window_after: 10 },
  },
  {
    code: 'M3',
    name: 'Month 3',
    event: 'month_3_arm_1',
    is_baseline: false,
    days: { target_day: 90, window_before: 7, window_after: 14 },
  },
  {
    code: 'M6',
    name: 'Month 6',
    event: 'month_6_arm_1',
    is_baseline: false,
    days: { target_day: 180, window_before: 14, window_after: 14 },
  },
];

/** The source of the enrollment date, its prerequisites, and who may change it. */
const POLICY = {
  anchor_type: 'enrollment',
  sources: [
    {
      type: 'form_item',
      priority: 1,
      is_active: true,
      form_mapping: { form_oid: ENROLLMENT.instrument, item_oid: 'enrollment_date', partial_date_handling: 'reject' },
    },
    { type: 'manual_entry', priority: 2, is_active: true },
  ],
  prerequisites: { require_consent_signed: true },
  permissions: {
    can_set: ['admin', 'coordinator'],
    can_override: ['admin', 'coordinator'],
    override_requires_reason: true,
    override_requires_approval: true,
    override_approver_roles: ['researcher'],
  },
};

/** The first chapter: a study with its people, its policy and its capture system. */
export async function prepare(telling: Telling, place: Place): Promise<{ stage: Stage; capture: CaptureSystem }> {
  const { run } = place;
  await telling.step('The service is up', async (tell) => {
    const health = await new Api(run.api).get<{
      status: string;
      version: string;
      dependencies: Record<string, { status: string }>;
    }>('/api/health/detailed');
    demand(health.status === 'ok', `The service is ${health.status}: ${JSON.stringify(health.dependencies)}.`);
    tell(
      'parts',
      Object.entries(health.dependencies)
        .map(([name, { status }]) => `${name} ${status}`)
        .join(', '),
    );
    tell('API', `${run.docs} (the addresses below want a token: Authorization: Bearer …)`);
    if (run.temporal_ui !== null) tell('Temporal UI', run.temporal_ui);
  });
  const capture = await telling.step('A simulated capture system starts', async (tell) => {
    const started = await CaptureSystem.start();
    tell('project', `${started.projectId}, "${started.title}"`);
    tell(
      'records',
      started
        .recordIds()
        .map((id) => `"${id}"`)
        .join('  '),
    );
    tell('page', `${started.simulator.url}/ (as long as the demo runs)`);
    return started;
  });
  try {
    return { stage: await setUp(telling, place, capture), capture };
  } catch (fault) {
    await capture.stop();
    throw fault;
  }
}

async function setUp(telling: Telling, place: Place, capture: CaptureSystem): Promise<Stage> {
  const { run } = place;
  const admin = await telling.step('The first admin logs in', () =>
    logIn(run.api, place.admin.email, place.admin.password),
  );
  const code = `DEMO-${randomUUID().slice(0, 8).toUpperCase()}`;
  const study = await telling.step('A study is created, with one site', async (tell) => {
    const { id } = await admin.expect<{ id: string }>(201, 'POST', '/api/studies', {
      study_code: code,
      study_name: `Longitudinal cognition (${code})`,
      start_date: '2025-01-01',
      timezone: ZONE,
      integration_mode: 'datacapture',
      datacapture_enabled: true,
      consent_mode: 'econsent',
    });
    await admin.expect(201, 'POST', `/api/studies/${id}/sites`, {
      site_code: SITE,
      name: 'University Hospital',
      timezone: ZONE,
    });
    tell('study', code);
    tell('see', `${run.api}/api/studies/${id}`);
    return { id, code, zone: ZONE };
  });
  const people = await telling.step(
    'Two people join it: a coordinator, and a researcher who approves',
    async (tell) => {
      const add = async (role: 'coordinator' | 'researcher') => {
        const person = { email: `${role}.${code.toLowerCase()}@example.org`, password: randomUUID() };
        const { id } = await admin.expect<{ id: string }>(201, 'POST', '/api/auth/register', {
          ...person,
          name: `Demo ${role}`,
          role,
          study_ids: [study.id],
        });
        tell(role, person.email);
        return { id, ...person };
      };
      const coordinator = await add('coordinator');
      const { id, email, password } = await add('researcher');
      return {
        coordinator: await logIn(run.api, coordinator.email, coordinator.password),
        approver: { id, email, password, api: await logIn(run.api, email, password) },
      };
    },
  );
  await telling.step(
    'Its policy: the date comes from the enrollment form, needs a signed consent, and an override needs an approval',
    async (tell) => {
      const path = `/api/studies/${study.id}/config/enrollment-policy`;
      const policy = await admin.expect<{ permissions: { override_requires_approval: boolean } }>(
        200,
        'POST',
        path,
        POLICY,
      );
      demand(policy.permissions.override_requires_approval, 'The policy that was stored does not ask for an approval.');
      tell('see', `${run.api}${path}`);
    },
  );
  await telling.step('The capture system is connected', (tell) => connect(tell, admin, study.id, run.api, capture));
  await telling.step('Its events are mapped to four visits', async (tell) => {
    for (const { code: window, name, event, is_baseline, days } of VISITS) {
      await admin.expect(201, 'POST', '/api/schedules/windows', {
        study_id: study.id,
        code: window,
        name,
        is_baseline,
        datacapture_event: event,
        ...days,
      });
      tell(
        event,
        `"${name}" on day ${days.target_day}, from ${days.window_before} days before to ${days.window_after} after`,
      );
    }
    tell('see', `${run.api}/api/datacapture/config/${study.id}/event-mapping`);
  });
  return { place, admin, ...people, study };
}

async function connect(tell: Tell, admin: Api, studyId: string, base: string, capture: CaptureSystem): Promise<void> {
  const path = `/api/datacapture/config/${studyId}`;
  const battery = await admin.expect<{ id: number }>(201, 'POST', '/api/batteries', {
    study_id: studyId,
    code: 'VISIT',
    name: 'Tasks of a visit',
    modules: Object.keys(RESULTS).map((task) => ({ task })),
  });
  // The capture system's event of the phone contact has no form for results.
  const byPhone = await admin.expect<{ id: number }>(201, 'POST', '/api/batteries', {
    study_id: studyId,
    code: 'PHONE',
    name: 'Tasks of a phone contact',
    modules: [{ task: 'digit_span' }],
  });
  const saved = await admin.expect<{ warnings?: { code: string; message: string }[] }>(201, 'PATCH', path, {
    api_url: capture.simulator.apiUrl,
    api_token: capture.token,
    enrollment_instrument: ENROLLMENT.instrument,
    enrollment_event: ENROLLMENT.event,
    participant_field_mapping: {
      enrollment_date: 'enrollment_date',
      preferred_language: 'language',
      email: 'email',
      date_of_birth: 'dob',
    },
    event_battery_mapping: Object.fromEntries(
      VISITS.map(({ event, days, by_phone }) => [event, { battery_id: (by_phone ? byPhone : battery).id, ...days }]),
    ),
    data_field_mapping: RESULTS,
    webhook_enabled: true,
    webhook_secret: capture.secret,
    // The simulated system ends with the demo: it must not be polled afterwards.
    poll_interval_minutes: 0,
  });
  const unknown = saved.warnings ?? [];
  demand(
    unknown.length === 0,
    `The mapping does not fit the capture system: ${unknown.map(({ message }) => message).join(' ')}`,
  );
  const connected = await admin.expect<{ project_title: string; project_id: string; record_count: number }>(
    200,
    'POST',
    `${path}/test-connection`,
  );
  demand(
    connected.project_id === String(capture.projectId),
    `The connection leads to project ${connected.project_id}.`,
  );
  capture.sendTriggersTo(`${base}/api/webhooks/datacapture/det`);
  tell(
    'connected',
    `"${connected.project_title}", ${connected.record_count} records; token and secret are kept encrypted and ` +
      'never shown',
  );
  tell('see', `${base}${path}`);
}
