import { expect } from 'chai';
import { compared } from './compared.js';
import { Stage } from './support.js';
import type { CaptureStudy } from './support.js';

describe('capture-system configuration', function () {
  let stage: Stage;
  before(async function () {
    this.timeout(240_000);
    stage = await Stage.set({ polls: false });
  });
  after(() => stage?.clear());

  const path = (study: CaptureStudy, rest = '') => `/api/datacapture/config/${study.id}${rest}`;
  const audits = async (study: CaptureStudy) =>
    await stage.sql<{ action: string; audit_metadata: Record<string, unknown> }>(
      `select action, audit_metadata from audit_log where study_id = ? and resource_type = 'datacapture_config' order by seq`,
      [study.id],
    );

  describe('without one', () => {
    let study: CaptureStudy;
    before(async () => {
      study = await stage.study({ connect: false });
    });
    for (const [method, rest] of [
      ['GET', ''],
      ['GET', '/event-mapping'],
      ['PUT', '/event-mapping'],
      ['POST', '/test-connection'],
      ['GET', '/instruments'],
      ['GET', '/events'],
    ] as const) {
      it(`${method} config${rest} is 404`, async () => {
        const reply = await stage.call(
          method,
          path(study, rest),
          method === 'PUT' ? { event_battery_mapping: {} } : undefined,
        );
        expect(reply.status).to.equal(404);
        expect(reply.body.detail).to.contain('not found');
      });
    }
    it('GET status and sync-events are 404', async () => {
      expect((await stage.call('GET', `/api/datacapture/status/${study.id}`)).status).to.equal(404);
      expect((await stage.call('POST', `/api/studies/${study.id}/datacapture/sync-events`)).status).to.equal(404);
    });
    it('PATCH under If-Match is 409: there is nothing that could be unchanged', async () => {
      const reply = await fetch(`${stage.run.api}${path(study)}`, {
        method: 'PATCH',
        body: JSON.stringify({ api_url: stage.simulator.apiUrl, api_token: study.token }),
        headers: { 'content-type': 'application/json', 'if-match': '"any"', authorization: `Bearer ${stage.token}` },
      });
      expect(reply.status).to.equal(409);
      expect((await stage.call('GET', path(study))).status).to.equal(404);
    });
    it('PATCH names what a new one needs', async () => {
      const reply = await study.configure({ enrollment_instrument: 'enroll' });
      expect(reply.status).to.equal(422);
      expect((reply.body.errors as { path: string }[]).map((e) => e.path)).to.deep.equal(['api_url', 'api_token']);
    });
  });

  it('creates with 201, changes with 200, and answers exactly the fields of the contract', async () => {
    const study = await stage.study({ connect: false });
    const first = await study.configure({ api_url: stage.simulator.apiUrl, api_token: study.token });
    expect(first.status).to.equal(201);
    const fields = [
      'id',
      'study_id',
      'api_url',
      'project_id',
      'enrollment_instrument',
      'enrollment_event',
      'participant_field_mapping',
      'event_battery_mapping',
      'webhook_enabled',
      'sync_status',
    ];
    expect(first.body)
      .to.have.all.keys(fields)
      .and.to.include({ sync_status: 'pending', webhook_enabled: false, project_id: null });
    const second = await study.configure({ webhook_enabled: true, webhook_secret: 'hush' });
    expect([second.status, second.body['webhook_enabled']]).to.deep.equal([200, true]);
    expect((await stage.call('GET', path(study))).body).to.deep.equal(second.body);
    expect((await stage.call('GET', `/api/redcap/config/${study.id}`)).body, 'under its former path').to.deep.equal(
      second.body,
    );
  });

  it('a change of nothing is answered as it stands, is no record and keeps its tag', async () => {
    const study = await stage.study();
    const before = await stage.call('GET', path(study));
    const records = await audits(study);
    for (const query of ['', '?strict=true']) {
      const reply = await study.configure({}, query);
      expect([reply.status, reply.body], query).to.deep.equal([200, before.body]);
    }
    expect((await stage.call('GET', path(study))).headers.get('etag')).to.equal(before.headers.get('etag'));
    expect(await audits(study)).to.deep.equal(records);
  });

  it('names what a new entry of a mapping needs, as a rule of the whole and not of the field', async () => {
    const study = await stage.study();
    const reply = await study.configure({
      event_battery_mapping: { new_arm_1: {} },
      data_field_mapping: { stroop: {} },
    });
    expect(reply.status).to.equal(422);
    expect((reply.body['errors'] as { message: string }[]).map(({ message }) => message)).to.deep.equal([
      'event_battery_mapping.new_arm_1.battery_id is required for a new entry',
      'event_battery_mapping.new_arm_1.target_day is required for a new entry',
      'data_field_mapping.stroop.datacapture_instrument is required for a new entry',
    ]);
  });

  it('keeps token and secret encrypted, and out of the audit log', async () => {
    const study = await stage.study({ connect: false });
    await study.configure({
      api_url: stage.simulator.apiUrl,
      api_token: study.token,
      webhook_secret: 'a very secret word',
    });
    await study.configure({ enrollment_instrument: 'enroll' });
    const [row] = await stage.sql<Record<string, string>>('select * from datacapture_configs where study_id = ?', [
      study.id,
    ]);
    expect(row!['api_token_encrypted']).to.match(/^v1:[0-9a-f]{12}:[\w-]+:[\w-]+:[\w-]+$/);
    expect(JSON.stringify(row)).not.to.contain(study.token).and.not.to.contain('very secret');
    const records = await audits(study);
    expect(records.map((r) => [r.action, r.audit_metadata['fields']])).to.deep.equal([
      ['datacapture_config_created', ['api_url', 'api_token', 'webhook_secret']],
      ['datacapture_config_changed', ['enrollment_instrument']],
    ]);
    expect(JSON.stringify(records)).not.to.contain(study.token).and.not.to.contain('very secret');
  });

  it('refuses unknown fields, wrong types and impossible URLs', async () => {
    const study = await stage.study();
    const table: [Record<string, unknown>, number][] = [
      [{ sync_status: 'active' }, 422],
      [{ event_battery_mapping: { e: { battery_id: 'x', target_day: 0 } } }, 422],
      [{ event_battery_mapping: { e: { target_day: 0 } } }, 422],
      [{ participant_field_mapping: { email: 7 } }, 422],
      [{ webhook_auth: 'none' }, 422],
      [{ poll_interval_minutes: -1 }, 422],
      [{ api_token: 'two words' }, 422],
      [{ api_url: 'ftp://x.org/api/' }, 400],
      [{ api_url: 'nonsense' }, 400],
      [{ api_url: 'https://user:word@x.org/api/' }, 400],
    ];
    for (const [change, status] of table)
      expect((await study.configure(change)).status, JSON.stringify(change)).to.equal(status);
  });

  it('merges mappings, and takes out what is null', async () => {
    const study = await stage.study();
    const { body } = await study.configure({
      participant_field_mapping: { email: null, phone: 'code' },
      event_battery_mapping: { month_3_arm_1: { target_day: 91 } },
    });
    expect(body['participant_field_mapping']).to.deep.equal({
      enrollment_date: 'enrolled',
      preferred_language: 'lang',
      date_of_birth: 'dob',
      arm: 'arms',
      phone: 'code',
    });
    expect((body['event_battery_mapping'] as Record<string, unknown>)['month_3_arm_1']).to.deep.equal({
      battery_id: study.battery,
      target_day: 91,
      window_before: 7,
      window_after: 14,
    });
  });

  it('replaces the event mapping as a whole, with the defaults of the contract', async () => {
    const study = await stage.study();
    const put = await stage.call('PUT', path(study, '/event-mapping'), {
      event_battery_mapping: { baseline_arm_1: { battery_id: study.battery, target_day: 3 } },
    });
    expect(put.body).to.include({ status: 'updated' });
    expect((await stage.call('GET', path(study, '/event-mapping'))).body).to.deep.equal({
      study_id: study.id,
      event_battery_mapping: {
        baseline_arm_1: { battery_id: study.battery, target_day: 3, window_before: 0, window_after: 7 },
      },
      enrollment_instrument: 'enroll',
      enrollment_event: 'baseline_arm_1',
    });
    expect(
      (
        await stage.call('PUT', path(study, '/event-mapping'), {
          event_battery_mapping: { x: { battery_id: study.battery } },
        })
      ).status,
    ).to.equal(422);
  });

  it('of two event mappings that are put at once, one is what stays, as a whole', async () => {
    const study = await stage.study({ config: { event_battery_mapping: {} } });
    const mappings = [
      study.mapped({ baseline_arm_1: { target_day: 1 } }),
      study.mapped({ month_3_arm_1: { target_day: 80 } }),
    ];
    const replies = await Promise.all(
      mappings.map((event_battery_mapping) =>
        stage.call('PUT', path(study, '/event-mapping'), { event_battery_mapping }),
      ),
    );
    expect(replies.map(({ status }) => status)).to.deep.equal([200, 200]);
    const { body } = await stage.call<{ event_battery_mapping: object }>('GET', path(study, '/event-mapping'));
    expect(Object.keys(body.event_battery_mapping)).to.have.length(1);
  });

  it('refuses a battery that the study does not have, by path, on every save', async () => {
    const [study, other] = [await stage.study(), await stage.study()];
    const before = (await stage.call('GET', path(study))).body['event_battery_mapping'];
    const foreign = { event_battery_mapping: other.mapped({ month_3_arm_1: { target_day: 90 } }) };
    for (const refused of [
      await study.configure(foreign),
      await study.configure(foreign, '?strict=true'),
      await stage.call('PUT', path(study, '/event-mapping'), foreign),
    ]) {
      expect(refused.status).to.equal(422);
      expect((refused.body.errors as object[])[0]).to.include({
        path: 'event_battery_mapping.month_3_arm_1.battery_id',
        code: 'UNKNOWN_BATTERY',
      });
    }
    expect((await stage.call('GET', path(study))).body['event_battery_mapping']).to.deep.equal(before);
  });

  it('names what the capture system does not know, and refuses it when strict', async () => {
    const study = await stage.study();
    const change = {
      participant_field_mapping: { phone: 'telephone' },
      event_battery_mapping: { month_9_arm_1: { battery_id: study.battery, target_day: 270 } },
    };
    const strict = await study.configure(change, '?strict=true');
    expect(strict.status).to.equal(400);
    expect((strict.body.errors as { code: string }[]).map((e) => e.code)).to.include.members([
      'UNKNOWN_FIELD',
      'UNKNOWN_EVENT',
    ]);
    expect((await stage.call('GET', path(study))).body['participant_field_mapping']).not.to.have.property('phone');
    const lax = await compared(() => study.configure(change));
    expect(lax.status).to.equal(200);
    expect((lax.body['warnings'] as { path: string }[]).map((w) => w.path)).to.include.members([
      'participant_field_mapping.phone',
      'event_battery_mapping.month_9_arm_1',
    ]);
    expect(
      (await study.configure({ api_token: study.token, participant_field_mapping: {} }, '?strict=true')).body,
    ).to.include({ code: 'SAVE_CONNECTION_FIRST' });
  });

  it('saves although the capture system cannot be asked, and says so', async () => {
    const study = await stage.study();
    const { status, body } = await study.configure({
      api_url: 'http://127.0.0.1:9/api/',
      api_token: study.token,
      enrollment_instrument: 'enroll',
    });
    expect(status).to.equal(200);
    expect((body['warnings'] as { code: string }[]).map((w) => w.code)).to.include('MAPPING_NOT_CHECKED');
  });

  it('tests the connection, and stores project and result', async () => {
    const study = await stage.study({ connect: false });
    await study.configure({ api_url: stage.simulator.apiUrl, api_token: study.token });
    await study.enroll('A-01/β', { enrolled: '2026-01-01' }, { trigger: false });
    await study.enroll('A-01/β', { enrolled: '2026-01-01' }, { trigger: false, event: 'month_3_arm_1' });
    const tested = await stage.call('POST', path(study, '/test-connection'));
    expect(tested.body).to.deep.equal({
      status: 'connected',
      project_title: 'A study of memory',
      project_id: study.projectId,
      is_longitudinal: true,
      record_count: 1,
    });
    expect((await stage.call('GET', path(study))).body).to.include({
      project_id: study.projectId,
      sync_status: 'active',
    });

    await study.configure({ api_token: 'F'.repeat(32) });
    expect((await stage.call('GET', path(study))).body, 'nobody has tried the new token').to.include({
      sync_status: 'pending',
    });
    const failed = await stage.call('POST', path(study, '/test-connection'));
    expect([failed.status, failed.body['detail']]).to.satisfy(
      ([status, detail]: [number, string]) =>
        status === 400 && detail.startsWith('Connection failed: ') && !detail.includes('FFFF'),
    );
    const status = (await stage.call('GET', `/api/datacapture/status/${study.id}`)).body;
    expect(status).to.deep.include({ sync_status: 'error', pushes: { pending: 0, synced: 0, failed: 0 } });
    expect(status['breaker']).to.deep.include({ state: 'closed', consecutive_failures: 0 });
    expect(status['sync_error_message']).to.be.a('string');
    await study.configure({ api_token: study.token });
    await stage.call('POST', path(study, '/test-connection'));
    expect((await stage.call('GET', `/api/datacapture/status/${study.id}`)).body).to.include({
      sync_status: 'active',
      sync_error_message: null,
    });
  });

  it('answers instruments and events of the capture system, none for a classic project', async () => {
    const study = await stage.study();
    expect((await stage.call('GET', path(study, '/instruments'))).body).to.deep.equal({
      instruments: [
        { instrument_name: 'enroll', instrument_label: 'Enrollment' },
        { instrument_name: 'cognition', instrument_label: 'Cognition' },
      ],
    });
    const { events } = (await stage.call<{ events: Record<string, unknown>[] }>('GET', path(study, '/events'))).body;
    expect(events[1]).to.include({ unique_event_name: 'month_3_arm_1', day_offset: 90, offset_min: 7, offset_max: 14 });
    const classic = await stage.study({ project: { arms: [], events: [] } });
    expect((await stage.call('GET', path(classic, '/events'))).body).to.deep.equal({ events: [] });
    stage.simulator.control.setFaults({ project_id: Number(study.projectId), html: true });
    const down = await stage.call('GET', path(study, '/instruments'));
    expect([down.status, down.body['detail']]).to.deep.equal([
      400,
      'Connection failed: The capture system answered with a web page instead of JSON (maintenance?).',
    ]);
    stage.simulator.control.clearFaults();
  });

  it('a capture system that is slow is told of as such, within the time that a request waits', async () => {
    const study = await stage.study();
    stage.simulator.control.setFaults({ project_id: Number(study.projectId), latency_ms: 20_000 });
    const slow = await stage.call('POST', path(study, '/test-connection'));
    expect([slow.status, slow.body['error_type'], slow.body['detail']]).to.deep.equal([
      400,
      'timeout',
      'Connection failed: The capture system did not answer in time.',
    ]);
    stage.simulator.control.clearFaults();
  });

  it('makes visit windows from events, once, and follows their changes', async () => {
    const study = await stage.study();
    const sync = async () => (await stage.call('POST', `/api/studies/${study.id}/datacapture/sync-events`)).body;
    expect(await sync()).to.deep.equal({
      created: 2,
      updated: 0,
      unchanged: 0,
      skipped: [],
      renamed: [],
      missing: [],
    });
    const windows = await stage.sql(
      'select code, name, target_day, window_before, window_after, datacapture_event, is_baseline from visit_windows where study_id = ? order by target_day',
      [study.id],
    );
    expect(windows).to.deep.equal([
      {
        code: 'baseline_arm_1',
        name: 'Baseline',
        target_day: 0,
        window_before: 0,
        window_after: 7,
        datacapture_event: 'baseline_arm_1',
        is_baseline: true,
      },
      {
        code: 'month_3_arm_1',
        name: 'Month 3',
        target_day: 90,
        window_before: 7,
        window_after: 14,
        datacapture_event: 'month_3_arm_1',
        is_baseline: false,
      },
    ]);
    expect(await sync()).to.include({ created: 0, unchanged: 2 });
    stage.simulator.control.project(Number(study.projectId)).design.events[1]!.day_offset = 95;
    expect(await sync()).to.include({ created: 0, updated: 1, unchanged: 1 });
  });

  it('makes visit windows of events without offsets from the days of the event mapping; one with neither is named', async () => {
    const study = await stage.study({ connect: false });
    await study.connect({
      event_battery_mapping: study.mapped({ month_3_arm_1: { target_day: 84, window_before: 5, window_after: 6 } }),
    });
    stage.simulator.control.project(Number(study.projectId)).design.scheduling = false;
    const { body } = await stage.call<{ created: number; skipped: { datacapture_event: string }[] }>(
      'POST',
      `/api/studies/${study.id}/datacapture/sync-events`,
    );
    expect([body.created, body.skipped.map((each) => each.datacapture_event)]).to.deep.equal([1, ['baseline_arm_1']]);
    expect(
      await stage.sql('select code, target_day, window_before, window_after from visit_windows where study_id = ?', [
        study.id,
      ]),
    ).to.deep.equal([{ code: 'month_3_arm_1', target_day: 84, window_before: 5, window_after: 6 }]);
  });

  it('has an ETag, which a trigger does not change, and honours If-Match', async () => {
    const study = await stage.study();
    const change = (suffix: string, method: string, tag: string, body: Record<string, unknown>) =>
      fetch(`${stage.run.api}${path(study, suffix)}`, {
        method,
        body: JSON.stringify(body),
        headers: { 'content-type': 'application/json', 'if-match': tag, authorization: `Bearer ${stage.token}` },
      });
    const tagOf = async (suffix = '') => (await stage.call('GET', path(study, suffix))).headers.get('etag')!;
    const first = await tagOf();
    expect(first)
      .to.match(/^".+"$/)
      .and.equal(await tagOf('/event-mapping'));
    await study.enroll('e', { enrolled: '2026-01-15' });
    await study.settled(1);
    expect(await tagOf()).to.equal(first);
    expect((await change('', 'PATCH', '"another"', { webhook_enabled: false })).status).to.equal(409);
    const changed = await change('', 'PATCH', first, { webhook_enabled: false });
    expect([changed.status, changed.headers.get('etag')]).to.deep.equal([200, await tagOf()]);
    const mapping = { event_battery_mapping: { baseline_arm_1: { battery_id: study.battery, target_day: 1 } } };
    const stale = await change('/event-mapping', 'PUT', first, mapping);
    expect([stale.status, ((await stale.json()) as { code: string }).code]).to.deep.equal([409, 'STALE']);
    expect((await change('/event-mapping', 'PUT', changed.headers.get('etag')!, mapping)).status).to.equal(200);
    expect(await tagOf()).to.not.equal(changed.headers.get('etag'));
  });

  it('a token that no longer decrypts is a clear status, not a crash', async () => {
    const study = await stage.study();
    await stage.sql(
      `update datacapture_configs set api_token_encrypted = 'v1:0123456789ab:AAAAAAAAAAAAAAAA:AAAAAAAAAAAAAAAAAAAAAA:AAAA', webhook_secret_encrypted = null where study_id = ?`,
      [study.id],
    );
    const tested = await stage.call('POST', path(study, '/test-connection'));
    expect([tested.status, tested.body['error_type']]).to.deep.equal([400, 'configuration']);
    expect(tested.body['detail']).to.contain('DATACAPTURE_ENCRYPTION_KEY');
    expect((await stage.call('GET', `/api/datacapture/status/${study.id}`)).body['sync_error_message']).to.contain(
      'another key',
    );
  });

  it('a webhook secret that no longer decrypts refuses with 503, stores nothing and says so', async () => {
    const study = await stage.study();
    await stage.sql(
      `update datacapture_configs set webhook_secret_encrypted = 'v1:0123456789ab:AAAAAAAAAAAAAAAA:AAAAAAAAAAAAAAAAAAAAAA:AAAA' where study_id = ?`,
      [study.id],
    );
    expect((await study.trigger({ record: '1' })).body).to.include({ code: 'SECRET_UNREADABLE' });
    expect((await stage.call('GET', `/api/datacapture/status/${study.id}`)).body).to.include({ sync_status: 'error' });
    expect(await study.events()).to.deep.equal([]);
  });

  it('is read by all roles of the study, configured by some, hidden from others', async () => {
    const [study, other] = [await stage.study(), await stage.study({ connect: false })];
    for (const [role, may] of [
      ['researcher', true],
      ['data_manager', true],
      ['coordinator', false],
      ['investigator', false],
    ] as const) {
      const { token } = await stage.user(role, [study.id]);
      expect((await stage.call('GET', path(study), undefined, token)).status, `${role} reads`).to.equal(200);
      expect(
        (await stage.call('PATCH', path(study), { poll_interval_minutes: 30 }, token)).status,
        `${role} configures`,
      ).to.equal(may ? 200 : 403);
      expect(
        (await stage.call('POST', path(study, '/test-connection'), undefined, token)).status,
        `${role} tests`,
      ).to.equal(may ? 200 : 403);
      expect((await stage.call('GET', path(other), undefined, token)).status, `${role} elsewhere`).to.equal(404);
    }
  });
});
