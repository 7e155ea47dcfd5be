import { expect } from 'chai';
import { brokenInvariants } from '../anchor/invariants.js';
import { Stage } from '../anchor/stage.js';
import { Cluster } from '../support/cluster.js';
import { login } from '../support/http.js';
import { Traffic } from './traffic.js';

describe('An upgrade: each API and each worker process ended and started again, one after the other, under traffic', function () {
  this.timeout(420_000);
  let cluster: Cluster, stage: Stage;
  before(async () => {
    // A task that a worker takes with it comes to another one 3 to 8 s later. The clients wait long enough for that on
    // a busy machine too: what they must not see is a request that nobody answers.
    cluster = await Cluster.start({ apis: 2, workers: 2, settings: { REQUEST_TIMEOUT_SECONDS: '45' } });
    stage = await Stage.open(cluster.run);
  });
  after(async () => {
    await stage?.close();
    await cluster?.stop();
  });

  it('every request is answered: none is refused, none is told to come again', async () => {
    const { http } = await login(cluster.run.api, cluster.run.admin_email, cluster.run.admin_password ?? '');
    const traffic = await Traffic.start(http),
      { study } = traffic;
    for (const name of ['api1', 'worker1', 'api2', 'worker2']) {
      const before = traffic.requests;
      await cluster.member(name).stop();
      await cluster.member(name).start();
      expect(traffic.requests, `traffic while ${name} was restarted`).to.be.above(before);
    }
    await traffic.stop();
    const { requests, resent, failed } = traffic;
    expect(failed).to.deep.equal([]);
    expect(resent, `of ${requests} requests, sent again because their connection was closed`).to.be.below(
      requests / 20 + 5,
    );
    const made = await stage.sql<{ n: number }>(
      'select count(*)::int as n from participants where study_id = ? group by participant_code',
      [study],
    );
    expect(new Set(made.map(({ n }) => n))).to.deep.equal(new Set([1]));
    expect(await brokenInvariants(stage, study)).to.deep.equal([]);
    expect((await http.expect<{ valid: boolean }>(200, 'GET', `/api/audit/verify?study_id=${study}`)).valid).to.equal(
      true,
    );
  });
});
