import { expect } from 'chai';
import type pg from 'pg';
import { seesEverything } from '../support/everything.js';
import type { Answer, Loose } from '../support/http.js';
import { until } from '../support/until.js';
import { HOUR, Site, instant } from './stage.js';

describe('A sync conflict that more comes to', () => {
  let site: Site;
  beforeEach(async () => {
    site = await Site.open();
  });
  const response = (id: string, task: string, accuracy: number) => ({
    id,
    sessionId: 'S',
    deviceId: 'd',
    task,
    summary: { accuracy },
    trials: [],
  });
  const resolve = (conflict: Loose, keep: string): Promise<Answer<Loose>> =>
    site.http.post(`/api/studies/${site.study.id}/sync-conflicts/${conflict.id}/resolve`, {
      keep,
      reason: 'the paper notes say so',
    });
  const open = async () => (await site.conflicts('?status=open')).items as (Loose & { local_content: Loose })[];

  it('is open again where it was resolved without that, and a resolution then counts for all of it', async () => {
    const first = site.item('S', { deviceId: 'd' });
    const { results } = await site.bulk({ sessions: [first] });
    const other = { ...first, startedAt: instant(-2 * HOUR), completedAt: instant(-HOUR) };
    const refused = [response('R1', 'stroop', 0.5)];
    expect((await site.bulk({ sessions: [other], responses: refused })).conflicts).to.equal(2);
    const [conflict] = await open();
    expect((await resolve(conflict!, 'server')).status).to.equal(200);
    await site.bulk({ sessions: [other], responses: refused });
    expect(await open(), 'nothing new came').to.deep.equal([]);

    const more = [...refused, response('R2', 'flanker', 0.75)];
    expect((await site.bulk({ sessions: [other], responses: more })).conflicts).to.equal(3);
    const [again] = await open();
    expect(again).to.include({ id: conflict!.id, keep: null, reason: null, resolved_at: null, resolved_by_id: null });
    expect((again!.local_content.responses as Loose[]).map(({ id }) => id)).to.deep.equal(['R1', 'R2']);
    expect((await resolve(again!, 'local')).status).to.equal(200);
    expect((await site.see(results[0]!.server_id!)).task_summaries).to.deep.equal({
      stroop: { accuracy: 0.5 },
      flanker: { accuracy: 0.75 },
    });
    const { duplicates } = await site.bulk({ sessions: [other], responses: more });
    expect([duplicates, await open()]).to.deep.equal([3, []]);
  });

  it('does not wait for its resolution in a circle', async () => {
    const session = site.item('S', { deviceId: 'd' });
    const { results } = await site.bulk({ sessions: [session], responses: [response('R1', 'stroop', 1)] });
    const other = response('R1', 'stroop', 0.5);
    expect((await site.bulk({ responses: [other] })).conflicts).to.equal(1);
    const [conflict] = await open();
    const holder: pg.Client = await seesEverything();
    const waiting = (count: number) =>
      until(
        async () =>
          (await holder.query('select from pg_locks where not granted and cardinality(pg_blocking_pids(pid)) > 0'))
            .rowCount! >= count,
        { what: `${count} to wait` },
      );
    try {
      await holder.query('begin');
      await holder.query('select from assessment_sessions where id = $1 for update', [results[0]!.server_id]);
      const sent = site.http.post<Loose>('/api/sync/responses', other);
      await waiting(1);
      const resolved = resolve(conflict!, 'local');
      await waiting(2);
      await holder.query('rollback');
      const answers = await Promise.all([sent, resolved]);
      expect(
        answers.map(({ status }) => status),
        answers.map(({ text }) => text).join(),
      ).to.deep.equal([200, 200]);
    } finally {
      await holder.end();
    }
    expect((await site.see(results[0]!.server_id!)).task_summaries).to.deep.equal({ stroop: { accuracy: 0.5 } });
  });
});
