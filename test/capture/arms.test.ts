import { expect } from 'chai';
import { Http } from '../support/http.js';
import { until } from '../support/service.js';
import { temporalOf } from '../support/temporal.js';
import type { TemporalAccess } from '../support/temporal.js';
import { compared } from './compared.js';
import { polled } from './polling.js';
import { Stage, synced } from './support.js';
import type { CaptureStudy } from './support.js';

const FORMS = ['enroll', 'cognition'];
const event = (event_name: string, arm_num: number, day_offset: number) => ({
  event_name,
  arm_num,
  day_offset,
  offset_min: 0,
  offset_max: 7,
  forms: FORMS,
});
const PROJECT = {
  arms: [
    { arm_num: 1, name: 'Drug' },
    { arm_num: 2, name: 'Placebo' },
  ],
  events: [event('Baseline', 1, 0), event('Later', 1, 30), event('Baseline', 2, 0), event('Later', 2, 60)],
};
const EVENTS = {
  baseline_arm_1: { target_day: 0 },
  later_arm_1: { target_day: 30 },
  baseline_arm_2: { target_day: 0 },
  later_arm_2: { target_day: 60 },
};
const RESULTS = { stroop: { datacapture_instrument: 'cognition', fields: { mean_rt: 'rt_mean' } } };
const yesterday = () => new Date(Date.now() - 86_400_000).toISOString().slice(0, 10);

