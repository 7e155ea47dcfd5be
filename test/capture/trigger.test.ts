import { createHmac } from 'node:crypto';
import { request } from 'node:http';
import { expect } from 'chai';
import { datacaptureTriggerId } from '../../workflows/contract.js';
import { until } from '../support/service.js';
import { temporalOf } from '../support/temporal.js';
import { Stage } from './support.js';
import type { CaptureStudy } from './support.js';

/** The answer to a body that is announced as so long; sending all of it would only race with the refusal. */
function announced(url: string, length: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = request(
      url,
      { method: 'POST', headers: { 'content-type': 'application/x-www-form-urlencoded', 'content-length': length } },
      (response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
        sent.destroy();
      },
    );
    sent.on('error', reject);
    sent.write('x=');
  });
}

describe('trigger webhook: from the capture system to a schedule', function () {
  let stage: Stage;
  let study: CaptureStudy;
  before(async function () {
    this.timeout(240_000);
    stage = await Stage.set({ polls: false });
    study = await stage.study();
  });
  after(() => stage?.clear());

  const fetches = () => stage.simulator.control.calls().filter((c) => c.project_id === Number(study.projectId)).length;

  describe('what is accepted', () => {
    it('names every missing field with 400 and stores nothing', async () => {
      const reply = await study.trigger({}, { body: 'instrument=enroll' });
      expect(reply.status).to.equal(400);
      expect(reply.body.detail).to.contain('project_id').and.to.contain('record').and.not.to.contain('instrument');
    });
    it('accepts an unknown project and does nothing', async () => {
      const reply = await study.trigger({ project_id: 'nobody', record: '1' }, { headers: {} });
      expect([reply.status, reply.body]).to.deep.equal([200, { status: 'accepted', record: '1' }]);
      expect(await stage.sql('select 1 from webhook_events where project_id = ?', ['nobody'])).to.deep.equal([]);
    });
    it('refuses no, a wrong, and an old signature with 401 and stores nothing', async () => {
      const before = (await study.events()).length;
      expect((await study.trigger({ record: '1' }, { headers: {} })).status).to.equal(401);
      expect((await study.trigger({ record: '1' }, { secret: 'wrong' })).status).to.equal(401);
      const raw = `project_id=${study.projectId}&instrument=enroll&record=1`,
        at = Math.floor(Date.now() / 1000) - 400;
      const signature = `sha256=${createHmac('sha256', study.secret).update(`${at}.${raw}`).digest('hex')}`;
      expect(
        (
          await study.trigger(
            {},
            { body: raw, headers: { 'x-datacapture-timestamp': String(at), 'x-datacapture-signature': signature } },
          )
        ).status,
      ).to.equal(401);
      const url = createHmac('sha256', study.secret).update(`det:${study.projectId}`).digest('hex');
      expect(
        (await study.trigger({ record: '1' }, { headers: {}, query: `?signature=${url}` })).status,
        'a URL signature where the configuration says header',
      ).to.equal(401);
      expect((await study.events()).length).to.equal(before);
    });
    it('refuses other content types with 415 and large bodies with 413', async () => {
      expect(
        (await study.trigger({}, { body: '{}', headers: { 'content-type': 'application/json' } })).status,
      ).to.equal(415);
      expect(await announced(`${stage.run.api}/api/webhooks/datacapture/det`, 6 * 1024 * 1024)).to.equal(413);
    });
    it('ignores another instrument without asking the capture system', async () => {
      const before = fetches();
      expect((await study.trigger({ record: 'other', instrument: 'cognition' })).status).to.equal(200);
      const event = await until(async () =>
        (await study.events('&record=other')).find((e) => e.status === 'processed'),
      );
      expect(event).to.include({ outcome: 'ignored', error: null });
      expect(fetches()).to.equal(before);
    });
    it('takes multipart', async () => {
      const body = new FormData();
      for (const [name, value] of Object.entries({
        project_id: study.projectId,
        record: 'part',
        instrument: 'cognition',
      }))
        body.set(name, value);
      expect((await study.trigger({}, { body })).body).to.deep.equal({ status: 'accepted', record: 'part' });
    });
    it('takes the signature in the URL where the configuration says so', async () => {
      const other = await stage.study({ config: { webhook_auth: 'url' } });
      const signature = createHmac('sha256', other.secret).update(`det:${other.projectId}`).digest('hex');
      expect(
        (await other.trigger({ record: '1', instrument: 'x' }, { headers: {}, query: `?signature=${signature}` }))
          .status,
      ).to.equal(200);
      expect(
        (await other.trigger({ record: '1', instrument: 'x' }, { headers: {}, query: '?signature=00' })).status,
      ).to.equal(401);
    });
    it('follows the configuration at once: secret, switch, integration', async () => {
      const other = await stage.study();
      const send = async (secret?: string) =>
        (await other.trigger({ record: '1', instrument: 'x' }, secret ? { secret } : {})).status;
      expect(await send()).to.equal(200);
      await other.configure({ webhook_secret: 'another' });
      expect([await send(), await send('another')]).to.deep.equal([401, 200]);
      await other.configure({ webhook_secret: null });
      expect(await send('another'), 'a project without a secret').to.equal(401);
      await other.configure({ webhook_enabled: false });
      expect(await send('wrong'), 'the webhook is off').to.equal(200);
      await other.configure({ webhook_enabled: true, webhook_secret: 'another' });
      await stage.call('PATCH', `/api/studies/${other.id}`, { datacapture_enabled: false });
      expect(await send('wrong'), 'the integration is off').to.equal(200);
      expect((await other.events()).length).to.equal(2);
    });
  });

  describe('what is made of it', () => {
    it('makes participant, anchor and schedule version 1, with a record id of any kind', async () => {
      const record = 'A-01/β +&=%';
      const fresh = await stage.study();
      // Loaded unchecked: real records hold values older than the rules of their fields.
      stage.simulator.control.load(Number(fresh.projectId), [
        {
          subject_id: record,
          redcap_event_name: 'baseline_arm_1',
          enrolled: '2026-01-15',
          lang: 'de',
          mail: 'someone@example.org',
          dob: '1950-02-30',
          arms___b: '1',
        },
      ]);
      await stage.simulator.control.sendTriggers(Number(fresh.projectId), {
        record,
        instrument: 'enroll',
        event: 'baseline_arm_1',
      });
      const [event] = await fresh.settled(1);
      expect(event).to.include({ record, status: 'processed', outcome: 'created', error: null });
      const [participant] = await fresh.participants();
      expect(participant).to.include({
        id: event!.participant_id,
        external_id: record,
        participant_code: record,
        enrollment_date: '2026-01-15',
        preferred_language: 'de',
        email: 'someone@example.org',
        date_of_birth: null,
        arm: 'b',
      });
      expect(await fresh.anchor(participant!.id)).to.include({
        status: 'finalized',
        source_type: 'form_item',
        enrollment_date_value: '2026-01-15',
      });
      const versions = await fresh.versions(participant!.id);
      expect(versions).to.have.length(1);
      expect(versions[0]).to.include({
        version_number: 1,
        is_current: true,
        status: 'active',
        anchor_date_used: '2026-01-15',
      });
      const visits = await stage.sql<{
        target_date: string;
        window_open: string;
        window_close: string;
        datacapture_event: string;
      }>('select * from scheduled_visits where participant_id = ? order by target_date', [participant!.id]);
      expect(visits.map((v) => [v.datacapture_event, v.target_date, v.window_open, v.window_close])).to.deep.equal([
        ['baseline_arm_1', '2026-01-15', '2026-01-15', '2026-01-22'],
        ['month_3_arm_1', '2026-04-15', '2026-04-08', '2026-04-29'],
      ]);
    });

    it('keeps no name, mail or birth date among the facts', async () => {
      const fresh = await stage.study();
      await fresh.enroll('f', { enrolled: '2026-01-15', mail: 'someone@example.org', dob: '1950-02-03' });
      await fresh.settled(1);
      const [form] = await stage.sql<{ items: unknown; origin: string; form_oid: string; status: string }>(
        'select * from form_instances where study_id = ?',
        [fresh.id],
      );
      expect(form).to.deep.include({
        items: { enrolled: '2026-01-15' },
        origin: 'datacapture',
        form_oid: 'enroll',
        status: 'complete',
      });
      const audit = await stage.sql('select audit_metadata from audit_log where study_id = ?', [fresh.id]);
      expect(JSON.stringify(audit)).not.to.contain('someone@').and.not.to.contain('1950-02');
    });

    it('makes schedule version 1 from today where there is no date, the anchor staying unset', async () => {
      const fresh = await stage.study();
      await fresh.enroll('0007', { enrolled: 'UNK', lang: 'NASK' });
      const [event] = await fresh.settled(1);
      expect(event).to.include({ status: 'processed', outcome: 'created' });
      const [participant] = await fresh.participants();
      expect(participant).to.include({ external_id: '0007', enrollment_date: null, preferred_language: null });
      expect((await fresh.anchor(participant!.id))['status']).to.equal('unset');
      expect((await fresh.versions(participant!.id)).map((v) => v.version_number)).to.deep.equal([1]);
    });

    it('updates with values that are there, and leaves what is empty', async () => {
      const fresh = await stage.study();
      await fresh.enroll('u', { enrolled: '2026-01-15', lang: 'de', mail: 'one@example.org' });
      await fresh.settled(1);
      await fresh.enroll('u', { lang: 'fr', mail: '' });
      const events = await fresh.settled(2);
      expect(events.map((e) => e.outcome)).to.deep.equal(['created', 'updated']);
      expect((await fresh.participants()).map((p) => [p.preferred_language, p.email])).to.deep.equal([
        ['fr', 'one@example.org'],
      ]);
    });

    it('moves nothing on a finalized anchor: override_required, and coordinators are told', async () => {
      const fresh = await stage.study();
      const coordinator = await stage.user('coordinator', [fresh.id]);
      await fresh.enroll('o', { enrolled: '2026-01-15', lang: 'de' });
      await fresh.settled(1);
      await fresh.enroll('o', { enrolled: '2026-02-20', lang: 'fr' });
      const events = await fresh.settled(2);
      expect(events[1]).to.include({ status: 'processed', outcome: 'override_required' });
      const [participant] = await fresh.participants();
      expect(participant).to.include({ enrollment_date: '2026-01-15', preferred_language: 'fr' });
      expect(await fresh.versions(participant!.id)).to.have.length(1);
      const told = await stage.sql(
        'select user_id, participant_id, channel from notifications where study_id = ? and kind = ?',
        [fresh.id, 'trigger_override_required'],
      );
      expect(told).to.deep.equal([{ user_id: coordinator.id, participant_id: participant!.id, channel: 'email' }]);
      const [mail] = await until(
        async () => {
          const mails = await stage.mailsTo(coordinator.email);
          return mails.length === 1 ? mails : undefined;
        },
        { what: 'the mail to the coordinator' },
      );
      expect(mail!.text).to.include('/console/inbox?kind=override_required');
      await until(
        async () =>
          (
            await stage.sql(
              `select 1 from notifications where study_id = ? and kind = 'trigger_override_required' and status = 'sent'`,
              [fresh.id],
            )
          ).length === 1,
        { what: 'the message to be sent' },
      );
    });

    it('a date that was overridden: what changes something else is updated, another date is override_required again', async () => {
      const fresh = await stage.study();
      await fresh.enroll('o', { enrolled: '2026-01-15', lang: 'de' });
      await fresh.settled(1);
      const path = await fresh.anchorPath();
      expect(
        (await stage.call('POST', `${path}/override`, { new_enrollment_date: '2026-01-20', reason: 'misread' })).status,
      ).to.equal(200);
      const outcomes: [values: Record<string, string>, outcome: string][] = [
        [{ lang: 'fr' }, 'updated'],
        [{ enrolled: '2026-02-01' }, 'override_required'],
        [{ lang: 'it' }, 'updated'],
        [{ enrolled: '2026-01-20' }, 'updated'],
      ];
      for (const [at, [values, outcome]] of outcomes.entries()) {
        await fresh.enroll('o', values);
        expect((await fresh.settled(at + 2)).at(-1), JSON.stringify(values)).to.include({
          status: 'processed',
          outcome,
        });
      }
      expect((await stage.call(`GET`, path)).body).to.include({ enrollment_date: '2026-01-20', is_override: true });
      expect(
        await stage.sql(`select 1 from notifications where study_id = ? and kind = 'trigger_override_required'`, [
          fresh.id,
        ]),
        'nobody coordinates',
      ).to.deep.equal([]);
    });

    it('another date than that of a finalized anchor is override_required, also where a higher source gave the anchor its date', async () => {
      const fresh = await stage.study({ study: { consent_mode: 'econsent' } });
      await fresh.enroll('c', { enrolled: '2026-01-10' });
      await fresh.settled(1);
      const path = await fresh.anchorPath();
      expect(
        (
          await stage.call('POST', path.replace('/anchor-date', '/consents'), {
            status: 'signed',
            signed_at: '2026-01-15T09:00:00Z',
          })
        ).status,
      ).to.equal(201);
      await until(async () => (await stage.call('GET', path)).body['status'] === 'finalized', {
        what: 'the anchor to be final',
      });
      await fresh.enroll('c', { enrolled: '2026-02-20' });
      expect((await fresh.settled(2)).at(-1)).to.include({ outcome: 'override_required' });
      expect((await stage.call('GET', path)).body).to.include({
        enrollment_date: '2026-01-15',
        source_type: 'consent_workflow',
      });
    });

    it('after a cancel something else makes no schedule, and another date proposes again and makes the next version', async () => {
      const fresh = await stage.study({ study: { consent_mode: 'econsent' } });
      await fresh.enroll('k', { enrolled: '2026-01-10', lang: 'de' });
      await fresh.settled(1);
      const path = await fresh.anchorPath();
      const [participant] = await fresh.participants();
      expect((await stage.call('POST', `${path}/cancel`, {})).status).to.equal(200);
      await fresh.enroll('k', { lang: 'fr' });
      expect((await fresh.settled(2)).at(-1)).to.include({ outcome: 'updated' });
      expect((await fresh.versions(participant!.id)).map((v) => [v.version_number, v.is_current])).to.deep.equal([
        [1, false],
      ]);
      expect((await stage.call('POST', `${path}/evaluate`)).body['result']).to.equal('none');
      await fresh.enroll('k', { enrolled: '2026-01-12' });
      expect((await fresh.settled(3)).at(-1)).to.include({ outcome: 'updated' });
      expect((await stage.call('GET', path)).body).to.include({ status: 'provisional', enrollment_date: '2026-01-12' });
      expect(
        (await fresh.versions(participant!.id)).map((v) => [v.version_number, v.is_current, v.anchor_date_used]),
      ).to.deep.equal([
        [1, false, '2026-01-10'],
        [2, true, '2026-01-12'],
      ]);
    });

    it('a participant that was enrolled by hand gets a schedule by a date, not by a trigger of anything else', async () => {
      const fresh = await stage.study({ study: { consent_mode: 'econsent' } });
      const made = await stage.call<{ id: string }>('POST', `/api/studies/${fresh.id}/participants`, {
        participant_code: 'by hand',
        external_id: '77',
      });
      await fresh.enroll('77', { lang: 'fr' });
      expect((await fresh.settled(1))[0]).to.include({ outcome: 'updated', participant_id: made.body.id });
      expect(await fresh.versions(made.body.id)).to.deep.equal([]);
      await fresh.enroll('77', { enrolled: '2026-01-12' });
      await fresh.settled(2);
      expect((await fresh.versions(made.body.id)).map((v) => v.anchor_date_used)).to.deep.equal(['2026-01-12']);
    });

    it('is carried out although the capture system does not describe its project', async () => {
      const fresh = await stage.study();
      stage.simulator.control.setFaults({ project_id: Number(fresh.projectId), content: ['project'], status: 500 });
      await fresh.enroll('p', { enrolled: '2026-01-15' });
      expect((await fresh.settled(1))[0]).to.include({ status: 'processed', outcome: 'created' });
      stage.simulator.control.clearFaults();
    });

    it('puts a data access group to the site of that code', async () => {
      const fresh = await stage.study();
      const site = await stage.call<{ id: string }>('POST', `/api/studies/${fresh.id}/sites`, {
        site_code: 'Site North',
        name: 'North',
      });
      await fresh.enroll('g', { enrolled: '2026-01-15' }, { data_access_group: 'site_north' });
      await fresh.settled(1);
      expect((await fresh.participants())[0]!.site_id).to.equal(site.body.id);
    });

    it('tells why a date is not taken', async () => {
      const fresh = await stage.study();
      await fresh.enroll('v', { enrolled: '2019-01-01' });
      const [event] = await fresh.settled(1);
      expect(event).to.include({
        status: 'processed',
        outcome: 'created',
        error: 'The enrollment date was not taken: BEFORE_STUDY_START.',
      });
      expect(event!.warnings.map(({ code }) => code)).to.deep.equal(['DATE_NOT_TAKEN']);
    });
  });

  describe('duplicates and order', () => {
    it('the same bytes and nothing changed: a duplicate, nothing made twice', async () => {
      const fresh = await stage.study();
      await fresh.enroll('d', { enrolled: '2026-01-15' });
      const [first] = await fresh.settled(1);
      await stage.simulator.control.sendTriggers(Number(fresh.projectId), {
        record: 'd',
        instrument: 'enroll',
        event: 'baseline_arm_1',
      });
      const [, second] = await fresh.settled(2);
      expect(second).to.include({ status: 'duplicate', duplicate_of_id: first!.id, error: null });
      const [participant, ...others] = await fresh.participants();
      expect(others).to.deep.equal([]);
      expect(await fresh.versions(participant!.id)).to.have.length(1);
    });

    it('the same bytes with other data behind them are not lost', async () => {
      const fresh = await stage.study();
      await fresh.enroll('s', { enrolled: '2026-01-15', lang: 'de' });
      await fresh.settled(1);
      await fresh.enroll('s', { lang: 'fr' });
      const events = await fresh.settled(2);
      expect(events.map((e) => e.status)).to.deep.equal(['processed', 'processed']);
    });

    it('twenty at once: one processed, nineteen duplicates, one participant, one version', async () => {
      const fresh = await stage.study();
      await fresh.enroll('t', { enrolled: '2026-01-15' }, { trigger: false });
      await stage.simulator.control.sendTriggers(Number(fresh.projectId), {
        record: 't',
        instrument: 'enroll',
        event: 'baseline_arm_1',
        times: 20,
      });
      const events = await fresh.settled(20);
      const processed = events.filter((e) => e.status === 'processed');
      expect(processed).to.have.length(1);
      expect(events.filter((e) => e.status === 'duplicate' && e.duplicate_of_id === processed[0]!.id)).to.have.length(
        19,
      );
      const [participant, ...others] = await fresh.participants();
      expect(others).to.deep.equal([]);
      expect(await fresh.versions(participant!.id)).to.have.length(1);
    });

    it('several saves of one record at once end in the newest state', async () => {
      const fresh = await stage.study();
      await Promise.all(
        ['de', 'fr', 'it', 'es', 'pt'].map((lang) => fresh.enroll('n', { enrolled: '2026-01-15', lang })),
      );
      await fresh.settled(5);
      const held = stage.simulator.control.record(Number(fresh.projectId), 'n')?.rows[0]?.values['lang'];
      expect((await fresh.participants()).map((p) => p.preferred_language)).to.deep.equal([held]);
    });
  });

  describe('what fails', () => {
    const failed = async (fresh: CaptureStudy, count = 1) => (await fresh.settled(count)).at(-1)!;

    it('a record that is not there', async () => {
      const fresh = await stage.study();
      await fresh.trigger({ record: 'gone' });
      const event = await failed(fresh);
      expect(event).to.include({ status: 'failed', participant_id: null });
      expect(event.error).to.match(/^RECORD_NOT_FOUND: /);
    });
    it('a code that another record has', async () => {
      const fresh = await stage.study({ config: { participant_field_mapping: { participant_code: 'code' } } });
      await fresh.enroll('1', { code: 'P-1' });
      await fresh.settled(1);
      await fresh.enroll('2', { code: 'P-1' });
      expect((await failed(fresh, 2)).error).to.match(/^PARTICIPANT_CODE_TAKEN: /);
      expect(await fresh.participants()).to.have.length(1);
    });
    it('a token without rights: at once, with its reason and no token; a retry after the mending succeeds', async () => {
      const fresh = await stage.study();
      await fresh.configure({ api_token: 'F'.repeat(32) });
      await fresh.enroll('r', { enrolled: '2026-01-15' });
      const event = await failed(fresh);
      expect(event.error)
        .to.match(/^rejected: .*permission/i)
        .and.not.to.contain('FFFF');
      expect((await stage.call('GET', `/api/datacapture/status/${fresh.id}`)).body).to.include({
        sync_status: 'error',
      });

      await fresh.configure({ api_token: fresh.token });
      const retried = await stage.call<{ status: string; attempt: number }>(
        'POST',
        `/api/webhook-events/${event.id}/retry`,
      );
      expect([retried.status, retried.body.status, retried.body.attempt]).to.deep.equal([202, 'received', 1]);
      const again = await until(async () => (await fresh.events()).find((e) => e.status === 'processed'), {});
      expect(again).to.include({ id: event.id, outcome: 'created', error: null });
      expect((await stage.call('POST', `/api/webhook-events/${event.id}/retry`)).status, 'only what failed').to.equal(
        409,
      );
    });
    it('a retry that comes before the failed run has closed begins when that is over', async () => {
      const fresh = await stage.study();
      await fresh.configure({ api_token: 'F'.repeat(32) });
      await fresh.enroll('r', { enrolled: '2026-01-15' });
      const event = await failed(fresh);
      await fresh.configure({ api_token: fresh.token });
      const temporal = await temporalOf(stage.run);
      try {
        // In place of the run that closes: one that nobody works on.
        const workflowId = datacaptureTriggerId(event.id);
        await until(
          async () => (await temporal.client.workflow.getHandle(workflowId).describe()).status.name !== 'RUNNING',
          { what: 'the failed run to be over' },
        );
        const open = await temporal.client.workflow.start('datacaptureTrigger', {
          workflowId,
          taskQueue: `nobody-${event.id}`,
          args: [],
        });
        expect((await stage.call('POST', `/api/webhook-events/${event.id}/retry`)).status).to.equal(202);
        const waits = () =>
          stage.sql<{ attempts: number }>('select attempts from outbox where topic = ? and subject = ?', [
            'trigger',
            event.id,
          ]);
        await until(async () => ((await waits())[0]?.attempts ?? 0) > 0, { what: 'the relay to have tried' });
        await open.terminate('over');
      } finally {
        await temporal.close();
      }
      expect(await until(async () => (await fresh.events()).find((e) => e.status === 'processed'))).to.include({
        id: event.id,
        outcome: 'created',
      });
    });
    it('a capture system on a bad day is waited for', async () => {
      const fresh = await stage.study();
      const project_id = Number(fresh.projectId),
        content = ['record', 'record:export'];
      stage.simulator.control.setFaults([
        { project_id, content, html: true, times: 1 },
        { project_id, content, status: 503, times: 1 },
      ]);
      await fresh.enroll('w', { enrolled: '2026-01-15' });
      expect(await failed(fresh)).to.include({ status: 'processed', outcome: 'created', error: null });
      stage.simulator.control.clearFaults();
    });
  });

  it('lists triggers to those who may see the study, with filters and paging, and lets only some retry', async () => {
    const fresh = await stage.study();
    for (const record of ['1', '2', '3']) await fresh.trigger({ record, instrument: 'cognition' });
    await fresh.settled(3);
    const path = `/api/studies/${fresh.id}/webhook-events`;
    const page = await stage.call<{ items: { record: string }[]; total: number }>('GET', `${path}?skip=1&limit=1`);
    expect([page.body.total, page.body.items.map((e) => e.record)]).to.deep.equal([3, ['2']]);
    expect((await stage.call<{ total: number }>('GET', `${path}?status=failed`)).body.total).to.equal(0);
    expect((await stage.call<{ total: number }>('GET', `${path}?record=3`)).body.total).to.equal(1);
    const [insider, outsider] = [
      await stage.user('investigator', [fresh.id]),
      await stage.user('researcher', [study.id]),
    ];
    expect((await stage.call('GET', path, undefined, insider.token)).status).to.equal(200);
    expect((await stage.call('GET', path, undefined, outsider.token)).status).to.equal(404);
    const [event] = await fresh.events();
    expect(
      (await stage.call('POST', `/api/webhook-events/${event!.id}/retry`, undefined, insider.token)).status,
    ).to.equal(403);
    expect(
      (await stage.call('POST', `/api/webhook-events/${event!.id}/retry`, undefined, outsider.token)).status,
    ).to.equal(404);
  });
});
