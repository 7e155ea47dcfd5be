import { ApplicationFailure } from '@temporalio/common';
import { expect } from 'chai';
import { givenUpAfterOverruns } from '../../activities/operations/overruns.js';
import { DAY, Stage } from '../anchor/stage.js';
import { countingTurns, longestTurn } from '../support/loop-turns.js';
import { mainThreadMs } from '../support/main-thread.js';
import { startService } from '../support/service.js';
import { MOST_MS } from './costly/watched-api.js';
import type { AnchorStudy, SetView } from '../anchor/stage.js';
import type { Loose } from '../support/http.js';

/** Each goes over a list of 1,000 for each of its elements, or makes much of little. */
const HUNGRY: Record<string, string> = {
  'a loop in a loop': 'forms.F.A.all(x, forms.F.A.all(y, x + y >= 0))',
  'one whose faults are caught': 'forms.F.A.exists(x, forms.F.A.exists(y, x + y == "no number"))',
  'a search in a loop': 'forms.F.A.all(x, !(x + 5000 in forms.F.A))',
  'a comparison of lists in a loop': 'forms.F.A.all(x, forms.F.A == forms.F.A)',
  'lists that grow': 'forms.F.A.map(x, forms.F.A).map(x, x + forms.F.A).size() > 0',
  'errors that are caught': `forms.F.A.exists(x, ${Array(60).fill('x + "a" == "b"').join(' || ')})`,
  'time zones in a loop': `forms.F.A.all(x, ${Array(40).fill('timestamp("2026-01-01T00:00:00Z").getHours("Europe/Berlin") >= 0').join(' && ')})`,
  'searches that compare everything': `forms.F.A.all(x, ${Array(20).fill('!forms.F.S.contains(forms.F.P)').join(' && ')})`,
  'text that grows': 'forms.F.T.split(",").join(forms.F.T).split(",").join(forms.F.T).split(",").size() > 0',
};

describe('Rules and the facts that they read: no study stops the others', () => {
  let stage: Stage;
  before(async () => {
    stage = await Stage.open();
  });
  after(() => stage.close());

  const ruled = (expression: string, severity = 'error') => ({
    validation: {
      cannot_be_future: false,
      custom_rules: [{ id: 'hungry', name: 'Hungry', expression, error_message: 'takes long', severity }],
    },
  });
  const form = (study: AnchorStudy, id: string, items: Record<string, unknown>) =>
    stage.admin.send('POST', `/api/studies/${study.id}/participants/${id}/forms`, {
      form_oid: 'F',
      status: 'complete',
      items,
    });
  const big = {
    A: Array.from({ length: 1000 }, (_, i) => i),
    T: 'a,'.repeat(10_000),
    S: 'a'.repeat(20_000),
    P: `b${'a'.repeat(9_000)}`,
  };

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

  it('the rules of a policy share the steps of a decision: the worker and the API go on meanwhile', async function () {
    if (mainThreadMs(process.pid) === undefined) return this.skip();
    const counting = countingTurns();
    const service = await startService({ ...counting.settings });
    const own = await Stage.open(service.run);
    try {
      // None of them is over budget by itself.
      const dear = `forms.F.A.all(x, ${Array(4).fill('x + 1 > -1').join(' && ')})`;
      const custom_rules = Array.from({ length: 50 }, (_, i) => ({
        id: `r${i}`,
        name: 'Dear',
        expression: dear,
        error_message: 'takes long',
        severity: 'error',
      }));
      const study = await own.study({ validation: { cannot_be_future: false, custom_rules } });
      const hold = (program: 'api' | 'worker', work: () => Promise<unknown>) =>
        longestTurn(counting.folder, service.current().pids[program]!, work, MOST_MS);
      const person = await study.person();
      const of = `/api/studies/${study.id}/participants/${person.id}`;
      await own.admin.expect(201, 'POST', `${of}/forms`, { form_oid: 'F', status: 'complete', items: big });
      const set = async () => {
        const { status, body } = await person.set(DAY);
        expect(status, JSON.stringify(body)).to.equal(400);
        const codes = body.errors.map(({ code }) => code);
        expect(codes).to.include('RULE_ERROR');
        expect(codes.length).to.be.lessThan(50);
        expect(body.errors.at(-1)!.message).to.match(
          /together with the expressions before it, more than 100,000 steps/,
        );
      };
      expect(await hold('worker', set), 'the worker').to.be.below(MOST_MS);
      expect(await hold('api', set), 'the API').to.be.below(MOST_MS);
      for (const expression of Object.values(HUNGRY)) {
        const hungry = await own.study(ruled(expression));
        const other = await hungry.person();
        await own.admin.expect(201, 'POST', `/api/studies/${hungry.id}/participants/${other.id}/forms`, {
          form_oid: 'F',
          status: 'complete',
          items: big,
        });
        expect(await hold('worker', () => other.set(DAY)), expression).to.be.below(MOST_MS);
      }
    } finally {
      await own.close();
      await service.stop();
    }
  }).timeout(240_000);

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
