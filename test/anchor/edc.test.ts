import { expect } from 'chai';
import { anchorState } from '../../workflows/contract.js';
import { newStudy, unique, user } from '../support/http.js';
import type { Loose } from '../support/http.js';
import { until } from '../support/service.js';
import { AnchorStudy, Stage } from './stage.js';
import type { Person, VersionView } from './stage.js';

interface InstanceView {
  id: string;
  event_oid: string;
  occurrence: number;
  name: string;
  target_date: string;
  window_open: string;
  window_close: string;
  status: string;
  visit_key: string;
  schedule_version_id: string;
  event_definition_id: string | null;
  anchor_reconciled: boolean;
  anchor_reconciled_at: string | null;
}

/** A study in `edc` mode as tests of it need one. */
class EdcStudy extends AnchorStudy {
  static async make(stage: Stage, fields: Record<string, unknown> = {}): Promise<EdcStudy> {
    // No rule looks at today or at consent: the calendar is what these tests are about.
    const policy = {
      sources: [{ type: 'manual_entry' }],
      validation: { cannot_be_future: false },
      re_anchoring: { completed_visit_handling: 'flag_for_review' },
    };
    const made = await newStudy(stage.admin, {
      consent_mode: 'external',
      config: { scheduling_mode: 'edc', enrollment_date_policy: policy },
      ...fields,
    });
    return new EdcStudy(stage, made.id);
  }
  event(event_oid: string, target_day: number, fields: Record<string, unknown> = {}): Promise<Loose> {
    return this.stage.admin.expect(201, 'POST', `/api/studies/${this.id}/event-definitions`, {
      event_oid,
      name: `Event ${event_oid}`,
      target_day,
      ...fields,
    });
  }
  calendar(fields: Record<string, unknown> = {}): Promise<Loose> {
    return this.stage.admin.expect(201, 'POST', `/api/studies/${this.id}/holiday-calendars`, {
      name: unique('calendar'),
      ...fields,
    });
  }
  async anchored(date: string, fields: Record<string, unknown> = {}): Promise<Person> {
    const person = await this.person(fields);
    const { body } = await person.set(date);
    expect(body.status).to.equal('finalized');
    return person;
  }
}
const instances = async (person: Person, query = ''): Promise<InstanceView[]> =>
  (
    await person.study.stage.admin.expect<{ items: InstanceView[] }>(
      200,
      'GET',
      `${person.path}/event-instances?limit=500${query}`,
    )
  ).items;
const standing = async (person: Person) =>
  (await instances(person)).filter((i) => i.status !== 'superseded' && i.status !== 'cancelled');
const targets = async (person: Person) =>
  (await standing(person)).map((i) => [i.event_oid, i.occurrence, i.target_date]);
const current = async (person: Person): Promise<VersionView & { scheduling_mode: string }> =>
  (await person.versions()).find((v) => v.is_current) as VersionView & { scheduling_mode: string };
const atVersion = (person: Person, number: number) =>
  until(
    async () => {
      const version = await current(person);
      if (version.version_number !== number) throw new Error(`version ${version.version_number} is current`);
      return version;
    },
    { what: `version ${number}` },
  );

