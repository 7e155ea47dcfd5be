import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { promisify } from 'node:util';
import { expect } from 'chai';
import {
  anchorState,
  overrideDecision,
  participantAnchorId,
  setEnrollmentDate,
  studyReanchoringId,
  workflowTypes,
} from '../../workflows/contract.js';
import type { WaitingState } from '../../workflows/contract.js';
import { dataConverterOf } from '../../workflows/util/payload-codec.js';
import { encryptionKeyBytes } from '../../settings.js';
import { DAY, Stage } from '../anchor/stage.js';
import type { AnchorStudy, Person } from '../anchor/stage.js';
import type { Http } from '../support/http.js';
import type { RunJson } from '../support/service.js';
import { until } from '../support/until.js';
import { payloadKeyOf, temporalOf } from '../support/temporal.js';
import type { TemporalAccess } from '../support/temporal.js';

const POLICY = {
  sources: [{ type: 'manual_entry' }],
  prerequisites: { require_consent_signed: false },
  permissions: {
    can_override: ['admin', 'coordinator', 'researcher'],
    override_requires_approval: true,
    override_approver_roles: ['researcher'],
  },
};
const run = promisify(execFile);
const LATER = '2024-03-17';

/**
 * Tests of a service with `TEMPORAL_PAYLOADS=sealed`.
 * @param of the running one
 */
