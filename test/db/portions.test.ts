import { expect } from 'chai';
import fc from 'fast-check';
import { chunk } from '../../db/client/sets/chunk.js';

describe('portions of a list', () => {
  it('are the list, in order, each of the size but the last', () => {
    fc.assert(
      fc.property(fc.array(fc.integer()), fc.integer({ min: 1, max: 40 }), (list, size) => {
        const all = chunk(list, size);
        expect(all.flat()).to.deep.equal(list);
        for (const [i, one] of all.entries()) expect(one.length).to.be.within(i === all.length - 1 ? 1 : size, size);
      }),
    );
  });
});
