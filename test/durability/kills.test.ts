import { expect } from 'chai';
import { killRun } from './kills.js';

/** More by hand: KILLS=200, or npm run test:durability -- --kills 200. */
const KILLS = Number(process.env.KILLS ?? 8);

describe('What was acknowledged', function () {
  this.timeout(90_000 + KILLS * 20_000);

  it(`is there after API or PostgreSQL were killed before the next read (${KILLS} kills)`, async () => {
    const lines: string[] = [];
    const { kills, faults } = await killRun({
      seed: Number(process.env.CHAOS_SEED ?? 1),
      kills: KILLS,
      say: (line) => lines.push(line),
    });
    expect(faults, lines.join('\n')).to.deep.equal([]);
    expect(kills.api + kills.postgres).to.equal(KILLS);
    expect(kills.api).to.be.above(0);
    expect(kills.postgres).to.be.above(0);
  });
});
