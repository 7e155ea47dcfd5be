import { expect } from 'chai';
import { temporalOf } from '../support/temporal.js';
import type { TemporalAccess } from '../support/temporal.js';
import { polled } from './polling.js';
import { Stage, synced } from './support.js';

describe('a study that is completed or archived', function () {
  let stage: Stage;
  let temporal: TemporalAccess;
  before(async function () {
    this.timeout(240_000);
    stage = await Stage.set();
    temporal = await temporalOf(stage.run);
  });
  after(async () => {
    await temporal?.close();
    await stage?.clear();
  });

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

  it('the poll after it is active again reads everything: whom it did not enroll meanwhile may have changed long ago', async () => {
    const study = await stage.study();
    const become = async (status: string) =>
      expect((await stage.call('PATCH', `/api/studies/${study.id}`, { status })).status).to.equal(200);
    await become('completed');
    await study.enroll('r1', { enrolled: '2026-01-15' }, { trigger: false });
    expect((await polled(temporal, study, 0)).progress).to.include({ created: 0, skipped: 1 });
    expect((await polled(temporal, study, 1)).changed_since).to.be.a('string');
    await become('archived');
    expect((await polled(temporal, study, 2)).progress).to.include({ created: 0, skipped: 1 });
    await become('active');
    const poll = await polled(temporal, study, 3);
    expect(poll).to.include({ changed_since: null, status: 'completed' });
    expect(poll.progress).to.include({ created: 1 });
    await become('paused');
    await become('active');
    expect((await polled(temporal, study, 4)).changed_since, 'a pause enrolls as before').to.be.a('string');
  });
});
