import { expect } from 'chai';
import { Stage, synced } from './support.js';

/** So many are delivered at once. */
const MOST = 8;
/** A fifth of them are still too many. */
const RECORDS = 50;

describe('a capture system that cannot deliver many records of a large form at once', function () {
  this.timeout(120_000);
  let stage: Stage;
  before(async function () {
    this.timeout(240_000);
    stage = await Stage.set({ polls: false });
  });
  after(() => stage?.clear());

  for (const [what, fault] of [
    ['runs out of memory', { fatal: true }],
    ['breaks off its answer', { truncate_json: true }],
  ] as const)
    it(`has all of them read by fewer at a time, if it ${what}`, async () => {
      const study = await stage.study({ config: { poll_interval_minutes: 0 } });
      stage.simulator.control.load(
        Number(study.projectId),
        Array.from({ length: RECORDS }, (_, n) => ({
          subject_id: `R-${n}`,
          redcap_event_name: 'baseline_arm_1',
          enrolled: '2026-01-15',
          enroll_complete: '2',
        })),
      );
      stage.simulator.control.setFaults([
        { project_id: Number(study.projectId), content: ['record'], above_records: MOST, ...fault },
      ]);
      const report = await synced(study);
      expect(report).to.deep.include({ status: 'completed', error: null });
      expect(report.progress).to.include({ created: RECORDS, failed: 0 });
      expect(await study.participants()).to.have.length(RECORDS);
      stage.simulator.control.clearFaults();
    });
});
