import { expect } from 'chai';
import fc from 'fast-check';
import { followEvents, presentName, renamedKeys } from '../../workflows/domain/capture/known-events.js';
import type { KnownEvents, ListedEvent } from '../../workflows/domain/capture/known-events.js';

const event = (event_id: string, name: string, arm_num = 1): ListedEvent => ({
  event_id,
  event_name: name,
  unique_event_name: `${name.toLowerCase()}_arm_${arm_num}`,
  arm_num,
});
const names = (known: KnownEvents) =>
  Object.fromEntries(Object.entries(known).map(([id, { name, identity }]) => [id, [name, identity]]));

describe('events that are known by their ids', () => {
  const first = followEvents({}, [event('1', 'A'), event('2', 'B')]).known;

  it('follows a rename, an exchange of names, and one that goes round', () => {
    const renamed = followEvents(first, [event('1', 'C'), event('2', 'B')]);
    expect(renamed.renames.map(({ from, to }) => [from, to])).to.deep.equal([['a_arm_1', 'c_arm_1']]);
    const swapped = followEvents(first, [event('1', 'B'), event('2', 'A')]);
    expect(names(swapped.known)).to.deep.equal({ 1: ['b_arm_1', 'a_arm_1'], 2: ['a_arm_1', 'b_arm_1'] });
    const mapping = { a_arm_1: 1, b_arm_1: 2, other: 3 };
    expect(renamedKeys(swapped.renames, mapping)).to.deep.equal({ a_arm_1: 2, b_arm_1: 1, other: 3 });
  });

  it('gives an event that comes new under a former name an identity of its own', () => {
    const { known } = followEvents(first, [event('1', 'C'), event('2', 'B'), event('3', 'A')]);
    expect(names(known)['3']).to.deep.equal(['a_arm_1', 'a_arm_1#3']);
    expect(presentName(known, 'a_arm_1')).to.equal('a_arm_1');
    expect(presentName(followEvents(first, [event('1', 'C'), event('2', 'B')]).known, 'a_arm_1')).to.equal('c_arm_1');
  });

  it('lets what was deleted be made again, and keeps a name apart that went to another event', () => {
    const gone = followEvents(first, [event('2', 'B')]);
    expect(gone.renames).to.deep.equal([]);
    expect(names(followEvents(gone.known, [event('2', 'B'), event('7', 'A')]).known)).to.deep.equal({
      2: ['b_arm_1', 'b_arm_1'],
      7: ['a_arm_1', 'a_arm_1'],
    });
    const taken = followEvents(first, [event('1', 'B')]);
    expect(names(taken.known)).to.deep.equal({ 1: ['b_arm_1', 'a_arm_1'], 2: ['b_arm_1 (deleted)', 'b_arm_1'] });
  });

  it('keeps identities apart when a deleted id comes again while another event has its place', () => {
    const lists = [
      [event('1', 'A')],
      [event('5', 'A'), event('1', 'B')],
      [event('2', 'A')],
      [event('2', 'B'), event('5', 'A')],
    ];
    const { known } = lists.reduce(({ known: before }, listed) => followEvents(before, listed), followEvents({}, []));
    expect(names(known)).to.deep.equal({
      1: ['b_arm_1 (deleted)', 'a_arm_1'],
      2: ['b_arm_1', 'a_arm_1#5'],
      5: ['a_arm_1', 'a_arm_1#5.2'],
    });
  });

  it('knows events without ids by their names, until they are listed with ids', () => {
    const listed = [event('', 'A'), event('', 'B', 2)];
    const { known, renames } = followEvents({}, listed);
    expect(Object.values(known).map(({ name, arm }) => [name, arm])).to.deep.equal([
      ['a_arm_1', 1],
      ['b_arm_2', 2],
    ]);
    expect(renames).to.deep.equal([]);
    expect(followEvents(known, listed)).to.deep.equal({ known, renames: [] });
    const later = followEvents(known, [event('1', 'A'), event('2', 'B', 2)]);
    expect(later.renames).to.deep.equal([]);
    expect(names(later.known)).to.deep.equal({ 1: ['a_arm_1', 'a_arm_1'], 2: ['b_arm_2', 'b_arm_2'] });
  });

  it('is told nothing by a list without events or ids', () => {
    for (const listed of [[], [event('', 'A')]])
      expect(followEvents(first, listed)).to.deep.equal({ known: first, renames: [] });
  });

  it('has for each event one name and one identity, whatever is renamed, deleted and made', () => {
    const list = fc.uniqueArray(fc.record({ id: fc.integer({ min: 1, max: 6 }), name: fc.constantFrom(...'ABCDEF') }), {
      selector: ({ name }) => name,
      minLength: 1,
    });
    const lists = fc.array(
      list.map((all) => [...new Map(all.map(({ id, name }) => [id, event(String(id), name)])).values()]),
      { minLength: 1, maxLength: 8 },
    );
    fc.assert(
      fc.property(lists, (all) => {
        let known: KnownEvents = {};
        for (const listed of all) {
          known = followEvents(known, listed).known;
          const entries = Object.values(known);
          expect(new Set(entries.map(({ name }) => name)).size).to.equal(entries.length);
          expect(new Set(entries.map(({ identity }) => identity)).size).to.equal(entries.length);
          for (const { event_id, unique_event_name } of listed)
            expect(known[event_id]!.name).to.equal(unique_event_name);
          // The same list again tells nothing new.
          const again = followEvents(known, listed);
          expect(again.renames).to.deep.equal([]);
          expect(again.known).to.deep.equal(known);
        }
      }),
    );
  });
});
