import { expect } from 'chai';
import { addDays, dateIn } from '../../workflows/domain/util/dates.js';
import { clearOfMidnight } from '../support/midnight.js';
import { DAY, Stage } from './stage.js';
import type { AnchorStudy, Person } from './stage.js';

const codes = (answer: { body: { errors?: { code: string }[] } }) => answer.body.errors?.map((e) => e.code);
const free = { sources: [{ type: 'manual_entry' }], prerequisites: { require_consent_signed: false } };

describe('errors of the anchor date', function () {
  let stage: Stage;
  let plain: AnchorStudy;
  before(async () => {
    stage = await Stage.open();
    plain = await stage.study(free);
  });
  after(() => stage.close());

  const finalized = async (study: AnchorStudy): Promise<Person> => {
    const person = await study.person();
    await person.set(DAY);
    return person;
  };

  describe('5. validation codes, for a proposal and for an override alike', () => {
    it('FUTURE_DATE: after today, when cannot_be_future; not when the policy allows it', async () => {
      await clearOfMidnight('UTC');
      const tomorrow = addDays(dateIn(new Date().toISOString(), 'UTC'), 1);
      const person = await plain.person();
      const refused = await person.set(tomorrow);
      expect([refused.status, codes(refused)]).to.deep.equal([400, ['FUTURE_DATE']]);
      expect(refused.body.detail).to.be.a('string').and.not.equal('');
      await person.set(DAY);
      const override = await person.override('2999-01-01');
      expect([override.status, codes(override)]).to.deep.equal([400, ['FUTURE_DATE']]);
      const open = await (await stage.study({ ...free, validation: { cannot_be_future: false } })).person();
      expect((await open.set('2999-01-01')).status).to.equal(200);
    });

    it('BEFORE_CONSENT: before the consent’s day, when cannot_precede_consent; that day itself is fine', async () => {
      const person = await plain.person();
      await person.consent('2024-03-10T09:00:00Z');
      await person.settled();
      const refused = await person.set('2024-03-09');
      expect([refused.status, codes(refused)]).to.deep.equal([400, ['BEFORE_CONSENT']]);
      expect((await person.set('2024-03-10')).status).to.equal(200);
      const open = await (await stage.study({ ...free, validation: { cannot_precede_consent: false } })).person();
      await open.consent('2024-03-10T09:00:00Z');
      expect((await open.set('2024-03-09')).status).to.equal(200);
    });

    it('BEFORE_STUDY_START: before the start date, when cannot_precede_study_start; that day itself is fine', async () => {
      const study = await stage.study(free, { fields: { start_date: '2024-03-01' } });
      const person = await study.person();
      const refused = await person.set('2024-02-29');
      expect([refused.status, codes(refused)]).to.deep.equal([400, ['BEFORE_STUDY_START']]);
      expect((await person.set('2024-03-01')).status).to.equal(200);
      const override = await person.override('2024-02-29');
      expect([override.status, codes(override)]).to.deep.equal([400, ['BEFORE_STUDY_START']]);
    });

    it('TOO_FAR_FROM_CONSENT: more days after the consent than max_days_from_consent; 0 means the day of consent only', async () => {
      for (const [most, ok, far] of [
        [10, '2024-03-20', '2024-03-21'],
        [0, '2024-03-10', '2024-03-11'],
      ] as const) {
        const person = await (await stage.study({ ...free, validation: { max_days_from_consent: most } })).person();
        await person.consent('2024-03-10T09:00:00Z');
        const refused = await person.set(far);
        expect([refused.status, codes(refused)], String(most)).to.deep.equal([400, ['TOO_FAR_FROM_CONSENT']]);
        expect((await person.set(ok)).status, String(most)).to.equal(200);
      }
    });

    it('all faults at once, custom rules among them, each with its message; warnings beside them', async () => {
      const study = await stage.study(
        {
          ...free,
          validation: {
            custom_rules: [
              {
                id: 'monday',
                name: 'Mondays',
                expression: 'dayOfWeek(candidate.date) == 1',
                error_message: 'must be a Monday',
                severity: 'error',
              },
              {
                id: 'late',
                name: 'Late',
                expression: 'candidate.date < "2025-01-01"',
                error_message: 'rather late',
                severity: 'warning',
              },
              {
                id: 'broken',
                name: 'Broken',
                expression: 'randomization.date <= candidate.date',
                error_message: 'needs the randomization',
                severity: 'error',
              },
            ],
          },
        },
        { fields: { start_date: '2999-06-01' } },
      );
      const person = await study.person();
      const { status, body } = await person.set('2999-01-01');
      expect(status).to.equal(400);
      expect(body.errors.map((e) => e.code)).to.deep.equal([
        'FUTURE_DATE',
        'BEFORE_STUDY_START',
        'CUSTOM_RULE',
        'RULE_ERROR',
      ]);
      expect(body.errors[2]).to.deep.include({ rule: 'monday', message: 'must be a Monday' });
      expect(body.errors[3]).to.deep.include({ rule: 'broken' });
      expect(body.errors[3]!.message).to.match(/^Broken: needs the randomization \(RULE_ERROR: /);
      expect((body.warnings as { rule: string }[]).map((w) => w.rule)).to.deep.equal(['late']);
    });
  });

  it('6. LARGE_SHIFT: a warning beyond max_shift_days, and the change is made; none at it or with 0', async () => {
    const study = await stage.study({ ...free, re_anchoring: { max_shift_days: 7 } });
    const person = await finalized(study);
    const far = await person.override(addDays(DAY, 8));
    expect(far.status).to.equal(200);
    expect(far.body.warnings.map((w) => w.code)).to.deep.equal(['LARGE_SHIFT']);
    expect((await person.anchor()).enrollment_date).to.equal(addDays(DAY, 8));
    expect((await person.override(addDays(DAY, 1))).body.warnings, 'seven days back').to.deep.equal([]);
    expect((await (await finalized(plain)).override(addDays(DAY, 300))).body.warnings).to.deep.equal([]);
  });

  describe('7. overrides', () => {
    it('REASON_REQUIRED: an empty reason is 400 when the policy wants one, also in blanks; not otherwise', async () => {
      const person = await finalized(plain);
      const back = await person.post('/override-back', { reason: ' ' });
      expect([back.status, back.body.errors.map(({ path, code }) => [path, code])]).to.deep.equal([
        400,
        [['reason', 'REASON_REQUIRED']],
      ]);
      for (const reason of ['', '   ']) {
        const refused = await person.override('2024-03-17', undefined, { reason });
        expect([refused.status, codes(refused)]).to.deep.equal([400, ['REASON_REQUIRED']]);
        expect(refused.body.errors[0]!.path).to.equal('reason');
      }
      expect(await person.anchor()).to.include({ enrollment_date: DAY, version: 2 });
      const study = await stage.study({ ...free, permissions: { override_requires_reason: false } });
      for (const given of [{ reason: '' }, { reason: '  ' }, { reason: null }, {}]) {
        const person = await finalized(study);
        const { status, text } = await person.post('/override', { new_enrollment_date: '2024-03-17', ...given });
        expect(status, text).to.equal(200);
        const overridden = (await person.history()).find(({ event_type }) => event_type === 'OVERRIDE_GRANTED');
        expect(overridden).to.include({ reason: null });
      }
    });

    it('a missing reason that the policy asks for: 422 that names it', async () => {
      const person = await finalized(plain);
      const { status, body } = await person.post('/override', { new_enrollment_date: '2024-03-17' });
      expect(status).to.equal(422);
      expect(body.errors[0]!.path).to.equal('reason');
    });

    it('NO_CHANGE: the stored date again is 400', async () => {
      const refused = await (await finalized(plain)).override(DAY);
      expect([refused.status, refused.body.code, codes(refused)]).to.deep.equal([400, 'NO_CHANGE', ['NO_CHANGE']]);
    });

    const guards: [code: string, rule: string, arrange: (person: Person) => Promise<unknown>][] = [
      ['NOT_ALLOWED_AFTER_SCHEDULING', 'allow_after_scheduling', async () => undefined],
      [
        'NOT_ALLOWED_AFTER_DATA_ENTERED',
        'allow_after_data_entered',
        async (p) => p.complete((await p.standing())[0]!.id),
      ],
      [
        'NOT_ALLOWED_AFTER_DATA_ENTERED',
        'allow_after_data_entered',
        async (p) => {
          const { sessionId } = await stage.admin.expect<{ sessionId: string }>(201, 'POST', '/api/session/start', {
            participant_id: p.id,
            language: 'en',
          });
          await stage.admin.expect(
            200,
            'POST',
            '/api/submit',
            { session_id: sessionId, task_summaries: { stroop: { mean_rt: 400 } }, raw_trials: [] },
            { headers: { 'X-Session-ID': sessionId } },
          );
        },
      ],
      ['NOT_ALLOWED_AFTER_SIGNATURE', 'allow_after_signature', (p) => p.form('CRF', { a: 1 }, 'signed')],
      [
        'NOT_ALLOWED_AFTER_LOCK',
        'allow_after_lock',
        async (p) => {
          const form = await p.form('CRF', { a: 1 }, 'signed');
          await stage.admin.expect(200, 'PATCH', `${p.path}/forms/${form.id}`, { status: 'locked' });
        },
      ],
    ];
    const all = {
      allow_after_scheduling: true,
      allow_after_data_entered: true,
      allow_after_signature: true,
      allow_after_lock: true,
    };
    /** One study for each policy: what a guard refuses is a matter of the participant. */
    const studies = new Map<string, Promise<AnchorStudy>>();
    const studyWhere = (policy: object): Promise<AnchorStudy> => {
      const key = JSON.stringify(policy);
      const study = studies.get(key) ?? stage.study({ ...free, ...policy });
      studies.set(key, study);
      return study;
    };
    for (const [code, rule, arrange] of guards) {
      it(`${code}: refused where ${rule} is false, allowed where it is true`, async () => {
        const strict = await finalized(await studyWhere({ re_anchoring: { ...all, [rule]: false } }));
        await arrange(strict);
        const refused = await strict.override('2024-03-17');
        expect([refused.status, refused.body.code, codes(refused)]).to.deep.equal([400, code, [code]]);
        const seen = await strict.post('/override/preview', { new_enrollment_date: '2024-03-17', reason: 'x' });
        expect([seen.status, seen.body.code]).to.deep.equal([400, code]);
        const outside = await strict.override('2999-01-01');
        expect([outside.status, outside.body.code], 'a date rule beside the guard').to.deep.equal([
          400,
          'VALIDATION_FAILED',
        ]);
        expect(codes(outside)).to.include(code);
        const back = await strict.post('/override-back', { reason: 'x' });
        expect(back.status, 'a reopening that moves nothing is no re-anchoring').to.equal(200);
        const open = await finalized(await studyWhere({ re_anchoring: all }));
        await arrange(open);
        expect((await open.override('2024-03-17')).status).to.equal(200);
      });
    }

    for (const [code, rule, arrange] of guards) {
      it(`${code}: reopening is no way around it; what was reopened keeps its date`, async () => {
        const strict = await finalized(
          await studyWhere({
            sources: [{ type: 'consent_workflow' }, { type: 'manual_entry' }],
            re_anchoring: { ...all, [rule]: false },
          }),
        );
        await arrange(strict);
        expect((await strict.post('/override-back', { reason: 'x' })).status).to.equal(200);
        const moved = await strict.set('2024-03-17');
        expect([moved.status, moved.body.code, codes(moved)]).to.deep.equal([400, code, [code]]);
        const cancelled = await strict.post('/cancel');
        expect([cancelled.status, cancelled.body.code]).to.deep.equal([400, code]);
        await strict.consent('2024-03-05T10:00:00Z');
        await strict.settled();
        const evaluated = await strict.post<{ result: string; errors: { code: string }[] }>('/evaluate');
        expect([evaluated.body.result, codes(evaluated)], 'nor by a source').to.deep.equal([
          'validation_failed',
          [code],
        ]);
        expect(await strict.anchor()).to.include({
          status: 'provisional',
          enrollment_date: DAY,
          source_type: 'manual_entry',
          version: 3,
        });

        const same = await finalized(await studyWhere({ re_anchoring: { ...all, [rule]: false } }));
        await arrange(same);
        await same.post('/override-back', { reason: 'x' });
        expect((await same.set(DAY)).body, 'the same date is no move').to.include({
          status: 'finalized',
          enrollment_date: DAY,
          version: 4,
        });
        const open = await finalized(await studyWhere({ re_anchoring: all }));
        await arrange(open);
        await open.post('/override-back', { reason: 'x' });
        expect((await open.set('2024-03-17')).body).to.include({ status: 'finalized', enrollment_date: '2024-03-17' });
      });
    }

    it('by a role that can_override does not name: 403, and an audit record of the refusal', async () => {
      const person = await finalized(plain);
      const coordinator = await plain.as('coordinator');
      const { status } = await person.override('2024-03-17', coordinator);
      expect(status).to.equal(403);
      expect((await person.post('/override-back', { reason: 'x' }, coordinator)).status).to.equal(403);
      expect(await person.anchor()).to.include({ enrollment_date: DAY, version: 2 });
      const [record] = (await plain.audit('anchor_override_refused')).filter((r) => r.resource_id === person.id);
      expect(record).to.include({ user_id: coordinator.userId });
    });

    it('by a role that can_set does not name: 403 for set and cancel, nothing stored', async () => {
      const person = await plain.person();
      const dataManager = await plain.as('data_manager');
      expect((await person.set(DAY, dataManager)).status).to.equal(403);
      expect(await person.anchor()).to.include({ status: 'unset', version: 1 });
      expect((await person.post('/cancel', {}, dataManager)).status).to.equal(403);
      expect((await person.set(DAY, await plain.as('coordinator'))).status).to.equal(200);
      const admins = await stage.study({ ...free, permissions: { can_set: ['investigator'] } });
      const other = await admins.person();
      expect((await other.set(DAY)).status, 'can_set without admin holds for an admin too').to.equal(403);
      expect((await other.set(DAY, await admins.as('investigator'))).status).to.equal(200);
    });

    it('somebody of another study does not see the participant: 404', async () => {
      const person = await finalized(plain);
      const stranger = await (await stage.study(free)).as('coordinator');
      for (const answer of [
        await person.set(DAY, stranger),
        await person.override('2024-03-17', stranger),
        await stranger.get(`${person.path}/anchor-date`),
      ])
        expect(answer.status).to.equal(404);
    });
  });

  describe('8. evaluation results: none, validation_failed with errors and warnings, override_required', () => {
    it('POST …/evaluate answers them with the anchor as it stands', async () => {
      const study = await stage.study({
        sources: [{ type: 'eligibility_workflow' }],
        prerequisites: { require_consent_signed: false },
        validation: { max_days_from_consent: 1 },
      });
      const person = await study.person();
      const evaluate = async () =>
        (await person.post<{ result: string; errors: { code: string }[]; anchor: { status: string } }>('/evaluate'))
          .body;
      expect(await evaluate()).to.deep.include({ result: 'none', errors: [], warnings: [] });
      await person.consent('2024-03-01T09:00:00Z');
      await person.eligible('2024-03-10T09:00:00Z');
      await person.settled();
      const failed = await evaluate();
      expect([failed.result, failed.errors.map((e) => e.code), failed.anchor.status]).to.deep.equal([
        'validation_failed',
        ['TOO_FAR_FROM_CONSENT'],
        'unset',
      ]);
      await person.eligible('2024-03-02T09:00:00Z');
      await person.becomes({ status: 'finalized', enrollment_date: '2024-03-02' });
      await person.eligible('2024-03-01T19:00:00Z');
      await person.settled();
      const required = await evaluate();
      expect([required.result, required.anchor.status]).to.deep.equal(['override_required', 'finalized']);
    });
  });

  describe('what is malformed or stale', () => {
    it('a body that does not fit is 422 and names the field', async () => {
      const person = await plain.person();
      for (const [body, path] of [
        [{}, 'enrollment_date'],
        [{ enrollment_date: '2023-02-29' }, 'enrollment_date'],
        [{ enrollment_date: '2024-3-1' }, 'enrollment_date'],
        [{ enrollment_date: 20240310 }, 'enrollment_date'],
        [{ enrollment_date: DAY, source_type: 'override' }, 'source_type'],
        [{ enrollment_date: DAY, wizard: true }, 'wizard'],
      ] as const) {
        const { status, body: answer } = await person.post('', body);
        expect([status, answer.errors[0]!.path], JSON.stringify(body)).to.deep.equal([422, path]);
      }
    });

    it('If-Match of another version is 409 and changes nothing; the present one is taken', async () => {
      const person = await plain.person();
      const { headers } = await stage.admin.get(`${person.path}/anchor-date`);
      const seen = headers.get('etag')!;
      expect(
        (await person.post('', { enrollment_date: DAY }, undefined, { headers: { 'If-Match': seen } })).status,
      ).to.equal(200);
      const stale = await person.post('/override', { new_enrollment_date: '2024-03-17', reason: 'x' }, undefined, {
        headers: { 'If-Match': seen },
      });
      expect(stale.status).to.equal(409);
      expect(await person.anchor()).to.include({ enrollment_date: DAY, version: 2 });
    });

    it('the same Idempotency-Key is carried out once', async () => {
      const person = await finalized(plain);
      const body = { new_enrollment_date: '2024-03-17', reason: 'x' };
      const options = { headers: { 'Idempotency-Key': `key-${person.id}` } };
      const [first, second] = await Promise.all([
        person.post('/override', body, undefined, options),
        person.post('/override', body, undefined, options),
      ]);
      expect([first.status, second.status]).to.deep.equal([200, 200]);
      expect(first.text).to.equal(second.text);
      expect((await person.anchor()).version).to.equal(3);
    });

    it('the same Idempotency-Key on another route of the participant is another command', async () => {
      const person = await plain.person();
      const options = { headers: { 'Idempotency-Key': `key-${person.id}` } };
      expect((await person.post('', { enrollment_date: DAY }, undefined, options)).body).to.include({
        status: 'finalized',
      });
      const { status, body } = await person.post(
        '/override',
        { new_enrollment_date: '2024-03-17', reason: 'x' },
        undefined,
        options,
      );
      expect([status, body.status]).to.deep.equal([200, 'applied']);
      expect(body.impact).to.be.an('object');
      expect(await person.anchor()).to.include({ enrollment_date: '2024-03-17', version: 3 });
      expect((await person.post('/override-back', { reason: 'x' }, undefined, options)).body).to.include({
        status: 'provisional',
        enrollment_date: DAY,
      });
    });

    it('what was refused under a key is tried again under it with a better body', async () => {
      const person = await plain.person();
      const set = (enrollment_date: string) =>
        person.post('', { enrollment_date }, undefined, { headers: { 'Idempotency-Key': `key-${person.id}` } });
      const first = await set('2999-01-01');
      expect([first.status, first.body.errors[0]!.code]).to.deep.equal([400, 'FUTURE_DATE']);
      expect((await set(DAY)).status).to.equal(200);
      expect(await person.anchor()).to.include({ enrollment_date: DAY });
    });

    it('what was refused under a key is tried again under it once it may be done', async () => {
      const study = await stage.study({
        sources: free.sources,
        prerequisites: { require_eligibility_confirmed: true },
      });
      const person = await study.person();
      const override = () =>
        person.post('/override', { new_enrollment_date: '2024-03-17', reason: 'x' }, undefined, {
          headers: { 'Idempotency-Key': `key-${person.id}` },
        });
      await person.set(DAY);
      const early = await override();
      expect([early.status, early.body.code]).to.deep.equal([409, 'NOT_FINALIZED']);
      await person.consent('2024-03-01T09:00:00Z');
      await person.eligible('2024-03-02T09:00:00Z');
      await person.becomes({ status: 'finalized' });
      const [first, second] = [await override(), await override()];
      expect([first.status, first.body.status], first.text).to.deep.equal([200, 'applied']);
      expect(second.text, 'and is carried out once').to.equal(first.text);
      expect(await person.anchor()).to.include({ enrollment_date: '2024-03-17', version: 4 });
    });
  });
});