describe('edc scheduling: events, instances, holidays', function () {
  let stage: Stage;
  before(async () => {
    stage = await Stage.open();
  });
  after(() => stage.close());

  it('makes an instance of each event, and of each time of a repeating one, in a version of mode edc', async () => {
    const study = await EdcStudy.make(stage);
    await study.event('BASE', 0, { is_baseline: true, window_before: 1, window_after: 2 });
    await study.event('DIARY', 7, {
      repeating: { count: 3, every_days: 7 },
      window_after: 1,
      datacapture_event: 'diary_arm_1',
    });
    const person = await study.anchored('2024-03-06');
    const version = await current(person);
    expect(version).to.include({
      version_number: 1,
      scheduling_mode: 'edc',
      visits_generated: 4,
      status: 'active',
      anchor_date_used: '2024-03-06',
    });
    expect(version.generation_warnings).to.deep.equal([]);
    expect(
      (await instances(person)).map((i) => [
        i.event_oid,
        i.occurrence,
        i.name,
        i.target_date,
        i.window_open,
        i.window_close,
        i.status,
      ]),
    ).to.deep.equal([
      ['BASE', 1, 'Event BASE', '2024-03-06', '2024-03-05', '2024-03-08', 'missed'],
      ['DIARY', 1, 'Event DIARY 1', '2024-03-13', '2024-03-13', '2024-03-14', 'missed'],
      ['DIARY', 2, 'Event DIARY 2', '2024-03-20', '2024-03-20', '2024-03-21', 'missed'],
      ['DIARY', 3, 'Event DIARY 3', '2024-03-27', '2024-03-27', '2024-03-28', 'missed'],
    ]);
    const visits = await person.visits();
    expect(visits.map((v) => v.id).sort()).to.deep.equal((await instances(person)).map((i) => i.id).sort());
    for (const visit of visits) expect((visit as unknown as Loose).visit_window_id).to.equal(null);
  });

  it('exports name the event of each visit as it is called now, as the report of visits does', async () => {
    const study = await EdcStudy.make(stage);
    await study.event('BASE', 0);
    const followUp = await study.event('FU', 30, { repeating: { count: 2, every_days: 30 } });
    await study.settled();
    await study.anchored('2024-03-01');
    await stage.admin.expect(200, 'PATCH', `/api/event-definitions/${followUp.id}`, { event_oid: 'LATER' });
    const codesOf = (rows: Loose[]) => rows.map(({ window_code }) => window_code).sort();
    const { rows } = await stage.admin.expect<{ rows: Loose[] }>(200, 'POST', '/api/exports/json', {
      study_id: study.id,
      dataset: 'visits',
    });
    const { items } = await stage.admin.expect(200, 'GET', `/api/reports/studies/${study.id}/visits`);
    expect(codesOf(items)).to.deep.equal(['BASE', 'LATER', 'LATER']);
    expect(codesOf(rows)).to.deep.equal(codesOf(items));
    const { text } = await stage.admin.get(`/api/exports/studies/${study.id}/odm`);
    const named = [...text.matchAll(/<StudyEventData StudyEventOID="([^"]+)"/g)].map(([, oid]) => oid);
    expect(named.sort()).to.deep.equal(['SE.COMMON', 'SE.EVENT.BASE', 'SE.EVENT.LATER', 'SE.EVENT.LATER']);
  });

  it('windows and capture-system mapping count for nothing in edc mode, events for nothing in legacy mode; a switch makes the next version', async () => {
    const study = await EdcStudy.make(stage);
    await study.event('E30', 30);
    await study.window(10);
    const person = await study.anchored('2024-03-06');
    expect(await targets(person)).to.deep.equal([['E30', 1, '2024-04-05']]);
    await stage.admin.expect(200, 'PATCH', `/api/studies/${study.id}`, { config: { scheduling_mode: 'legacy' } });
    const version = await atVersion(person, 2);
    expect(version).to.include({ scheduling_mode: 'legacy', visits_generated: 1 });
    expect((await person.standing()).map((v) => v.target_date)).to.deep.equal(['2024-03-16']);
    expect(await targets(person)).to.deep.equal([]);
    await stage.admin.expect(200, 'PATCH', `/api/studies/${study.id}`, { config: { scheduling_mode: null } });
    await study.settled();
    expect((await current(person)).version_number).to.equal(2);
  });

  it('a study without events gets a version with no instances and says so', async () => {
    const study = await EdcStudy.make(stage);
    const person = await study.anchored('2024-03-06');
    expect(await current(person)).to.deep.include({
      version_number: 1,
      visits_generated: 0,
      generation_warnings: ['NO_EVENT_DEFINITIONS'],
    });
  });

  describe('holidays and weekends', () => {
    it('a target on a holiday moves to the next working day inside its window, and a warning says so', async () => {
      const study = await EdcStudy.make(stage);
      await study.calendar({ holidays: [{ date: '2026-12-25', name: 'Christmas Day' }] });
      await study.event('M1', 30, { window_before: 2, window_after: 5 });
      const person = await study.anchored('2026-11-25');
      const version = await current(person);
      expect(version.generation_warnings).to.deep.equal([
        'HOLIDAY_SHIFTED: M1 2026-12-25 → 2026-12-28 (holiday: Christmas Day)',
      ]);
      const [instance] = await instances(person);
      expect(instance).to.include({ target_date: '2026-12-28', window_open: '2026-12-23', window_close: '2026-12-30' });
      const full = await stage.admin.expect(200, 'GET', `${person.path}/schedule-versions/${version.id}`);
      expect(full.holiday_calendar_id).to.be.a('string');
    });

    it('a holiday needs no name, and its date alone will do: all are answered alike, and the warning names the kind', async () => {
      const study = await EdcStudy.make(stage);
      const given = [
        '2026-12-25',
        { date: '2026-12-28' },
        { date: '2026-12-29', name: null },
        { date: '2026-12-30', name: 'Between the years' },
      ];
      const stored = [
        ['2026-12-25', null],
        ['2026-12-28', null],
        ['2026-12-29', null],
        ['2026-12-30', 'Between the years'],
      ].map(([date, name]) => ({ date, name }));
      const calendar = await study.calendar({ holidays: given });
      const path = `/api/holiday-calendars/${calendar.id}`;
      expect(calendar.holidays).to.deep.equal(stored);
      expect((await stage.admin.expect(200, 'GET', path)).holidays).to.deep.equal(stored);
      expect(
        (await stage.admin.expect(200, 'PATCH', path, { holidays: given })).updated_at,
        'the same again changes nothing',
      ).to.equal(calendar.updated_at);
      await study.event('M1', 30, { window_before: 2, window_after: 7 });
      const person = await study.anchored('2026-11-25');
      expect((await current(person)).generation_warnings).to.deep.equal([
        'HOLIDAY_SHIFTED: M1 2026-12-25 → 2026-12-31 (holiday)',
      ]);
      expect((await stage.admin.expect(200, 'PATCH', path, { holidays: ['2027-01-01'] })).holidays).to.deep.equal([
        { date: '2027-01-01', name: null },
      ]);
      const refused = await stage.admin.expect<{ detail: string }>(422, 'PATCH', path, { holidays: [5] });
      expect(refused.detail).to.equal('holidays.0 must be object or string');
    });

    it('where no working day lies inside the window the target stays, and another warning says so', async () => {
      const study = await EdcStudy.make(stage);
      await study.calendar({ holidays: [{ date: '2026-12-25', name: 'Christmas Day' }] });
      await study.event('M1', 30, { window_before: 2, window_after: 2 });
      const person = await study.anchored('2026-11-25');
      expect((await current(person)).generation_warnings).to.deep.equal([
        'HOLIDAY_IN_WINDOW: M1 2026-12-25 stays: no working day until 2026-12-27 (holiday: Christmas Day)',
      ]);
      expect(await targets(person)).to.deep.equal([['M1', 1, '2026-12-25']]);
    });

    it('weekend days are the calendar’s own; without a calendar every day is a working day', async () => {
      const study = await EdcStudy.make(stage);
      await study.event('D2', 2);
      const none = await study.anchored('2024-03-06');
      expect(await targets(none)).to.deep.equal([['D2', 1, '2024-03-08']]);
      await study.calendar({ weekend_days: [5, 6], holidays: [{ date: '2024-03-10', name: 'A Sunday off' }] });
      await atVersion(none, 2);
      // Friday and Saturday are the weekend there, and the Sunday after is a holiday.
      expect(await targets(none)).to.deep.equal([['D2', 1, '2024-03-11']]);
    });

    it('the calendar of a site goes before the study’s default', async () => {
      const study = await EdcStudy.make(stage);
      const site = await stage.admin.expect(201, 'POST', `/api/studies/${study.id}/sites`, {
        site_code: 'RUH',
        timezone: 'Asia/Riyadh',
      });
      await study.calendar({ is_default: true });
      const own = await study.calendar({ site_id: site.id, weekend_days: [5, 6] });
      await study.event('D3', 3);
      await study.event('D2', 2);
      const [there, elsewhere] = await Promise.all([
        study.anchored('2024-03-06', { site_id: site.id }),
        study.anchored('2024-03-06'),
      ]);
      expect((await targets(there)).sort()).to.deep.equal([
        ['D2', 1, '2024-03-10'],
        ['D3', 1, '2024-03-10'],
      ]);
      expect(await targets(elsewhere)).to.deep.equal([
        ['D2', 1, '2024-03-08'],
        ['D3', 1, '2024-03-11'],
      ]);
      // Who moves there goes by that calendar, and by the former one when he returns.
      await stage.admin.expect(200, 'PATCH', `/api/participants/${elsewhere.id}`, { site_id: site.id });
      expect(await atVersion(elsewhere, 2)).to.include({ anchor_date_used: '2024-03-06', scheduling_mode: 'edc' });
      const moved = (await elsewhere.anchor()).current_schedule_version_id;
      await until(async () =>
        expect(await stage.handle(elsewhere.id).query(anchorState)).to.include({ schedule_version_id: moved }),
      );
      expect((await targets(elsewhere)).sort()).to.deep.equal([
        ['D2', 1, '2024-03-10'],
        ['D3', 1, '2024-03-10'],
      ]);
      await stage.admin.expect(200, 'PATCH', `/api/participants/${elsewhere.id}`, { site_id: null });
      await atVersion(elsewhere, 3);
      await stage.admin.expect(204, 'DELETE', `/api/holiday-calendars/${own.id}`);
      await atVersion(there, 2);
      expect(await targets(there)).to.deep.equal([
        ['D2', 1, '2024-03-08'],
        ['D3', 1, '2024-03-11'],
      ]);
    });

    it('who moves to a site goes by its calendar, also if the move makes the date final', async () => {
      const study = await EdcStudy.make(stage);
      const site = await stage.admin.expect(201, 'POST', `/api/studies/${study.id}/sites`, { site_code: 'RUH' });
      await study.calendar({ is_default: true });
      await study.calendar({ site_id: site.id, weekend_days: [5, 6] });
      await study.event('D2', 2);
      await study.policy({
        sources: [{ type: 'manual_entry' }],
        schedule_on_provisional: true,
        prerequisites: { require_consent_signed: false, custom_rule: 'participant.site_code == "RUH"' },
      });
      await study.settled();
      const person = await study.person();
      expect((await person.set('2024-03-06')).body).to.include({ status: 'provisional' });
      expect(await targets(person)).to.deep.equal([['D2', 1, '2024-03-08']]);
      await stage.admin.expect(200, 'PATCH', `/api/participants/${person.id}`, { site_id: site.id });
      await person.becomes({ status: 'finalized' });
      await person.settled();
      expect(await targets(person)).to.deep.equal([['D2', 1, '2024-03-10']]);
    });

    it('a changed calendar makes a next version only where something moves', async () => {
      const study = await EdcStudy.make(stage);
      const calendar = await study.calendar({ weekend_days: [6, 7] });
      await study.event('D30', 30);
      const [moves, stays] = await Promise.all([study.anchored('2024-03-04'), study.anchored('2024-03-05')]);
      expect([await targets(moves), await targets(stays)]).to.deep.equal([
        [['D30', 1, '2024-04-03']],
        [['D30', 1, '2024-04-04']],
      ]);
      await stage.admin.expect(200, 'PATCH', `/api/holiday-calendars/${calendar.id}`, {
        holidays: [{ date: '2024-04-03', name: 'A day off' }],
      });
      const version = await atVersion(moves, 2);
      expect(version.generation_warnings).to.deep.equal([
        'HOLIDAY_SHIFTED: D30 2024-04-03 → 2024-04-04 (holiday: A day off)',
      ]);
      await study.settled();
      expect((await stays.versions()).map((v) => v.version_number)).to.deep.equal([1]);
      expect((await moves.versions())[0]).to.include({ status: 'superseded', supersede_reason: 'calendar_changed' });
      const kinds = await study.audit('holiday_calendar_changed');
      expect(kinds.map((k) => k.audit_metadata.fields)).to.deep.equal([['holidays']]);
    });
  });

  describe('over leap days and daylight saving', () => {
    const cases: [what: string, anchor: string, day: number, target: string][] = [
      ['to a leap day', '2024-01-30', 30, '2024-02-29'],
      ['over a leap day', '2024-02-28', 2, '2024-03-01'],
      ['over the end of February without one', '2023-02-28', 1, '2023-03-01'],
      ['from a leap day, a year on', '2024-02-29', 365, '2025-02-28'],
      ['to the day that clocks go forward (New York)', '2024-03-08', 2, '2024-03-10'],
      ['over the night that clocks go back (New York)', '2024-11-02', 2, '2024-11-04'],
      ['back over the night that clocks go back', '2024-11-05', -3, '2024-11-02'],
    ];
    let study: EdcStudy;
    before(async () => {
      study = await EdcStudy.make(stage, { timezone: 'America/New_York' });
      for (const day of new Set(cases.map(([, , d]) => d))) await study.event(`D${day}`, day);
    });
    for (const [what, anchor, day, target] of cases) {
      it(`${anchor} ${day < 0 ? '−' : '+'} ${Math.abs(day)} days, ${what}: ${target}`, async () => {
        const person = await study.anchored(anchor);
        expect((await instances(person)).find((i) => i.event_oid === `D${day}`)).to.include({ target_date: target });
      });
    }
  });

  describe('re-anchoring', () => {
    it('a completed instance stays the one row it is and is carried; the others move with their keys', async () => {
      const study = await EdcStudy.make(stage);
      await study.calendar();
      await study.event('BASE', 0, { window_after: 4 });
      await study.event('DIARY', 7, { repeating: { count: 3, every_days: 7 }, window_after: 4 });
      const person = await study.anchored('2024-03-06');
      const first = await instances(person);
      await person.complete(first[1]!.id);
      const preview = await stage.admin.expect<{
        completed_visits_to_reconcile: number;
        pending_visits_to_reschedule: number;
        warnings: string[];
        preview_hash: string;
        visits: { action: string; to?: string }[];
      }>(200, 'POST', `${person.path}/anchor-date/override/preview`, {
        new_enrollment_date: '2024-03-09',
        reason: 'the form was misread',
      });
      expect(preview).to.include({ completed_visits_to_reconcile: 1, pending_visits_to_reschedule: 3 });
      expect(preview.warnings.filter((w) => w.startsWith('HOLIDAY_SHIFTED'))).to.deep.equal([
        'HOLIDAY_SHIFTED: BASE 2024-03-09 → 2024-03-11 (weekend)',
        'HOLIDAY_SHIFTED: DIARY#1 2024-03-16 → 2024-03-18 (weekend)',
        'HOLIDAY_SHIFTED: DIARY#2 2024-03-23 → 2024-03-25 (weekend)',
        'HOLIDAY_SHIFTED: DIARY#3 2024-03-30 → 2024-04-01 (weekend)',
      ]);
      const { status } = await person.override('2024-03-09', undefined, { preview_hash: preview.preview_hash });
      expect(status).to.equal(200);
      const version = await current(person);
      expect(version).to.include({ version_number: 2, visits_generated: 3, scheduling_mode: 'edc' });
      const all = await instances(person);
      expect(all).to.have.length(7);
      const done = all.filter((i) => i.status === 'completed');
      expect(done).to.have.length(1);
      expect(done[0]).to.include({
        id: first[1]!.id,
        event_oid: 'DIARY',
        occurrence: 1,
        target_date: '2024-03-13',
        schedule_version_id: first[1]!.schedule_version_id,
        anchor_reconciled: true,
      });
      expect(done[0]!.anchor_reconciled_at).to.be.a('string');
      const made = await instances(person, `&schedule_version_id=${version.id}`);
      expect(made.map((i) => [i.event_oid, i.occurrence, i.target_date])).to.deep.equal([
        ['BASE', 1, '2024-03-11'],
        ['DIARY', 2, '2024-03-25'],
        ['DIARY', 3, '2024-04-01'],
      ]);
      for (const instance of made)
        expect(first.find((f) => f.visit_key === instance.visit_key)).to.include({
          event_oid: instance.event_oid,
          occurrence: instance.occurrence,
        });
      const listed = await stage.admin.expect<{ visits: { id: string; carried: boolean }[] }>(
        200,
        'GET',
        `${person.path}/schedule-versions/${version.id}`,
      );
      expect(listed.visits.filter((v) => v.carried).map((v) => v.id)).to.deep.equal([first[1]!.id]);
      expect(listed.visits).to.have.length(4);
    });

    it('a preview goes stale when a calendar or an event changes meanwhile', async () => {
      const study = await EdcStudy.make(stage);
      await study.event('D30', 30);
      const person = await study.anchored('2024-03-06');
      const { preview_hash } = await stage.admin.expect(200, 'POST', `${person.path}/anchor-date/override/preview`, {
        new_enrollment_date: '2024-03-08',
        reason: 'the form was misread',
      });
      await study.calendar();
      const refused = await person.override('2024-03-08', undefined, { preview_hash });
      expect([refused.status, refused.body.code]).to.deep.equal([409, 'PREVIEW_STALE']);
      expect((refused.body.preview as { warnings: string[] }).warnings[0]).to.equal(
        'HOLIDAY_SHIFTED: D30 2024-04-07 → 2024-04-08 (weekend)',
      );
    });

    it('a changed event reaches every schedule; fewer repeats take instances out, completed ones never', async () => {
      const study = await EdcStudy.make(stage);
      const diary = await study.event('DIARY', 7, { repeating: { count: 3, every_days: 7 } });
      const person = await study.anchored('2024-03-06');
      await person.complete((await instances(person))[2]!.id);
      await stage.admin.expect(200, 'PATCH', `/api/event-definitions/${diary.id}`, {
        repeating: { count: 2, every_days: 10 },
      });
      await atVersion(person, 2);
      expect(await targets(person)).to.deep.equal([
        ['DIARY', 1, '2024-03-13'],
        ['DIARY', 2, '2024-03-23'],
        ['DIARY', 3, '2024-03-27'],
      ]);
      const deletion = await stage.admin.delete(`/api/event-definitions/${diary.id}`);
      expect([deletion.status, deletion.body.code]).to.deep.equal([409, 'EVENT_IN_USE']);
    });

    it('of how often an event repeats only what is given changes; one that did not repeat needs all of it', async () => {
      const study = await EdcStudy.make(stage);
      const diary = await study.event('DIARY', 7, { repeating: { count: 3, every_days: 7 } });
      const once = await study.event('ONCE', 3);
      const change = (event: Loose, repeating: object | null) =>
        stage.admin.patch(`/api/event-definitions/${event.id}`, { repeating });
      const fewer = await change(diary, { count: 2 });
      expect([fewer.status, fewer.body.repeating], fewer.text).to.deep.equal([200, { count: 2, every_days: 7 }]);
      const half = await change(once, { count: 2 });
      expect([half.status, half.body.errors?.[0]?.path, half.body.errors?.[0]?.code], half.text).to.deep.equal([
        422,
        'repeating.every_days',
        'REQUIRED',
      ]);
      expect((await change(once, { count: 2, every_days: 5 })).body.repeating).to.deep.equal({
        count: 2,
        every_days: 5,
      });
      expect((await change(once, null)).body.repeating).to.equal(null);
    });

    it('a deleted event’s instances give way and keep their name in the older version', async () => {
      const study = await EdcStudy.make(stage);
      const gone = await study.event('GONE', 3);
      await study.event('STAYS', 5);
      const person = await study.anchored('2024-03-06');
      await stage.admin.expect(204, 'DELETE', `/api/event-definitions/${gone.id}`);
      await atVersion(person, 2);
      expect(await targets(person)).to.deep.equal([['STAYS', 1, '2024-03-11']]);
      const old = (await instances(person, '&status=superseded')).find((i) => i.event_oid === 'GONE');
      expect(old).to.include({ event_definition_id: null, occurrence: 1, target_date: '2024-03-09' });
    });
  });

  describe('what is refused', () => {
    let study: EdcStudy;
    let other: EdcStudy;
    before(async () => {
      [study, other] = await Promise.all([EdcStudy.make(stage), EdcStudy.make(stage)]);
    });
    const post = (what: string, body: Record<string, unknown>) =>
      stage.admin.post(`/api/studies/${study.id}/${what}`, body);
    const event = { event_oid: 'E', name: 'E', target_day: 1 };

    const wrong: [title: string, what: string, body: Record<string, unknown>, path: string, code: string][] = [
      ['an event without event_oid', 'event-definitions', { name: 'E', target_day: 1 }, 'event_oid', 'REQUIRED'],
      [
        'a target day that is no whole number',
        'event-definitions',
        { ...event, target_day: 1.5 },
        'target_day',
        'TYPE',
      ],
      [
        'a window before of less than nothing',
        'event-definitions',
        { ...event, window_before: -1 },
        'window_before',
        'MINIMUM',
      ],
      [
        'repeating without its distance',
        'event-definitions',
        { ...event, repeating: { count: 3 } },
        'repeating.every_days',
        'REQUIRED',
      ],
      [
        'repeating 400 times',
        'event-definitions',
        { ...event, repeating: { count: 400, every_days: 1 } },
        'repeating.count',
        'MAXIMUM',
      ],
      [
        'a battery that is none of the study',
        'event-definitions',
        { ...event, battery_id: 999_999 },
        'battery_id',
        'UNKNOWN_BATTERY',
      ],
      ['a field that is none', 'event-definitions', { ...event, colour: 'red' }, 'colour', 'UNKNOWN_FIELD'],
      ['a calendar without a name', 'holiday-calendars', { holidays: [] }, 'name', 'REQUIRED'],
      ['an eighth day of the week', 'holiday-calendars', { name: 'c', weekend_days: [8] }, 'weekend_days.0', 'MAXIMUM'],
      [
        'a week of nothing but weekend',
        'holiday-calendars',
        { name: 'c', weekend_days: [1, 2, 3, 4, 5, 6, 7] },
        'weekend_days',
        'MAX_ITEMS',
      ],
      [
        'the same weekend day twice',
        'holiday-calendars',
        { name: 'c', weekend_days: [6, 6] },
        'weekend_days',
        'UNIQUE_ITEMS',
      ],
      [
        'a holiday on a day that is none',
        'holiday-calendars',
        { name: 'c', holidays: [{ date: '2023-02-29', name: 'x' }] },
        'holidays.0.date',
        'FORMAT',
      ],
      [
        'the same holiday twice',
        'holiday-calendars',
        {
          name: 'c',
          holidays: [
            { date: '2024-02-29', name: 'x' },
            { date: '2024-02-29', name: 'y' },
          ],
        },
        'holidays.1.date',
        'DUPLICATE',
      ],
      [
        'a date alone that is none',
        'holiday-calendars',
        { name: 'c', holidays: ['2024-02-29', '2023-02-29'] },
        'holidays.1',
        'FORMAT',
      ],
      [
        'a holiday that is neither a date nor an object',
        'holiday-calendars',
        { name: 'c', holidays: [20240229] },
        'holidays.0',
        'TYPE',
      ],
      [
        'a holiday without a date',
        'holiday-calendars',
        { name: 'c', holidays: [{ name: 'x' }] },
        'holidays.0.date',
        'REQUIRED',
      ],
      [
        'a holiday with an empty name',
        'holiday-calendars',
        { name: 'c', holidays: [{ date: '2024-02-29', name: '' }] },
        'holidays.0.name',
        'MIN_LENGTH',
      ],
      [
        'a holiday with a field that is none',
        'holiday-calendars',
        { name: 'c', holidays: [{ date: '2024-02-29', colour: 'red' }] },
        'holidays.0.colour',
        'UNKNOWN_FIELD',
      ],
      [
        'the same date alone twice',
        'holiday-calendars',
        { name: 'c', holidays: [{ date: '2024-02-29' }, '2024-02-29'] },
        'holidays.1',
        'DUPLICATE',
      ],
      [
        'a site that is none of the study',
        'holiday-calendars',
        { name: 'c', site_id: '11111111-1111-4111-8111-111111111111' },
        'site_id',
        'UNKNOWN_SITE',
      ],
    ];
    /** What fits its schema and breaks a rule. */
    const RULES = ['UNKNOWN_BATTERY', 'DUPLICATE', 'UNKNOWN_SITE'];
    for (const [title, what, body, path, code] of wrong) {
      const status = RULES.includes(code) ? 400 : 422;
      it(`${title}: ${status} at ${path}`, async () => {
        const answer = await post(what, body);
        expect([answer.status, answer.body.errors?.[0]?.path, answer.body.errors?.[0]?.code]).to.deep.equal([
          status,
          path,
          code,
        ]);
      });
    }

    it('a scheduling mode that is none: 422, when a study is made and when it is changed', async () => {
      const made = await stage.admin.post('/api/studies', {
        study_code: unique('S'),
        study_name: 'x',
        config: { scheduling_mode: 'manual' },
      });
      const changed = await stage.admin.patch(`/api/studies/${study.id}`, { config: { scheduling_mode: 7 } });
      for (const answer of [made, changed])
        expect([answer.status, answer.body.errors[0]!.path]).to.deep.equal([422, 'config.scheduling_mode']);
    });

    it('a second event of one event_oid and a second calendar of one name or one site: 409', async () => {
      await study.event('TWICE', 1);
      expect((await post('event-definitions', { ...event, event_oid: 'TWICE' })).body.code).to.equal('EVENT_OID_TAKEN');
      await other.event('TWICE', 1);
      const site = await stage.admin.expect(201, 'POST', `/api/studies/${study.id}/sites`, { site_code: 'A' });
      await study.calendar({ name: 'one', site_id: site.id });
      expect((await post('holiday-calendars', { name: 'one' })).body.code).to.equal('CALENDAR_NAME_TAKEN');
      expect((await post('holiday-calendars', { name: 'two', site_id: site.id })).body.code).to.equal(
        'SITE_HAS_CALENDAR',
      );
      const both = await post('holiday-calendars', { name: 'three', site_id: site.id, is_default: true });
      expect([both.status, both.body.errors[0]!.code]).to.deep.equal([400, 'SITE_CALENDAR']);
    });

    it('a new default takes the mark from the former one', async () => {
      const own = await EdcStudy.make(stage);
      const [first] = [await own.calendar({ name: 'first' })];
      const second = await own.calendar({ name: 'second' });
      expect([first.is_default, second.is_default]).to.deep.equal([true, false]);
      await stage.admin.expect(200, 'PATCH', `/api/holiday-calendars/${second.id}`, { is_default: true });
      const { items } = await stage.admin.expect(200, 'GET', `/api/studies/${own.id}/holiday-calendars`);
      expect(items.map((c) => [c.name, c.is_default])).to.deep.equal([
        ['first', false],
        ['second', true],
      ]);
    });

    it('who may not see the study finds neither, and a coordinator reads but does not change', async () => {
      const definition = await study.event('SEEN', 1);
      const calendar = await study.calendar();
      const [stranger, coordinator] = await Promise.all([
        user(stage.admin, 'researcher', { study_ids: [other.id] }),
        study.as('coordinator'),
      ]);
      for (const path of [`/api/event-definitions/${definition.id}`, `/api/holiday-calendars/${calendar.id}`]) {
        expect((await stranger.get(path)).status).to.equal(404);
        expect((await coordinator.get(path)).status).to.equal(200);
        expect((await coordinator.patch(path, { name: 'x' })).status).to.equal(403);
        expect((await coordinator.delete(path)).status).to.equal(403);
      }
      const tag = (await stage.admin.get(`/api/event-definitions/${definition.id}`)).headers.get('etag')!;
      await stage.admin.expect(200, 'PATCH', `/api/event-definitions/${definition.id}`, { name: 'y' });
      expect(
        (
          await stage.admin.patch(
            `/api/event-definitions/${definition.id}`,
            { name: 'z' },
            { headers: { 'If-Match': tag } },
          )
        ).body.code,
      ).to.equal('STALE');
      expect(await study.chainVerifies()).to.equal(true);
    });
  });
});
