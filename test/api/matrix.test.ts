import { expect } from 'chai';
import { AnchorStudy, DAY, Person, Stage } from '../anchor/stage.js';
import { atRest } from '../security/foreign/content.js';
import { document as contract } from '../support/contract.js';
import { Http, leastFile, newParticipant, newStudy, unique, user } from '../support/http.js';
import type { Loose, Role } from '../support/http.js';

interface Operation {
  method: string;
  path: string;
  roles: readonly string[];
  scope: string;
  hasBody: boolean;
  takesFile: boolean;
}

const NOBODY = '00000000-0000-4000-8000-000000000000';
/** In every name, code and address of the study that is not to be seen. */
const SECRET = `zebra${Date.now().toString(36)}`;
/** Ending one's own login or service-wide figures would be felt by the tests beside this one. */
const LEFT_OUT = ['/api/auth/logout-all', '/api/metrics/reset', '/api/auth/mfa', '/api/auth/sessions/{id}'];
/** They make something of their own: a study that a header names means nothing to them. */
const WITHOUT_CONTEXT = ['/api/studies', '/api/notifications/register'];
const READS = ['GET', 'HEAD'];
/**
 * A document takes a second to print: one role prints it. The others ask for a page size that there is none of, which
 * is refused (422) after the permission: by a stranger the same request is not found.
 */
const PRINTED = /\/(?:pdf\/summary|(?:participants\/\{participant_id\}|sessions\/\{session_id\})\/pdf)$/;
const UNPRINTABLE = '?page_size=none';
/** Everything that a study is made of and that a request could change. */
const TABLES = [
  'studies',
  'sites',
  'participants',
  'consents',
  'eligibility_assessments',
  'form_instances',
  'randomizations',
  'anchor_dates',
  'anchor_date_history',
  'override_requests',
  'schedule_versions',
  'scheduled_visits',
  'visit_windows',
  'batteries',
  'battery_modules',
  'enrollment_policies',
  'datacapture_configs',
  'event_definitions',
  'holiday_calendars',
  'event_subscriptions',
  'assessment_sessions',
  'exports',
  'simulations',
  'webhook_events',
  'caregivers',
];

/** Every operation that staff may call with their own token, as the committed contract declares it. */
const operations: Operation[] = Object.entries(contract.paths).flatMap(([path, methods]) =>
  Object.entries(methods).flatMap(([method, operation]) => {
    const permissions = operation['x-permissions'];
    if (
      !permissions ||
      permissions.roles.includes('anyone') ||
      permissions.scope === 'self' ||
      permissions.token_scope ||
      LEFT_OUT.some((left) => path.startsWith(left))
    )
      return [];
    return [
      {
        method: method.toUpperCase(),
        path,
        roles: permissions.roles,
        scope: permissions.scope ?? 'service',
        hasBody: operation.requestBody !== undefined,
        takesFile: operation.requestBody?.content['multipart/form-data'] !== undefined,
      },
    ];
  }),
);

/** What a policy may say besides is told by the tests of policies: here it allows everything. */
const everybody = ['admin', 'researcher', 'coordinator', 'investigator', 'data_manager'];

