import { expect } from 'chai';
import { Type } from '../../api/http/common.schemas.js';
import { check } from '../../api/http/validation/validation.js';

describe('a schema with an $id', () => {
  it('can be checked as a part of another and on its own, in either order', () => {
    for (const [id, wholeFirst] of [
      ['SomePart', true],
      ['OtherPart', false],
    ] as const) {
      const part = Type.Object({ n: Type.Integer() }, { $id: id });
      const whole = Type.Object({ part });
      const checks = [() => check(whole, { part: { n: 1 } }, 'body'), () => check(part, { n: 1 }, 'body')];
      for (const one of wholeFirst ? checks : checks.reverse()) one();
      expect(() => check(part, { n: 'x' }, 'body'))
        .to.throw()
        .with.property('status', 422);
      expect(() => check(whole, { part: { n: 'x' } }, 'body'))
        .to.throw()
        .with.property('status', 422);
    }
  });
});
