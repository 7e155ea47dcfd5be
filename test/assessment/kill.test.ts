import { randomInt } from 'node:crypto';
import { expect } from 'chai';
import pg from 'pg';
import { signal } from '../../scripts/runtime/processes.js';
import { login } from '../support/http.js';
import type { Answer } from '../support/http.js';
import { startService, until } from '../support/service.js';
import type { Service } from '../support/service.js';
import { Site, trials } from './stage.js';

/** More by hand: KILLS=200. */
const KILLS = Number(process.env.KILLS ?? 20);

describe('What was acknowledged', function () {
  this.timeout(60_000 + KILLS * 15_000);
  let service: Service;
  let site: Site;
  before(async () => {
    service = await startService();
    site = await Site.open({}, (await signIn()).http);
  });
  after(() => service.stop());
  const signIn = () => login(service.run.api, service.run.admin_email, service.run.admin_password ?? '');

  const answers = () => until(async () => (await site.http.get(`/api/studies/${site.study.id}`)).status === 200, { timeout: 60_000, what: 'the service to answer again' });
  /**
   * The supervisor takes longer with each restart of the same part. So most strikes go to a process of PostgreSQL's
   * own: its postmaster then drops everything in memory and recovers from the write-ahead log, as after its own death.
   * `felt` tells whether another process stands in the victim's place: before that an answer may still come of the time before.
   */
  const striker = async (kill: number): Promise<{ strike: () => void; felt: () => Promise<boolean> }> => {
    const part = kill % 7 === 0 ? 'api' : kill % 7 === 3 ? 'postgres' : undefined;
    const standing = async () => (part ? service.current().pids[part] : checkpointer());
    const victim = (await standing())!;
    return {
      strike: () => signal(victim, 'SIGKILL'),
      felt: async () => {
        const now = await standing();
        return now !== undefined && now !== victim;
      },
    };
  };
  const checkpointer = async (): Promise<number | undefined> => {
    const client = new pg.Client({ connectionString: service.run.database_url });
    // It is struck down as well: what it was asked fails then, which is told there.
    client.on('error', () => undefined);
    try {
      await client.connect();
      const { rows } = await client.query<{ pid: number }>(`select pid from pg_stat_activity where backend_type = 'checkpointer'`);
      return rows[0]?.pid;
    } finally {
      await client.end();
    }
  };
  /** As a device does: the same call until it has an answer that is none of the network's. */
  const insist = <T>(call: () => Promise<Answer<T>>): Promise<Answer<T>> => until(async (): Promise<Answer<T> | undefined> => {
    const answer = await call();
    return answer.status < 500 ? answer : undefined;
  }, { timeout: 60_000, interval: 20, what: 'an answer' });

  it(`is there after API or PostgreSQL are killed before the next read (${KILLS} kills)`, async () => {
    const held: { id: string; visit: string; tasks: Record<string, { accuracy: number }>; trials: number }[] = [];
    for (let kill = 0; kill < KILLS; kill++) {
      const participant = await site.newParticipant();
      const visit = await site.visit({ participant_id: participant.id });
      const offline = kill % 4 >= 2;
      const count = randomInt(1, 60);
      const tasks = { stroop: { accuracy: count / 100 } };
      const { strike, felt } = await striker(kill);
      let id: string;
      if (offline) {
        const item = site.item(`s${kill}`, { participantId: participant.id, visitId: visit.id });
        const bulk = { sessions: [item], responses: [{ id: `r${kill}`, sessionId: item.id, task: 'stroop', summary: tasks.stroop, trials: trials('stroop', count) }] };
        const taken = await insist(() => site.http.post<{ results: { status: string; server_id: string }[] }>('/api/sync/bulk', bulk));
        strike();
        expect(taken.body.results.map((r) => r.status)).to.deep.equal(['created', 'created']);
        id = taken.body.results[0]!.server_id;
      } else {
        id = await site.session({ participant_id: participant.id });
        const body = { task_summaries: tasks, raw_trials: trials('stroop', count) };
        // Under way when it strikes: whatever becomes of this one, the same again makes it good.
        const wild = site.submit(id, body).catch(() => undefined);
        const early = kill % 4 === 0;
        if (early) strike();
        await wild;
        expect((await insist(() => site.submit(id, body))).status).to.equal(200);
        expect((await insist(() => site.end(id))).body.status).to.equal('completed');
        if (!early) strike();
      }
      held.push({ id, visit: visit.id, tasks, trials: count });
      await until(felt, { timeout: 60_000, what: 'the victim to be replaced' });
      await answers();
      await check(held.at(-1)!);
    }
    for (const one of held) await check(one);
    const { http } = await signIn();
    expect((await http.expect<{ valid: boolean }>(200, 'GET', `/api/audit/verify?study_id=${site.study.id}`)).valid).to.equal(true);
  });

  async function check(one: { id: string; visit: string; tasks: object; trials: number }): Promise<void> {
    const session = await insist(() => site.http.get(`/api/sessions/${one.id}`));
    expect(session.body).to.deep.include({ status: 'completed', task_summaries: one.tasks, trial_count: one.trials, visit_id: one.visit });
    expect(await until(() => site.trials(one.id))).to.have.length(one.trials);
    expect((await insist(() => site.http.get(`/api/visits/${one.visit}`))).body).to.include({ status: 'completed', session_id: one.id });
  }
});
