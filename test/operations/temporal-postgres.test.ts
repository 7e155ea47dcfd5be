import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { anchorState, overrideDecision } from '../../workflows/contract.js';
import { builtServer, SERVER_VERSION } from '../../scripts/temporal-postgres/programs.js';
import { DAY, Stage } from '../anchor/stage.js';
import { Cluster } from '../support/cluster.js';
import { root } from '../support/environment.js';
import { until } from '../support/until.js';

const approved = {
  sources: [{ type: 'manual_entry' }],
  prerequisites: { require_consent_signed: true },
  permissions: {
    can_set: ['admin'],
    can_override: ['admin', 'coordinator'],
    override_requires_approval: true,
    override_approver_roles: ['researcher'],
  },
};

describe('The Temporal server of production, with PostgreSQL behind it', function () {
  this.timeout(300_000);

  it('is the release that docker-compose.yml names', () => {
    const compose = readFileSync(join(root, 'docker-compose.yml'), 'utf8');
    expect(/temporalio\/auto-setup:(\S+)/.exec(compose)?.[1]).to.equal(SERVER_VERSION);
  });

  describe('under the service', () => {
    let cluster: Cluster, stage: Stage;
    before(async function () {
      // Building it takes minutes: `npm run temporal:postgres -- --build`.
      if (!builtServer(join(root, '.cache', 'temporal'))) return this.skip();
      cluster = await Cluster.start({ temporal: 'postgres' });
      stage = await Stage.open(cluster.run);
    });
    after(async () => {
      await stage?.close();
      await cluster?.stop();
    });

    it('a participant is led from the date over a consent and an override to its approval by a signal', async () => {
      const study = await stage.study(approved),
        [asker, approver] = await Promise.all([study.as('coordinator'), study.as('researcher')]);
      const person = await study.person();
      await person.set(DAY);
      await person.consent('2024-03-01T09:00:00Z');
      await person.becomes({ status: 'finalized', enrollment_date: DAY });
      const { body } = await person.override('2024-03-17', asker);
      await stage.handle(person.id).signal(overrideDecision, {
        request_id: body.override_request_id,
        decision: 'approve',
        reason: 'seen',
        approver_user_id: approver.userId!,
      });
      await person.becomes({ enrollment_date: '2024-03-17', is_override: true });
      expect((await stage.handle(person.id).query(anchorState))?.status).to.equal('finalized');
    });

    it('finds workflows by study and by what they wait for', async () => {
      const study = await stage.study(approved),
        person = await study.person();
      await person.set(DAY);
      const found = async (query: string) => {
        const ids: string[] = [];
        for await (const { workflowId } of stage.temporal.workflow.list({ query })) ids.push(workflowId);
        return ids;
      };
      await until(async () => (await found(`StudyId = '${study.id}' AND AnchorStatus = 'provisional'`)).length === 1, {
        what: 'the workflow to be found',
      });
      expect(await found(`StudyId = '${study.id}' AND AnchorStatus = 'finalized'`)).to.deep.equal([]);
    });

    it('what is asked while it, or its database, is dead comes to pass when it is back', async () => {
      const study = await stage.study(approved);
      for (const victim of ['temporal', 'store']) {
        const person = await study.person();
        await person.set(DAY);
        await cluster.member(victim).kill();
        await person.consent('2024-03-01T09:00:00Z');
        await cluster.member(victim).start();
        await person.becomes({ status: 'finalized' });
        expect(await person.history(), victim).to.have.length(2);
      }
    });
  });
});
