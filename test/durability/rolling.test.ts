import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { brokenInvariants } from '../anchor/invariants.js';
import { DAY, Stage } from '../anchor/stage.js';
import { Cluster } from '../support/cluster.js';
import { login, newParticipant, newStudy } from '../support/http.js';

const CLIENTS = 6;
const FINAL_AT_ONCE = { prerequisites: { require_consent_signed: false }, sources: [{ type: 'manual_entry', priority: 1, is_active: true }] };

describe('An upgrade: each API and each worker process ended and started again, one after the other, under traffic', function () {
  this.timeout(300_000);
  let cluster: Cluster, stage: Stage;
  before(async () => {
    cluster = await Cluster.start({ apis: 2, workers: 2 });
    stage = await Stage.open(cluster.run);
  });
  after(async () => {
    await stage?.close();
    await cluster?.stop();
  });

  it('every request is answered: none is refused, none is told to come again', async () => {
    const { http } = await login(cluster.run.api, cluster.run.admin_email, cluster.run.admin_password ?? '');
    const study = await newStudy(http, { config: { enrollment_date_policy: FINAL_AT_ONCE } });
    let stopping = false, requests = 0, resent = 0;
    const failed: string[] = [];
    /** As a proxy's client does it: a connection that is closed under a request is tried once more, an answer is an answer. */
    const send = async (method: string, path: string, body: unknown, key: string) => {
      requests += 1;
      for (const attempt of [1, 2]) {
        try {
          const answer = await http.send<{ id: string }>(method, path, body, { headers: key === '' ? {} : { 'Idempotency-Key': key } });
          if (answer.status >= 400) failed.push(`${method} ${path} answered ${answer.status}: ${answer.text}`);
          return answer;
        } catch (fault) {
          if (!(fault instanceof TypeError) || attempt === 2) {
            failed.push(`${method} ${path}: ${String(fault)}`);
            return undefined;
          }
          resent += 1;
          await sleep(50);
        }
      }
      return undefined;
    };
    const people = await Promise.all(Array.from({ length: CLIENTS }, () => newParticipant(http, study.id)));
    const traffic = people.map(async ({ id }, client) => {
      for (let n = 0; !stopping; n += 1) {
        const path = `/api/studies/${study.id}/participants`;
        const made = await send('POST', path, { participant_code: `R-${client}-${n}` }, `made-${client}-${n}`);
        // Long-lived workflows are the ones that a worker holds when it goes.
        await send('POST', `${path}/${id}/anchor-date/evaluate`, {}, `evaluate-${client}-${n}`);
        if (made) await send('POST', `${path}/${made.body.id}/anchor-date`, { enrollment_date: DAY, reason: 'rolling' }, `date-${client}-${n}`);
        await send('GET', `${path}?limit=20`, undefined, '');
      }
    });
    for (const name of ['api1', 'worker1', 'api2', 'worker2']) {
      const before = requests;
      await cluster.member(name).stop();
      await cluster.member(name).start();
      expect(requests, `traffic while ${name} was restarted`).to.be.above(before);
    }
    stopping = true;
    await Promise.all(traffic);
    expect(failed).to.deep.equal([]);
    expect(resent, `of ${requests} requests, sent again because their connection was closed`).to.be.below(requests / 20 + 5);
    const made = await stage.sql<{ n: number }>('select count(*)::int as n from participants where study_id = ? group by participant_code', [study.id]);
    expect(new Set(made.map(({ n }) => n))).to.deep.equal(new Set([1]));
    expect(await brokenInvariants(stage, study.id)).to.deep.equal([]);
    expect((await http.expect<{ valid: boolean }>(200, 'GET', `/api/audit/verify?study_id=${study.id}`)).valid).to.equal(true);
  });
});
