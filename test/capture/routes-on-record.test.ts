import { expect } from 'chai';
import { Stage, synced } from './support.js';

describe('the audit says whether a trigger has decided an anchor, or a reading of all records', function () {
  let stage: Stage;
  before(async function () {
    this.timeout(240_000);
    stage = await Stage.set({ polls: false });
  });
  after(() => stage?.clear());

  it('of participants that both create', async () => {
    const study = await stage.study();
    await study.enroll('1', { enrolled: '2026-01-15' });
    await study.settled(1);
    await study.enroll('2', { enrolled: '2026-01-16' }, { trigger: false });
    await synced(study);
    const records = await stage.sql<{ record: string; via: string | null }>(
      `select external_id as record, audit_metadata->>'via' as via
       from audit_log join participants p on p.id::text = resource_id
       where audit_log.study_id = ? and action like 'anchor_%' order by 1`,
      [study.id],
    );
    expect(records).to.deep.equal([
      { record: '1', via: 'trigger' },
      { record: '2', via: 'workflow' },
    ]);
  });
});
