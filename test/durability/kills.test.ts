import { expect } from 'chai';
import { Cluster } from '../support/cluster.js';
import { killRun } from './kills.js';
import { SETTINGS } from './setting.js';
import { temporalIsLost } from './temporal-lost.js';

/** More by hand: KILLS=200, or npm run test:durability -- --kills 200. */
const KILLS = Number(process.env.KILLS ?? 8);

describe('Parts of a cluster that are killed', function () {
  this.timeout(300_000 + KILLS * 20_000);
  const lines: string[] = [];
  let cluster: Cluster;
  before(async () => {
    cluster = await Cluster.start({ settings: SETTINGS, say: (line) => lines.push(line) });
  });
  after(() => cluster?.stop());

  describe('What was acknowledged', () => {
    it(`is there after API or PostgreSQL were killed before the next read (${KILLS} kills)`, async () => {
      const { kills, faults } = await killRun({
        seed: Number(process.env.CHAOS_SEED ?? 1),
        kills: KILLS,
        say: (line) => lines.push(line),
        cluster,
      });
      expect(faults, lines.join('\n')).to.deep.equal([]);
      expect(kills.api + kills.postgres).to.equal(KILLS);
      expect(kills.api).to.be.above(0);
      expect(kills.postgres).to.be.above(0);
    });
  });

  describe('Temporal’s database is lost altogether', () => temporalIsLost(() => cluster));
});
