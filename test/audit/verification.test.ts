import { expect } from 'chai';
import { restartLostWorkflows } from '../../activities/operations/restart-lost-workflows.js';
import { auditVerificationId, workflowTypes } from '../../workflows/contract.js';
import { Stage } from '../anchor/stage.js';
import { admin, newParticipant, newStudy, unique, user } from '../support/http.js';
import type { Http, Loose } from '../support/http.js';
import { until } from '../support/until.js';

interface Verification {
  verification_id: string;
  status: string;
  status_url: string;
  progress: { rows_verified: number; rows_total: number; chains_verified: number; chains_total: number };
  result: { valid: boolean; rows: number; head: string | null; chains?: number } | null;
}

describe('A verification of the audit in the background', () => {
  let root: Http, study: Loose;
  before(async () => {
    root = await admin();
    study = await newStudy(root);
    await newParticipant(root, study.id);
  });
  async function verified(body: object): Promise<Verification> {
    const { status_url, status } = await root.expect<Verification>(202, 'POST', '/api/audit-verifications', body);
    expect(status).to.equal('pending');
    return until(
      async () => {
        const found = await root.expect<Verification>(200, 'GET', status_url);
        return found.status === 'completed' ? found : undefined;
      },
      { what: 'the verification to end' },
    );
  }

  it('of a study finds what the answer at once finds', async () => {
    const at = await root.expect<Loose>(200, 'GET', `/api/audit/verify?study_id=${study.id}`);
    const { result, progress } = await verified({ study_id: study.id });
    expect(result).to.deep.equal(at);
    expect(progress).to.deep.equal({
      rows_verified: at.rows,
      rows_total: at.rows,
      chains_verified: 1,
      chains_total: 1,
    });
  });

  it('of all chains tells how far it is, is recorded, and an admin’s alone', async () => {
    const { result, progress, verification_id } = await verified({});
    expect(result).to.include({ valid: true, head: null });
    expect(result!.chains).to.be.greaterThan(1).and.equal(progress.chains_verified);
    expect(result!.rows).to.equal(progress.rows_verified).and.be.greaterThan(3);
    const { items } = await root.expect(200, 'GET', '/api/audit?action=audit_verified');
    expect(items.some((item) => (item.audit_metadata as Loose).verification_id === verification_id)).to.equal(true);
    const researcher = await user(root, 'researcher', { study_ids: [study.id] });
    for (const [method, path, body] of [
      ['POST', '/api/audit-verifications', {}],
      ['GET', `/api/audit-verifications/${verification_id}`],
    ] as const)
      expect((await researcher.send(method, path, body)).status).to.equal(403);
  });

  it('that an operator terminated in Temporal, or that Temporal lost, goes on', async () => {
    const stage = await Stage.open();
    try {
      const begun = async () =>
        (
          await stage.sql<{ id: string }>(`insert into audit_verifications (chain) values (?) returning id`, [study.id])
        )[0]!.id;
      const [terminated, lost] = [await begun(), await begun()];
      const workflowId = auditVerificationId(terminated);
      const handle = await stage.temporal.workflow.start(workflowTypes.auditVerification, {
        workflowId,
        taskQueue: unique('nobody-works-here'),
        args: [{ verification_id: terminated }],
      });
      await handle.terminate('by an operator');
      await until(
        async () =>
          (await stage.temporal.workflow.count(`WorkflowId = '${workflowId}' AND ExecutionStatus = 'Terminated'`))
            .count > 0,
        {
          what: 'Temporal to list it as terminated',
        },
      );
      // The service's own sweep takes none that is as young as they were until now.
      await stage.sql(`update audit_verifications set created_at = now() - interval '5 minutes' where id in (?, ?)`, [
        terminated,
        lost,
      ]);
      await restartLostWorkflows({ database: stage.database, client: stage.temporal }, 60);
      for (const id of [terminated, lost])
        await until(async () =>
          expect(await root.expect(200, 'GET', `/api/audit-verifications/${id}`)).to.include({ status: 'completed' }),
        );
    } finally {
      await stage.close();
    }
  });

  it('of a study that never was is 404, as one that was not ordered', async () => {
    const nobody = '00000000-0000-4000-8000-000000000000';
    expect((await root.post('/api/audit-verifications', { study_id: nobody })).status).to.equal(404);
    expect((await root.get(`/api/audit-verifications/${nobody}`)).status).to.equal(404);
  });
});
