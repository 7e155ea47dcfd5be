import { expect } from 'chai';
import { startApi } from '../support/api-process.js';
import { admin, newStudy, user } from '../support/http.js';
import type { Http } from '../support/http.js';

describe('A compliance action', () => {
  let root: Http;
  before(async () => {
    root = await admin();
  });
  const signOff = (more: object = {}) => ({
    action: 'cutover_signoff',
    resource_type: 'deployment',
    resource_id: '2024-03',
    reason: 'all checks passed',
    metadata: { checks: 12 },
    ...more,
  });

  it('is written into the chain of its study, or of the service, and verifies', async () => {
    const study = await newStudy(root);
    const { status, body } = await root.post('/api/audit/records', signOff({ study_id: study.id }));
    expect(status).to.equal(201);
    expect(body).to.deep.include({
      chain: study.id,
      study_id: study.id,
      user_id: root.userId,
      action: 'cutover_signoff',
      resource_type: 'deployment',
      resource_id: '2024-03',
      audit_metadata: { checks: 12, reason: 'all checks passed' },
    });
    const { items } = await root.expect(200, 'GET', `/api/audit?study_id=${study.id}&action=cutover_signoff`);
    expect(items).to.deep.equal([body]);
    expect((await root.expect(200, 'GET', `/api/audit/verify?study_id=${study.id}`)).valid).to.equal(true);
    expect((await root.expect(201, 'POST', '/api/audit/records', signOff())).chain).to.equal('service');
  });

  it('is one that the deployment names, has a reason, and is an admin’s', async () => {
    for (const action of ['participant_erased', 'anything']) {
      const { status, body } = await root.post('/api/audit/records', signOff({ action }));
      expect([status, body.errors?.[0]?.path, body.errors?.[0]?.code], action).to.deep.equal([
        400,
        'action',
        'UNKNOWN_ACTION',
      ]);
    }
    for (const wrong of [{ reason: ' ' }, { reason: undefined }, { resource_type: '' }, { user_id: root.userId }])
      expect((await root.post('/api/audit/records', signOff(wrong))).status, JSON.stringify(wrong)).to.equal(422);
    expect(
      (await root.post('/api/audit/records', signOff({ metadata: { long: 'x'.repeat(10_001) } }))).status,
    ).to.equal(400);
    const unknown = signOff({ study_id: '00000000-0000-4000-8000-000000000000' });
    expect((await root.post('/api/audit/records', unknown)).status).to.equal(404);
    const study = await newStudy(root);
    const researcher = await user(root, 'researcher', { study_ids: [study.id] });
    expect((await researcher.post('/api/audit/records', signOff({ study_id: study.id }))).status).to.equal(403);
  });

  it('COMPLIANCE_ACTIONS names others; addresses in answers are absolute by PUBLIC_URL', async () => {
    const api = await startApi({
      COMPLIANCE_ACTIONS: 'release_approved, backup_tested',
      PUBLIC_URL: 'https://research.example.org/',
    });
    try {
      const here = await admin(api.url);
      expect((await here.post('/api/audit/records', signOff())).status).to.equal(400);
      expect((await here.post('/api/audit/records', signOff({ action: 'backup_tested' }))).status).to.equal(201);
      const study = await newStudy(here);
      const asked = await here.expect(202, 'POST', '/api/exports/csv', {
        study_id: study.id,
        dataset: 'participants',
        mode: 'background',
      });
      const at = `https://research.example.org/api/exports/${asked.export_id as string}`;
      expect(asked.status_url).to.equal(at);
      const verification = await here.expect(202, 'POST', '/api/audit-verifications', { study_id: study.id });
      expect(verification.status_url).to.match(/^https:\/\/research\.example\.org\/api\/audit-verifications\//);
      const people = `/api/studies/${study.id}/participants`;
      const person = await here.expect(201, 'POST', people, { participant_code: 'P-1' });
      const { items } = await here.expect<{ items: { links: { api: string } }[] }>(
        200,
        'GET',
        `${people}/${person.id}/timeline`,
      );
      expect(items.map(({ links }) => links.api)).to.include(
        `https://research.example.org/api/participants/${person.id}`,
      );
    } finally {
      await api.stop();
    }
  });
});
