import { expect } from 'chai';
import { admin, newParticipant, newStudy, unique } from '../support/http.js';
import type { Http, Loose } from '../support/http.js';
import { service } from '../support/service.js';
import { temporalOf } from '../support/temporal.js';
import { until } from '../support/until.js';

describe('Ids in a path', () => {
  let http: Http;
  let study: Loose;
  let at: string;
  before(async () => {
    http = await admin();
    study = await newStudy(http, { consent_mode: 'external' });
    at = `/api/studies/${study.id.toUpperCase()}`;
  });

  it('in capitals is the same study: its sites are its own, and its changes are found', async () => {
    const site = await http.expect(201, 'POST', `${at}/sites`, { site_code: unique('S'), name: 'A site' });
    const made = await http.expect(201, 'POST', `${at}/participants`, {
      participant_code: unique('P'),
      site_id: site.id,
    });
    expect(made).to.include({ site_id: site.id, study_id: study.id });
    const saved = await http.post(`${at}/config/enrollment-policy`, {
      prerequisites: { require_consent_signed: false },
    });
    expect(saved.status).to.equal(200);
    const change = saved.headers.get('x-change-id')!;
    expect((await http.get(`${at}/reanchorings/${change}`)).status).to.equal(200);
  });

  it('in capitals is the same export: its file is there', async () => {
    const { export_id } = await http.expect(202, 'POST', '/api/exports/csv', {
      study_id: study.id,
      dataset: 'participants',
      mode: 'background',
    });
    const path = `/api/exports/${String(export_id).toUpperCase()}`;
    await until(async () => (await http.get(path)).body.status === 'completed', { what: 'the file of the export' });
    expect((await http.get(`${path}/download`)).status).to.equal(200);
  });

  it('in capitals is the same participant: in the audit log, and in Temporal, where it has one workflow', async () => {
    const { id } = await newParticipant(http, study.id);
    const path = `/api/participants/${id.toUpperCase()}`;
    await http.expect(200, 'POST', `${path}/withdraw`, { reason: 'by mistake' });
    await http.expect(200, 'POST', `${path}/reinstate`, { reason: 'it was a mistake' });
    const records = await http.expect(200, 'GET', `/api/audit?study_id=${study.id}&resource_id=${id}`);
    expect(records.items.map(({ action }) => action)).to.include.members([
      'participant_withdrawn',
      'participant_reinstated',
    ]);
    const { client, close } = await temporalOf(await service());
    const exists = (workflowId: string): Promise<boolean> =>
      client.workflow
        .getHandle(workflowId)
        .describe()
        .then(
          () => true,
          () => false,
        );
    try {
      const own = `participant-anchor/${id}`;
      await until(
        async () => {
          if (!(await exists(own))) return false;
          const { events } = await client.workflow.getHandle(own).fetchHistory();
          return (events ?? []).some(
            ({ workflowExecutionSignaledEventAttributes: signal }) => signal?.signalName === 'reinstated',
          );
        },
        { what: 'the participant’s workflow to hear of the reinstatement' },
      );
      expect(await exists(`participant-anchor/${id.toUpperCase()}`)).to.equal(false);
    } finally {
      await close();
    }
  });

  it('that no change of a study can have is not found', async () => {
    for (const id of ['x'.repeat(1_200), 'policy-77'])
      expect((await http.get(`/api/studies/${study.id}/reanchorings/${id}`)).status, id.slice(0, 20)).to.equal(404);
  });

  it('in capitals is the same chain of the audit log', async () => {
    await http.expect(201, 'POST', '/api/audit/checkpoints', { study_id: study.id });
    const proof = await http.get<{ record: Loose }>(`/api/audit/${study.id.toUpperCase()}%2F1/proof`);
    expect([proof.status, proof.body.record.seq]).to.deep.equal([200, 1]);
  });
});
