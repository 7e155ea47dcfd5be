import { expect } from 'chai';
import { anchorState } from '../../workflows/contract.js';
import { until } from '../support/until.js';
import { Stage } from './stage.js';

const FIRST = '2024-03-01',
  SECOND = '2024-04-01';

describe('A date that stands', () => {
  let stage: Stage;
  before(async () => {
    stage = await Stage.open();
  });
  after(() => stage.close());

  const latest = {
    sources: [{ type: 'consent_workflow' }],
    multi_consent: { anchor_consent: 'latest', reconsent_updates_anchor: false },
  };

  describe('of a consent that later ones do not replace', () => {
    it('is what overrides are judged by, and what an override-back returns to', async () => {
      const person = await (await stage.study(latest)).person();
      await person.consent(`${FIRST}T09:00:00Z`);
      await person.becomes({ status: 'finalized', enrollment_date: FIRST });
      await person.consent(`${SECOND}T09:00:00Z`);
      await person.settled();
      for (const date of ['2024-03-05', '2024-03-08']) {
        const { status, text } = await person.override(date);
        expect(status, text).to.equal(200);
      }
      const early = await person.override('2024-02-28');
      expect((early.body as { errors?: { code: string }[] }).errors?.map(({ code }) => code)).to.deep.equal([
        'BEFORE_CONSENT',
      ]);
      const back = await person.post('/override-back', { reason: 'both were wrong' });
      expect(back.status, back.text).to.equal(200);
      expect(await person.anchor()).to.include({ status: 'provisional', enrollment_date: FIRST, is_override: false });
    });

    it('stays cancelled although there is a later one already', async () => {
      const study = await stage.study({ ...latest, prerequisites: { require_eligibility_confirmed: true } });
      const person = await study.person();
      await person.consent(`${FIRST}T09:00:00Z`);
      await person.becomes({ status: 'provisional', enrollment_date: FIRST });
      await person.consent(`${SECOND}T09:00:00Z`);
      await person.settled();
      expect(await person.anchor()).to.include({ status: 'provisional', enrollment_date: FIRST });
      expect((await person.post('/cancel', {})).status).to.equal(200);
      expect((await person.post('/evaluate')).body.result).to.equal('none');
      await person.form('unrelated', { note: 'x' });
      await person.settled();
      expect(await person.anchor()).to.include({ status: 'unset', enrollment_date: null });
      await person.consent('2024-05-01T09:00:00Z');
      await person.becomes({ status: 'provisional', enrollment_date: '2024-05-01' });
    });
  });

  it('finally is taken when it is posted again, whatever the rules say of it now; another needs an override', async () => {
    const study = await stage.study({
      sources: [{ type: 'manual_entry' }],
      prerequisites: { require_consent_signed: false },
    });
    const person = await study.person();
    await person.set(FIRST);
    await stage.admin.expect(200, 'PATCH', `/api/studies/${study.id}`, { start_date: SECOND });
    const before = await person.anchor();
    const again = await person.set(FIRST);
    expect(again.status, again.text).to.equal(200);
    expect(again.body.evaluation.result).to.equal('unchanged');
    expect((await person.anchor()).version).to.equal(before.version);
    expect((await person.set('2024-03-02')).body).to.include({ code: 'OVERRIDE_REQUIRED' });
    const other = await study.person();
    expect((await other.set(FIRST)).status, 'a new date is judged').to.equal(400);
  });

  it('that does not count is waited for: refused by a rule, or cancelled', async () => {
    const study = await stage.study({
      sources: [{ type: 'form_item', form_mapping: { form_oid: 'ENROLL', item_oid: 'DAY' } }],
    });
    const person = await study.person();
    const waiting = async () => (await stage.handle(person.id).query(anchorState))!.waiting_for;
    /** The record is written a moment before the workflow hears of it. */
    const waitsFor = (what: string[]) => until(async () => expect(await waiting()).to.deep.equal(what));
    await person.form('ENROLL', { DAY: FIRST });
    await person.becomes({ status: 'provisional', enrollment_date: FIRST });
    await waitsFor(['consent']);
    await person.consent(`${SECOND}T09:00:00Z`);
    await person.settled();
    expect((await person.post('/evaluate')).body).to.include({ result: 'validation_failed' });
    expect(await waiting(), 'it lies before the consent').to.deep.equal(['date']);
    await person.post('/cancel', {});
    expect(await waiting(), 'it was cancelled').to.deep.equal(['date']);
    await person.form('ENROLL', { DAY: SECOND });
    await person.becomes({ status: 'finalized', enrollment_date: SECOND });
    await waitsFor([]);
  });
});
