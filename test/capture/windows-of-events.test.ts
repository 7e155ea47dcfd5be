import { expect } from 'chai';
import { until } from '../support/service.js';
import { Stage } from './support.js';
import type { CaptureStudy } from './support.js';

const dayAgo = () => new Date(Date.now() - 86_400_000).toISOString().slice(0, 10);

interface VisitRow {
  id: string;
  status: string;
  datacapture_event: string;
  visit_window_id: string | null;
  is_baseline: boolean;
}

describe('visit windows of events whose visits the mapping had planned', function () {
  this.timeout(120_000);
  let stage: Stage;
  before(async function () {
    this.timeout(240_000);
    stage = await Stage.set({ polls: false });
  });
  after(() => stage?.clear());

  const visits = (participant: string) =>
    stage.sql<VisitRow>(
      `select * from scheduled_visits where participant_id = ? and status not in ('superseded', 'cancelled')
       order by datacapture_event`,
      [participant],
    );
  const shown = async (participant: string) =>
    (await visits(participant)).map(({ datacapture_event, status }) => [datacapture_event, status]);
  /** Waits until nothing is left to be worked off for a study. */
  const quiet = (study: CaptureStudy) =>
    until(
      async () => {
        const [open] = await stage.sql<{ open: number }>(
          `select (select count(*) from outbox where study_id = :id)
             + (select count(*) from open_study_changes where study_id = :id) as open`,
          { id: study.id } as never,
        );
        return Number(open!.open) === 0 ? true : undefined;
      },
      { what: 'the study to be quiet' },
    );
  /** A study with a participant who has done the visit of the first event. */
  async function setting(policy: object = {}) {
    const study = await stage.study({
      study: { config: { enrollment_date_policy: policy } },
      config: { poll_interval_minutes: 0 },
    });
    await study.enroll(`${study.projectId}-1`, { enrolled: dayAgo() });
    await study.settled(1);
    const [person] = await study.participants();
    const [first] = await visits(person!.id);
    expect((await stage.call('POST', `/api/visits/${first!.id}/complete`, {})).status).to.equal(200);
    await quiet(study);
    return { study, person: person!.id, done: first!.id };
  }
  const syncEvents = async (study: CaptureStudy) => {
    const { status, body } = await stage.call('POST', `/api/studies/${study.id}/datacapture/sync-events`);
    expect([status, body['created']]).to.deep.equal([200, 2]);
    await quiet(study);
  };
  const map = async (study: CaptureStudy, mapping: object) => {
    const path = `/api/datacapture/config/${study.id}/event-mapping`;
    expect((await stage.call('PUT', path, { event_battery_mapping: mapping })).status).to.equal(200);
    await quiet(study);
  };

  it('a visit that is done stays the one of its event, whether windows or mapping plan it', async () => {
    const { study, person, done } = await setting();
    await syncEvents(study);
    const wanted = [
      ['baseline_arm_1', 'completed'],
      ['month_3_arm_1', 'scheduled'],
    ];
    expect(await shown(person), 'with windows and mapping').to.deep.equal(wanted);
    await map(study, {});
    expect(await shown(person), 'with windows alone').to.deep.equal(wanted);
    await map(study, study.mapped({ baseline_arm_1: { target_day: 0 }, month_3_arm_1: { target_day: 90 } }));
    expect(await shown(person), 'with both again').to.deep.equal(wanted);
    expect((await visits(person))[0]!.id).to.equal(done);
  });

  it('so does one whose event was renamed meanwhile', async () => {
    const { study, person, done } = await setting();
    const renamed = stage.simulator.control.renameEvent(Number(study.projectId), 'baseline_arm_1', 'First');
    expect(renamed).to.equal('first_arm_1');
    await syncEvents(study);
    await map(study, {});
    expect((await visits(person)).map(({ id }) => id).filter((id) => id === done)).to.have.length(1);
    expect(await shown(person)).to.deep.equal([
      ['first_arm_1', 'completed'],
      ['month_3_arm_1', 'scheduled'],
    ]);
  });

  it('a visit that is done is the baseline of the window that its event gets, and makes the date final', async () => {
    const { study, person, done } = await setting({
      prerequisites: { require_consent_signed: false, require_baseline_visit: true },
    });
    expect((await stage.call('GET', await study.anchorPath())).body['status']).to.equal('provisional');
    await syncEvents(study);
    await until(async () => (await stage.call('GET', await study.anchorPath())).body['status'] === 'finalized', {
      what: 'the date to be final',
    });
    const [baseline, later] = await visits(person);
    expect(baseline).to.include({ id: done, status: 'completed', is_baseline: true });
    expect([baseline!.visit_window_id, later!.visit_window_id]).not.to.include(null);
    // It is that window's visit: another one by hand is one more, and takes the place of none.
    const { status, body } = await stage.call<{ id: string; visit_key: string }>('POST', '/api/schedules/visits', {
      participant_id: person,
      visit_window_id: later!.visit_window_id,
      target_date: dayAgo(),
    });
    expect(status).to.equal(201);
    await map(study, study.mapped({ baseline_arm_1: { target_day: 0 }, month_3_arm_1: { target_day: 91 } }));
    expect(await shown(person)).to.have.length(3);
    expect((await visits(person)).map(({ id }) => id)).to.include.members([done, body.id]);
  });
});
