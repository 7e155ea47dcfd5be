import { expect } from 'chai';
import { DAY } from '../anchor/stage.js';
import type { Stage } from '../anchor/stage.js';
import { longestTurn } from '../support/loop-turns.js';
import { mainThreadMs } from '../support/main-thread.js';
import type { Service } from '../support/service.js';
import { MOST_MS } from './costly/watched-api.js';

/** Each goes over a list of 1,000 for each of its elements, or makes much of little. */
export const HUNGRY: Record<string, string> = {
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

export const ruled = (expression: string, severity = 'error') => ({
  validation: {
    cannot_be_future: false,
    custom_rules: [{ id: 'hungry', name: 'Hungry', expression, error_message: 'takes long', severity }],
  },
});

/** What they read. */
export const big = {
  A: Array.from({ length: 1000 }, (_, i) => i),
  T: 'a,'.repeat(10_000),
  S: 'a'.repeat(20_000),
  P: `b${'a'.repeat(9_000)}`,
};

interface Setting {
  service: Service;
  stage: Stage;
  /** The folder in which it tells about its event loops. */
  turns: string;
}

/** @param setting a service that counts the turns of its event loops */
export function stepsAreShared(setting: () => Setting): void {
  it('the rules of a policy share the steps of a decision: the worker and the API go on meanwhile', async function () {
    if (mainThreadMs(process.pid) === undefined) return this.skip();
    const { service, stage, turns } = setting();
    // None of them is over budget by itself.
    const dear = `forms.F.A.all(x, ${Array(4).fill('x + 1 > -1').join(' && ')})`;
    const custom_rules = Array.from({ length: 50 }, (_, i) => ({
      id: `r${i}`,
      name: 'Dear',
      expression: dear,
      error_message: 'takes long',
      severity: 'error',
    }));
    const study = await stage.study({ validation: { cannot_be_future: false, custom_rules } });
    const hold = (program: 'api' | 'worker', work: () => Promise<unknown>) =>
      longestTurn(turns, service.current().pids[program]!, work, MOST_MS);
    const person = await study.person();
    const of = `/api/studies/${study.id}/participants/${person.id}`;
    await stage.admin.expect(201, 'POST', `${of}/forms`, { form_oid: 'F', status: 'complete', items: big });
    const set = async () => {
      const { status, body } = await person.set(DAY);
      expect(status, JSON.stringify(body)).to.equal(400);
      const codes = body.errors.map(({ code }) => code);
      expect(codes).to.include('RULE_ERROR');
      expect(codes.length).to.be.lessThan(50);
      expect(body.errors.at(-1)!.message).to.match(/together with the expressions before it, more than 100,000 steps/);
    };
    expect(await hold('worker', set), 'the worker').to.be.below(MOST_MS);
    expect(await hold('api', set), 'the API').to.be.below(MOST_MS);
    for (const expression of Object.values(HUNGRY)) {
      const hungry = await stage.study(ruled(expression));
      const other = await hungry.person();
      await stage.admin.expect(201, 'POST', `/api/studies/${hungry.id}/participants/${other.id}/forms`, {
        form_oid: 'F',
        status: 'complete',
        items: big,
      });
      expect(await hold('worker', () => other.set(DAY)), expression).to.be.below(MOST_MS);
    }
  }).timeout(240_000);
}
