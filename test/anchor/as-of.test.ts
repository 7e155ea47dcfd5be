import { expect } from 'chai';
import { withStudyScope } from '../../db/client/transaction.js';
import { openDatabase } from '../../db/client/knex.js';
import type { Loose } from '../support/http.js';
import { until } from '../support/service.js';
import { withoutSchedule } from '../assessment/stage.js';
import { DAY, Stage } from './stage.js';
import type { AnchorView, Person, VisitView } from './stage.js';

interface ScheduleView {
  participant_id: string;
  schedule_version: { id: string; version_number: number; status: string } | null;
  visits: (VisitView & { carried: boolean })[];
}
/** Of a visit, what a schedule says of it at any moment. */
const SAID = [
  'id',
  'visit_key',
  'name',
  'status',
  'status_reason',
  'target_date',
  'window_open',
  'window_close',
  'completed_at',
  'carried',
  'schedule_version_id',
  'anchor_reconciled',
  'anchor_reconciled_at',
  'needs_review',
  'reporting_target_date',
] as const;
const said = ({ schedule_version, visits }: ScheduleView) => ({
  version: schedule_version,
  visits: visits.map((visit) => Object.fromEntries(SAID.map((key) => [key, visit[key]]))),
});

describe('what the service believed at an instant', function () {
  let stage: Stage;
  before(async () => {
    stage = await Stage.open();
  });
  after(() => stage.close());

  const now = async () => (await stage.sql<{ at: string }>('select clock_timestamp() as at'))[0]!.at;
  const anchorOf = (person: Person, at?: string) =>
    stage.admin.expect<AnchorView>(200, 'GET', `${person.path}/anchor-date${at ? `?as_of=${at}` : ''}`);
  const scheduleOf = (person: Person, at?: string) =>
    stage.admin.expect<ScheduleView>(200, 'GET', `${person.path}/schedule${at ? `?as_of=${at}` : ''}`);

  /** The hourly job writes down which of the visits were missed. */
  const undisturbed = (title: string, test: () => Promise<void>) =>
    it(title, () => withoutSchedule('update_visit_statuses', test));

  undisturbed('every answer that was given can be had again, as it was', async () => {
    const study = await stage.study({
      sources: [{ type: 'manual_entry' }],
      schedule_on_provisional: true,
      permissions: { can_override: ['admin', 'researcher'] },
    });
    const window = await study.window(60);
    const person = await study.person();
    const moments: { step: string; at: string; anchor: AnchorView; schedule: ReturnType<typeof said> }[] = [];
    const step = async (name: string, work?: () => Promise<unknown>) => {
      await work?.();
      const [anchor, schedule] = [await anchorOf(person), said(await scheduleOf(person))];
      moments.push({ step: name, at: await now(), anchor, schedule });
    };
    const nth = async (index: number) =>
      (await scheduleOf(person)).visits.filter((v) => v.schedule_version_id !== null)[index]!;

    await step('enrolled');
    await step('proposed', () => person.set(DAY));
    await step('taken back', () =>
      stage.admin.expect(200, 'POST', `${person.path}/anchor-date/cancel`, { reason: 'a slip' }),
    );
    await step('proposed again', () => person.set('2024-03-12'));
    await step('a visit by hand', () =>
      stage.admin.expect(201, 'POST', '/api/schedules/visits', {
        participant_id: person.id,
        name: 'Extra',
        target_date: '2024-03-20',
      }),
    );
    await step('final', async () => {
      await person.consent('2024-03-01T09:00:00Z');
      await person.becomes({ status: 'finalized' });
    });
    await step('a visit is done', async () => person.complete((await nth(0)).id));
    await step('a visit is moved', async () => {
      await stage.admin.expect(200, 'PATCH', `/api/visits/${(await nth(1)).id}`, {
        target_date: '2024-04-12',
        name: 'Day 30, by phone',
      });
    });
    await step('overridden', () => person.override('2024-03-20'));
    await step('a window of the study moves', async () => {
      const before = (await person.versions()).length;
      await stage.admin.expect(200, 'PATCH', `/api/schedules/windows/${window.id}`, { target_day: 63 });
      await until(async () => (await person.versions()).length > before, { what: 'the next schedule version' });
    });
    await step('the override is taken back', () => person.post('/override-back', { reason: 'it was right before' }));
    await step('final again', () => person.post('/evaluate'));

    expect(new Set(moments.map(({ anchor }) => JSON.stringify(anchor))).size, 'anchors that differ').to.be.greaterThan(
      6,
    );
    expect(
      new Set(moments.map(({ schedule }) => JSON.stringify(schedule))).size,
      'schedules that differ',
    ).to.be.greaterThan(7);
    for (const { step: name, at, anchor, schedule } of moments) {
      expect(await anchorOf(person, at), `anchor, ${name}`).to.deep.equal(anchor);
      expect(said(await scheduleOf(person, at)), `schedule, ${name}`).to.deep.equal(schedule);
    }
  });

  it('an entry of that very instant counts, one a microsecond later does not', async () => {
    const person = await (await stage.study({}, { fields: { consent_mode: 'external' } })).person();
    await person.set(DAY);
    await person.override('2024-03-20');
    const [granted, first] = await person.history();
    const just = async (instant: string) =>
      (await stage.sql<{ at: string }>(`select ?::timestamptz - interval '1 microsecond' as at`, [instant]))[0]!.at;
    expect(await anchorOf(person, granted!.created_at)).to.include({
      enrollment_date: '2024-03-20',
      version: 3,
      is_override: true,
      override_reason: 'the form was misread',
    });
    expect(await anchorOf(person, await just(granted!.created_at))).to.include({
      enrollment_date: DAY,
      version: 2,
      is_override: false,
      override_reason: null,
    });
    expect(await anchorOf(person, first!.created_at)).to.include({ enrollment_date: DAY, status: 'finalized' });
    expect(await anchorOf(person, await just(first!.created_at))).to.include({
      enrollment_date: null,
      status: 'unset',
      version: 1,
      source_type: null,
      current_schedule_version_id: null,
    });
    const [v1, v2] = await person.versions();
    expect((await scheduleOf(person, granted!.created_at)).schedule_version).to.include({
      id: v2!.id,
      version_number: 2,
    });
    expect((await scheduleOf(person, await just(granted!.created_at))).schedule_version).to.include({
      id: v1!.id,
      status: 'active',
    });
    expect(await scheduleOf(person, await just(first!.created_at))).to.deep.include({
      schedule_version: null,
      visits: [],
    });
  });

  it('what one decision wrote is believed as a whole: date, status and schedule from one instant on', async () => {
    const person = await (await stage.study()).person();
    await person.set(DAY);
    await person.consent('2024-03-05T09:00:00Z');
    await person.becomes({ status: 'finalized' });
    const [finalized, changed] = await person.history();
    expect([finalized!.event_type, changed!.event_type]).to.deep.equal(['FINALIZED', 'CHANGED']);
    expect(changed!.created_at).to.equal(finalized!.created_at);
    const then = await anchorOf(person, changed!.created_at);
    expect(then).to.include({ status: 'finalized', enrollment_date: '2024-03-05', version: 4 });
    expect((await scheduleOf(person, changed!.created_at)).schedule_version!.id).to.equal(
      then.current_schedule_version_id,
    );
  });

  it('an override that was only asked for changes nothing of what is believed', async () => {
    const study = await stage.study(
      { permissions: { override_requires_approval: true, can_override: ['admin', 'coordinator'] } },
      { fields: { consent_mode: 'external' } },
    );
    const person = await study.person();
    await person.set(DAY);
    const before = await person.anchor();
    const asked = await person.override('2024-03-20', await study.as('coordinator'));
    expect(asked.status).to.equal(202);
    expect(await anchorOf(person, await now())).to.deep.equal(before);
    expect((await person.decide(asked.body.override_request_id, 'deny', stage.admin)).status).to.equal(200);
    expect(await anchorOf(person, await now())).to.deep.equal(before);
  });

  it('partial dates, instants and zones are told as they were', async () => {
    const study = await stage.study(
      {
        sources: [
          {
            type: 'form_item',
            form_mapping: { form_oid: 'ENROL', item_oid: 'ON', partial_date_handling: 'middle_of_month' },
          },
        ],
      },
      { fields: { timezone: 'Pacific/Auckland' } },
    );
    const person = await study.person();
    await person.form('ENROL', { ON: '2024-02' });
    const partial = await person.becomes({ status: 'provisional' });
    const at = await now();
    expect(partial).to.include({
      precision: 'partial_month',
      partial_value: '2024-02',
      enrollment_date: '2024-02-15',
      timezone: 'Pacific/Auckland',
    });
    await study.policy({ sources: [{ type: 'manual_entry' }] });
    await person.set('2024-02-20');
    await person.becomes({ precision: 'date', enrollment_date: '2024-02-20' });
    expect(await anchorOf(person, at)).to.deep.equal(partial);
  });

  it('an instant with an offset is the instant that it is', async () => {
    const person = await (await stage.study({}, { fields: { consent_mode: 'external' } })).person();
    await person.set(DAY);
    const [entry] = await person.history();
    const east = (
      await stage.sql<{ at: string }>(
        `select to_char((?::timestamptz at time zone 'UTC') + interval '13:45', 'YYYY-MM-DD"T"HH24:MI:SS.US"+13:45"') as at`,
        [entry!.created_at],
      )
    )[0]!.at;
    expect(await anchorOf(person, encodeURIComponent(east))).to.include({ status: 'finalized', version: 2 });
  });

  it('an instant that is none is 422, one ahead 400, one before the participant 404', async () => {
    const person = await (await stage.study()).person();
    for (const path of [`${person.path}/anchor-date`, `${person.path}/schedule`]) {
      for (const wrong of [
        'yesterday',
        '2024-03-10',
        '2024-13-01T00:00:00Z',
        '2024-03-10T10:00:00',
        '',
        '1710028800',
      ]) {
        const { status, body } = await stage.admin.get(`${path}?as_of=${wrong}`);
        expect(status, wrong).to.equal(422);
        expect(body.errors[0]).to.include({ path: 'query.as_of', code: 'FORMAT' });
      }
      const ahead = await stage.admin.get(`${path}?as_of=2999-01-01T00:00:00Z`);
      expect(ahead.status).to.equal(400);
      expect(ahead.body.errors[0]).to.include({ path: 'query.as_of', code: 'IN_FUTURE' });
      const early = await stage.admin.get(`${path}?as_of=2001-01-01T00:00:00Z`);
      expect(early.status).to.equal(404);
      expect(early.body.detail).to.match(/not on record then/);
      const twice = await stage.admin.get(`${path}?as_of=2024-01-01T00:00:00Z&as_of=2024-01-02T00:00:00Z`);
      expect(twice.status).to.equal(422);
    }
  });

  it('is shown to who may see the participant and to nobody else', async () => {
    const [study, other] = [await stage.study(), await stage.study()];
    const person = await study.person();
    const at = await now();
    const stranger = await other.as('researcher');
    for (const part of ['anchor-date', 'schedule'])
      expect((await stranger.get(`${person.path}/${part}?as_of=${at}`)).status).to.equal(404);
    expect((await (await study.as('data_manager')).get(`${person.path}/schedule?as_of=${at}`)).status).to.equal(200);
  });

  it('an instant that an answer names is one at which it was so', async () => {
    const study = await stage.study({}, { fields: { consent_mode: 'external' } });
    const person = await study.person();
    await person.set(DAY);
    const [first, second] = await person.standing();
    const visit = (path: string, body: object) => stage.admin.expect<Loose>(200, 'POST', `/api/visits/${path}`, body);
    await person.complete(first!.id);
    await visit(`${second!.id}/cancel`, { reason: 'not needed' });
    const extra = await stage.admin.expect<Loose & { created_at: string }>(201, 'POST', '/api/schedules/visits', {
      participant_id: person.id,
      name: 'Extra',
      target_date: DAY,
      window_open: DAY,
      window_close: DAY,
    });
    const now = await person.visits();
    const statusThen = async (id: string, at: string) =>
      (await scheduleOf(person, at)).visits.find((one) => one.id === id)?.status;
    for (const { id, status, updated_at } of now) expect(await statusThen(id, updated_at), status).to.equal(status);
    expect(await statusThen(extra.id, extra.created_at)).to.equal('missed');
    await visit(`${second!.id}/reopen`, { reason: 'needed' });
    const { updated_at } = now.find(({ id }) => id === second!.id)!;
    expect(await statusThen(second!.id, updated_at)).to.equal('cancelled');
    expect((await person.override('2024-03-20')).status).to.equal(200);
    for (const planned of (await person.standing()).filter((one) => one.id !== extra.id && one.id !== first!.id))
      expect(await statusThen(planned.id, planned.updated_at), 'planned by the override').to.equal('missed');
  });

  undisturbed(
    'the record of visits is written by the database alone, one row a change, and stays as it is',
    async () => {
      const study = await stage.study({}, { fields: { consent_mode: 'external' } });
      const person = await study.person();
      await person.set(DAY);
      const count = async () =>
        (
          await stage.sql<{ n: number }>('select count(*) as n from visit_states where participant_id = ?', [person.id])
        )[0]!.n;
      expect(await count()).to.equal(2);
      const visit = (await person.visits())[0]!;
      await stage.sql(`update scheduled_visits set data_sync_status = 'pending' where id = ?`, [visit.id]);
      await stage.sql(`update scheduled_visits set status = status where participant_id = ?`, [person.id]);
      expect(await count(), 'nothing that counts has changed').to.equal(2);
      await stage.sql(`update scheduled_visits set status = 'missed' where participant_id = ?`, [person.id]);
      expect(await count()).to.equal(4);

      const app = openDatabase({ url: stage.run.database_url, name: 'as-of-app', poolMax: 1 });
      try {
        for (const statement of [
          'insert into visit_states overriding system value select * from visit_states limit 1',
          'update visit_states set status = status',
          'delete from visit_states',
          'truncate visit_states',
        ]) {
          const fault = await withStudyScope(app, study.id, ({ tx }) => tx.raw(statement)).then(
            () => undefined,
            (e: unknown) => e as { code?: string },
          );
          expect(fault?.code, statement).to.equal('42501');
        }
        const seen = await withStudyScope(
          app,
          study.id,
          async ({ tx }) =>
            (await tx('visit_states').where({ participant_id: person.id }).count({ n: '*' }))[0] as unknown as Loose,
        );
        expect(seen.n).to.equal(4);
      } finally {
        await app.destroy();
      }
      for (const statement of ['update visit_states set status = status', 'delete from visit_states']) {
        const fault = await stage.sql(`${statement} where participant_id = ?`, [person.id]).then(
          () => undefined,
          (e: unknown) => e as { code?: string },
        );
        expect(fault?.code, 'the owner too').to.equal('42501');
      }
    },
  );
});
