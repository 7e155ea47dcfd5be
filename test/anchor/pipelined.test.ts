import { expect } from 'chai';
import { pipelined } from '../../activities/util/pipelined.js';

/** A gate that is opened by hand. */
function gate() {
  let open!: () => void;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}
const soon = () =>
  new Promise<void>((resolve) => {
    setImmediate(resolve);
  });

describe('Pieces that are worked through pipelined', () => {
  it('one writes at a time, the next is read meanwhile, and begins to write when the slot is released', async () => {
    const seen: string[] = [];
    const written = [gate(), gate(), gate()],
      through = [gate(), gate(), gate()];
    const done = pipelined([0, 1, 2], async (piece, slot) => {
      seen.push(`read ${piece}`);
      await slot.acquire();
      seen.push(`write ${piece}`);
      await written[piece]!.opened;
      slot.release();
      await through[piece]!.opened;
      seen.push(`through ${piece}`);
      return piece * 10;
    });
    await soon();
    expect(seen).to.have.members(['read 0', 'read 1', 'write 0']);
    written[0]!.open();
    await soon();
    // The first is not through: the second writes, the third has not begun.
    expect(seen.slice(3)).to.deep.equal(['write 1']);
    through[0]!.open();
    await soon();
    expect(seen.slice(4)).to.deep.equal(['through 0', 'read 2']);
    written[1]!.open();
    await soon();
    expect(seen.slice(6)).to.deep.equal(['write 2']);
    for (const one of [...written, ...through]) one.open();
    expect(await done).to.deep.equal([0, 10, 20]);
    expect(seen).to.include('through 2');
  });

  it('a piece that does not release its slot keeps it until it is through', async () => {
    let writing = 0;
    const most = { writing: 0 };
    await pipelined([0, 1, 2, 3], async (_piece, slot) => {
      await slot.acquire();
      writing += 1;
      most.writing = Math.max(most.writing, writing);
      await soon();
      writing -= 1;
    });
    expect(most.writing).to.equal(1);
  });

  it('one at a time, none begins before the one before it is through, and none after one that failed', async () => {
    const seen: string[] = [];
    const fault: unknown = await pipelined(
      [0, 1, 2],
      async (piece, slot) => {
        seen.push(`read ${piece}`);
        await slot.acquire();
        slot.release();
        await soon();
        if (piece === 1) throw new Error('piece 1 failed');
        seen.push(`through ${piece}`);
      },
      1,
    ).then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(fault).to.be.an('error').with.property('message', 'piece 1 failed');
    expect(seen).to.deep.equal(['read 0', 'through 0', 'read 1']);
  });

  it('when one fails no other begins, and it is told when nothing is under way any more', async () => {
    const begun: number[] = [],
      through: number[] = [];
    const fault: unknown = await pipelined([0, 1, 2, 3, 4], async (piece, slot) => {
      begun.push(piece);
      await slot.acquire();
      if (piece === 1) throw new Error('piece 1 failed');
      await soon();
      through.push(piece);
    }).then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(fault).to.be.an('error').with.property('message', 'piece 1 failed');
    expect(begun).to.deep.equal([0, 1, 2]);
    expect(through).to.deep.equal([0, 2]);
  });
});
