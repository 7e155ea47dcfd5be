import { expect } from 'chai';
import { orderedId } from '../../activities/util/ordered-id.js';

const UUID_7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const MANY = 20_000;
/** The first twelve digits of such an id. */
const timeOf = (id: string) => Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16);

describe('Ids in the order of their making', () => {
  it('are UUIDs of version 7, each greater than the one before, more of them than a millisecond has room for', () => {
    const ids = Array.from({ length: MANY }, () => orderedId());
    for (const id of ids) expect(id).to.match(UUID_7);
    expect(ids).to.deep.equal([...ids].sort());
    expect(new Set(ids).size).to.equal(MANY);
  });

  it('are of their time, and keep their order when the clock is set back', () => {
    const later = Date.now() + 86_400_000;
    const first = orderedId(later);
    expect(timeOf(first)).to.equal(later);
    const second = orderedId(later - 3_600_000);
    expect(second > first).to.equal(true);
  });

  it('share no more than their time: two of one millisecond differ at random', () => {
    const tails = Array.from({ length: MANY }, () => orderedId().slice(19));
    expect(new Set(tails).size).to.equal(MANY);
  });
});
