import { ApplicationFailure } from '@temporalio/common';
import { expect } from 'chai';
import { givenUpAfterOverruns } from '../../activities/operations/overruns.js';
import { DAY, Stage } from '../anchor/stage.js';
import { HUNGRY, big, ruled } from './shared-steps.js';
import type { AnchorStudy, SetView } from '../anchor/stage.js';
import type { Loose } from '../support/http.js';

describe('Rules and the facts that they read: no study stops the others', () => {
  let stage: Stage;
  before(async () => {
    stage = await Stage.open();
  });
  after(() => stage.close());

  const form = (study: AnchorStudy, id: string, items: Record<string, unknown>) =>
    stage.admin.send('POST', `/api/studies/${study.id}/participants/${id}/forms`, {
      form_oid: 'F',
      status: 'complete',
      items,
    });

  for (const [what, expression] of Object.entries(HUNGRY))
    it(`${what} is over budget: RULE_ERROR, and the rule is not passed`, async () => {
      const study = await stage.study(ruled(expression));
      const person = await study.person();
      expect((await form(study, person.id, big)).status).to.equal(201);
      const { status, body } = await person.set(DAY);
      expect(status, JSON.stringify(body)).to.equal(400);
      expect(body.errors).to.have.length(1);
      expect(body.errors[0]).to.deep.include({ code: 'RULE_ERROR', rule: 'hungry' });
      expect(body.errors[0]!.message).to.match(/100,000 steps/);
    });

  it('as a warning it stands in the evaluation’s warnings, by its name; a loop over as much as a form may hold is fine', async () => {
    const study = await stage.study(ruled(HUNGRY['a loop in a loop']!, 'warning'));
    const person = await study.person();
    await form(study, person.id, big);
    const { status, body } = await person.set(DAY);
    expect(status).to.equal(200);
    const { warnings } = (body as SetView).evaluation;
    expect(warnings.map(({ code, rule }) => [code, rule])).to.deep.equal([['RULE_ERROR', 'hungry']]);

    const fine = await stage.study(ruled('forms.F.A.all(x, x >= 0) && forms.F.T.split(",").size() > 5'));
    const other = await fine.person();
    await form(fine, other.id, big);
    expect((await other.set(DAY)).status).to.equal(200);
  });

  it('what was stored before there were bounds is counted as well: another study’s date is set meanwhile', async () => {
    const study = await stage.study({
      ...ruled(HUNGRY['a loop in a loop']!),
      prerequisites: { custom_rule: HUNGRY['one whose faults are caught'] },
    });
    const person = await study.person();
    const { id } = (await form(study, person.id, { A: [] })).body;
    await stage.sql(
      `update form_instances set items = jsonb_build_object('A', (select jsonb_agg(n) from generate_series(1, 6000) n)) where id = ?`,
      [id],
    );
    const other = await (await stage.study()).person();
    const [attacked, untouched] = await Promise.all([person.set(DAY), other.set(DAY)]);
    expect(attacked.body.errors.map(({ code }) => code)).to.deep.equal(['RULE_ERROR']);
    expect(untouched.status).to.equal(200);
  });

  it('a form takes no more than rules can read: 422 naming the item, also of a change', async () => {
    const study = await stage.study();
    const person = await study.person();
    const paths = ({ status, body }: { status: number; body: Loose }) => [
      status,
      ...body.errors.map(({ path, code }) => `${path} ${code}`),
    ];
    expect(
      paths(
        await form(study, person.id, {
          LIST: Array.from({ length: 1001 }, () => 0),
          LISTS: Array.from({ length: 40 }, () => Array.from({ length: 40 }, () => 0)),
          TEXT: 'x'.repeat(20_001),
          DEEP: [[[[[[[[[1]]]]]]]]],
          FINE: 1,
        }),
      ),
    ).to.deep.equal([
      422,
      'items.LIST MAX_ITEMS',
      'items.LISTS.24 MAX_ITEMS',
      'items.TEXT MAX_LENGTH',
      'items.DEEP.0.0.0.0.0.0.0.0 MAX_DEPTH',
    ]);
    expect(
      paths(await form(study, person.id, Object.fromEntries(Array.from({ length: 2001 }, (_, i) => [`I${i}`, i])))),
    ).to.deep.equal([422, 'items MAX_PROPERTIES']);

    const { id } = (await form(study, person.id, { A: [1] })).body;
    const path = `/api/studies/${study.id}/participants/${person.id}/forms/${id}`;
    expect(paths(await stage.admin.patch(path, { items: { A: Array.from({ length: 1001 }, () => 0) } }))).to.deep.equal(
      [422, 'items.A MAX_ITEMS'],
    );
    expect((await stage.admin.patch(path, { items: { B: 'as before' } })).status).to.equal(200);
    const eligibility = await stage.admin.put(`/api/studies/${study.id}/participants/${person.id}/eligibility`, {
      inclusion_criteria: { AGE: { met: true, value: Array.from({ length: 1001 }, () => 0) } },
    });
    expect(paths(eligibility)).to.deep.equal([422, 'inclusion_criteria.AGE.value MAX_ITEMS']);
  });

  it('a participant’s forms have a bound in total: each decision reads them all', async () => {
    const study = await stage.study();
    const person = await study.person();
    const large = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`T${i}`, 'x'.repeat(19_000)]));
    for (let i = 0; i < 2; i += 1) expect((await form(study, person.id, large)).status).to.equal(201);
    const { status, body } = await form(study, person.id, large);
    expect([status, body.errors.map(({ path, code }) => `${path} ${code}`)]).to.deep.equal([422, ['items MAX_TOTAL']]);
    const { id } = (await form(study, person.id, { A: 1 })).body;
    const path = `/api/studies/${study.id}/participants/${person.id}/forms/${id}`;
    expect((await stage.admin.patch(path, { items: large })).body.errors[0]!.code).to.equal('MAX_TOTAL');
    expect((await stage.admin.patch(path, { items: { B: 2 } })).status).to.equal(200);
  });

  it('an activity that overruns its time at each of three attempts is given up, and says so; a fault is not', async () => {
    let runs = 0;
    const said: string[] = [];
    const report = (message: string) => said.push(message);
    const slow = givenUpAfterOverruns(
      { limitMs: 20, tries: 3, report },
      (id: string) => id,
      async () => {
        runs += 1;
        await new Promise((resolve) => setTimeout(resolve, 40));
        throw new Error('rolled back');
      },
    );
    const ends = (id: string) =>
      slow(id).then(
        () => 'done',
        (fault: unknown) => (fault instanceof ApplicationFailure ? `${fault.type} ${fault.nonRetryable}` : 'fault'),
      );
    for (let i = 0; i < 3; i += 1) expect(await ends('a')).to.equal('fault');
    expect(await ends('a')).to.equal('Overrun true');
    expect(await ends('b'), 'another message').to.equal('fault');
    expect(runs).to.equal(4);
    expect(said).to.have.length(1);

    const failing = givenUpAfterOverruns(
      { limitMs: 60_000, tries: 3, report },
      (id: string) => id,
      () => Promise.reject(new Error('the database is away')),
    );
    for (let i = 0; i < 5; i += 1)
      expect(await failing('a').catch((fault: Error) => fault.message)).to.equal('the database is away');
  });
});
