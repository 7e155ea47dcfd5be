import { expect } from 'chai';
import { Stage, synced } from './support.js';

describe('a study that is completed or archived', function () {
  let stage: Stage;
  before(async function () {
    this.timeout(240_000);
    stage = await Stage.set();
  });
  after(() => stage?.clear());

  for (const status of ['archived', 'completed'])
    it(`${status}: triggers and syncs enroll nobody and say why; those who are enrolled are corrected`, async () => {
      const study = await stage.study();
      await study.enroll('r1', { enrolled: '2026-01-15', lang: 'de' });
      await study.settled(1);
      const change = async (to: string) =>
        expect((await stage.call('PATCH', `/api/studies/${study.id}`, { status: to })).status).to.equal(200);
      await change(status);
      await study.enroll('r2', { enrolled: '2026-01-16' });
      await study.settled(2);
      await study.enroll('r1', { lang: 'fr' });
      const [, newcomer, correction] = await study.settled(3);
      expect(newcomer).to.include({ status: 'processed', outcome: 'ignored', participant_id: null });
      expect(newcomer!.warnings.map(({ code }) => code)).to.deep.equal(['STUDY_CLOSED']);
      expect(correction).to.include({ status: 'processed', outcome: 'updated' });
      const report = await synced(study);
      expect(report.progress).to.include({ created: 0, skipped: 1, unchanged: 1, failed: 0 });
      expect((await study.participants()).map((p) => [p.external_id, p.preferred_language])).to.deep.equal([
        ['r1', 'fr'],
      ]);
      await change('active');
      expect((await synced(study)).progress).to.include({ created: 1, unchanged: 1 });
    });
});