export function payloadsMustBeSealed(of: () => RunJson): void {
  let service: RunJson;
  let stage: Stage;
  let study: AnchorStudy;
  let sealing: TemporalAccess;
  let [asker, approver] = [] as unknown as [Http, Http];
  before(async () => {
    service = of();
    stage = await Stage.open(service);
    sealing = await temporalOf(service, {
      dataConverter: dataConverterOf({ current: encryptionKeyBytes(payloadKeyOf(service))!, former: [] })!,
    });
    study = await stage.study(POLICY);
    [asker, approver] = await Promise.all([study.as('coordinator'), study.as('researcher')]);
  });
  after(async () => {
    await sealing?.close();
    await stage?.close();
  });

  const asked = async (): Promise<{ person: Person; request: string }> => {
    const person = await study.person();
    expect((await person.set(DAY)).status).to.equal(200);
    const { body } = await person.override(LATER, asker);
    return { person, request: body.override_request_id };
  };
  const refused = (person: Person, action: string) =>
    until(
      async () =>
        (await study.audit(action)).some(
          ({ resource_id, audit_metadata: { code } }) => resource_id === person.id && code === 'PAYLOAD_NOT_SEALED',
        ),
      { what: `a record ${action}` },
    );
  const decision = (request: string) => ({
    request_id: request,
    decision: 'approve' as const,
    approver_user_id: approver.userId!,
    reason: 'checked',
  });

  it('a signal, an update and a start in the open change nothing, and are told', async () => {
    const { person, request } = await asked();
    const before = await person.anchor();
    await stage.handle(person.id).signal(overrideDecision, decision(request));
    await refused(person, 'override_decision_refused');
    const outcome = await stage
      .handle(person.id)
      .executeUpdate(setEnrollmentDate, { args: [{ enrollment_date: LATER, actor_user_id: asker.userId! }] });
    expect(outcome.refused).to.include({ status: 403, code: 'PAYLOAD_NOT_SEALED' });
    await refused(person, 'anchor_set_refused');
    await stage.handle(person.id).signal('sourcesChanged');
    await refused(person, 'anchor_sources_changed_refused');
    expect(await person.anchor()).to.deep.equal(before);

    const other = await study.person();
    await until(() => stage.handle(other.id).describe(), { what: 'its workflow' });
    await stage.handle(other.id).terminate();
    await stage.temporal.workflow.start(workflowTypes.participantAnchor, {
      workflowId: participantAnchorId(other.id),
      taskQueue: service.temporal_task_queue,
      args: [{ participant_id: other.id, study_id: study.id }],
      workflowIdConflictPolicy: 'TERMINATE_EXISTING',
    });
    await refused(other, 'anchor_resume_refused');
    expect((await other.set(DAY)).status, 'it goes on with what is sealed').to.equal(200);
  });

  it('what is sealed is carried out: the API’s messages, and those of who has the key', async () => {
    const { person, request } = await asked();
    await sealing.client.workflow.getHandle(participantAnchorId(person.id)).signal(overrideDecision, decision(request));
    await person.becomes({ enrollment_date: LATER, is_override: true });
  });

  it('a query’s answer is sealed', async () => {
    const { person } = await asked();
    const plain = await temporalOf(service, {});
    try {
      const answer = await plain.client.workflow
        .getHandle(participantAnchorId(person.id))
        .query(anchorState)
        .then(
          () => 'answered',
          (fault: Error) => fault.message,
        );
      expect(answer).to.contain('binary/encrypted');
    } finally {
      await plain.close();
    }
    const state = await stage.handle(person.id).query<WaitingState | null>(anchorState);
    expect(state).to.include({ status: 'finalized' });
  });

  it('an operator sends and reads with the temporal command and the API’s codec', async function () {
    const { temporal_cli: cli, temporal, temporal_codec, temporal_namespace } = service;
    if (!cli || !existsSync(cli)) return this.skip();
    const { person, request } = await asked();
    const command = async (...args: string[]) =>
      (
        await run(cli, [
          'workflow',
          ...args,
          ...['--address', temporal, '--namespace', temporal_namespace, '--codec-endpoint', temporal_codec],
          ...['--workflow-id', participantAnchorId(person.id), '-o', 'json'],
        ])
      ).stdout;
    expect(await command('query', '--type', 'anchorState')).to.contain('"approval"');
    await command('signal', '--name', 'overrideDecision', '--input', JSON.stringify(decision(request)));
    await person.becomes({ enrollment_date: LATER });
    expect(await command('update', 'execute', '--name', 'evaluate', '--input', '{}')).to.contain('"last_decision"');
    const shown = [...(await command('show')).matchAll(/"data": "([^"]*)"/g)].map(([, data]) =>
      Buffer.from(data!, 'base64').toString(),
    );
    expect(shown.join('\n')).to.contain(LATER);
  });

  it('a sealed message that is copied to another participant is refused', async () => {
    const [one, other] = [await asked(), await asked()];
    expect((await one.person.decide(one.request, 'approve', approver, { reason: 'copied' })).status).to.equal(200);
    const history = await stage.handle(one.person.id).fetchHistory();
    const inputs = history.events!.flatMap(({ workflowExecutionUpdateAcceptedEventAttributes: accepted }) =>
      accepted?.acceptedRequest?.input?.name === 'decideOverride' ? [accepted.acceptedRequest.input.args!] : [],
    );
    expect(inputs.length).to.be.greaterThan(0);
    await stage.temporal.workflowService.signalWorkflowExecution({
      namespace: service.temporal_namespace,
      workflowExecution: { workflowId: participantAnchorId(other.person.id) },
      signalName: 'overrideDecision',
      input: inputs[0]!,
    });
    await until(
      async () =>
        (await study.audit('override_decision_refused')).some(
          ({ resource_id, audit_metadata: { code } }) =>
            resource_id === other.person.id && code === 'AUTHORIZATION_MISMATCH',
        ),
      { what: 'the refusal' },
    );
    expect(await other.person.anchor()).to.include({ enrollment_date: DAY, is_override: false });
  });

  it('a change of a study that the service has not made plans nobody again', async () => {
    const own = await stage.study({
      sources: [{ type: 'manual_entry' }],
      prerequisites: { require_consent_signed: false },
    });
    await own.settled();
    const person = await own.person();
    await person.set(DAY);
    await person.override(LATER, stage.admin, { regenerate_schedule: false });
    await person.settled();
    const before = await person.versions();
    const change_id = randomUUID();
    const started = await stage.temporal.workflow.start(workflowTypes.studyReanchoring, {
      workflowId: studyReanchoringId(own.id, change_id),
      taskQueue: stage.run.temporal_task_queue,
      args: [{ study_id: own.id, kind: 'windows', actor_user_id: stage.admin.userId, change_id }],
    });
    await started.result();
    expect(await person.versions()).to.deep.equal(before);
    await own.window(60);
    await until(async () => (await person.versions()).length === before.length + 1, { what: 'one of its own' });
  });

  it('the jobs of the service go on: a consent, a withdrawal', async () => {
    const consenting = await stage.study({ sources: [{ type: 'consent_workflow' }] });
    const person = await consenting.person();
    await person.consent(`${DAY}T10:00:00Z`);
    await person.becomes({ enrollment_date: DAY });
    await person.withdraw();
    await until(async () => (await stage.handle(person.id).describe()).status.name === 'COMPLETED', {
      what: 'the workflow to end',
    });
    expect(
      await stage.sql(`select action from audit_log where study_id = ? and action like '%\\_refused'`, [consenting.id]),
    ).to.deep.equal([]);
  });
}
