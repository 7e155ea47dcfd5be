import { createConnection } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { brokenInvariants } from '../anchor/invariants.js';
import { DAY, Stage } from '../anchor/stage.js';
import type { AnchorStudy } from '../anchor/stage.js';
import type { Http } from '../support/http.js';
import { asMuchAs } from '../support/in-full.js';
import { startService, until } from '../support/service.js';
import type { RunJson, Service } from '../support/service.js';

const ENROLLMENTS = asMuchAs(16, 50);
/** After so many acknowledgements the first part is killed, after as many again the next one. */
const BETWEEN_KILLS = Math.floor(ENROLLMENTS * 0.55);
const AT_ONCE = 6;
const VICTIMS = ['worker', 'api', 'postgres', 'temporal'] as const;

describe('a service whose parts are killed in the middle of its work', function () {
  this.timeout(240_000);
  let service: Service;
  let stage: Stage;
  let study: AnchorStudy;
  let acknowledged = 0;

  before(async () => {
    service = await startService({ REQUEST_TIMEOUT_SECONDS: '5' });
    stage = await Stage.open(service.run);
    study = await stage.study(
      { sources: [{ type: 'manual_entry' }], schedule_on_provisional: true },
      { days: [0, 30, 60] },
    );
  });
  after(async () => {
    await stage?.close();
    await service?.stop();
  });

  /** As a careful client does it: what was not answered is sent again under its key. */
  async function send<T>(by: Http, path: string, body: unknown, key: string): Promise<T> {
    const deadline = Date.now() + 120_000;
    for (;;) {
      const answer = await by
        .post<T & { code?: string }>(path, body, { headers: { 'Idempotency-Key': key } })
        .catch((fault: Error) => {
          // The contract is broken, or the answer is: not a matter of trying again.
          if (!(fault instanceof TypeError)) throw fault;
          return undefined;
        });
      if (answer && (answer.status === 200 || answer.status === 201)) return answer.body;
      const again = !answer || answer.status === 503 || answer.body.code === 'IDEMPOTENCY_IN_PROGRESS';
      if (!again || Date.now() > deadline) throw new Error(`${path} answered ${answer?.status}: ${answer?.text}`);
      await sleep(150);
    }
  }

  const pidOf = (name: keyof RunJson['pids']) => service.current().pids[name]!;
  async function kill(name: (typeof VICTIMS)[number]): Promise<void> {
    const pid = pidOf(name);
    process.kill(pid, 'SIGKILL');
    await until(() => pidOf(name) !== undefined && pidOf(name) !== pid, { interval: 50, what: `${name} to be back` });
  }
  const temporalIsUp = () =>
    new Promise<boolean>((resolve) => {
      const [host, port] = service.run.temporal.split(':');
      const socket = createConnection({ host: host!, port: Number(port) }, () => {
        socket.destroy();
        resolve(true);
      });
      socket.on('error', () => resolve(false));
    });

  it('worker, API, PostgreSQL and Temporal, each by SIGKILL: what was acknowledged is there, once, and the chain verifies', async () => {
    const ids: string[] = [];
    const enroll = async (n: number) => {
      const key = (what: string) => `${study.id}-${n}-${what}`;
      const { id } = await send<{ id: string }>(
        stage.admin,
        `/api/studies/${study.id}/participants`,
        { participant_code: `K-${n}` },
        key('participant'),
      );
      acknowledged += 1;
      const path = `/api/studies/${study.id}/participants/${id}`;
      await send(stage.admin, `${path}/anchor-date`, { enrollment_date: DAY, reason: `number ${n}` }, key('anchor'));
      acknowledged += 1;
      await send(
        stage.admin,
        `${path}/consents`,
        { status: 'signed', signed_at: '2024-03-01T09:00:00Z' },
        key('consent'),
      );
      acknowledged += 1;
      ids.push(id);
    };
    // However fast the machine is, each part dies in the middle of it: there are more until the last one has.
    let next = 0,
      killed = 0;
    const working = Promise.all(
      Array.from({ length: AT_ONCE }, async () => {
        while (next < ENROLLMENTS || killed < VICTIMS.length) await enroll(next++);
      }),
    );
    const killing = (async () => {
      try {
        for (const [i, name] of VICTIMS.entries()) {
          await until(() => acknowledged >= (i + 1) * BETWEEN_KILLS, {
            timeout: 120_000,
            interval: 10,
            what: `enrollments before ${name} is killed`,
          });
          await kill(name);
        }
      } finally {
        killed = VICTIMS.length;
      }
    })();
    await Promise.all([working, killing]);
    expect(ids.length).to.be.at.least(ENROLLMENTS);

    const anchors = await until(
      async () => {
        const rows = await stage.sql<{ participant_id: string; status: string }>(
          'select participant_id, status from anchor_dates where study_id = ?',
          [study.id],
        );
        if (rows.some((row) => row.status !== 'finalized'))
          throw new Error(
            `${rows.filter((row) => row.status !== 'finalized').length} of ${rows.length} are not final yet`,
          );
        return rows;
      },
      { timeout: 60_000, interval: 250, what: 'every anchor to be final' },
    );
    expect(anchors.map((a) => a.participant_id).sort(), 'each participant once').to.deep.equal([...ids].sort());
    const currents = await stage.sql<{ n: number }>(
      'select count(*)::int as n from schedule_versions where study_id = ? and is_current group by participant_id',
      [study.id],
    );
    expect(currents.map((c) => c.n)).to.deep.equal(ids.map(() => 1));
    expect(await brokenInvariants(stage, study.id)).to.deep.equal([]);
    const history = await stage.sql<{ types: string[] }>(
      'select array_agg(event_type order by seq) as types from anchor_date_history where study_id = ? group by participant_id',
      [study.id],
    );
    for (const { types } of history) expect(types, 'nothing twice').to.deep.equal(['PROPOSED', 'FINALIZED']);
    const consents = await stage.sql<{ n: number }>('select count(*)::int as n from consents where study_id = ?', [
      study.id,
    ]);
    expect(consents[0]!.n).to.equal(ids.length);
    expect(await study.chainVerifies()).to.equal(true);
  });

  it('a fact that is committed while Temporal is down is taken, kept, and delivered when it is back', async () => {
    const person = await study.person();
    await person.set(DAY);
    await person.settled();
    const pid = pidOf('temporal'),
      supervisor = pidOf('supervisor');
    // It would start Temporal again at once: it does so when this has been looked at.
    process.kill(supervisor, 'SIGSTOP');
    try {
      process.kill(pid, 'SIGKILL');
      await until(async () => !(await temporalIsUp()), { interval: 2, what: 'Temporal to be down' });
      await person.consent('2024-03-01T09:00:00Z');
      const kept = await stage.sql('select topic from outbox where subject = ?', [person.id]);
      expect(kept, 'kept in the outbox').to.deep.equal([{ topic: 'sources-changed' }]);
      expect(await temporalIsUp(), 'Temporal still down').to.equal(false);
    } finally {
      process.kill(supervisor, 'SIGCONT');
    }
    await until(() => pidOf('temporal') !== undefined && pidOf('temporal') !== pid, { what: 'Temporal to be back' });
    await until(async () => (await person.anchor()).status === 'finalized', {
      timeout: 60_000,
      what: 'the anchor to be final',
    });
    await until(async () => (await stage.sql('select id from outbox where subject = ?', [person.id])).length === 0, {
      what: 'the message to be gone',
    });
  });
});
