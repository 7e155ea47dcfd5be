import { WorkflowNotFoundError } from '@temporalio/client';
import { expect } from 'chai';
import { participantAnchorId } from '../../workflows/contract.js';
import { until } from '../support/service.js';
import { DAY, Stage } from '../anchor/stage.js';

describe('The histories of an erased participant', function () {
  this.timeout(120_000);
  let stage: Stage;
  before(async () => {
    stage = await Stage.open();
  });
  after(() => stage.close());

  it('are deleted in Temporal, with the reasons and addresses in them', async () => {
    const study = await stage.study({
      sources: [{ type: 'manual_entry' }],
      prerequisites: { require_consent_signed: false },
    });
    const [person, other] = [await study.person(), await study.person()];
    for (const one of [person, other]) {
      await one.set(DAY);
      expect((await one.override('2024-03-17')).status).to.equal(200);
    }
    const runs = async (id: string): Promise<number> => {
      let found = 0;
      for await (const _run of stage.temporal.workflow.list({ query: `WorkflowId = '${participantAnchorId(id)}'` }))
        found += 1;
      return found;
    };
    await until(async () => (await runs(person.id)) > 0, { what: 'the run to be listed' });
    await stage.admin.expect(200, 'POST', `/api/participants/${person.id}/erase`, { reason: 'asked for it' });
    await until(async () => (await runs(person.id)) === 0, { timeout: 60_000, what: 'the runs to be deleted' });
    const gone = await stage
      .handle(person.id)
      .describe()
      .then(
        () => undefined,
        (fault: unknown) => fault,
      );
    expect(gone).to.be.instanceOf(WorkflowNotFoundError);
    expect((await stage.handle(other.id).describe()).status.name).to.equal('RUNNING');
    expect(await study.chainVerifies()).to.equal(true);
  });
});