describe('Role × endpoint × study × site, for every operation of the contract', function matrix() {
  this.timeout(240_000);
  let stage: Stage;
  let study: AnchorStudy;
  let person: Person;
  let values: Record<string, string>;
  const own = new Map<string, Http>(),
    other = new Map<string, Http>(),
    elsewhere = new Map<string, Http>();
  const roles: readonly Role[] = ['admin', 'researcher', 'coordinator', 'investigator', 'data_manager'];

  before(async () => {
    stage = await Stage.open();
    const { admin } = stage;
    const { id } = await newStudy(admin, {
      study_code: unique(SECRET),
      study_name: SECRET,
      datacapture_enabled: true,
      config: {
        enrollment_date_policy: {
          prerequisites: { require_eligibility_confirmed: false },
          permissions: {
            can_set: everybody,
            can_override: everybody,
            override_requires_approval: true,
            override_approver_roles: everybody,
          },
        },
      },
    });
    study = new AnchorStudy(stage, id);
    const at = `/api/studies/${id}`;
    const make = (path: string, body: unknown, status = 201): Promise<Loose> =>
      admin.expect(status, 'POST', path, body);
    const here = await make(`${at}/sites`, { site_code: 'HERE', name: 'Here' });
    const there = await make(`${at}/sites`, { site_code: 'THERE', name: 'There' });
    const window = await study.window(0, { name: SECRET });
    const { id: participantId } = await newParticipant(admin, id, {
      participant_code: unique(SECRET),
      external_id: SECRET,
      site_id: here.id,
      email: `${SECRET}@example.org`,
    });
    const secret = (person = new Person(study, participantId));
    const consent = await secret.consent('2024-03-01T09:00:00Z');
    await secret.becomes({ status: 'finalized' });
    const form = await secret.form(SECRET, { word: SECRET });
    const battery = await make('/api/batteries', {
      study_id: id,
      code: unique('B'),
      name: SECRET,
      modules: [{ task: 'stroop', name: SECRET }],
    });
    const [version] = await secret.versions();
    const [visit] = await secret.standing();
    const [entry] = await secret.history();
    const session = await make('/api/session/start', { participant_id: participantId, visit_id: visit!.id }, 201);
    const asked = await secret.override(DAY, admin);
    const [notification] = await stage.sql<{ id: string }>(
      'select id from notifications where participant_id = ? limit 1',
      [participantId],
    );
    const event = await make(`${at}/event-definitions`, { event_oid: unique('E'), name: SECRET, target_day: 0 });
    const calendar = await make(`${at}/holiday-calendars`, {
      name: SECRET,
      holidays: [{ date: '2026-12-25', name: 'Day' }],
    });
    const subscription = await make(`${at}/event-subscriptions`, {
      url: 'https://example.org/hook',
      events: ['ENROLLMENT_DATE_SET'],
    });
    const exported = await make('/api/exports/csv', { study_id: id, dataset: 'participants', mode: 'background' }, 202);
    const caregiver = await make(`${at}/caregivers`, { name: SECRET, email: `care.${SECRET}@example.org` });
    await admin.expect(200, 'PUT', `${at}/caregivers/${caregiver.id}/participants/${participantId}`, {
      relationship: SECRET,
    });
    const simulation = await make(`${at}/simulations`, { participants: 10, months: 1 }, 202);
    values = {
      study_id: id,
      site_id: here.id,
      participant_id: participantId,
      consent_id: consent.id,
      form_id: form.id,
      window_id: window.id,
      visit_id: visit!.id,
      version_id: version!.id,
      a_id: version!.id,
      b_id: version!.id,
      history_id: entry!.id,
      session_id: String(session.sessionId),
      battery_id: String(battery.id),
      module_id: String((battery.modules as Loose[])[0]!.id),
      override_request_id: asked.body.override_request_id,
      notification_id: notification?.id ?? NOBODY,
      event_definition_id: event.id,
      calendar_id: calendar.id,
      subscription_id: subscription.id,
      export_id: String(exported.export_id),
      simulation_id: String(simulation.simulation_id ?? simulation.id),
      caregiver_id: caregiver.id,
      policy_version: '1',
      plot: 'enrollment.svg',
      change_id: 'policy-1',
      record: '1',
      code: 'x',
      template_id: 'x',
      id: NOBODY,
    };
    expect(Object.entries(values).filter(([, value]) => value === 'undefined')).to.deep.equal([]);
    const strange = await newStudy(admin);
    for (const role of roles) {
      own.set(role, role === 'admin' ? admin : await user(admin, role, { study_ids: [id] }));
      if (role !== 'admin') other.set(role, await user(admin, role, { study_ids: [strange.id] }));
      if (role === 'coordinator' || role === 'investigator')
        elsewhere.set(role, await user(admin, role, { study_ids: [id], site_ids: [there.id] }));
    }
  });
  after(() => stage.close());

  const path = (of: Operation, given: Record<string, string>): string =>
    of.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(given[name] ?? NOBODY));
  /** Asks for an operation with the least that the frame takes for a body: none of them may come to anything. */
  const ask = (
    http: Http,
    of: Operation,
    given: Record<string, string>,
    headers: Record<string, string> = {},
    query = '',
  ) =>
    of.takesFile
      ? http.send(of.method, path(of, given), undefined, { headers, raw: leastFile })
      : http.send(of.method, `${path(of, given)}${query}`, of.hasBody ? {} : undefined, { headers });
  /** What the study holds, as the database's owner sees it. */
  async function content(): Promise<Record<string, string>> {
    const all: Record<string, string> = {};
    for (const table of TABLES) {
      const key = table === 'studies' ? 'id' : 'study_id';
      const [row] = await stage.sql<{ hash: string }>(
        table === 'battery_modules'
          ? `select coalesce(md5(string_agg(m::text, '|' order by m.id)), '') as hash from battery_modules m join batteries b on b.id = m.battery_id where b.study_id = ?`
          : `select coalesce(md5(string_agg(t::text, '|' order by t.id)), '') as hash from ${table} t where t.${key} = ?`,
        [study.id],
      );
      all[table] = row!.hash;
    }
    return all;
  }

  it('takes in every operation of staff', () => {
    expect(operations.length).to.be.greaterThan(180);
    for (const { roles: allowed } of operations) expect(allowed).to.include('admin');
  });

  it('a role that is not named gets 403, also in its own study', async () => {
    const faults: string[] = [];
    let cells = 0;
    for (const operation of operations) {
      for (const role of roles.filter((name) => !operation.roles.includes(name))) {
        cells += 1;
        const answer = await ask(own.get(role)!, operation, values);
        if (answer.status !== 403)
          faults.push(`${role} ${operation.method} ${operation.path}: ${answer.status} ${answer.text.slice(0, 120)}`);
      }
    }
    expect(faults).to.deep.equal([]);
    expect(cells).to.be.greaterThan(200);
  });

  it('a role that is named gets past the permission, and reads what is its study’s', async () => {
    const faults: string[] = [];
    for (const operation of operations) {
      const names = [...operation.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!);
      const last = names.filter((name) => name !== 'study_id' && name !== 'participant_id').at(-1);
      // What changes something is asked of what is not there, where nothing at all would be a body that counts.
      const given = READS.includes(operation.method)
        ? values
        : last
          ? { ...values, [last]: NOBODY }
          : operation.method === 'DELETE' || !operation.hasBody || operation.path.endsWith('/enrollment-policy')
            ? { ...values, participant_id: NOBODY, study_id: NOBODY }
            : values;
      for (const [turn, role] of roles.filter((name) => operation.roles.includes(name)).entries()) {
        const unprinted = PRINTED.test(operation.path) && turn > 0;
        const answer = await ask(own.get(role)!, operation, given, {}, unprinted ? UNPRINTABLE : '');
        if (unprinted) expect(answer.status, `${role} ${operation.path}`).to.equal(422);
        if (answer.status === 401 || answer.status === 403 || answer.status >= 500)
          faults.push(`${role} ${operation.method} ${operation.path}: ${answer.status} ${answer.text.slice(0, 120)}`);
      }
    }
    expect(faults).to.deep.equal([]);
  });

  it('of another study nothing is seen, by whatever name, and nothing is changed', async () => {
    await person.settled();
    const before = await atRest(stage, study.id, content);
    const faults: string[] = [];
    for (const operation of operations) {
      for (const [role, http] of other) {
        for (const headers of (operation.path.includes('{') ? [{}] : [{ 'X-Study-ID': study.id }, {}]) as Record<
          string,
          string
        >[]) {
          const named =
            !WITHOUT_CONTEXT.includes(operation.path) &&
            (operation.path.includes('{study_id}') ||
              operation.path.includes('{participant_id}') ||
              'X-Study-ID' in headers);
          const answer = await ask(http, operation, values, headers, PRINTED.test(operation.path) ? UNPRINTABLE : '');
          const allowed = operation.roles.includes(role);
          const fits = !allowed
            ? answer.status === 403
            : named && operation.scope === 'study'
              ? answer.status === 404
              : answer.status < 500;
          if (!fits || answer.text.includes(SECRET))
            faults.push(
              `${role} ${operation.method} ${operation.path} ${JSON.stringify(headers)}: ${answer.status} ` +
                `${answer.text.slice(0, 160)}`,
            );
          const ids = Object.entries(values).filter(
            ([name, value]) =>
              READS.includes(operation.method) &&
              value.length === 36 &&
              value !== NOBODY &&
              !operation.path.includes(`{${name}}`),
          );
          const leaked = answer.status < 300 ? ids.filter(([, value]) => answer.text.includes(value)) : [];
          if (leaked.length > 0)
            faults.push(
              `${role} ${operation.method} ${operation.path} tells of ${leaked.map(([name]) => name).join()}`,
            );
        }
      }
    }
    expect(faults).to.deep.equal([]);
    expect(await content()).to.deep.equal(before);
  });

  it('of another site of the study no participant is seen or changed', async () => {
    await person.settled();
    const before = await atRest(stage, study.id, content);
    const faults: string[] = [];
    const aboutPeople = [
      'participant_id',
      'visit_id',
      'session_id',
      'consent_id',
      'form_id',
      'notification_id',
      'override_request_id',
      'caregiver_id',
    ];
    const code = (await stage.admin.expect(200, 'GET', `/api/participants/${person.id}`)).participant_code as string;
    for (const operation of operations) {
      const personal = aboutPeople.some((name) => operation.path.includes(`{${name}}`));
      if (!personal && !READS.includes(operation.method)) continue;
      for (const [role, http] of elsewhere) {
        const answer = await ask(
          http,
          operation,
          values,
          operation.path.includes('{study_id}') ? {} : { 'X-Study-ID': study.id },
        );
        const fits = !operation.roles.includes(role)
          ? answer.status === 403
          : !personal ||
            answer.status === 404 ||
            (answer.status === 422 && !operation.path.includes('{participant_id}'));
        if (!fits || answer.text.includes(code) || (answer.status < 300 && answer.text.includes(person.id)))
          faults.push(`${role} ${operation.method} ${operation.path}: ${answer.status} ${answer.text.slice(0, 160)}`);
      }
    }
    expect(faults).to.deep.equal([]);
    expect(await content()).to.deep.equal(before);
  });

  it('without a token, or with a participant’s, every one of them is 401', async () => {
    const nobody = new Http(stage.run.api);
    for (const operation of operations) {
      expect((await ask(nobody, operation, values)).status, `${operation.method} ${operation.path}`).to.equal(401);
    }
  });
});
