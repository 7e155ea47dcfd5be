import { randomUUID } from 'node:crypto';
import { WorkflowFailedError } from '@temporalio/client';
import { expect } from 'chai';
import { evaluate, setEnrollmentDate } from '../../workflows/contract.js';
import { until } from '../support/service.js';
import { Stage } from './stage.js';

describe('what somebody sends to Temporal by hand', () => {
  let stage: Stage;
  before(async () => {
    stage = await Stage.open();
  });
  after(() => stage.close());

  it('ensure_schedule is for triggers: a proposal gets no schedule by it', async () => {
    const study = await stage.study({
      sources: [{ type: 'form_item', form_mapping: { form_oid: 'ENROLL', item_oid: 'DAY' } }],
      prerequisites: { require_consent_signed: true },
    });
    for (const updateId of [randomUUID(), `trigger-${randomUUID()}`]) {
      const person = await study.person();
      await until(() => stage.handle(person.id).describe(), { what: 'the workflow to start' });
      await person.settled();
      // A fact of which no message has told yet.
      await stage.sql(
        `insert into form_instances (study_id, participant_id, form_oid, status, items) values (?, ?, 'ENROLL', 'complete', ?)`,
        [study.id, person.id, JSON.stringify({ DAY: '2024-03-10' })],
      );
      const outcome = await stage
        .handle(person.id)
        .executeUpdate(evaluate, { updateId, args: [{ ensure_schedule: true, actor_type: 'workflow' }] });
      expect(outcome).to.include({ result: 'proposed' });
      expect(await person.versions()).to.deep.equal([]);
    }
  });

  it('nor is it recorded as a trigger, whatever id it was sent under', async () => {
    const study = await stage.study({ sources: [{ type: 'manual_entry' }] });
    const person = await study.person();
    await until(() => stage.handle(person.id).describe(), { what: 'the workflow to start' });
    await person.settled();
    await stage.handle(person.id).executeUpdate(setEnrollmentDate, {
      updateId: `trigger-${randomUUID()}`,
      args: [{ enrollment_date: '2024-03-10', actor_user_id: stage.admin.userId! }],
    });
    const [record] = (await study.audit('manual_date_entered')).filter(({ resource_id }) => resource_id === person.id);
    expect(record!.audit_metadata).to.include({ via: 'update', identity: 'claimed' });
  });

  const study_id = randomUUID();
  for (const [type, args] of [
    ['participantAnchor', []],
    ['participantAnchor', [{ participant_id: 'P-1', study_id }]],
    ['studyReanchoring', ['a text']],
    ['datacaptureTrigger', [{ event_id: 7, study_id }]],
    ['datacaptureSync', [{ study_id }]],
    ['datacapturePoll', [null]],
    ['datacaptureQuery', []],
    ['pushResults', [{ session_id: randomUUID() }]],
    ['eventDelivery', [[randomUUID(), study_id]]],
    ['studyExport', [{}]],
    ['studySimulation', [{ simulation_id: '', study_id }]],
    ['auditVerification', []],
  ] as [string, unknown[]][])
    it(`${type} with ${JSON.stringify(args).replaceAll(/[0-9a-f-]{36}/g, '…')} fails once, and says what it needs`, async () => {
      const failure = await stage.temporal.workflow
        .execute(type, {
          workflowId: `by-hand/${randomUUID()}`,
          taskQueue: stage.run.temporal_task_queue,
          workflowExecutionTimeout: '90s',
          args,
        })
        .then(
          () => undefined,
          (thrown: unknown) => thrown,
        );
      expect(failure).to.be.instanceOf(WorkflowFailedError);
      expect((failure as WorkflowFailedError).cause?.message).to.match(
        /takes one JSON object; .* must be there, as a uuid/,
      );
    });
});
