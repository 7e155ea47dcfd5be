import { expect } from 'chai';
import { pushResultsId } from '../../workflows/contract.js';
import { until } from '../support/service.js';
import { temporalOf } from '../support/temporal.js';
import type { TemporalAccess } from '../support/temporal.js';
import { MAPPING, PushStage } from './push-stage.js';

describe('the workflow of results that could not be pushed', function () {
  let stage: PushStage;
  let temporal: TemporalAccess;
  before(async function () {
    this.timeout(240_000);
    stage = await PushStage.set();
    temporal = await temporalOf(stage.run);
  });
  after(async () => {
    await temporal?.close();
    await stage?.clear();
  });

  const failedOnes = async (studyId: string): Promise<string[]> => {
    const ids: string[] = [];
    const query = `Outcome = 'failed' AND WorkflowType = 'pushResults' AND StudyId = '${studyId}'`;
    for await (const { workflowId } of temporal.client.workflow.list({ query })) ids.push(workflowId);
    return ids;
  };

  it('says why and what to do, in its details and its result, and is found by its outcome', async () => {
    const study = await stage.study();
    const { session } = await study.ended({ visit: { datacapture_event: 'nowhere_arm_1' } });
    const good = await study.ended();
    await study.synced(good.session);
    const handle = temporal.client.workflow.getHandle(pushResultsId(session));
    const result = (await handle.result()) as { status: string; message: string; remedy: string };
    expect(result).to.include({ status: 'failed', error_type: 'rejected' });
    expect(result.message).to.contain('event');
    expect(result.remedy).to.contain('datacapture_event').and.contain('/push');
    const { currentDetails } = await handle
      .query<{ currentDetails?: string }>('__temporal_workflow_metadata')
      .then((metadata) => metadata);
    expect(currentDetails).to.contain(result.message).and.to.contain(result.remedy);
    await until(async () => (await failedOnes(study.id)).join() === pushResultsId(session) || undefined, {
      what: 'the failed push to be found, and no other',
    });
  });
});

describe('the message of a failed push', function () {
  let stage: PushStage;
  before(async function () {
    this.timeout(240_000);
    stage = await PushStage.set();
  });
  after(() => stage?.clear());

  const refused = async (record: string, field: string, status?: number, message?: string): Promise<string | null> => {
    const study = await stage.study({
      data_field_mapping: { ...MAPPING, digit_span: { datacapture_instrument: 'memory', fields: { span: field } } },
    });
    if (status !== undefined) study.fault({ content: ['record:import'], status, ...(message && { message }) });
    const person = await study.person({ external_id: record });
    const { session } = await study.ended({ person, summaries: { digit_span: { span: 3 } } });
    return (await study.attempt(session, ({ error_type }) => error_type === 'rejected', 'the refusal')).message;
  };

  it('keeps its numbers where a record is numbered alike, and never names the record', async () => {
    expect(await refused('1', 'grade')).to.contain('grade: it takes only 1, 2.');
    expect(await refused('403', 'span', 403, 'No rights for 403.')).to.equal(
      'The capture system refused (403): No rights for ….',
    );
  });

  it('is kept without control characters, which the database does not take', async () => {
    expect(await refused('R 1', 'span', 400, 'bytes\u0000\u001b of a page')).to.equal(
      'The capture system refused (400): bytes of a page',
    );
  });
});
