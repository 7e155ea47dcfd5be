import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { openDatabase } from '../../db/client/knex.js';
import { Http } from '../support/http.js';
import { until } from '../support/service.js';
import { Stage, synced } from './support.js';
import type { CaptureStudy } from './support.js';
import type { Database } from '../../db/client/database.js';

const event = (event_name: string) => ({
  event_name,
  day_offset: 0,
  offset_min: 0,
  offset_max: 7,
  forms: ['enroll', 'cognition'],
});
const today = () => new Date().toISOString().slice(0, 10);
const yesterday = () => new Date(Date.now() - 86_400_000).toISOString().slice(0, 10);

interface VisitRow {
  id: string;
  datacapture_event: string;
}

/** What is shown here is an order of two transactions: one of them is held at a table that the other does not need. */
describe('an event that is renamed, or a record that is read, while something else is under way', function () {
  this.timeout(120_000);
  let stage: Stage;
  let owner: Database;
  let toldBefore = 0;
  before(async function () {
    this.timeout(240_000);
    stage = await Stage.set({ polls: false });
    owner = openDatabase({ url: stage.run.database_url, poolMax: 2, name: 'renamed-meanwhile', asOwner: true });
    toldBefore = readFileSync(join(stage.run.data_dir, 'logs', 'worker.log'), 'utf8').length;
  });
  after(async () => {
    await owner?.destroy();
    await stage?.clear();
  });

  async function enrolled(): Promise<{ study: CaptureStudy; participant: string; record: string }> {
    const study = await stage.study({ project: { events: [event('Baseline'), event('Later')] }, connect: false });
    const entry = { target_day: 0, window_after: 7 };
    await study.connect({
      enrollment_event: 'baseline_arm_1',
      event_battery_mapping: study.mapped({ baseline_arm_1: entry, later_arm_1: entry }),
      data_field_mapping: { stroop: { datacapture_instrument: 'cognition', fields: { mean_rt: 'rt_mean' } } },
      poll_interval_minutes: 0,
    });
    expect((await syncEvents(study)).status).to.equal(200);
    await study.enroll(`${study.projectId}-1`, { enrolled: yesterday() }, { event: 'baseline_arm_1' });
    await study.settled(1);
    const [person] = await study.participants();
    await quiet(study);
    return { study, participant: person!.id, record: person!.external_id };
  }
  const syncEvents = (study: CaptureStudy) => stage.call('POST', `/api/studies/${study.id}/datacapture/sync-events`);
  const quiet = (study: CaptureStudy) =>
    until(
      async () => {
        const [open] = await stage.sql<{ open: number }>(
          'select (select count(*) from outbox where study_id = :id) + (select count(*) from open_study_changes where study_id = :id) as open',
          { id: study.id } as never,
        );
        return Number(open!.open) === 0 ? true : undefined;
      },
      { what: 'the study to be quiet' },
    );
  const visits = (participant: string) =>
    stage.sql<VisitRow>(
      "select id, datacapture_event from scheduled_visits where participant_id = ? and status not in ('superseded', 'cancelled') order by datacapture_event",
      [participant],
    );
  /** Runs `work` while nobody else gets at a table; `blocked` waits until so many wait for it, or for who waits. */
  async function withoutTable<T>(
    table: string,
    work: (blocked: (n: number) => Promise<void>) => Promise<T>,
  ): Promise<T> {
    const lock = await owner.transaction();
    try {
      await lock.raw(`lock table ${table} in access exclusive mode`);
      return await work((n) =>
        until(async () => ((await waiting()) >= n ? true : undefined), { what: `${n} to wait` }).then(() => undefined),
      );
    } finally {
      await lock.rollback();
    }
  }
  const waiting = async (): Promise<number> =>
    (
      await owner.raw(
        'select count(*)::int as n from pg_stat_activity where datname = current_database() and cardinality(pg_blocking_pids(pid)) > 0',
      )
    ).rows[0].n;

  it('a schedule that is compared with its plan meanwhile has the earlier names or the later ones, never some of each', async () => {
    const { study, participant } = await enrolled();
    const before = await visits(participant);
    expect(before.map((visit) => visit.datacapture_event)).to.deep.equal(['baseline_arm_1', 'later_arm_1']);
    const { control } = stage.simulator;
    const project = Number(study.projectId);
    // The mapping says the days of its events: what the window says of them is compared, and changes nothing.
    control.project(project).design.events.find((each) => each.unique_event_name === 'later_arm_1')!.offset_max = 9;
    // A comparison reads the plan, then the schedule with its versions: here it has read the plan.
    const synced = await withoutTable('schedule_versions', async (blocked) => {
      expect((await syncEvents(study)).body).to.include({ updated: 1 });
      await blocked(1);
      control.renameEvent(project, 'later_arm_1', 'Second');
      const renaming = syncEvents(study);
      let over = false;
      const end = renaming.then(() => (over = true));
      await until(async () => over || (await waiting()) > 1, { what: 'the rename to be through, or to wait' });
      return { renaming, end };
    });
    expect((await synced.renaming).status).to.equal(200);
    await quiet(study);
    const after = await visits(participant);
    expect(after.map((visit) => visit.datacapture_event)).to.deep.equal(['baseline_arm_1', 'second_arm_1']);
    expect(after.map((visit) => visit.id)).to.have.members(before.map((visit) => visit.id));
    expect(await study.versions(participant)).to.have.length(1);
  });

  it('the first push of a study begins meanwhile: neither waits for the other in a circle', async () => {
    const { study, participant, record } = await enrolled();
    const visit = (await visits(participant))[1]!;
    stage.simulator.control.renameEvent(Number(study.projectId), 'later_arm_1', 'Second');
    const { session, renaming } = await withoutTable('push_targets', async (blocked) => {
      const session = await complete(visit, participant);
      await blocked(1);
      const renaming = syncEvents(study);
      await blocked(2);
      return { session, renaming };
    });
    expect((await renaming).status).to.equal(200);
    await until(
      async () =>
        (await stage.call<{ sync_status: string }>('GET', `/api/sessions/${session}`)).body.sync_status === 'synced',
      { what: 'the results to arrive' },
    );
    const written = stage.simulator.control.record(Number(study.projectId), record)?.rows;
    expect(written?.find((row) => row.event === 'second_arm_1')?.values['rt_mean']).to.equal('400.0');
    expect(circles()).to.deep.equal([]);
  });

  it('a record’s date changes while everybody is planned again: neither waits for the other in a circle', async () => {
    const { study, participant, record } = await enrolled();
    const { reading } = await withoutTable('schedule_versions', async (blocked) => {
      const entry = { target_day: 3, window_after: 7 };
      const saved = await study.configure({ event_battery_mapping: study.mapped({ later_arm_1: entry }) });
      expect(saved.status, JSON.stringify(saved.body)).to.equal(200);
      await blocked(1);
      await study.enroll(record, { enrolled: today() }, { event: 'baseline_arm_1', trigger: false });
      const reading = synced(study);
      await blocked(2);
      return { reading };
    });
    expect((await reading).status).to.equal('completed');
    await quiet(study);
    const [late] = await stage.sql<{ days: number }>(
      `select v.target_date - a.enrollment_date_value as days from scheduled_visits v join anchor_dates a using (participant_id)
        where participant_id = ? and v.status not in ('superseded', 'cancelled') and datacapture_event = 'later_arm_1'`,
      [participant],
    );
    expect(late!.days).to.equal(3);
    expect(circles()).to.deep.equal([]);
  });

  /** What the worker has told of deadlocks since the tests began. */
  const circles = () =>
    readFileSync(join(stage.run.data_dir, 'logs', 'worker.log'), 'utf8')
      .slice(toldBefore)
      .split('\n')
      .filter((line) => line.includes('40P01') || line.includes('deadlock'));

  async function complete(visit: VisitRow, participant: string): Promise<string> {
    const started = await stage.call<{ sessionId: string }>('POST', '/api/session/start', {
      participant_id: participant,
      language: 'en',
      visit_id: visit.id,
    });
    expect(started.status, JSON.stringify(started.body)).to.equal(201);
    const session = started.body.sessionId;
    const device = new Http(stage.run.api);
    const headers = { headers: { 'X-Session-ID': session } };
    const summary = { session_id: session, task_summaries: { stroop: { mean_rt: 400 } }, raw_trials: [] };
    await device.expect(200, 'POST', '/api/submit', summary, headers);
    await device.expect(200, 'POST', '/api/session/end', { session_id: session }, headers);
    return session;
  }
});
