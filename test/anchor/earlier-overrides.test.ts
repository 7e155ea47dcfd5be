import { expect } from 'chai';
import { Visitor, hiddenIn } from '../console/stage.js';
import { unique } from '../support/http.js';
import type { Loose } from '../support/http.js';
import { until } from '../support/until.js';
import { DAY, Stage } from './stage.js';
import type { AnchorStudy, Person } from './stage.js';

const policy = { sources: [{ type: 'manual_entry' }], prerequisites: { require_consent_signed: false } };
const LATER = '2024-04-10';

describe('A change of the plan after an override that left the schedule as it was', () => {
  let stage: Stage;
  let study: AnchorStudy;
  let left: Person;
  before(async () => {
    stage = await Stage.open();
    study = await stage.study(policy);
    left = await study.person();
    const other = await study.person();
    for (const person of [left, other]) await person.set(DAY);
    // The windows themselves are a change: it has gone through before the override leaves the schedule behind.
    await study.settled();
    expect((await left.override(LATER, undefined, { regenerate_schedule: false })).status).to.equal(200);
    expect((await other.override(LATER)).status).to.equal(200);
  });
  after(() => stage.close());

  it('the dry run of a policy says beforehand whose visits all move', async () => {
    const run = await stage.admin.expect(
      200,
      'POST',
      `/api/studies/${study.id}/config/enrollment-policy?dry_run=true`,
      { ...policy, re_anchoring: { max_shift_days: 50 } },
    );
    expect(run).to.include({ schedules_regenerated: 1, moved_by_earlier_override: 1, would_change: 0 });
    expect(run.examples).to.deep.include({
      schedules_regenerated: [left.id],
      moved_by_earlier_override: [left.id],
    });
  });

  describe('the console says so', () => {
    const says = '1 participant had kept the former schedule through an override; all of their visits move too.';
    const days = { target_day: '90', window_before: '0', window_after: '7', sort_order: '0' };
    let visitor: Visitor;
    before(async () => {
      visitor = await Visitor.of(stage.run.api, stage.run.admin_email, stage.run.admin_password ?? '');
    });
    const studyWith = (config: object = {}, of: readonly number[] = [0]) =>
      stage.study(policy, { days: of, fields: { config: { ...config, enrollment_date_policy: policy } } });
    /** Somebody whom an override has left on the former date. */
    const leaveBehind = async (of: AnchorStudy) => {
      const person = await of.person();
      await person.set(DAY);
      await of.settled();
      expect((await person.override(LATER, undefined, { regenerate_schedule: false })).status).to.equal(200);
    };

    it('where a window would be added or deleted', async () => {
      const windowed = await studyWith();
      await leaveBehind(windowed);
      const at = `/console/studies/${windowed.id}/windows`;
      const window = { code: unique('W'), name: 'Three months', ...days, do: 'try' };
      expect((await visitor.post(`${at}/new`, `${at}/new`, window)).text).to.include(says);
      const [{ id }] = (await stage.sql<{ id: string }>('select id from visit_windows where study_id = ? limit 1', [
        windowed.id,
      ])) as [{ id: string }];
      expect((await visitor.get(`${at}/${id}/delete`)).text).to.include(says);
    });

    it('where an event would be added or deleted, or counts no more', async () => {
      const planned = await studyWith({ scheduling_mode: 'edc' }, []);
      const event = { event_oid: 'SE', name: 'First', target_day: 1 };
      const { id } = await stage.admin.expect(201, 'POST', `/api/studies/${planned.id}/event-definitions`, event);
      await leaveBehind(planned);
      const at = `/console/studies/${planned.id}/events`;
      const other = { event_oid: 'SE2', name: 'Second', ...days, do: 'try' };
      expect((await visitor.post(`${at}/new`, `${at}/new`, other)).text).to.include(says);
      expect((await visitor.get(`${at}/${id as string}/delete`)).text).to.include(says);
      expect((await visitor.get(at)).text).to.include(says);
    });

    it('where the time zone of a study or site was saved', async () => {
      const zoned = await studyWith();
      await leaveBehind(zoned);
      const at = `/console/studies/${zoned.id}`;
      const { text } = await visitor.get(`${at}/settings`);
      const { study_name } = await stage.admin.expect(200, 'GET', `/api/studies/${zoned.id}`);
      const sent = await visitor.post(`${at}/settings`, `${at}/settings`, {
        version: hiddenIn(text, 'version'),
        study_name: study_name as string,
        status: 'active',
        timezone: 'Europe/Paris',
        consent_mode: 'none',
      });
      expect(sent.headers.get('location'), sent.text).to.equal(`${at}?said=saved&earlier=1`);
      expect((await visitor.get(`${at}?said=saved&earlier=1`)).text).to.include(says);

      const sited = await studyWith();
      const site = await stage.admin.expect(201, 'POST', `/api/studies/${sited.id}/sites`, { site_code: 'A' });
      await leaveBehind(sited);
      const sites = `/console/studies/${sited.id}/sites`;
      const page = await visitor.get(`${sites}/${site.id}`);
      const moved = await visitor.post(sites, `${sites}/${site.id}`, {
        version: hiddenIn(page.text, 'version'),
        site_code: 'A',
        timezone: 'Europe/Paris',
        status: 'active',
      });
      expect(moved.headers.get('location'), moved.text).to.equal(`${sites}?said=replanned&earlier=1`);
      expect((await visitor.get(`${sites}?said=replanned&earlier=1`)).text).to.include(says);
    });
  });

  it('the answer to an unrelated window says so; afterwards there is nothing left to say', async () => {
    const window = await study.window(90);
    expect(window.moved_by_earlier_override).to.equal(1);
    const versions = await until(async () => {
      const all = await left.versions();
      return all.length === 2 ? all : undefined;
    });
    expect(versions.find((v) => v.is_current)!.anchor_date_used).to.equal(LATER);
    const { body } = await stage.admin.patch(`/api/schedules/windows/${window.id as string}`, { name: 'Three months' });
    expect(body).to.include({ name: 'Three months' }).and.not.to.have.property('moved_by_earlier_override');
  });

  it('a change that changes nothing does not say so: no visit moves', async () => {
    const own = await stage.study(policy, { days: [] });
    const window = await own.window(30);
    const ofStudy = `/api/studies/${own.id}`;
    const event = await stage.admin.expect(201, 'POST', `${ofStudy}/event-definitions`, {
      event_oid: 'E',
      name: 'E',
      target_day: 0,
    });
    const calendar = await stage.admin.expect(201, 'POST', `${ofStudy}/holiday-calendars`, {
      name: 'Holidays',
      holidays: ['2024-12-25'],
    });
    const person = await own.person();
    await person.set(DAY);
    await own.settled();
    await person.override(LATER, undefined, { regenerate_schedule: false });
    for (const [path, same] of [
      [`/api/schedules/windows/${window.id as string}`, { target_day: 30, name: 'Day 30' }],
      [`/api/event-definitions/${event.id as string}`, { target_day: 0 }],
      [`/api/holiday-calendars/${calendar.id as string}`, { holidays: ['2024-12-25'] }],
    ] as const)
      expect(await stage.admin.expect(200, 'PATCH', path, same), path).not.to.have.property(
        'moved_by_earlier_override',
      );
    await own.settled();
    expect((await person.versions()).map(({ anchor_date_used }) => anchor_date_used)).to.deep.equal([DAY]);
    const changed = await stage.admin.expect(200, 'PATCH', `/api/schedules/windows/${window.id as string}`, {
      target_day: 31,
    });
    expect(changed.moved_by_earlier_override).to.equal(1);
  });

  it('a change that was made before the override, and comes to the participant after it, leaves the dates', async () => {
    const own = await stage.study(policy);
    const people = await Promise.all([own.person(), own.person()]);
    for (const person of people) await person.set(DAY);
    await own.settled();
    // Both are of one piece of the walk, which takes them in the order of their ids and waits for the first.
    const [first, second] = people.sort((a, b) => (a.id < b.id ? -1 : 1)) as [Person, Person];
    await stage.holding('select 1 from anchor_dates where participant_id = ? for update', [first.id], async () => {
      expect(await own.window(90)).not.to.have.property('moved_by_earlier_override');
      await until(
        async () =>
          (
            await stage.sql(
              `select 1 from pg_stat_activity where wait_event_type = 'Lock' and query like '%anchor_dates%'`,
            )
          ).length > 0,
        { what: 'the walk to wait' },
      );
      const overridden = await second.override(LATER, undefined, { regenerate_schedule: false });
      expect(overridden.status).to.equal(200);
    });
    await own.settled();
    for (const person of [first, second]) {
      const current = (await person.versions()).find((version) => version.is_current)!;
      expect([current.version_number, current.anchor_date_used]).to.deep.equal([2, DAY]);
    }
    expect((await second.anchor()).enrollment_date).to.equal(LATER);
  });

  it('so do events, calendars, a saved policy and the study itself', async () => {
    const person = await study.person();
    await person.set(DAY);
    const ofStudy = `/api/studies/${study.id}`;
    const changes: [date: string, answer: () => Promise<Loose>][] = [
      [
        '2024-04-10',
        () =>
          stage.admin.expect(201, 'POST', `${ofStudy}/event-definitions`, {
            event_oid: 'E1',
            name: 'E1',
            target_day: 0,
          }),
      ],
      [
        '2024-05-10',
        () => stage.admin.expect(201, 'POST', `${ofStudy}/holiday-calendars`, { name: 'Holidays', holidays: [] }),
      ],
      [
        '2024-06-10',
        () =>
          stage.admin.expect(200, 'POST', `${ofStudy}/config/enrollment-policy`, {
            ...policy,
            re_anchoring: { max_shift_days: 60 },
          }),
      ],
      ['2024-06-20', () => stage.admin.expect(200, 'PATCH', ofStudy, { timezone: 'Europe/Berlin' })],
    ];
    for (const [date, change] of changes) {
      await person.override(date, undefined, { regenerate_schedule: false });
      expect((await change()).moved_by_earlier_override, date).to.equal(1);
      await until(async () => (await person.versions()).some((v) => v.is_current && v.anchor_date_used === date));
      await study.settled();
    }
  });

  it('so does a mapping of events, as it is changed and as it is replaced', async () => {
    const own = await stage.study(policy);
    const battery = await stage.admin.expect(201, 'POST', '/api/batteries', {
      study_id: own.id,
      code: 'B',
      name: 'A battery',
      modules: [{ task: 'stroop' }],
    });
    const config = `/api/datacapture/config/${own.id}`;
    const nowhere = { api_url: 'http://127.0.0.1:9/api/', api_token: 'A'.repeat(32) };
    const made = await stage.admin.expect(201, 'PATCH', config, nowhere);
    expect(made).not.to.have.property('moved_by_earlier_override');
    const person = await own.person();
    await person.set(DAY);
    await own.settled();
    const event_battery_mapping = { later_arm_1: { battery_id: battery.id, target_day: 60 } };
    const changes: [date: string, change: () => Promise<Loose>][] = [
      ['2024-04-10', () => stage.admin.expect(200, 'PATCH', config, { event_battery_mapping })],
      ['2024-05-10', () => stage.admin.expect(200, 'PUT', `${config}/event-mapping`, { event_battery_mapping: {} })],
    ];
    for (const [date, change] of changes) {
      expect((await person.override(date, undefined, { regenerate_schedule: false })).status).to.equal(200);
      expect((await change()).moved_by_earlier_override, date).to.equal(1);
      await until(async () => (await person.versions()).some((v) => v.is_current && v.anchor_date_used === date));
      await own.settled();
    }
  });
});
