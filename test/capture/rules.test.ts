import { expect } from 'chai';
import { until } from '../support/until.js';
import { EVENT, PushStage, SUMMARY } from './push-stage.js';
import type { PushStudy } from './push-stage.js';
import { Stage } from './support.js';
import type { CaptureStudy } from './support.js';

/**
 * One test for each numbered rule of the trigger webhook, of the schedule that a mapping gives, and of the push of
 * results. Details of each are in the other tests of this folder.
 */
describe('the contract of the trigger, rule by rule', function () {
  let stage: Stage, study: CaptureStudy;
  before(async () => {
    stage = await Stage.set({ polls: false });
    study = await stage.study();
  });
  after(() => stage?.clear());

  const visitsOf = (of: CaptureStudy) =>
    stage.sql<{
      target_date: string;
      window_open: string;
      window_close: string;
      battery_id: number | null;
      datacapture_event: string;
      status: string;
    }>('select * from scheduled_visits where study_id = ? order by target_date', [of.id]);
  const fetchesOf = (of: CaptureStudy) =>
    stage.simulator.control.calls().filter((c) => c.project_id === Number(of.projectId) && c.content === 'record');
  const eventOf = (of: CaptureStudy, record: string, count = 1) =>
    until(
      async () => {
        const found = (await of.events()).filter(
          (e) => e.record === record && e.status !== 'received' && e.status !== 'processing',
        );
        return found.length >= count ? found : undefined;
      },
      { what: `${count} settled triggers of ${record}` },
    );

  const rules: [rule: string, holds: () => Promise<void>][] = [
    [
      'missing required fields give 400 with a detail that lists them',
      async () => {
        for (const left of ['project_id', 'record', 'instrument']) {
          const fields = Object.fromEntries(
            Object.entries({ project_id: study.projectId, record: '1', instrument: 'enroll' }).filter(
              ([name]) => name !== left,
            ),
          );
          const { status, body } = await study.trigger({}, { body: new URLSearchParams(fields).toString() });
          expect([left, status]).to.deep.equal([left, 400]);
          expect(body.detail).to.contain(left);
        }
      },
    ],
    [
      'otherwise the answer is 200 {status: accepted, record}, at once',
      async () => {
        stage.simulator.control.setFaults([{ hold: true, project_id: Number(study.projectId) }]);
        try {
          const before = fetchesOf(study).length;
          const { status, body } = await study.trigger({ record: 'at-once' });
          expect([status, body]).to.deep.equal([200, { status: 'accepted', record: 'at-once' }]);
          expect(
            (await study.events()).find((e) => e.record === 'at-once')!.status,
            'it goes on after the answer',
          ).to.be.oneOf(['received', 'processing']);
          expect(fetchesOf(study).length - before, 'nobody waited for the capture system').to.be.at.most(1);
        } finally {
          stage.simulator.control.setFaults([]);
        }
      },
    ],
    [
      '1: an unknown project or a missing configuration means no action',
      async () => {
        expect((await study.trigger({ project_id: 'unknown', record: '1' }, { headers: {} })).status).to.equal(200);
        const without = await stage.study({ connect: false });
        expect((await without.trigger({ record: '1' }, { headers: {} })).status).to.equal(200);
        expect(
          await stage.sql('select 1 from webhook_events where project_id = any(?)', [['unknown', without.projectId]]),
        ).to.deep.equal([]);
        expect(await without.participants()).to.deep.equal([]);
      },
    ],
    [
      '2: only the enrollment instrument triggers a participant sync',
      async () => {
        await study.trigger({ record: 'rule-2', instrument: 'cognition' });
        expect((await eventOf(study, 'rule-2'))[0]).to.include({ status: 'processed', outcome: 'ignored' });
        expect(
          await stage.sql('select 1 from participants where study_id = ? and external_id = ?', [study.id, 'rule-2']),
        ).to.deep.equal([]);
      },
    ],
    [
      '3: the full record is fetched, restricted to the event when one is given',
      async () => {
        const own = await stage.study();
        for (const [record, event] of [
          ['with', 'baseline_arm_1'],
          ['without', undefined],
        ] as const) {
          await own.enroll(record, { enrolled: '2026-02-01' }, { trigger: false });
          await own.trigger({ record, ...(event && { redcap_event_name: event }) });
          await eventOf(own, record);
        }
        const asked = fetchesOf(own)
          .filter((c) => c.parameters.records !== undefined)
          .map((c) => [c.parameters.records, c.parameters.events, c.parameters.fields]);
        expect(asked, 'no list of fields: the record is asked for in full').to.deep.equal([
          [['with'], ['baseline_arm_1'], undefined],
          [['without'], undefined, undefined],
        ]);
      },
    ],
    [
      '4: mapped fields are taken, dates that are none are dropped, empty values are not applied',
      async () => {
        const own = await stage.study();
        stage.simulator.control.load(Number(own.projectId), [
          {
            subject_id: 'r4',
            redcap_event_name: EVENT,
            enrolled: '2026-02-01',
            lang: 'de',
            dob: '2026-02-30',
            mail: '',
          },
        ]);
        await own.trigger({ record: 'r4' });
        await own.settled(1);
        expect((await own.participants())[0]).to.include({
          enrollment_date: '2026-02-01',
          preferred_language: 'de',
          date_of_birth: null,
          email: null,
        });
        await own.enroll('r4', { lang: '', mail: 'someone@example.org' });
        await own.settled(2);
        expect((await own.participants())[0]).to.include({ preferred_language: 'de', email: 'someone@example.org' });
      },
    ],
    [
      '5: a participant is matched by study and external_id; a new one is enrolled, with a schedule',
      async () => {
        const [own, other] = [await stage.study(), await stage.study()];
        for (const each of [own, other]) await each.enroll('same', { enrolled: '2026-02-01' });
        await own.settled(1);
        await other.settled(1);
        const [one] = await own.participants(),
          [two] = await other.participants();
        expect(one!.id).to.not.equal(two!.id);
        for (const each of [one!, two!]) expect(each).to.include({ status: 'enrolled', external_id: 'same' });
        await own.enroll('same', { lang: 'fr' });
        await own.settled(2);
        expect(await own.participants()).to.have.length(1);
        expect((await own.participants())[0]).to.include({
          id: one!.id,
          preferred_language: 'fr',
          enrollment_date: '2026-02-01',
        });
        expect(await own.versions(one!.id)).to.have.length(1);
      },
    ],
    [
      '6: an identical payload is a second event, duplicate of the first; no second participant or schedule',
      async () => {
        await study.enroll('rule-6', { enrolled: '2026-02-01' }, { trigger: false });
        await study.trigger({ record: 'rule-6' });
        const [first] = await eventOf(study, 'rule-6');
        await study.trigger({ record: 'rule-6' });
        const both = await eventOf(study, 'rule-6', 2);
        expect(both.find((e) => e.id !== first!.id)).to.include({ status: 'duplicate', duplicate_of_id: first!.id });
        const people = (await study.participants()).filter((p) => p.external_id === 'rule-6');
        expect(people).to.have.length(1);
        expect(await study.versions(people[0]!.id)).to.have.length(1);
      },
    ],
    [
      '7: a first valid trigger gives a processed event, a participant with enrollment_date, and version 1, ' +
        'active and current',
      async () => {
        const own = await stage.study();
        await own.enroll('r7', { enrolled: '2026-02-01' });
        const [event] = await own.settled(1);
        expect(event).to.include({ status: 'processed', outcome: 'created' });
        const [person] = await own.participants();
        expect(person!.enrollment_date).to.equal('2026-02-01');
        expect((await own.versions(person!.id)).map((v) => [v.version_number, v.status, v.is_current])).to.deep.equal([
          [1, 'active', true],
        ]);
      },
    ],
    [
      'schedule: target = anchor + target_day, open window_before days before, close window_after days after, ' +
        'with battery, event and status',
      async () => {
        const own = await stage.study({ connect: false });
        await own.connect({
          event_battery_mapping: own.mapped({ month_3_arm_1: { target_day: 90, window_before: 7, window_after: 14 } }),
        });
        await own.enroll('s1', { enrolled: '2026-02-01' });
        await own.settled(1);
        const [visit, ...more] = await visitsOf(own);
        expect(more).to.deep.equal([]);
        expect(visit).to.include({
          target_date: '2026-05-02',
          window_open: '2026-04-25',
          window_close: '2026-05-16',
          battery_id: own.battery,
          datacapture_event: 'month_3_arm_1',
          status: 'scheduled',
        });
      },
    ],
    [
      'schedule: without an enrollment date it counts from today',
      async () => {
        const own = await stage.study({ study: { timezone: 'UTC' } });
        const days = [new Date().toISOString().slice(0, 10)];
        await own.enroll('s2', { lang: 'en' });
        await own.settled(1);
        days.push(new Date().toISOString().slice(0, 10));
        expect((await visitsOf(own))[0]!.target_date).to.be.oneOf(days);
      },
    ],
    [
      'schedule: an empty mapping makes no visits',
      async () => {
        const own = await stage.study({ config: { event_battery_mapping: {} } });
        await own.enroll('s3', { enrolled: '2026-02-01' });
        await own.settled(1);
        expect(await visitsOf(own)).to.deep.equal([]);
      },
    ],
  ];
  for (const [rule, holds] of rules) it(rule, holds);
});

