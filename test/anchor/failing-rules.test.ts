import { expect } from 'chai';
import { anchorState } from '../../workflows/contract.js';
import { until } from '../support/until.js';
import { Stage } from './stage.js';

describe('A rule of the policy that fails when it is run', () => {
  let stage: Stage;
  before(async () => {
    stage = await Stage.open();
  });
  after(() => stage.close());

  it('as a source: none, and RULE_ERROR with its name in the warnings, in anchorState and in the audit log', async () => {
    const study = await stage.study({
      sources: [{ type: 'computed_rule', computed_rule: { expression: 'addDays(randomization.date, 7)' } }],
    });
    const person = await study.person();
    const { status, body } = await person.post('/evaluate', { reason: 'asked for' });
    expect(status).to.equal(200);
    expect(body).to.include({ result: 'none' });
    const [warning] = body.warnings as { code: string; rule: string; message: string }[];
    expect(warning).to.include({ code: 'RULE_ERROR', rule: 'computed_rule' });
    const state = await stage.handle(person.id).query(anchorState);
    expect(state!.rule_errors).to.deep.equal([warning]);
    const [record] = await study.audit('anchor_rule_failed');
    expect(record).to.include({ user_id: stage.admin.userId, resource_id: person.id });
    expect(record!.audit_metadata).to.deep.include({ result: 'none', rules: ['computed_rule'] });
    expect(record!.audit_metadata.trace).to.have.nested.property('sources[0].outcome', 'error');
  });

  it('as a prerequisite: it counts as not met, and the proposal says why', async () => {
    const study = await stage.study({
      sources: [{ type: 'manual_entry' }],
      prerequisites: { require_consent_signed: false, custom_rule: 'randomization.arm == "A"' },
    });
    const person = await study.person();
    const { body } = await person.set('2024-03-10');
    expect(body.evaluation).to.include({ result: 'proposed' });
    expect(body.evaluation.warnings.map(({ code, rule }) => [code, rule])).to.deep.equal([
      ['RULE_ERROR', 'custom_rule'],
    ]);
    const state = await stage.handle(person.id).query(anchorState);
    expect(state).to.deep.include({ waiting_for: ['custom_rule'] });
    expect(state!.rule_errors!.map(({ rule }) => rule)).to.deep.equal(['custom_rule']);
    await stage.admin.expect(201, 'POST', `${person.path}/randomization`, {
      arm: 'A',
      randomized_at: '2024-03-09T10:00:00Z',
    });
    await person.becomes({ status: 'finalized' });
    // The record is written a moment before the workflow hears of it.
    await until(async () =>
      expect((await stage.handle(person.id).query(anchorState))!).not.to.have.property('rule_errors'),
    );
  });

  it('as a rule of the date: it refuses the date, and stands in the evaluation’s warnings as any other', async () => {
    const rule = { id: 'arm', name: 'Arm A', expression: 'randomization.arm == "A"', error_message: 'not in arm A' };
    const study = await stage.study({
      sources: [{ type: 'form_item', form_mapping: { form_oid: 'ENROLL', item_oid: 'DAY' } }],
      prerequisites: { require_consent_signed: false },
      validation: { custom_rules: [{ ...rule, severity: 'error' }] },
    });
    const person = await study.person();
    await person.form('ENROLL', { DAY: '2024-03-10' });
    const { body } = await person.post('/evaluate', { reason: 'asked for' });
    expect(body).to.include({ result: 'validation_failed' });
    const named = (faults: unknown) => (faults as { code: string; rule: string }[]).map((f) => [f.code, f.rule]);
    expect(named(body.errors)).to.deep.equal([['RULE_ERROR', 'arm']]);
    expect(named(body.warnings)).to.deep.equal([['RULE_ERROR', 'arm']]);
    expect(named((await stage.handle(person.id).query(anchorState))!.rule_errors)).to.deep.equal([
      ['RULE_ERROR', 'arm'],
    ]);
    expect((await study.audit('anchor_rule_failed'))[0]!.audit_metadata).to.deep.include({ rules: ['arm'] });
  });

  it('in a date that somebody posts: the audit log has the trace, where nothing changes and where it is refused', async () => {
    const waits = await stage.study({
      sources: [{ type: 'manual_entry' }],
      prerequisites: { require_consent_signed: false, custom_rule: 'randomization.arm == "A"' },
    });
    const proposed = await waits.person();
    expect((await proposed.set('2024-03-10')).body.evaluation.result).to.equal('proposed');
    // The history has the trace of a change.
    expect(await waits.audit('anchor_rule_failed')).to.have.length(0);
    expect((await proposed.set('2024-03-10')).body.evaluation.result).to.equal('unchanged');
    const [unchanged] = await waits.audit('anchor_rule_failed');
    expect(unchanged).to.include({ user_id: stage.admin.userId, resource_id: proposed.id });
    expect(unchanged!.audit_metadata).to.deep.include({ result: 'unchanged', rules: ['custom_rule'] });
    expect(unchanged!.audit_metadata.trace).to.have.nested.property('prerequisites[0].met', false);

    const refuses = await stage.study({
      sources: [{ type: 'manual_entry' }],
      prerequisites: { require_consent_signed: false },
      validation: {
        custom_rules: [
          {
            id: 'arm',
            name: 'Arm',
            expression: 'candidate.date < "2024-03-15" || randomization.arm == "A"',
            error_message: 'the arm is A',
            severity: 'error',
          },
        ],
      },
    });
    const person = await refuses.person();
    const codes = async () =>
      (await refuses.audit('anchor_rule_failed')).map(({ audit_metadata: { result, rules, trace } }) => [
        result,
        rules,
        (trace as { validation: { rule: string; passed: boolean }[] }).validation.find(({ rule }) => rule === 'arm'),
      ]);
    expect((await person.set('2024-03-20')).body.code).to.equal('VALIDATION_FAILED');
    const refused = ['refused', ['arm'], { rule: 'arm', passed: false }];
    expect(await codes()).to.deep.equal([refused]);
    expect((await person.set('2024-03-10')).body.status).to.equal('finalized');
    expect((await person.override('2024-03-21')).body.code).to.equal('VALIDATION_FAILED');
    expect(await codes()).to.deep.equal([refused, refused]);
    expect(await refuses.chainVerifies()).to.equal(true);
  });

  it('without a name or a message of its own: the refusal names it by its id', async () => {
    const rule = { id: 'late', name: ' ', expression: 'candidate.date > "2999-01-01"', error_message: '' };
    const study = await stage.study({
      sources: [{ type: 'manual_entry' }],
      prerequisites: { require_consent_signed: false },
      validation: { custom_rules: [{ ...rule, severity: 'error' }] },
    });
    const { status, body } = await (await study.person()).set('2024-03-10');
    expect(status).to.equal(400);
    expect(body.errors).to.deep.equal([
      { code: 'CUSTOM_RULE', rule: 'late', message: 'the rule "late" is not passed' },
    ]);
  });

  describe('is not one', () => {
    it('where it asks with has() for an item of a form that the participant has not got', async () => {
      const expression = '!has(forms.SCREENING.RESULT) || forms.SCREENING.RESULT == "negative"';
      const study = await stage.study({
        sources: [{ type: 'manual_entry' }],
        prerequisites: { require_consent_signed: false, custom_rule: expression },
        validation: {
          custom_rules: [{ id: 'r', name: 'negative', expression, error_message: 'not negative', severity: 'error' }],
        },
      });
      const [without, negative, positive] = await Promise.all([study.person(), study.person(), study.person()]);
      await negative.form('SCREENING', { RESULT: 'negative' });
      await positive.form('SCREENING', { RESULT: 'positive' });
      for (const person of [without, negative])
        expect((await person.set('2024-03-10')).body.evaluation).to.deep.include({ result: 'set', warnings: [] });
      expect((await positive.set('2024-03-10')).body.errors).to.deep.equal([
        { code: 'CUSTOM_RULE', rule: 'r', message: 'not negative' },
      ]);
      const [entry] = await without.history();
      expect(
        await stage.admin.expect(200, 'POST', `${without.path}/anchor-date/decisions/${entry!.id}/rederive`),
      ).to.deep.include({ same: true, differences: [] });
    });

    it('where it is about a date that there is none of yet', async () => {
      const study = await stage.study({
        sources: [{ type: 'manual_entry' }],
        prerequisites: { require_consent_signed: false, custom_rule: 'dayOfWeek(candidate.date) < 6' },
      });
      const person = await study.person();
      expect((await person.post('/evaluate', {})).body).to.deep.include({ result: 'none', warnings: [] });
      const state = await stage.handle(person.id).query(anchorState);
      expect(state)
        .to.deep.include({ waiting_for: ['date', 'custom_rule'] })
        .and.not.to.have.property('rule_errors');
      // A Sunday, and a Monday.
      expect((await person.set('2024-03-10')).body.evaluation).to.deep.include({ result: 'proposed', warnings: [] });
      expect((await person.set('2024-03-11')).body.evaluation).to.deep.include({ result: 'finalized', warnings: [] });
    });
  });
});
