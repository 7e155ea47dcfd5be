import { expect } from 'chai';
import fc from 'fast-check';
import { Http, unique } from '../support/http.js';
import { asMuchAs } from '../support/in-full.js';
import { until } from '../support/service.js';
import { compared } from './compared.js';
import { Stage, synced } from './support.js';
import type { CaptureStudy, ParticipantRow } from './support.js';

const FORMS = ['enroll', 'cognition'];
const event = (event_name: string, more: object = {}) => ({
  event_name,
  day_offset: 0,
  offset_min: 0,
  offset_max: 7,
  forms: FORMS,
  ...more,
});
const RESULTS = { stroop: { datacapture_instrument: 'cognition', fields: { mean_rt: 'rt_mean' } } };
const yesterday = () => new Date(Date.now() - 86_400_000).toISOString().slice(0, 10);

interface VisitRow {
  id: string;
  visit_key: string;
  status: string;
  name: string;
  datacapture_event: string;
  session_id: string | null;
  data_sync_status: string | null;
}

describe('events that are renamed, deleted and made again in the capture system', function () {
  let stage: Stage;
  before(async function () {
    this.timeout(240_000);
    stage = await Stage.set({ polls: false });
  });
  after(() => stage?.clear());

  /** A study of these events, all of them today, with a participant. */
  async function setting(names: string[], people = 1) {
    const study = await stage.study({ project: { events: names.map((name) => event(name)) }, connect: false });
    const mapped = Object.fromEntries(names.map((name) => [uniqueOf(name), { target_day: 0, window_after: 7 }]));
    await study.connect({
      enrollment_event: uniqueOf(names[0]!),
      event_battery_mapping: study.mapped(mapped),
      data_field_mapping: RESULTS,
      poll_interval_minutes: 0,
    });
    return { study, enrolls: () => enrollAll(study, uniqueOf(names[0]!), people) };
  }
  const uniqueOf = (name: string) => `${name.toLowerCase()}_arm_1`;
  async function enrollAll(study: CaptureStudy, at: string, people: number): Promise<ParticipantRow[]> {
    for (let n = 1; n <= people; n += 1)
      await study.enroll(`${study.projectId}-${n}`, { enrolled: yesterday() }, { event: at });
    await study.settled(people);
    return study.participants();
  }
  const visits = (participant: string, status = "not in ('superseded', 'cancelled')") =>
    stage.sql<VisitRow>(
      `select * from scheduled_visits where participant_id = ? and status ${status} order by datacapture_event`,
      [participant],
    );
  const syncEvents = async (study: CaptureStudy) => {
    const { status, body } = await stage.call<{
      created: number;
      renamed: { from: string; to: string }[];
      missing: { datacapture_event: string }[];
    }>('POST', `/api/studies/${study.id}/datacapture/sync-events`);
    expect(status).to.equal(200);
    return body;
  };
  const rename = (study: CaptureStudy, from: string, to: string) =>
    stage.simulator.control.renameEvent(Number(study.projectId), from, to);
  /** Waits until nothing is left to be worked off for a study: a change that it brought is seen by then. */
  const quiet = (study: CaptureStudy) =>
    until(
      async () => {
        const [open] = await stage.sql<{ open: number }>(
          `select (select count(*) from outbox where study_id = :id) + (select count(*) from open_study_changes where study_id = :id) as open`,
          { id: study.id } as never,
        );
        return Number(open!.open) === 0 ? true : undefined;
      },
      { what: 'the study to be quiet' },
    );
  async function complete(visit: VisitRow, participant: string, mean = 400): Promise<string> {
    const started = await stage.call<{ sessionId: string }>('POST', '/api/session/start', {
      participant_id: participant,
      language: 'en',
      visit_id: visit.id,
    });
    expect(started.status, JSON.stringify(started.body)).to.equal(201);
    const session = started.body.sessionId;
    const device = new Http(stage.run.api);
    const headers = { headers: { 'X-Session-ID': session } };
    const summary = { session_id: session, task_summaries: { stroop: { mean_rt: mean } }, raw_trials: [] };
    await device.expect(200, 'POST', '/api/submit', summary, headers);
    await device.expect(200, 'POST', '/api/session/end', { session_id: session }, headers);
    return session;
  }
  const standing = (study: CaptureStudy, record: string, at: string) =>
    stage.simulator.control.record(Number(study.projectId), record)?.rows.find((row) => row.event === at)?.values[
      'rt_mean'
    ];
  const syncOf = async (session: string) =>
    (await stage.call<{ sync_status: string }>('GET', `/api/sessions/${session}`)).body.sync_status;

  for (const windows of [true, false]) {
    it(`a rename follows through, ${windows ? 'with windows' : 'by the mapping alone'}: no other visit, no other version, and the results arrive`, async () => {
      const { study, enrolls } = await setting(['Baseline', 'Later']);
      if (windows) expect((await syncEvents(study)).created).to.equal(2);
      const [person] = await enrolls();
      const before = await visits(person!.id);
      expect(before.map((visit) => visit.datacapture_event)).to.deep.equal(['baseline_arm_1', 'later_arm_1']);
      expect(rename(study, 'baseline_arm_1', 'First')).to.equal('first_arm_1');
      const session = await complete(before[0]!, person!.id);
      await until(async () => (await syncOf(session)) === 'failed', { what: 'the push to be refused' });
      if (windows) {
        const synced = await syncEvents(study);
        expect(synced).to.deep.include({ created: 0, missing: [] });
        expect(synced.renamed.map(({ from, to }) => [from, to])).to.deep.equal([['baseline_arm_1', 'first_arm_1']]);
        expect((await syncEvents(study)).renamed).to.deep.equal([]);
      } else {
        // Somebody corrects the mapping by hand.
        const saved = await study.configure({
          event_battery_mapping: { baseline_arm_1: null, ...study.mapped({ first_arm_1: { target_day: 0 } }) },
        });
        expect(saved.status).to.equal(200);
      }
      await until(async () => (await syncOf(session)) === 'synced', { what: 'the results to arrive' });
      await quiet(study);
      expect(standing(study, person!.external_id, 'first_arm_1')).to.equal('400.0');
      const after = await visits(person!.id);
      expect(after.map((visit) => visit.id)).to.have.members(before.map((visit) => visit.id));
      expect(after.map((visit) => [visit.datacapture_event, visit.status])).to.deep.equal([
        ['first_arm_1', 'completed'],
        ['later_arm_1', 'open'],
      ]);
      expect(await study.versions(person!.id)).to.have.length(1);
      const config = (await stage.call('GET', `/api/datacapture/config/${study.id}`)).body;
      expect([config['enrollment_event'], Object.keys(config['event_battery_mapping'] as object).sort()]).to.deep.equal(
        ['first_arm_1', ['first_arm_1', 'later_arm_1']],
      );
    });
  }

  it('a sync reads on under the new name of the enrollment event; a mapping that has the old name is saved under the new one', async () => {
    const { study, enrolls } = await setting(['Baseline', 'Later']);
    const [person] = await enrolls();
    rename(study, 'baseline_arm_1', 'First');
    await study.enroll('another', { enrolled: yesterday() }, { event: 'first_arm_1', trigger: false });
    expect((await synced(study)).status).to.equal('completed');
    expect((await study.participants()).map((each) => each.external_id)).to.have.members([
      person!.external_id,
      'another',
    ]);
    const mapping = { event_battery_mapping: study.mapped({ baseline_arm_1: { target_day: 0, window_after: 7 } }) };
    const saved = await compared(() =>
      stage.call<{ warnings: { code: string; path: string }[] }>(
        'PUT',
        `/api/datacapture/config/${study.id}/event-mapping`,
        mapping,
      ),
    );
    expect(saved.body.warnings.map(({ code, path }) => [code, path])).to.deep.include([
      'EVENT_RENAMED',
      'event_battery_mapping.baseline_arm_1',
    ]);
    const { body } = await stage.call('GET', `/api/datacapture/config/${study.id}/event-mapping`);
    expect(Object.keys(body['event_battery_mapping'] as object)).to.deep.equal(['first_arm_1']);
  });

  it('a trigger of the renamed enrollment event enrolls, and one that still has its former name', async () => {
    const { study } = await setting(['Baseline', 'Later']);
    rename(study, 'baseline_arm_1', 'First');
    await study.enroll('new', { enrolled: yesterday() }, { event: 'first_arm_1' });
    expect((await study.settled(1))[0]).to.include({ status: 'processed', outcome: 'created' });
    await study.enroll('old', { enrolled: yesterday() }, { event: 'first_arm_1', trigger: false });
    await study.trigger({ record: 'old', redcap_event_name: 'baseline_arm_1', enroll_complete: '2' });
    expect((await study.settled(2))[1]).to.include({ status: 'processed', outcome: 'created' });
    for (const { id } of await study.participants())
      expect((await visits(id)).map((visit) => visit.datacapture_event)).to.deep.equal(['first_arm_1', 'later_arm_1']);
  });

  it('results of a visit whose event’s name another one has by now stand at its own, though nobody has looked since', async () => {
    const { study, enrolls } = await setting(['Baseline', 'Later']);
    const [person] = await enrolls();
    const [visit] = await visits(person!.id);
    rename(study, 'baseline_arm_1', 'Between');
    rename(study, 'later_arm_1', 'Baseline');
    rename(study, 'between_arm_1', 'Later');
    const session = await complete(visit!, person!.id);
    await until(async () => (await syncOf(session)) === 'synced', { what: 'the results to arrive' });
    await quiet(study);
    expect(
      ['baseline_arm_1', 'later_arm_1'].map((at) => standing(study, person!.external_id, at)),
      'at the event that is called Later now',
    ).to.deep.equal([undefined, '400.0']);
    expect(
      (await visits(person!.id)).map(({ id, datacapture_event }) => [id === visit!.id, datacapture_event]),
    ).to.deep.equal([
      [false, 'baseline_arm_1'],
      [true, 'later_arm_1'],
    ]);
  });

  it('an event that is gone is named; one that is made again under its name takes its place', async () => {
    const { study, enrolls } = await setting(['Baseline', 'Later']);
    await syncEvents(study);
    const [person] = await enrolls();
    const { control } = stage.simulator;
    const removed = control.deleteEvent(Number(study.projectId), 'later_arm_1');
    expect((await syncEvents(study)).missing.map((each) => each.datacapture_event)).to.deep.equal(['later_arm_1']);
    control.addEvent(Number(study.projectId), removed);
    const again = await syncEvents(study);
    expect(again).to.deep.include({ created: 0, missing: [], renamed: [] });
    await quiet(study);
    expect(await visits(person!.id)).to.have.length(2);
    expect(await study.versions(person!.id)).to.have.length(1);
  });

  it('the event of a completed visit is corrected with a reason, which is audited, and its results are pushed there', async () => {
    const { study, enrolls } = await setting(['Baseline', 'Later']);
    const [person] = await enrolls();
    const visit = (await visits(person!.id))[1]!;
    stage.simulator.control.deleteEvent(Number(study.projectId), 'later_arm_1');
    const session = await complete(visit, person!.id, 333);
    await until(async () => (await syncOf(session)) === 'failed', { what: 'the push to be refused' });
    const change = (body: object) => stage.call('PATCH', `/api/visits/${visit.id}`, body);
    const bare = await change({ datacapture_event: 'baseline_arm_1' });
    expect([bare.status, (bare.body['errors'] as { path: string }[])[0]!.path]).to.deep.equal([422, 'reason']);
    expect((await change({ name: 'Other', reason: 'so' })).body['code']).to.equal('VISIT_CLOSED');
    const reason = unique('the event was deleted');
    expect((await change({ datacapture_event: 'baseline_arm_1', reason })).body).to.include({
      datacapture_event: 'baseline_arm_1',
      status: 'completed',
    });
    await until(async () => (await syncOf(session)) === 'synced', { what: 'the results to arrive' });
    expect(standing(study, person!.external_id, 'baseline_arm_1')).to.equal('333.0');
    const [record] = await stage.sql<{ audit_metadata: Record<string, unknown> }>(
      "select audit_metadata from audit_log where study_id = ? and action = 'visit_changed' and resource_id = ?",
      [study.id, visit.id],
    );
    expect(record!.audit_metadata).to.include({ reason, datacapture_event_before: 'later_arm_1' });
  });

  it('a visit that was planned before its event had a window stays that one visit', async () => {
    const { study, enrolls } = await setting(['Baseline', 'Later']);
    const [person] = await enrolls();
    const before = await visits(person!.id);
    await complete(before[0]!, person!.id);
    expect((await syncEvents(study)).created).to.equal(2);
    await until(async () => (await study.versions(person!.id)).length > 1, { what: 'the windows’ names to be taken' });
    await quiet(study);
    expect(await visits(person!.id)).to.have.length(2);
  });

  it('whatever is renamed, deleted and made again between two syncs: no visit is doubled or lost, and each result arrives', async function () {
    this.timeout(300_000);
    const change = fc.record({
      what: fc.constantFrom('rename', 'rename', 'swap', 'recreate', 'complete', 'sync' as const),
      which: fc.nat(2),
      name: fc.constantFrom('Alpha', 'Beta', 'Gamma', 'Delta', 'Baseline', 'Middle', 'End'),
    });
    await fc.assert(
      fc.asyncProperty(fc.boolean(), fc.array(change, { minLength: 4, maxLength: 12 }), async (windows, changes) => {
        const { study, enrolls } = await setting(['Baseline', 'Middle', 'End']);
        const project = Number(study.projectId);
        const { control } = stage.simulator;
        if (windows) await syncEvents(study);
        const [person] = await enrolls();
        const first = await visits(person!.id);
        // Of each visit: what its event is called there.
        const called = new Map(first.map((visit) => [visit.visit_key, visit.datacapture_event]));
        const ids = first.map((visit) => visit.visit_key);
        const sessions = new Map<string, string>();
        for (const { what, which, name } of changes) {
          const id = ids[which]!;
          const other = ids[(which + 1) % 3]!;
          if (what === 'rename') called.set(id, rename(study, called.get(id)!, name));
          if (what === 'swap') {
            const [a, b] = [called.get(id)!, called.get(other)!];
            const label = (unique: string) =>
              control.project(project).design.events.find((each) => each.unique_event_name === unique)!.event_name;
            const [labelA, labelB] = [label(a), label(b)];
            const between = rename(study, a, 'Between');
            called.set(other, rename(study, b, labelA));
            called.set(id, rename(study, between, labelB));
          }
          if (what === 'recreate') {
            // What was renamed since the last sync and is deleted then cannot be known again.
            await syncEvents(study);
            const removed = control.deleteEvent(project, called.get(id)!);
            called.set(id, control.addEvent(project, removed));
            // A record that has no row anywhere is none.
            control.load(project, [
              { subject_id: person!.external_id, redcap_event_name: called.get(id)!, lang: 'de' },
            ]);
            await syncEvents(study);
          }
          if (what === 'sync') await syncEvents(study);
          if (what === 'complete' && !sessions.has(id)) {
            // Windows that were just made may give it another row.
            await quiet(study);
            const [visit] = (await visits(person!.id)).filter((each) => each.visit_key === id);
            sessions.set(id, await complete(visit!, person!.id, 300 + which));
          }
        }
        await syncEvents(study);
        await quiet(study);
        const after = await visits(person!.id);
        expect(after.map((visit) => visit.visit_key)).to.have.members(ids);
        expect(new Map(after.map((visit) => [visit.visit_key, visit.datacapture_event]))).to.deep.equal(called);
        // Windows that are made later give visits their names: another version.
        if (windows) expect(await study.versions(person!.id)).to.have.length(1);
        for (const [visit, session] of sessions) {
          // What was delivered before an event was deleted went with it.
          await stage.call('POST', `/api/sessions/${session}/push`);
          await until(
            async () => standing(study, person!.external_id, called.get(visit)!) === `${300 + ids.indexOf(visit)}.0`,
            { what: 'the results at their event' },
          );
        }
      }),
      { numRuns: asMuchAs(2, 20), interruptAfterTimeLimit: 200_000, endOnFailure: true },
    );
  });

  for (const strict of ['', '?strict=true']) {
    it(`another mapping is saved although its events were renamed since${strict && ', strictly'}: none of them is unknown`, async () => {
      const { study } = await setting(['Baseline', 'Later']);
      await syncEvents(study);
      rename(study, 'baseline_arm_1', 'First');
      const saved = await compared(() => study.configure({ data_field_mapping: RESULTS }, strict));
      expect([saved.status, saved.body['errors'] ?? saved.body['warnings'] ?? []]).to.deep.equal([200, []]);
    });
  }

  it('the former name of an event means the event, wherever it is given; a name that none ever had stays', async () => {
    const { study, enrolls } = await setting(['Baseline', 'Later']);
    await syncEvents(study);
    const [person] = await enrolls();
    rename(study, 'baseline_arm_1', 'First');
    await syncEvents(study);
    await quiet(study);
    const [window] = await stage.sql<{ id: string }>(
      "select id from visit_windows where study_id = ? and datacapture_event = 'first_arm_1'",
      [study.id],
    );
    const today = new Date().toISOString().slice(0, 10);
    const days = { target_day: 60, window_before: 1, window_after: 1 };
    const byHand = { participant_id: person!.id, name: 'By hand', target_date: today };
    const visit = await stage.call<{ id: string }>('POST', '/api/schedules/visits', byHand);
    for (const [given, kept] of [
      ['baseline_arm_1', 'first_arm_1'],
      ['other_arm_1', 'other_arm_1'],
      ['baseline_arm_1', 'first_arm_1'],
    ]) {
      const named = { datacapture_event: given };
      const code = unique('W');
      for (const [method, path, body] of [
        ['PATCH', `/api/schedules/windows/${window!.id}`, named],
        ['POST', '/api/schedules/windows', { study_id: study.id, code, name: code, ...days, ...named }],
        ['POST', `/api/studies/${study.id}/event-definitions`, { event_oid: code, name: code, ...days, ...named }],
        ['PATCH', `/api/visits/${visit.body.id}`, named],
        ['POST', '/api/schedules/visits', { ...byHand, ...named }],
      ] as const) {
        const reply = await stage.call(method, path, body);
        expect([reply.status, reply.body['datacapture_event']], `${method} ${path}`).to.deep.equal([
          method === 'POST' ? 201 : 200,
          kept,
        ]);
      }
    }
  });
});
