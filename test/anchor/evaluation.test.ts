import { expect } from 'chai';
import { addDays, dateIn } from '../../workflows/domain/util/dates.js';
import { until } from '../support/service.js';
import type { Loose } from '../support/http.js';
import { DAY, Stage } from './stage.js';

const manual = { sources: [{ type: 'manual_entry' }] };
const free = { prerequisites: { require_consent_signed: false } };
const ofForm = (item_oid: string, partial_date_handling = 'reject') => ({
  type: 'form_item',
  form_mapping: { form_oid: 'VISIT', item_oid, partial_date_handling },
});

describe('evaluation rules of the anchor date', function () {
  let stage: Stage;
  before(async () => {
    stage = await Stage.open();
  });
  after(() => stage.close());

  describe('1. sources in ascending priority; inactive ones skipped; the first that yields a valid date wins', () => {
    it('the lower priority number wins, whatever the order of the list', async () => {
      const study = await stage.study({
        ...free,
        sources: [
          { type: 'manual_entry', priority: 5 },
          { type: 'eligibility_workflow', priority: 2 },
        ],
      });
      const person = await study.person();
      await person.eligible('2024-03-12T10:00:00Z');
      await person.becomes({ status: 'finalized', enrollment_date: '2024-03-12', source_type: 'eligibility_workflow' });
    });

    it('one without a number has its place in the list, and of equal ones the first is tried first', async () => {
      const study = await stage.study({
        ...free,
        sources: [{ type: 'manual_entry' }, { type: 'eligibility_workflow', priority: 1 }],
      });
      const person = await study.person();
      await person.set(DAY);
      await person.eligible('2024-03-12T10:00:00Z');
      await person.settled();
      expect((await person.post('/evaluate')).body).to.include({ result: 'unchanged' });
      expect(await person.anchor()).to.include({ enrollment_date: DAY, source_type: 'manual_entry' });
    });

    it('an inactive source is passed over', async () => {
      const study = await stage.study({
        ...free,
        sources: [
          { type: 'eligibility_workflow', priority: 1, is_active: false },
          { type: 'manual_entry', priority: 2 },
        ],
      });
      const person = await study.person();
      await person.eligible('2024-03-12T10:00:00Z');
      await person.set(DAY);
      expect(await person.anchor()).to.include({ enrollment_date: DAY, source_type: 'manual_entry' });
    });

    it('a partial date that the mapping rejects is no valid date: the next source is tried', async () => {
      const study = await stage.study({ sources: [ofForm('DAY'), { type: 'manual_entry' }] });
      const person = await study.person();
      await person.form('VISIT', { DAY: '2024-02' });
      const { body } = await person.set(DAY);
      expect(body.evaluation).to.include({ result: 'proposed', source_type: 'manual_entry' });
    });

    it('a candidate that fails validation is validation_failed: no other source is tried', async () => {
      const study = await stage.study({ sources: [ofForm('DAY'), { type: 'manual_entry' }] });
      const person = await study.person();
      await person.form('VISIT', { DAY: '2999-01-01' });
      const { status, body } = await person.set(DAY);
      expect(status).to.equal(200);
      expect(body.evaluation).to.include({ result: 'validation_failed', source_type: 'form_item' });
      expect(body.evaluation.errors.map((e) => e.code)).to.deep.equal(['FUTURE_DATE']);
      expect(body.status).to.equal('unset');
    });

    it('a computed rule that fails at run time counts as no source, never as a crash', async () => {
      const study = await stage.study({
        sources: [
          { type: 'computed_rule', computed_rule: { expression: 'addDays(randomization.date, 1)' } },
          { type: 'manual_entry' },
        ],
      });
      const person = await study.person();
      await person.set(DAY);
      expect(await person.anchor()).to.include({ source_type: 'manual_entry', status: 'provisional' });
      await stage.admin.expect(201, 'POST', `${person.path}/randomization`, {
        arm: 'A',
        randomized_at: '2024-03-14T10:00:00Z',
      });
      const anchor = await person.becomes({ source_type: 'computed_rule', enrollment_date: '2024-03-15' });
      expect(anchor.source_ref).to.have.property('expression', 'addDays(randomization.date, 1)');
      expect(anchor.source_ref).to.have.nested.property('inputs.randomization.date', '2024-03-14');
    });
  });

  it('2. when no source yields a valid date, nothing changes', async () => {
    const person = await (await stage.study()).person();
    const { body } = await person.post('/evaluate');
    expect(body).to.include({ result: 'none' });
    expect(await person.history()).to.deep.equal([]);
    expect(await person.anchor()).to.include({ version: 1, status: 'unset' });
  });

  it('3. the candidate is validated; on errors nothing changes and a date by hand is not stored', async () => {
    const person = await (await stage.study(manual)).person();
    const { status, body } = await person.set('2999-01-01');
    expect(status).to.equal(400);
    expect(body.errors.map((e) => e.code)).to.deep.equal(['FUTURE_DATE']);
    expect((await person.post('/evaluate')).body.result, 'not stored as a fact either').to.equal('none');
    expect(await person.anchor()).to.include({ version: 1, status: 'unset' });
    expect(await person.history()).to.deep.equal([]);
    expect(await person.events()).to.deep.equal([]);
  });

  it('4. unset: prerequisites met gives finalized with ENROLLMENT_DATE_SET, otherwise provisional with ENROLLMENT_DATE_PROPOSED', async () => {
    const study = await stage.study({ sources: [{ type: 'manual_entry' }] });
    const [met, unmet] = [await study.person(), await study.person()];
    await met.consent('2024-03-01T09:00:00Z');
    expect((await met.set(DAY)).body).to.include({ status: 'finalized' });
    expect((await met.events()).map((e) => e.type)).to.deep.equal(['ENROLLMENT_DATE_SET']);
    expect((await unmet.set(DAY)).body).to.include({ status: 'provisional' });
    expect((await unmet.events()).map((e) => e.type)).to.deep.equal(['ENROLLMENT_DATE_PROPOSED']);
  });

  it('5. provisional: another date is CHANGED; the same with prerequisites met FINALIZED; the same without them no change', async () => {
    const person = await (await stage.study(manual)).person();
    await person.set(DAY);
    expect((await person.set('2024-03-11')).body.evaluation.result).to.equal('changed');
    const again = await person.set('2024-03-11');
    expect(again.body.evaluation.result).to.equal('unchanged');
    expect(again.body.version).to.equal(3);
    expect((await person.post('/evaluate')).body.result).to.equal('unchanged');
    await person.consent('2024-03-01T09:00:00Z');
    await person.becomes({ status: 'finalized', enrollment_date: '2024-03-11' });
    expect((await person.events()).map((e) => e.type)).to.deep.equal([
      'ENROLLMENT_DATE_PROPOSED',
      'ENROLLMENT_DATE_CHANGED',
      'ENROLLMENT_DATE_FINALIZED',
    ]);
  });

  it('6. finalized: another candidate is override_required, an equal one no change', async () => {
    const study = await stage.study({ ...free, sources: [{ type: 'eligibility_workflow' }, { type: 'manual_entry' }] });
    const person = await study.person();
    await person.set(DAY);
    const equal = await person.set(DAY);
    expect(equal.status).to.equal(200);
    expect(equal.body.evaluation.result).to.equal('unchanged');
    const other = await person.set('2024-03-11');
    expect(other.status).to.equal(409);
    expect(other.body.code).to.equal('OVERRIDE_REQUIRED');
    await person.eligible('2024-03-12T10:00:00Z');
    await person.settled();
    expect((await person.post('/evaluate')).body.result).to.equal('override_required');
    expect(await person.anchor()).to.include({ enrollment_date: DAY, version: 2 });
    const sameByHand = await person.set(DAY);
    expect(sameByHand.status, 'the winning candidate differs: not stored').to.equal(409);
    expect(await person.history()).to.have.length(1);
  });

  it('7. a schedule is made when the status becomes finalized, or when the policy schedules on provisional; without windows version 1 has no visits and says so', async () => {
    const later = await (await stage.study(manual)).person();
    await later.set(DAY);
    expect(await later.versions()).to.deep.equal([]);
    await later.consent('2024-03-01T09:00:00Z');
    await later.becomes({ status: 'finalized' });
    expect(await later.versions()).to.have.length(1);
    const bare = await (await stage.study({ ...manual, ...free }, { days: [] })).person();
    await bare.set(DAY);
    expect((await bare.versions()).map((v) => [v.visits_generated, v.generation_warnings])).to.deep.equal([
      [0, ['NO_VISIT_WINDOWS']],
    ]);
  });

  describe('8. source dates are dates of events, never of data entry', () => {
    const rows: [
      name: string,
      source: Record<string, unknown>,
      record: (person: Awaited<ReturnType<Awaited<ReturnType<Stage['study']>>['person']>>) => Promise<{ id: string }>,
      refKey: string,
    ][] = [
      [
        'consent_workflow',
        { type: 'consent_workflow' },
        (p) => p.consent('2024-02-29T12:00:00Z'),
        'consent_instance_id',
      ],
      [
        'eligibility_workflow',
        { type: 'eligibility_workflow' },
        (p) => p.eligible('2024-02-29T12:00:00Z'),
        'eligibility_assessment_id',
      ],
      [
        'randomization',
        { type: 'randomization' },
        (p) =>
          stage.admin.expect(201, 'POST', `${p.path}/randomization`, {
            arm: 'A',
            randomized_at: '2024-02-29T12:00:00Z',
          }),
        'randomization_id',
      ],
      ['form_item', ofForm('DAY'), (p) => p.form('VISIT', { DAY: '2024-02-29' }), 'form_instance_id'],
    ];
    for (const [name, source, record, refKey] of rows) {
      it(`${name}: its event's day, with its source_ref`, async () => {
        const person = await (await stage.study({ ...free, sources: [source] })).person();
        const { id } = await record(person);
        const anchor = await person.becomes({ status: 'finalized', enrollment_date: '2024-02-29', source_type: name });
        const ref =
          name === 'form_item' ? { form_instance_id: id, item_oid: 'DAY', form_oid: 'VISIT' } : { [refKey]: id };
        expect(anchor.source_ref).to.deep.equal(ref);
      });
    }

    it('a form counts when it is complete, not while it is a draft', async () => {
      const person = await (await stage.study({ ...free, sources: [ofForm('DAY')] })).person();
      const form = await person.form('VISIT', { DAY: '2024-02-29' }, 'draft');
      await person.settled();
      expect(await person.anchor()).to.include({ status: 'unset' });
      await stage.admin.expect(200, 'PATCH', `${person.path}/forms/${form.id}`, { status: 'complete' });
      await person.becomes({ status: 'finalized', enrollment_date: '2024-02-29' });
    });

    for (const [handling, said, date, precision] of [
      ['first_of_month', '2024-02', '2024-02-01', 'partial_month'],
      ['middle_of_month', '2024-02', '2024-02-15', 'partial_month'],
      ['last_of_month', '2024-02', '2024-02-29', 'partial_month'],
      ['last_of_month', '2023', '2023-12-31', 'partial_year'],
    ] as const) {
      it(`a partial date ${said} under ${handling} is ${date}, and keeps what was said`, async () => {
        const person = await (await stage.study({ ...free, sources: [ofForm('DAY', handling)] })).person();
        await person.form('VISIT', { DAY: said });
        await person.becomes({ status: 'finalized', enrollment_date: date, precision, partial_value: said });
      });
    }

    it('a proposal follows how exactly its date is known, also where the day stays: CHANGED with delta 0, no new schedule version', async () => {
      const study = await stage.study({
        ...free,
        sources: [ofForm('DAY', 'first_of_month')],
        prerequisites: { require_consent_signed: false, require_randomization: true },
        schedule_on_provisional: true,
      });
      const person = await study.person();
      const form = await person.form('VISIT', { DAY: '2024-02' });
      await person.becomes({
        status: 'provisional',
        enrollment_date: '2024-02-01',
        precision: 'partial_month',
        partial_value: '2024-02',
        version: 2,
      });
      await stage.admin.expect(200, 'PATCH', `${person.path}/forms/${form.id}`, { items: { DAY: '2024-02-01' } });
      await person.becomes({
        status: 'provisional',
        enrollment_date: '2024-02-01',
        precision: 'date',
        partial_value: null,
        version: 3,
      });
      const [entry] = await person.history();
      expect(entry).to.include({ event_type: 'CHANGED', change_delta_days: 0, schedule_version_created_id: null });
      expect(await person.versions()).to.have.length(1);
    });

    it('precision datetime keeps the instant and the zone beside the day in that zone', async () => {
      const study = await stage.study({
        ...free,
        sources: [{ type: 'consent_workflow' }],
        time_precision: {
          precision: 'datetime',
          timezone_policy: 'study_timezone',
          study_timezone: 'Pacific/Auckland',
        },
      });
      const person = await study.person();
      await person.consent('2024-02-28T12:30:00Z');
      const anchor = await person.becomes({
        status: 'finalized',
        precision: 'datetime',
        enrollment_date: '2024-02-29',
        timezone: 'Pacific/Auckland',
      });
      expect(new Date(anchor.enrollment_datetime!).toISOString()).to.equal('2024-02-28T12:30:00.000Z');
    });
  });

  describe('9. prerequisites', () => {
    it('consent must be signed: pending is not enough; in consent_mode external or none it counts as met', async () => {
      const person = await (await stage.study(manual)).person();
      await person.set(DAY);
      const consent = await stage.admin.expect(201, 'POST', `${person.path}/consents`, { status: 'pending' });
      await person.settled();
      expect(await person.anchor()).to.include({ status: 'provisional' });
      await stage.admin.expect(200, 'PATCH', `${person.path}/consents/${consent.id}`, {
        status: 'signed',
        signed_at: '2024-03-01T09:00:00Z',
      });
      await person.becomes({ status: 'finalized' });
      for (const consent_mode of ['external', 'none']) {
        const other = await (await stage.study(manual, { fields: { consent_mode } })).person();
        expect((await other.set(DAY)).body.status, consent_mode).to.equal('finalized');
      }
    });

    it('eligibility must be eligible, randomization must have its time, the baseline visit must be completed; provisional until the last one is met', async () => {
      const study = await stage.study({
        ...manual,
        schedule_on_provisional: true,
        prerequisites: {
          require_consent_signed: false,
          require_eligibility_confirmed: true,
          require_randomization: true,
          require_baseline_visit: true,
          custom_rule: 'participant.arm == "A"',
        },
      });
      const person = await study.person();
      await person.set(DAY);
      await person.eligible('2024-03-11T10:00:00Z', 'ineligible');
      await person.eligible('2024-03-11T10:00:00Z');
      await person.settled();
      await person.complete((await person.standing())[0]!.id);
      await person.settled();
      expect(await person.anchor()).to.include({ status: 'provisional' });
      const waiting = await stage.handle(person.id).query<{ waiting_for: string[] }>('anchorState');
      expect(waiting.waiting_for).to.deep.equal(['randomization', 'custom_rule']);
      await stage.admin.expect(201, 'POST', `${person.path}/randomization`, {
        arm: 'A',
        randomized_at: '2024-03-14T10:00:00Z',
      });
      await person.becomes({ status: 'finalized', enrollment_date: DAY });
      // The record is written a moment before the workflow hears of it.
      await until(async () => {
        const done = await stage.handle(person.id).query<{ waiting_for: string[] }>('anchorState');
        return expect(done.waiting_for).to.deep.equal([]);
      });
    });

    it('a date that is final by the message which brought it leaves nothing to wait for', async () => {
      const study = await stage.study({ ...manual, prerequisites: { require_consent_signed: false } });
      const person = await study.person();
      expect(await person.set(DAY)).to.include({ status: 200 });
      const state = () => stage.handle(person.id).query<{ status: string; waiting_for: string[] }>('anchorState');
      expect(await state()).to.deep.include({ status: 'finalized', waiting_for: [] });
      await stage.admin.expect(200, 'POST', `${person.path}/anchor-date/override-back`, { reason: 'too early' });
      expect(await state()).to.deep.include({ status: 'provisional', waiting_for: ['evaluation'] });
      await stage.admin.expect(200, 'POST', `${person.path}/anchor-date/evaluate`, {});
      expect(await state()).to.deep.include({ status: 'finalized', waiting_for: [] });
    });
  });

  describe('the baseline visit, scheduled by hand before there is a schedule', () => {
    const baseline = async (policy: Record<string, unknown>) => {
      const study = await stage.study(policy, { days: [] });
      const window = await study.window(0);
      await study.window(30);
      const person = await study.person();
      const visit = await stage.admin.expect(201, 'POST', '/api/schedules/visits', {
        participant_id: person.id,
        study_id: study.id,
        visit_window_id: window.id,
        target_date: dateIn(new Date().toISOString(), 'UTC'),
      });
      expect(visit).to.include({ is_baseline: true, status: 'open' });
      return { person, visit };
    };
    const current = async (person: Awaited<ReturnType<typeof baseline>>['person']) =>
      (await stage.admin.expect<{ visits: Loose[] }>(200, 'GET', `${person.path}/schedule`)).visits;

    it('meets the prerequisite when it is completed, and is not planned again', async () => {
      const { person, visit } = await baseline({
        ...manual,
        prerequisites: { require_consent_signed: false, require_baseline_visit: true },
      });
      expect((await person.set(DAY)).body.status).to.equal('provisional');
      await person.complete(visit.id);
      await person.becomes({ status: 'finalized', enrollment_date: DAY });
      expect((await person.standing()).map(({ name }) => name)).to.have.members(['Day 0', 'Day 30']);
      expect((await current(person)).map(({ name, carried }) => [name, carried])).to.have.deep.members([
        ['Day 0', true],
        ['Day 30', false],
      ]);
      await person.override(addDays(DAY, 1));
      expect(
        (await person.standing())
          .filter(({ name }) => name === 'Day 0')
          .map(({ id, anchor_reconciled }) => [id, anchor_reconciled]),
      ).to.deep.equal([[visit.id, true]]);
    });

    it('is the source of an anchor of the type baseline_visit', async () => {
      const { person, visit } = await baseline({ anchor_type: 'baseline_visit', ...free });
      const done = await person.complete(visit.id);
      await person.becomes({ status: 'finalized', enrollment_date: String(done.completed_at).slice(0, 10) });
      expect((await person.standing()).filter(({ name }) => name === 'Day 0')).to.have.length(1);
    });

    it('stays the one to do where the schedule is made first; another one of the window is one visit more', async () => {
      const { person, visit } = await baseline({ ...manual, ...free });
      const again = await stage.admin.expect(201, 'POST', '/api/schedules/visits', {
        participant_id: person.id,
        visit_window_id: visit.visit_window_id,
        target_date: visit.target_date,
      });
      expect(again.visit_key).to.not.equal(visit.visit_key);
      await person.set(DAY);
      const standing = await person.standing();
      expect(
        standing.filter(({ name }) => name === 'Day 0').map(({ id, status }) => [id, status]),
      ).to.have.deep.members([
        [visit.id, 'open'],
        [again.id, 'open'],
      ]);
      expect((await current(person)).filter(({ carried }) => carried).map(({ id }) => id)).to.deep.equal([visit.id]);
    });

    it('of another study than the participant’s is refused', async () => {
      const other = await stage.study({}, { days: [] });
      const { person } = await baseline({ ...manual });
      const answer = await stage.admin.post('/api/schedules/visits', {
        participant_id: person.id,
        study_id: other.id,
        name: 'X',
        target_date: DAY,
      });
      expect([answer.status, answer.body.errors[0]?.path]).to.deep.equal([400, 'study_id']);
    });
  });

  describe('a date ahead', () => {
    const tomorrow = () => new Date(Date.now() + 2 * 86_400_000).toISOString();
    for (const [source, record] of [
      [
        'consent_workflow',
        (path: string) =>
          stage.admin.expect(201, 'POST', `${path}/consents`, { status: 'signed', signed_at: tomorrow() }),
      ],
      [
        'eligibility_workflow',
        (path: string) =>
          stage.admin.expect(200, 'PUT', `${path}/eligibility`, { status: 'eligible', confirmed_at: tomorrow() }),
      ],
      [
        'randomization',
        (path: string) =>
          stage.admin.expect(201, 'POST', `${path}/randomization`, { arm: 'A', randomized_at: tomorrow() }),
      ],
    ] as const) {
      it(`is taken as the record of a ${source}, and refused as the anchor date`, async () => {
        const person = await (await stage.study({ ...free, sources: [{ type: source }] })).person();
        await record(person.path);
        await person.settled();
        const { status, body } = await person.post<{ result: string; errors: { code: string }[] }>('/evaluate');
        expect([status, body.result, body.errors.map(({ code }) => code)]).to.deep.equal([
          200,
          'validation_failed',
          ['FUTURE_DATE'],
        ]);
        expect((await person.anchor()).status).to.equal('unset');
      });
      it(`is the anchor date from a ${source} where the policy allows it`, async () => {
        const person = await (
          await stage.study({ ...free, sources: [{ type: source }], validation: { cannot_be_future: false } })
        ).person();
        await record(person.path);
        await person.becomes({ status: 'finalized', source_type: source });
      });
    }
    it('that is no instant is refused', async () => {
      const person = await (await stage.study()).person();
      const answer = await stage.admin.post(`${person.path}/consents`, {
        status: 'signed',
        signed_at: '2016-12-31T23:59:60Z',
      });
      expect([answer.status, answer.body.errors[0]?.code]).to.deep.equal([400, 'NO_INSTANT']);
    });
  });

  describe('10. withdrawal and concurrent proposals', () => {
    it('a withdrawn participant keeps the date and the schedule; set, override, override_back, cancel and evaluate are 409 PARTICIPANT_WITHDRAWN', async () => {
      const person = await (await stage.study({ ...manual, ...free })).person();
      await person.set(DAY);
      const before = [await person.anchor(), await person.plans()];
      await person.withdraw();
      const refused = [
        await person.set('2024-03-11'),
        await person.override('2024-03-11'),
        await person.post('/override-back', { reason: 'x' }),
        await person.post('/cancel'),
        await person.post('/evaluate'),
        await person.post('/override/preview', { new_enrollment_date: '2024-03-11', reason: 'x' }),
      ];
      for (const { status, body } of refused) expect([status, body.code]).to.deep.equal([409, 'PARTICIPANT_WITHDRAWN']);
      await person.consent('2024-03-12T09:00:00Z');
      await until(async () => (await stage.sql('select id from outbox where subject = ?', [person.id])).length === 0);
      expect([await person.anchor(), await person.plans()]).to.deep.equal(before);
    });

    it('a proposal waits for nothing any more after the withdrawal, even when its prerequisite comes', async () => {
      const person = await (await stage.study(manual)).person();
      await person.set(DAY);
      await person.withdraw();
      await until(async () => (await stage.handle(person.id).describe()).status.name === 'COMPLETED', {
        what: 'the workflow to end',
      });
      await person.consent('2024-03-01T09:00:00Z');
      await until(async () => (await stage.sql('select id from outbox where subject = ?', [person.id])).length === 0);
      await until(async () => (await stage.handle(person.id).describe()).status.name === 'COMPLETED', {
        what: 'the workflow to end again',
      });
      expect(await person.anchor()).to.include({ status: 'provisional', version: 2 });
    });

    it('of concurrent proposals the last write wins and every one is in the history', async () => {
      const person = await (await stage.study(manual)).person();
      await person.settled();
      const dates = Array.from({ length: 8 }, (_, i) => addDays(DAY, i));
      const answers = await Promise.all(dates.map((date) => person.set(date)));
      expect(answers.map((a) => a.status)).to.deep.equal(dates.map(() => 200));
      const history = await person.history();
      expect(history.map((h) => h.anchor_version)).to.deep.equal([9, 8, 7, 6, 5, 4, 3, 2]);
      expect(history.map((h) => h.enrollment_date_value)).to.have.members(dates);
      expect((await person.anchor()).enrollment_date).to.equal(history[0]!.enrollment_date_value);
    });
  });

  describe('11. re-consent', () => {
    const consent = (multi_consent: Record<string, unknown>) =>
      stage.study({ sources: [{ type: 'consent_workflow' }], multi_consent });
    it('first: re-consent leaves the date unchanged', async () => {
      const person = await (await consent({ anchor_consent: 'first', reconsent_updates_anchor: true })).person();
      await person.consent('2024-03-01T09:00:00Z');
      await person.becomes({ status: 'finalized', enrollment_date: '2024-03-01' });
      await person.consent('2024-04-01T09:00:00Z');
      await person.settled();
      expect(await person.anchor()).to.include({ enrollment_date: '2024-03-01', version: 2 });
    });

    it('latest with reconsent_updates_anchor: the date follows, CHANGED by the workflow, with a new schedule version', async () => {
      const person = await (await consent({ anchor_consent: 'latest', reconsent_updates_anchor: true })).person();
      await person.consent('2024-03-01T09:00:00Z');
      await person.becomes({ status: 'finalized', enrollment_date: '2024-03-01' });
      await person.consent('2024-04-01T09:00:00Z');
      await person.becomes({ status: 'finalized', enrollment_date: '2024-04-01', version: 3 });
      expect((await person.history())[0]).to.include({
        event_type: 'CHANGED',
        actor_type: 'workflow',
        status_before: 'finalized',
        status_after: 'finalized',
        change_delta_days: 31,
      });
      expect((await person.versions()).map((v) => v.anchor_date_used)).to.deep.equal(['2024-03-01', '2024-04-01']);
    });

    it('latest without it: the date is unchanged regardless', async () => {
      const person = await (await consent({ anchor_consent: 'latest', reconsent_updates_anchor: false })).person();
      await person.consent('2024-03-01T09:00:00Z');
      await person.becomes({ status: 'finalized' });
      await person.consent('2024-04-01T09:00:00Z');
      await person.settled();
      expect(await person.anchor()).to.include({ enrollment_date: '2024-03-01', version: 2 });
    });

    it('specific_version: only that version of the consent counts, for the date and for the prerequisite', async () => {
      const person = await (
        await consent({ anchor_consent: 'specific_version', specific_consent_version_id: 'v2' })
      ).person();
      await person.consent('2024-03-01T09:00:00Z', { consent_version_id: 'v1' });
      await person.settled();
      expect(await person.anchor()).to.include({ status: 'unset' });
      await person.consent('2024-03-05T09:00:00Z', { consent_version_id: 'v2' });
      await person.becomes({ status: 'finalized', enrollment_date: '2024-03-05' });
    });

    it('specific_version: a rule is not told that another version is signed', async () => {
      const study = await stage.study({
        ...manual,
        prerequisites: { require_consent_signed: false, custom_rule: 'consent.status == "signed"' },
        multi_consent: { anchor_consent: 'specific_version', specific_consent_version_id: 'v2' },
        validation: { cannot_precede_consent: false },
      });
      const person = await study.person();
      await person.consent('2024-03-01T09:00:00Z', { consent_version_id: 'v1' });
      expect((await person.set('2024-03-10')).body).to.include({ status: 'provisional' });
      await person.consent('2024-03-05T09:00:00Z', { consent_version_id: 'v2' });
      await person.becomes({ status: 'finalized', enrollment_date: '2024-03-10' });
    });
  });

  it('today is the date in the policy’s zone, not the server’s', async () => {
    const now = new Date().toISOString();
    // Of these two one is always a day ahead of the other.
    const [ahead, behind] = ['Pacific/Kiritimati', 'Pacific/Niue'].map((zone) => ({
      zone,
      today: dateIn(now, zone),
    })) as [{ zone: string; today: string }, { zone: string; today: string }];
    const study = (zone: string) =>
      stage.study({ ...manual, ...free, time_precision: { timezone_policy: 'study_timezone', study_timezone: zone } });
    expect((await (await (await study(ahead.zone)).person()).set(ahead.today)).status).to.equal(200);
    const refused = await (await (await study(behind.zone)).person()).set(ahead.today);
    expect(refused.body.errors.map((e) => e.code)).to.deep.equal(['FUTURE_DATE']);
  });
});
