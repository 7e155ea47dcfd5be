import { expect } from 'chai';
import { studyReanchoringId } from '../../workflows/contract.js';
import { seesEverything } from '../support/everything.js';
import { until } from '../support/service.js';
import { brokenInvariants } from './invariants.js';
import { DAY, Stage } from './stage.js';
import type { Person, VisitView } from './stage.js';

interface Waiting {
  id: number;
}

describe('changes of a study', () => {
  let stage: Stage;
  before(async () => {
    stage = await Stage.open();
  });
  after(() => stage.close());

  const delivered = (studyId: string) =>
    until(async () => (await stage.sql('select id from outbox where subject = ?', [studyId])).length === 0, {
      what: 'the changes to be delivered',
    });

  /** Which of these changes a workflow was started for. */
  const startedFor = async (studyId: string, changes: readonly (number | string)[]): Promise<(number | string)[]> => {
    const started = await Promise.all(
      changes.map((change) =>
        stage.temporal.workflow
          .getHandle(studyReanchoringId(studyId, String(change)))
          .describe()
          .then(
            () => true,
            () => false,
          ),
      ),
    );
    return changes.filter((_, index) => started[index]);
  };

  it('of those that wait together the newest of each kind is worked through the participants; a policy’s change each', async () => {
    const study = await stage.study({}, { days: [] });
    await delivered(study.id);
    const put = await stage.sql<Waiting>(
      `insert into outbox (topic, study_id, subject, payload)
       select 'study-changed', ?::uuid, ?, p::jsonb from unnest(array['{"kind": "windows"}', '{"kind": "mapping"}', '{"kind": "windows"}', '{"kind": "policy", "change_id": "policy-8"}',
         '{"kind": "windows"}', '{"kind": "policy", "change_id": "policy-9"}', '{"kind": "mapping"}']) with ordinality as w(p, n) order by n returning id`,
      [study.id, study.id],
    );
    const [firstWindows, firstMapping, secondWindows, , lastWindows, , lastMapping] = put.map(({ id }) => id) as [
      number,
      number,
      number,
      number,
      number,
      number,
      number,
    ];
    await delivered(study.id);
    expect(
      await startedFor(study.id, [
        firstWindows,
        firstMapping,
        secondWindows,
        'policy-8',
        lastWindows,
        'policy-9',
        lastMapping,
      ]),
    ).to.deep.equal(['policy-8', lastWindows, 'policy-9', lastMapping]);
  });

  it('another study’s change of the same kind is none of these', async () => {
    const [one, other] = await Promise.all([stage.study({}, { days: [] }), stage.study({}, { days: [] })]);
    const put = await stage.sql<Waiting>(
      `insert into outbox (topic, study_id, subject, payload) select 'study-changed', s::uuid, s, '{"kind": "windows"}' from unnest(array[?, ?]) as s returning id`,
      [one.id, other.id],
    );
    await Promise.all([delivered(one.id), delivered(other.id)]);
    expect(await startedFor(one.id, [put[0]!.id])).to.have.length(1);
    expect(await startedFor(other.id, [put[1]!.id])).to.have.length(1);
  });

  it('twenty windows made one after the other are in the schedule, in far fewer new versions', async () => {
    const study = await stage.study({}, { days: [0] });
    const person = await study.person();
    await person.consent(`${DAY}T09:00:00Z`);
    await person.becomes({ status: 'finalized' });
    const begun = performance.now();
    for (let day = 1; day <= 20; day += 1) await study.window(day * 10);
    const tookMs = performance.now() - begun;
    await until(async () => (await person.standing()).length === 21, { what: 'the schedule to have 21 visits' });
    // The first one, that of a change from before and that of the last; and one for each quarter of a second between.
    expect((await person.versions()).length).to.be.at.most(4 + Math.floor(tookMs / 250));
  });

  it('who withdraws while a change is under way keeps the schedule as it was', async () => {
    const study = await stage.study({}, { days: [0], fields: { consent_mode: 'external' } });
    const people = await Promise.all([study.person(), study.person()]);
    for (const person of people) await person.set(DAY);
    await study.settled();
    // Both are of one piece of the walk, which takes them in the order of their ids and waits for the first.
    const [first, second] = people.sort((a, b) => (a.id < b.id ? -1 : 1)) as [Person, Person];
    const before = await second.plans();
    await stage.holding('select 1 from anchor_dates where participant_id = ? for update', [first.id], async () => {
      await study.window(90);
      const waits = `select 1 from pg_stat_activity where pg_blocking_pids(pid) <> '{}' and query like '%anchor_dates%'`;
      await until(async () => (await stage.sql(waits)).length > 0, { what: 'the walk to wait' });
      await second.withdraw();
    });
    await until(async () => (await first.versions()).length === 2, { what: 'the other schedule to follow' });
    await study.settled();
    expect((await second.versions()).map(({ version_number }) => version_number)).to.deep.equal([1]);
    expect(await second.plans()).to.deep.equal(before);
  });

  it('a visit that somebody moved stays where it was put while another window is planned, and follows once the anchor moves', async () => {
    const study = await stage.study({}, { days: [0, 30_000], fields: { consent_mode: 'external' } });
    const person = await study.person();
    await person.set(DAY);
    const visit = (await person.standing()).find(({ target_date }) => target_date > '2100')!;
    const put = { target_date: '2106-05-05', window_open: '2106-05-01', window_close: '2106-05-09' };
    const { target_date, window_open, window_close } = visit;
    const changed = await stage.admin.expect<{ moved_from: unknown }>(200, 'PATCH', `/api/visits/${visit.id}`, put);
    expect(changed).to.deep.include({ ...put, moved_from: { target_date, window_open, window_close } });

    await study.window(60);
    const there = await until(
      async () => {
        const standing = await person.standing();
        return standing.length === 3 ? standing.find(({ visit_key }) => visit_key === visit.visit_key) : undefined;
      },
      { what: 'the schedule to have the new visit' },
    );
    expect(there).to.include(put);
    expect(there.id, 'the new version has a row of its own').to.not.equal(visit.id);

    const preview = await stage.admin.expect<{ visits: { visit_key: string; to: string; notes: string[] }[] }>(
      200,
      'POST',
      `${person.path}/anchor-date/override/preview`,
      { new_enrollment_date: '2024-03-11', reason: 'read wrongly' },
    );
    expect(preview.visits.find(({ visit_key }) => visit_key === visit.visit_key)!.notes).to.deep.equal([
      'moved by hand before: the schedule has other days for it now',
    ]);
    await person.override('2024-03-11');
    expect((await person.standing()).find(({ visit_key }) => visit_key === visit.visit_key))
      .to.deep.include({ moved_from: null })
      .and.to.not.include({ target_date: put.target_date });
  });

  it('a visit that was given another name and no event keeps both while another window is planned, and takes what its own window is given again', async () => {
    const study = await stage.study({}, { days: [0, 30_000], fields: { consent_mode: 'external' } });
    const person = await study.person();
    await person.set(DAY);
    const visit = (await person.standing()).find(({ target_date }) => target_date > '2100')!;
    const given = { name: 'At home', datacapture_event: 'at_home_arm_1' };
    const changed = await stage.admin.expect<{ changed_from: unknown }>(200, 'PATCH', `/api/visits/${visit.id}`, given);
    expect(changed).to.deep.include({ ...given, changed_from: { name: visit.name, datacapture_event: null } });
    const next = (count: number, holds: (there: VisitView) => boolean) =>
      until(
        async () => {
          const standing = await person.standing();
          const there = standing.find(({ visit_key }) => visit_key === visit.visit_key);
          return standing.length === count && there && there.id !== visit.id && holds(there) ? there : undefined;
        },
        { what: 'the next schedule' },
      );

    await study.window(60);
    expect(await next(3, () => true)).to.deep.include({
      ...given,
      changed_from: { name: visit.name, datacapture_event: null },
    });

    await stage.admin.expect(200, 'PATCH', `/api/schedules/windows/${visit.visit_window_id}`, { name: 'Last visit' });
    expect(
      await next(3, ({ name }) => name === 'Last visit'),
      'the event is still the one that was given',
    ).to.deep.include({ datacapture_event: 'at_home_arm_1', changed_from: { datacapture_event: null } });
    const there = (await person.standing()).find(({ visit_key }) => visit_key === visit.visit_key)!;
    expect(
      await stage.admin.expect(200, 'PATCH', `/api/visits/${there.id}`, { datacapture_event: null }),
      'back on what the schedule has',
    ).to.include({ changed_from: null });
  });

  it('a visit that was missed stays missed while another window is planned, and is to do again once its own days move', async () => {
    const study = await stage.study({}, { days: [0, 30], fields: { consent_mode: 'external' } });
    const person = await study.person();
    await person.set(DAY);
    for (const { id } of await person.standing()) {
      await stage.admin.expect(200, 'POST', `/api/visits/${id}/cancel`, { reason: 'to be reopened' });
      expect(
        await stage.admin.expect(200, 'POST', `/api/visits/${id}/reopen`, { reason: 'its days are over' }),
      ).to.include({ status: 'missed' });
    }
    const before = await person.standing();
    await study.window(60);
    const missed = await until(
      async () => {
        const standing = await person.standing();
        return standing.length === 3 ? standing : undefined;
      },
      { what: 'the schedule to have the new visit' },
    );
    expect(missed.map(({ id }) => id)).to.include.members(before.map(({ id }) => id));
    expect(missed.map(({ status }) => status)).to.deep.equal(['missed', 'missed', 'missed']);
    const second = (await person.versions()).find((version) => version.is_current);
    const { visits } = await stage.admin.expect<{ visits: { id: string; carried: boolean; status: string }[] }>(
      200,
      'GET',
      `${person.path}/schedule-versions/${second!.id}`,
    );
    expect(visits.filter((visit) => visit.carried).map(({ id, status }) => [id, status])).to.have.deep.members(
      before.map(({ id }) => [id, 'missed']),
    );
    expect(
      (await stage.admin.post(`/api/visits/${before[0]!.id}/reopen`, { reason: 'asked once more' })).status,
    ).to.equal(200);

    expect((await person.override('2024-03-11')).body.impact).to.include({ pending_visits_to_reschedule: 3 });
    const after = await person.visits();
    expect(after.filter(({ id }) => before.some((visit) => visit.id === id)).map(({ status }) => status)).to.deep.equal(
      ['superseded', 'superseded'],
    );
    expect(after.filter(({ status }) => status !== 'superseded')).to.have.length(3);
    expect(await brokenInvariants(stage, study.id)).to.deep.equal([]);
  });

  it('a changed window plans its visit, and leaves an anchor that was reopened provisional', async () => {
    const study = await stage.study({}, { days: [0], fields: { consent_mode: 'external' } });
    const person = await study.person();
    expect((await person.set(DAY)).body.status).to.equal('finalized');
    expect((await person.post('/override-back', { reason: 'to be looked at again' })).status).to.equal(200);
    await study.window(30);
    await until(async () => (await person.standing()).length === 2, { what: 'the schedule to have the new visit' });
    await delivered(study.id);
    expect(await person.anchor()).to.include({ status: 'provisional', enrollment_date: DAY });
    expect((await person.post('/evaluate')).body).to.deep.include({ result: 'finalized' });
  });

  it('another baseline window: its standing visits are of it without a new version, and the anchor is evaluated', async () => {
    const study = await stage.study(
      {
        sources: [{ type: 'manual_entry' }],
        prerequisites: { require_consent_signed: false, require_baseline_visit: true },
        schedule_on_provisional: true,
      },
      { days: [] },
    );
    const [window] = await Promise.all([study.window(0, { is_baseline: false }), study.window(30)]);
    const [before, after] = [await study.person(), await study.person()];
    for (const person of [before, after]) await person.set(DAY);
    await before.complete((await before.standing())[0]!.id);
    await before.settled();
    expect(await before.anchor()).to.include({ status: 'provisional' });
    await stage.admin.expect(200, 'PATCH', `/api/schedules/windows/${window.id}`, { is_baseline: true });
    await before.becomes({ status: 'finalized' });
    await delivered(study.id);
    await until(
      async () =>
        (await stage.sql('select 1 from scheduled_visits where participant_id = ? and is_baseline', [after.id]))
          .length === 1,
      { what: 'the mark' },
    );
    await after.complete((await after.standing())[0]!.id);
    await after.becomes({ status: 'finalized' });
    for (const person of [before, after]) expect(await person.versions()).to.have.length(1);
  });

  it('one participant whose visits no calendar holds stops nobody: his are left out, and a warning says so', async () => {
    const study = await stage.study(
      { validation: { cannot_be_future: false } },
      { days: [0], fields: { consent_mode: 'external' } },
    );
    const people = await Promise.all(
      ['0001-01-01', '9999-12-31', DAY].map(async (date) => {
        const person = await study.person();
        const { status, body } = await person.set(date);
        expect([date, status, body.enrollment_date]).to.deep.equal([date, 200, date]);
        return person;
      }),
    );
    const [early, late, usual] = people as [Person, Person, Person];
    const current = async (person: Person) => (await person.versions()).find((version) => version.is_current)!;
    const left = (name: string) => `OUTSIDE_CALENDAR: ${name} is not planned: its days lie outside the years 1 to 9999`;
    for (const person of [early, late])
      expect(await current(person))
        .to.include({ visits_generated: 0 })
        .and.deep.include({ generation_warnings: [left('Day 0')] });

    await study.window(-10);
    await until(async () => (await usual.standing()).length === 2, { what: 'the new window to be in the schedule' });
    await until(async () => (await current(late)).visits_generated === 1, { what: 'what fits to be planned' });
    expect(
      (await late.standing()).map(({ name, target_date, window_close }) => [name, target_date, window_close]),
    ).to.deep.equal([['Day -10', '9999-12-21', '9999-12-24']]);
    expect(await early.standing()).to.deep.equal([]);
    await delivered(study.id);
    expect(
      await stage.admin.expect<{ plan?: unknown }>(200, 'POST', `${early.path}/anchor-date/override/preview`, {
        new_enrollment_date: '0001-01-02',
        reason: 'x',
      }),
    ).to.be.an('object');
    expect((await early.override('0001-01-02')).status).to.equal(200);
  });

  it('a changed field mapping is evaluated', async () => {
    const study = await stage.study(
      { prerequisites: { require_consent_signed: false } },
      { days: [0], fields: { consent_mode: 'external', datacapture_enabled: true } },
    );
    const person = await study.person();
    await person.form('enroll', { day: DAY });
    const config = (status: number, fields: Record<string, unknown>) =>
      stage.admin.expect(status, 'PATCH', `/api/datacapture/config/${study.id}`, fields);
    await config(201, {
      api_url: 'http://127.0.0.1:9/',
      api_token: 'T',
      enrollment_instrument: 'enroll',
      poll_interval_minutes: 0,
    });
    await delivered(study.id);
    expect(await person.anchor()).to.include({ status: 'unset' });
    await config(200, { participant_field_mapping: { enrollment_date: 'day' } });
    await person.becomes({ status: 'finalized', enrollment_date: DAY, source_type: 'form_item' });
  });

  it('a completed visit is reconciled with another anchor, not with a changed window', async () => {
    const study = await stage.study({}, { days: [0], fields: { consent_mode: 'external' } });
    const person = await study.person();
    await person.set(DAY);
    const [visit] = await person.standing();
    await person.complete(visit!.id);
    await study.window(30);
    await until(async () => (await person.versions()).length === 2, { what: 'the new version' });
    const done = async () => (await person.visits()).find(({ id }) => id === visit!.id)!;
    expect(await done()).to.include({ anchor_reconciled: false, needs_review: false });
    await person.override('2024-03-17');
    expect(await done()).to.include({ anchor_reconciled: true, needs_review: true });
  });

  it('a date that moves within its status tells nobody: the participant’s process has no message, the record the new date', async () => {
    const sources = (first: 'consent_workflow' | 'manual_entry') =>
      ['consent_workflow', 'manual_entry'].map((type) => ({ type, priority: type === first ? 1 : 2, is_active: true }));
    const prerequisites = { require_eligibility_confirmed: true };
    const study = await stage.study({ sources: sources('manual_entry'), prerequisites, schedule_on_provisional: true });
    const person = await study.person();
    await person.consent(`${DAY}T09:00:00Z`);
    expect((await person.set('2024-03-20')).status).to.equal(200);
    await person.settled();
    const commands = () => stage.sql('select id from anchor_commands where participant_id = ?', [person.id]);
    const before = (await commands()).length;
    await study.policy({ sources: sources('consent_workflow'), prerequisites, schedule_on_provisional: true });
    const anchor = await person.becomes({
      enrollment_date: DAY,
      status: 'provisional',
      source_type: 'consent_workflow',
    });
    await delivered(study.id);
    await until(async () => (await stage.sql('select id from outbox where subject = ?', [person.id])).length === 0, {
      what: 'messages to be delivered',
    });
    expect((await commands()).length).to.equal(before);
    expect(anchor.version).to.be.greaterThan(2);
    expect((await person.versions()).find((v) => v.is_current)!.anchor_date_used).to.equal(DAY);
  });

  it('who is enrolled while a change is carried out is counted with the others: it ends at its total', async () => {
    const study = await stage.study();
    const { id } = await study.person();
    await study.settled();
    const path = `/api/studies/${study.id}/config/enrollment-policy`;
    const outside = await seesEverything();
    let change: string | null;
    try {
      await outside.query('begin');
      await outside.query('select 1 from anchor_dates where participant_id = $1 for update', [id]);
      change = (await stage.admin.post(path, { sources: [{ type: 'manual_entry' }] })).headers.get('x-change-id');
      const waits = `select from pg_locks where not granted and pg_backend_pid() = any (pg_blocking_pids(pid))`;
      await until(async () => (await outside.query(waits)).rowCount !== 0, { what: 'the change to be under way' });
      // The next batch begins after the last one of this.
      while ((await study.person()).id < id);
    } finally {
      await outside.query('rollback');
      await outside.end();
    }
    const progress = await until(
      async () => {
        const now = await stage.admin.expect(200, 'GET', `/api/studies/${study.id}/reanchorings/${change}`);
        return now.status === 'completed' ? now : undefined;
      },
      { what: 'the change to be carried out' },
    );
    expect([progress.total, Number(progress.seen) > 1]).to.deep.equal([progress.seen, true]);
  });
});
