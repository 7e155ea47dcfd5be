import { randomUUID } from 'node:crypto';
import proto from '@temporalio/proto';
import { expect } from 'chai';
import { participantAnchorId } from '../../workflows/contract.js';
import type { Http } from '../support/http.js';
import { DAY, Stage } from './stage.js';
import type { AnchorStudy, Person } from './stage.js';

const COMPLETED = proto.temporal.api.enums.v1.EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED;

describe('A participant’s workflow that an operator resets in Temporal', function resets() {
  this.timeout(120_000);
  let stage: Stage;
  let study: AnchorStudy;
  let [asker, approver] = [] as unknown as [Http, Http];
  before(async () => {
    stage = await Stage.open();
    study = await stage.study({
      permissions: {
        can_set: ['admin'],
        can_override: ['coordinator'],
        override_requires_approval: true,
        override_approver_roles: ['researcher'],
      },
    });
    [asker, approver] = await Promise.all([study.as('coordinator'), study.as('researcher')]);
  });
  after(() => stage.close());

  /** To its first or its last completed task. */
  async function reset({ id }: Person, to: 'first' | 'last'): Promise<void> {
    const handle = stage.handle(id);
    const { events } = await handle.fetchHistory();
    const tasks = events!.filter(({ eventType }) => (eventType as unknown) === COMPLETED);
    await stage.temporal.workflowService.resetWorkflowExecution({
      namespace: stage.temporal.options.namespace,
      workflowExecution: { workflowId: participantAnchorId(id), runId: (await handle.describe()).runId },
      reason: 'by an operator',
      workflowTaskFinishEventId: tasks.at(to === 'first' ? 0 : -1)!.eventId!,
      requestId: randomUUID(),
    });
  }

  for (const to of ['last', 'first'] as const)
    it(`to its ${to} task goes on: what was done is not done again, and new messages are carried out`, async () => {
      const person = await study.person();
      await person.settled();
      await person.consent(`${DAY}T09:00:00Z`);
      await person.becomes({ status: 'finalized' });
      const { body } = await person.override('2024-03-17', asker);
      await person.settled();
      const before = await person.history();
      await reset(person, to);
      const decided = await person.decide(body.override_request_id, 'approve', approver);
      expect(decided.status, decided.text).to.equal(200);
      await person.consent('2024-03-09T09:00:00Z');
      await person.settled();
      expect((await person.history()).map((entry) => entry.event_type)).to.deep.equal([
        'OVERRIDE_GRANTED',
        ...before.map((entry) => entry.event_type),
      ]);
      expect(await person.anchor()).to.include({ enrollment_date: '2024-03-17', is_override: true });
      expect((await stage.handle(person.id).describe()).status.name).to.equal('RUNNING');
      expect(await study.chainVerifies()).to.equal(true);
    });
});
