import { expect } from 'chai';
import { anchorState, cancelProposal, participantAnchorId, setEnrollmentDate } from '../../workflows/contract.js';
import { addDays } from '../../workflows/domain/util/dates.js';
import { until } from '../support/service.js';
import { brokenInvariants } from './invariants.js';
import { withSmallRuns } from './small-runs.js';
import { DAY, Stage } from './stage.js';

describe('a participant’s workflow over many runs', function () {
  let stage: Stage;
  before(async () => {
    stage = await Stage.open();
  });
  after(() => stage.close());

  it('continues as new between messages: none is lost, none is carried out twice, also one that is repeated in a later run', async function () {
    const study = await stage.study({ sources: [{ type: 'manual_entry' }] });
    const person = await study.person();
    const to = { participant_id: person.id, study_id: study.id };
    const dates = Array.from({ length: 24 }, (_, i) => addDays(DAY, i));
    const actor_user_id = stage.admin.userId!;
    const ran = await withSmallRuns(stage, async (environment, messages) => {
      const set = (enrollment_date: string) =>
        messages.update(setEnrollmentDate, to, { enrollment_date, actor_user_id }, `set-${enrollment_date}`);
      const outcomes = await Promise.all(dates.map(set));
      expect(outcomes.map((o) => o.refused)).to.deep.equal(dates.map(() => undefined));
      const handle = environment.client.workflow.getHandle(participantAnchorId(person.id));
      const { raw } = await handle.describe();
      expect(raw.workflowExecutionInfo?.execution?.runId, 'another run than the first').not.to.equal(
        raw.workflowExecutionInfo?.firstRunId,
      );

      const before = await person.anchor();
      const repeated = await set(dates[0]!);
      expect(repeated.result).to.equal(outcomes[0]!.result);
      expect(await person.anchor(), 'the first message again').to.deep.equal(before);
      // A run that has just begun knows nothing before its first look at the database.
      expect((await until(() => handle.query(anchorState), { what: 'the state' })).version).to.equal(before.version);
      expect((await messages.update(cancelProposal, to, { actor_user_id }, 'cancel')).result).to.equal('cancelled');
      return true;
    });
    if (ran === null) return this.skip();
    const history = await person.history();
    expect(history.map((h) => h.anchor_version)).to.deep.equal(Array.from({ length: 25 }, (_, i) => 26 - i));
    expect(await brokenInvariants(stage, study.id)).to.deep.equal([]);
  });

  it('is never one long run, which another worker would have to read as a whole: it goes on as a new one that shows the same', async () => {
    const study = await stage.study({ sources: [{ type: 'manual_entry' }] });
    const person = await study.person();
    await person.set(DAY);
    const handle = stage.handle(person.id),
      at = async () => {
        const { raw, ...described } = await handle.describe();
        return {
          ...described,
          first: raw.workflowExecutionInfo!.firstRunId,
          taskTimeout: Number(raw.executionConfig!.defaultWorkflowTaskTimeout!.seconds),
        };
      };
    const before = await at();
    for (let i = 0; i < 50; i++) await person.post('/evaluate');
    const now = await at();
    expect(now.runId, 'another run than the first').not.to.equal(before.runId);
    expect(now.first).to.equal(before.runId);
    const runs: number[] = [];
    for await (const { historyLength } of stage.temporal.workflow.list({
      query: `WorkflowId = '${participantAnchorId(person.id)}'`,
    }))
      runs.push(historyLength);
    expect(Math.max(...runs, now.historyLength)).to.be.below(260);
    expect(now.taskTimeout).to.equal(before.taskTimeout);
    // Temporal gives the summary and the static details of the first run to no other.
    // A run that has just begun knows no version before its first look at the database.
    const shown = await until(
      async () => {
        const { currentDetails } = await handle.query<{ currentDetails: string }>('__temporal_workflow_metadata');
        return currentDetails.includes('(version ') && currentDetails;
      },
      { what: 'the run to show the version' },
    );
    expect(shown).to.include(`anchor date of one participant, study ${study.id}`);
    expect(now.typedSearchAttributes.getAll()).to.have.deep.members(before.typedSearchAttributes.getAll());
    expect((await person.history()).map((h) => h.anchor_version)).to.deep.equal([2]);
    expect(await brokenInvariants(stage, study.id)).to.deep.equal([]);
  });
});
