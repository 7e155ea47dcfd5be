import { randomUUID } from 'node:crypto';
import { WorkflowFailedError } from '@temporalio/client';
import { expect } from 'chai';
import { evaluate, setEnrollmentDate } from '../../workflows/contract.js';
import type { AnchorOutcome } from '../../workflows/contract.js';
import { until } from '../support/service.js';
import { DAY, Stage } from './stage.js';

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

  it('an update is refused with the status and code of the same request of the API', async () => {
    const study = await stage.study({
      sources: [{ type: 'manual_entry' }],
      prerequisites: { require_consent_signed: false },
      permissions: { can_set: ['admin', 'coordinator'], can_override: ['admin', 'coordinator'] },
    });
    const [coordinator, other] = [await study.as('coordinator'), await study.as('investigator')];
    const person = await study.person();
    await until(() => stage.handle(person.id).describe(), { what: 'the workflow to start' });
    const compare = async (name: string, suffix: string, body: Record<string, unknown>, by = coordinator) => {
      const { refused } = await stage
        .handle(person.id)
        .executeUpdate<AnchorOutcome, [object]>(name, { args: [{ ...body, actor_user_id: by.userId }] });
      const { status, body: answer } = await person.post(suffix, body, by);
      expect([refused?.status, refused?.code], `${name} ${JSON.stringify(body)}`).to.deep.equal([status, answer.code]);
      expect(status).to.be.within(400, 499);
    };
    const [date, override, back] = ['2024-03-01', 'requestOverride', 'overrideBack'];
    const asked = { new_enrollment_date: date, reason: 'x' };
    await compare('cancelProposal', '/cancel', {});
    await compare(override, '/override', asked);
    await compare(back, '/override-back', { reason: 'x' });
    expect((await person.set(DAY)).status).to.equal(200);
    await compare('setEnrollmentDate', '', { enrollment_date: date });
    await compare('setEnrollmentDate', '', { enrollment_date: date }, other);
    await compare(override, '/override', asked, other);
    await compare(override, '/override', { ...asked, new_enrollment_date: DAY });
    await compare(override, '/override', { ...asked, new_enrollment_date: '2999-01-01' });
    await compare(override, '/override', { ...asked, preview_hash: 'another' });
    for (const reason of [undefined, ' ']) {
      await compare(override, '/override', { ...asked, reason });
      await compare(back, '/override-back', { reason });
    }
    await compare('cancelProposal', '/cancel', {});
    expect(await person.history()).to.have.length(1);
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