describe('a project of several arms', function () {
  let stage: Stage;
  let temporal: TemporalAccess;
  before(async function () {
    this.timeout(240_000);
    stage = await Stage.set();
    temporal = await temporalOf(stage.run);
  });
  after(async () => {
    await temporal?.close();
    await stage?.clear();
  });

  async function connected(config: Record<string, unknown> = {}): Promise<CaptureStudy> {
    const study = await stage.study({ project: PROJECT, connect: false });
    await study.connect({
      enrollment_event: 'baseline_arm_1, baseline_arm_2',
      event_battery_mapping: study.mapped(EVENTS),
      data_field_mapping: RESULTS,
      ...config,
    });
    return study;
  }
  const eventsOf = async (study: CaptureStudy): Promise<Record<string, string[]>> => {
    const rows = await stage.sql<{ record: string; event: string }>(
      `select p.external_id as record, v.datacapture_event as event from scheduled_visits v join participants p on p.id = v.participant_id
        where v.study_id = ? and v.status not in ('superseded', 'cancelled') order by 1, 2`,
      [study.id],
    );
    const of: Record<string, string[]> = {};
    for (const { record, event } of rows) (of[record] ??= []).push(event);
    return of;
  };
  const OWN = { one: ['baseline_arm_1', 'later_arm_1'], two: ['baseline_arm_2', 'later_arm_2'] };

  it('still enrolls in one arm, by trigger and by sync, when the events of the other are deleted there', async () => {
    const study = await connected({ poll_interval_minutes: 0 });
    for (const name of ['baseline_arm_2', 'later_arm_2'])
      stage.simulator.control.deleteEvent(Number(study.projectId), name);
    await study.enroll('one', { enrolled: yesterday() }, { event: 'baseline_arm_1' });
    expect((await study.settled(1))[0]).to.include({ status: 'processed', outcome: 'created', error: null });
    await study.enroll('two', { enrolled: yesterday() }, { event: 'baseline_arm_1', trigger: false });
    expect((await synced(study)).progress).to.include({ created: 1, failed: 0 });
    await study.enroll('one', { lang: 'de' }, { event: 'baseline_arm_1' });
    expect((await study.settled(2))[1]).to.include({ status: 'processed', outcome: 'updated', error: null });
  });

  for (const enrollment_event of ['baseline_arm_1, baseline_arm_2', null]) {
    for (const windows of [false, true]) {
      it(`gives each participant the visits of its own arm (enrollment_event ${enrollment_event}, ${windows ? 'windows' : 'mapping'}), by trigger and by sync`, async () => {
        const study = await connected({ enrollment_event });
        if (windows) await stage.call('POST', `/api/studies/${study.id}/datacapture/sync-events`);
        await study.enroll('one', { enrolled: yesterday() }, { event: 'baseline_arm_1' });
        await study.settled(1);
        await study.enroll('two', { enrolled: yesterday() }, { event: 'baseline_arm_2', trigger: false });
        expect((await synced(study)).progress).to.include({ created: 1 });
        expect(await eventsOf(study)).to.deep.equal(OWN);
      });
    }
  }

  it('of which one has visits and nobody enrolls there is named when the mapping is saved', async () => {
    const study = await connected();
    const warningsOf = async (change: Record<string, unknown>) => {
      const saved = await compared(() => study.configure(change));
      expect(saved.status).to.equal(200);
      return ((saved.body['warnings'] ?? []) as { code: string; path: string; message: string }[]).filter(
        ({ code }) => code === 'ARM_NOT_ENROLLED',
      );
    };
    const [warning, ...others] = await warningsOf({ enrollment_event: 'baseline_arm_1' });
    expect(others).to.deep.equal([]);
    expect(warning).to.include({ path: 'enrollment_event' });
    expect(warning!.message).to.include('arm 2').and.to.include('baseline_arm_2').and.to.include('later_arm_2');
    const refused = await study.configure({ enrollment_event: 'later_arm_2' }, '?strict=true');
    expect([refused.status, refused.body['code']]).to.deep.equal([400, 'UNKNOWN_NAMES']);
    for (const enrollment_event of ['baseline_arm_1,baseline_arm_2', null])
      expect(await warningsOf({ enrollment_event }), String(enrollment_event)).to.deep.equal([]);
    const ofOne = {
      enrollment_event: 'baseline_arm_1',
      event_battery_mapping: { baseline_arm_2: null, later_arm_2: null },
    };
    expect(await warningsOf(ofOne), 'the second arm has no visits').to.deep.equal([]);
  });

  it('of which one has two events that enroll is named when the mapping is saved', async () => {
    const study = await connected();
    const warningsOf = async (enrollment_event: string | null) => {
      const saved = await compared(() => study.configure({ enrollment_event }));
      expect(saved.status).to.equal(200);
      return ((saved.body['warnings'] ?? []) as { code: string; path: string; message: string }[]).filter(
        ({ code }) => code === 'SEVERAL_ENROLLMENT_EVENTS',
      );
    };
    const [warning, ...others] = await warningsOf('baseline_arm_1, baseline_arm_2, later_arm_2');
    expect(others).to.deep.equal([]);
    expect(warning).to.include({ path: 'enrollment_event' });
    expect(warning!.message).to.include('arm 2').and.to.include('"baseline_arm_2", "later_arm_2"');
    for (const named of ['baseline_arm_1, baseline_arm_2', 'baseline_arm_1, baseline_arm_1', 'later_arm_2', null])
      expect(await warningsOf(named), String(named)).to.deep.equal([]);
  });

  it('an arm that the project gets later is none of those who are enrolled already', async () => {
    const study = await stage.study({
      project: { arms: PROJECT.arms.slice(0, 1), events: PROJECT.events.slice(0, 2) },
      connect: false,
    });
    const first = { baseline_arm_1: EVENTS.baseline_arm_1, later_arm_1: EVENTS.later_arm_1 };
    await study.connect({ enrollment_event: null, event_battery_mapping: study.mapped(first) });
    await study.enroll('one', { enrolled: yesterday() }, { event: 'baseline_arm_1' });
    await study.settled(1);
    const { control } = stage.simulator;
    control.project(Number(study.projectId)).design.arms.push(PROJECT.arms[1]!);
    for (const added of PROJECT.events.slice(2))
      control.addEvent(Number(study.projectId), { ...added, custom_event_label: null, repeating: false });
    const second = { baseline_arm_2: EVENTS.baseline_arm_2, later_arm_2: EVENTS.later_arm_2 };
    await study.configure({ event_battery_mapping: study.mapped(second) });
    await study.enroll('two', { enrolled: yesterday() }, { event: 'baseline_arm_2' });
    await study.settled(2);
    await until(
      async () => {
        const running = await stage.sql('select id from outbox where study_id = ?', [study.id]);
        return running.length === 0 || undefined;
      },
      { what: 'the change of the mapping to be delivered' },
    );
    await until(async () => expect(await eventsOf(study)).to.deep.equal(OWN), { what: 'each arm to have its visits' });
    const [one] = await study.participants();
    expect(await study.versions(one!.id)).to.have.length(1);
  });

  it('whose events a token may read only later places those who were enrolled before, by the polls that follow', async () => {
    const study = await stage.study({ project: PROJECT, connect: false });
    stage.simulator.control.setFaults([{ project_id: Number(study.projectId), content: ['event'], status: 403 }]);
    await study.connect({ enrollment_event: null, event_battery_mapping: study.mapped(EVENTS) });
    await study.enroll('one', { enrolled: yesterday() }, { event: 'baseline_arm_1' });
    await study.enroll('two', { enrolled: yesterday() }, { event: 'baseline_arm_2' });
    await study.settled(2);
    expect((await polled(temporal, study, 0)).progress).to.include({ total: 2 });
    stage.simulator.control.clearFaults();
    // They have not changed for longer than polls look back.
    const { store } = stage.simulator.control.project(Number(study.projectId));
    for (const record of ['one', 'two']) store.get(record)!.modifiedAt = '2026-01-01 12:00:00';
    expect((await polled(temporal, study, 1)).progress).to.include({ total: 0 });
    expect((await polled(temporal, study, 2)).progress).to.include({ total: 2, updated: 2 });
    await until(async () => expect(await eventsOf(study)).to.deep.equal(OWN), { what: 'each arm to have its visits' });
  });

  it('whose events could not be listed when the mapping was saved: a trigger lists them', async () => {
    const study = await stage.study({ project: PROJECT, connect: false });
    stage.simulator.control.setFaults([{ project_id: Number(study.projectId), content: ['event'], status: 503 }]);
    await study.connect({
      enrollment_event: 'baseline_arm_1,baseline_arm_2',
      event_battery_mapping: study.mapped(EVENTS),
      poll_interval_minutes: 0,
    });
    const called = (status: number) =>
      stage.simulator.control
        .calls(Number(study.projectId))
        .filter((call) => call.content === 'event' && call.status === status);
    await until(() => called(503).length > 0, { what: 'the events to be asked for in vain' });
    stage.simulator.control.clearFaults();
    await study.enroll('two', { enrolled: yesterday() }, { event: 'baseline_arm_2' });
    await study.settled(1);
    await study.enroll('one', { enrolled: yesterday() }, { event: 'baseline_arm_1' });
    await study.settled(2);
    expect(await eventsOf(study)).to.deep.equal(OWN);
    expect(called(200)).to.have.length(1);
  });

  it('a record that changes its arm has the visits of the other one', async () => {
    const study = await connected();
    await study.enroll('two', { enrolled: yesterday() }, { event: 'baseline_arm_1' });
    await study.settled(1);
    stage.simulator.control.deleteRecord(Number(study.projectId), 'two');
    await study.enroll('two', { enrolled: yesterday() }, { event: 'baseline_arm_2' });
    await study.settled(2);
    await until(async () => ((await eventsOf(study))['two'] ?? []).join() === OWN.two.join() || undefined, {
      what: 'the visits of the other arm',
    });
  });

  it('a record that changes its arm, or an event that gets another name, moves nobody whom an override left where they were', async () => {
    const study = await connected();
    const policy = { sources: [{ type: 'manual_entry' }], prerequisites: { require_consent_signed: false } };
    const saved = await stage.call('POST', `/api/studies/${study.id}/config/enrollment-policy`, policy);
    expect(saved.status, JSON.stringify(saved.body)).to.equal(200);
    await study.enroll('one', { enrolled: yesterday() }, { event: 'baseline_arm_1' });
    await study.enroll('two', { enrolled: yesterday() }, { event: 'baseline_arm_1' });
    await study.settled(2);
    const quiet = () =>
      until(
        async () => {
          const [open] = await stage.sql<{ open: number }>(
            `select (select count(*) from outbox where study_id = :id and topic <> 'notification')
               + (select count(*) from open_study_changes where study_id = :id) as open`,
            { id: study.id } as never,
          );
          return Number(open!.open) === 0 || undefined;
        },
        { what: 'the study to be quiet' },
      );
    await quiet();
    const [one] = (await study.participants()).filter(({ external_id }) => external_id === 'one');
    const anchor = `/api/studies/${study.id}/participants/${one!.id}/anchor-date`;
    await until(async () => (await study.anchor(one!.id)).status === 'finalized' || undefined, {
      what: 'the date to be final',
    });
    const moved = await stage.call('POST', `${anchor}/override`, {
      new_enrollment_date: '2024-01-15',
      reason: 'the visits are agreed already',
      regenerate_schedule: false,
    });
    expect(moved.status, JSON.stringify(moved.body)).to.equal(200);
    const days = () =>
      stage.sql<{ id: string; target_date: string }>(
        `select id, target_date::text from scheduled_visits where participant_id = ? and status not in ('superseded', 'cancelled') order by target_date`,
        [one!.id],
      );
    const before = await days();
    stage.simulator.control.deleteRecord(Number(study.projectId), 'two');
    await study.enroll('two', { enrolled: yesterday() }, { event: 'baseline_arm_2' });
    await study.settled(3);
    await until(async () => ((await eventsOf(study))['two'] ?? []).join() === OWN.two.join() || undefined, {
      what: 'the visits of the other arm',
    });
    await quiet();
    expect(await days(), 'after another record changed its arm').to.deep.equal(before);
    stage.simulator.control.renameEvent(Number(study.projectId), 'later_arm_2', 'Second');
    await synced(study);
    await until(async () => (await eventsOf(study))['two']?.includes('second_arm_2') || undefined, {
      what: 'the new name',
    });
    await quiet();
    expect(await days(), 'after an event got another name').to.deep.equal(before);
    expect(await study.versions(one!.id)).to.have.length(1);
  });

  it('a record whose form stands in both arms is of the first, by trigger as by sync', async () => {
    const study = await connected();
    await study.enroll('one', { enrolled: yesterday(), lang: 'de' }, { event: 'baseline_arm_1' });
    await study.settled(1);
    await study.enroll('one', { enrolled: yesterday(), lang: 'fr' }, { event: 'baseline_arm_2' });
    await study.settled(2);
    await synced(study);
    await study.enroll('one', { enrolled: yesterday(), lang: 'es' }, { event: 'baseline_arm_2' });
    await study.settled(3);
    expect(await eventsOf(study)).to.deep.equal({ one: OWN.one });
    const [participant] = await study.participants();
    expect(participant!.preferred_language).to.equal('de');
    expect(await study.versions(participant!.id)).to.have.length(1);
  });

  it('results are never written to an arm that the record is not in', async () => {
    const study = await connected();
    await study.enroll('one', { enrolled: yesterday() }, { event: 'baseline_arm_1' });
    await study.settled(1);
    const [person] = await study.participants();
    const today = new Date().toISOString().slice(0, 10);
    const visit = await stage.call<{ id: string }>('POST', '/api/schedules/visits', {
      participant_id: person!.id,
      name: 'By hand',
      target_date: today,
      window_open: today,
      window_close: today,
      datacapture_event: 'later_arm_2',
    });
    const { body } = await stage.call<{ sessionId: string }>('POST', '/api/session/start', {
      participant_id: person!.id,
      language: 'en',
      visit_id: visit.body.id,
    });
    const device = new Http(stage.run.api);
    const headers = { headers: { 'X-Session-ID': body.sessionId } };
    const summary = { session_id: body.sessionId, task_summaries: { stroop: { mean_rt: 400 } }, raw_trials: [] };
    await device.expect(200, 'POST', '/api/submit', summary, headers);
    await device.expect(200, 'POST', '/api/session/end', { session_id: body.sessionId }, headers);
    const pushes = await until(
      async () => {
        const found = await stage.call<{ push: { status: string; message: string } }>(
          'GET',
          `/api/sessions/${body.sessionId}/pushes`,
        );
        return found.body.push?.status === 'failed' ? found.body.push : undefined;
      },
      { what: 'the push to be refused' },
    );
    expect(pushes.message).to.match(/^OTHER_ARM: /);
    const rows = stage.simulator.control.record(Number(study.projectId), 'one')!.rows;
    expect(rows.map((row) => row.event)).to.deep.equal(['baseline_arm_1']);
  });

  it('has a baseline in each of them by its events', async () => {
    const study = await connected();
    const synced = () => stage.call(`POST`, `/api/studies/${study.id}/datacapture/sync-events`);
    expect((await synced()).body).to.include({ created: 4 });
    expect((await synced()).body).to.include({ created: 0, unchanged: 4 });
    const baselines = await stage.sql<{ datacapture_event: string }>(
      'select datacapture_event from visit_windows where study_id = ? and is_baseline order by 1',
      [study.id],
    );
    expect(baselines.map((each) => each.datacapture_event)).to.deep.equal(['baseline_arm_1', 'baseline_arm_2']);
  });

  it('whose release lists no ids of events: each participant has the visits of its own arm all the same', async () => {
    const study = await stage.study({ project: PROJECT, connect: false });
    const listed = stage.simulator.control
      .project(Number(study.projectId))
      .design.events.map(({ event_name, arm_num, unique_event_name, day_offset, offset_min, offset_max }) => ({
        event_name,
        arm_num: String(arm_num),
        day_offset: String(day_offset),
        offset_min: String(offset_min),
        offset_max: String(offset_max),
        unique_event_name,
        custom_event_label: null,
      }));
    stage.simulator.control.setFaults([
      { project_id: Number(study.projectId), content: ['event'], body: JSON.stringify(listed) },
    ]);
    await study.connect({ enrollment_event: null, event_battery_mapping: study.mapped(EVENTS) });
    await study.enroll('one', { enrolled: yesterday() }, { event: 'baseline_arm_1' });
    await study.settled(1);
    await study.enroll('two', { enrolled: yesterday() }, { event: 'baseline_arm_2', trigger: false });
    expect((await synced(study)).progress).to.include({ created: 1 });
    expect(await eventsOf(study)).to.deep.equal(OWN);
    stage.simulator.control.clearFaults();
    // A newer release lists them: they are the same events.
    expect((await synced(study)).progress).to.include({ unchanged: 2 });
    expect(await eventsOf(study)).to.deep.equal(OWN);
  });
});
