import { WorkflowNotFoundError } from '@temporalio/client';
import { expect } from 'chai';
import { participantAnchorId } from '../../workflows/contract.js';
import { until } from '../support/service.js';
import { DAY, Stage } from '../anchor/stage.js';

describe('The histories of an erased participant', function () {
  this.timeout(300_000);
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
    // The server deletes by itself, seconds later; half a minute where the run's last steps are not worked off yet.
    await until(async () => (await runs(person.id)) === 0, { timeout: 120_000, what: 'the runs to be deleted' });
    // The list forgets a run first, the server then deletes it.
    await until(() => isGone(person.id), { timeout: 120_000, what: 'the histories to be deleted' });
    expect((await stage.handle(other.id).describe()).status.name).to.equal('RUNNING');
    expect(await study.chainVerifies()).to.equal(true);
  });

  /** Whether Temporal knows no run of a participant any more. */
  const isGone = (id: string): Promise<boolean> =>
    stage
      .handle(id)
      .describe()
      .then(
        () => false,
        (fault: unknown) => {
          if (fault instanceof WorkflowNotFoundError) return true;
          throw fault;
        },
      );
});