describe('the contract of the push, rule by rule', function () {
  let stage: PushStage, study: PushStudy;
  before(async () => {
    stage = await PushStage.set();
    study = await stage.study();
  });
  after(() => stage?.clear());

  const rules: [rule: string, holds: () => Promise<void>][] = [
    [
      'the record is the participant’s external_id, in the visit’s event',
      async () => {
        const { session, record } = await study.ended();
        await study.synced(session);
        expect(study.writes(record!).map((write) => write.event)).to.deep.equal([EVENT]);
      },
    ],
    [
      'each mapped metric stands under its mapped field, floats with two decimals',
      async () => {
        const { session, record } = await study.ended({
          summaries: { stroop: { mean_rt: 412.34567, total_trials: 40 } },
        });
        await study.synced(session);
        expect(study.standing(record!)).to.include({ mean_rt: '412.35', trials: '40' });
      },
    ],
    [
      'missing metrics are skipped',
      async () => {
        const { session, record } = await study.ended({ summaries: { stroop: { mean_rt: 300 } } });
        await study.synced(session);
        expect(Object.keys(study.standing(record!)!)).to.have.members(['mean_rt', 'cognition_complete']);
      },
    ],
    [
      '<instrument>_complete is 2, for each mapped instrument',
      async () => {
        const { session, record } = await study.ended({ summaries: { stroop: SUMMARY, digit_span: { span: 7 } } });
        await study.synced(session);
        expect(study.standing(record!)).to.include({ cognition_complete: '2', memory_complete: '2' });
      },
    ],
    [
      'it is imported with overwrite behavior',
      async () => {
        const { session, record } = await study.ended();
        await study.synced(session);
        const imports = stage.simulator.control
          .calls(study.projectId)
          .filter(({ action, records }) => action === 'import' && records.includes(record!));
        expect(imports.map((call) => call.parameters.overwriteBehavior)).to.deep.equal(['overwrite']);
      },
    ],
    [
      'a study that is not integrated: skipped',
      async () => {
        const without = await stage.study({}, { datacapture_enabled: false });
        const { session } = await without.ended();
        await without.push(session);
        await without.attempt(session, ({ status }) => status === 'skipped', 'the skipped attempt');
        expect(without.calls('record:import')).to.equal(0);
      },
    ],
    [
      'a missing configuration or visit event: an error result',
      async () => {
        const without = await stage.study(null);
        const { session } = await without.ended();
        expect(await without.attempt(session, () => true, 'the attempt')).to.include({
          status: 'failed',
          error_type: 'configuration',
        });
        const plain = await study.ended({ visit: { datacapture_event: null } });
        await study.push(plain.session);
        expect(await study.attempt(plain.session, () => true, 'the attempt')).to.include({
          status: 'failed',
          error_type: 'configuration',
        });
      },
    ],
    [
      'success is told with records_imported, and the visit is synced with a time',
      async () => {
        const { session, visit } = await study.ended();
        await study.synced(session);
        expect((await study.attempts(session))[0]).to.include({ status: 'success', records_imported: 1 });
        const seen = await study.seeVisit(visit);
        expect(seen.data_sync_status).to.equal('synced');
        expect(Date.parse(seen.synced_at!)).to.be.closeTo(Date.now(), 120_000);
      },
    ],
  ];
  for (const [rule, holds] of rules) it(rule, holds);
});
