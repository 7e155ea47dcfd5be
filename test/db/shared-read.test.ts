import { expect } from 'chai';
import type { Database } from '../../db/knex.js';
import { SharedRead } from '../../db/shared-read.js';
import { until } from '../support/until.js';

const none = undefined as unknown as Database;

describe('a read that is shared', () => {
  it('answers each asker with what was read after it asked, a crowd by one statement', async () => {
    let world = 1;
    const statements: string[][] = [];
    const open: (() => void)[] = [];
    const shared = new SharedRead<string, string>(async (_, asks) => {
      statements.push([...asks]);
      // Read at the statement's start; answered when the test says so.
      const seen = asks.map((ask) => `${ask}${world}`);
      await new Promise<void>((resolve) => {
        open.push(resolve);
      });
      return seen;
    });
    const first = shared.ask(none, 'a');
    await until(() => open.length === 1, { what: 'the statement to run' });
    world = 2;
    const crowd = ['a', 'b', 'a', 'c'].map((ask) => shared.ask(none, ask));
    open.shift()!();
    expect(await first).to.equal('a1');
    await until(() => open.length === 1, { what: 'the next statement to run' });
    open.shift()!();
    expect(await Promise.all(crowd)).to.deep.equal(['a2', 'b2', 'a2', 'c2']);
    expect(statements).to.deep.equal([['a'], ['a', 'b', 'c']]);
  });

  it('takes so many at once and the others next; a statement that fails is told to those who waited for it, and to nobody else', async () => {
    let count = 0;
    const shared = new SharedRead<number, number>(async (_, asks) => {
      count += 1;
      if (asks.includes(13)) throw new Error('refused');
      return asks.map((ask) => ask * 2);
    }, 2);
    const answers = await Promise.allSettled([1, 12, 13, 14, 15].map((ask) => shared.ask(none, ask)));
    expect(
      answers.map((answer) => (answer.status === 'fulfilled' ? answer.value : (answer.reason as Error).message)),
    ).to.deep.equal([2, 24, 'refused', 'refused', 30]);
    expect(count).to.equal(3);
    expect(await shared.ask(none, 4)).to.equal(8);
  });
});
