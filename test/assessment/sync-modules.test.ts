import { expect } from 'chai';
import type { Loose } from '../support/http.js';
import { unique } from '../support/http.js';
import { HOUR, Site, instant, trials } from './stage.js';

describe('Offline results of a task that a battery has twice', () => {
  let site: Site, battery: Loose & { id: never }, modules: { id: string }[];
  before(async () => {
    site = await Site.open();
    battery = await site.battery([
      { task: 'stroop', name: 'Morning' },
      { task: 'stroop', name: 'Evening' },
    ]);
    const path = `/api/batteries/${String(battery.id)}`;
    await site.http.expect(200, 'PATCH', path, { status: 'published' });
    ({ modules } = await site.http.expect<{ modules: { id: string }[] }>(200, 'GET', path));
  });

  const recorded = instant(-HOUR);
  const item = (id: string, fields: Record<string, unknown> = {}) =>
    site.item(id, { batteryId: battery.id, ...fields });
  /** Of each module, with an accuracy of its own. */
  const responses = (sessionId: string, accuracies: readonly number[]) =>
    accuracies.map((accuracy, i) => ({
      id: `${sessionId} ${i}`,
      sessionId,
      task: 'stroop',
      moduleId: modules[i]!.id,
      summary: { accuracy },
      trials: trials('stroop', 2, { timestamp: recorded }),
    }));
  const seen = async (sessionId: string) =>
    ((await site.see(sessionId)).tasks as Loose[])
      .map(({ task, module_id, summary, computed_summary }) => [
        task,
        module_id,
        summary,
        Object.keys(computed_summary as object),
      ])
      .sort();
  const named = (accuracies: readonly number[], computed: string[]) =>
    [
      ['Evening', modules[1]!.id, { accuracy: accuracies[1] }, computed],
      ['Morning', modules[0]!.id, { accuracy: accuracies[0] }, computed],
    ] as unknown[];
  const resolve = async (conflict: Loose, keep: string): Promise<Loose> =>
    site.http.expect(200, 'POST', `/api/studies/${site.study.id}/sync-conflicts/${conflict.id}/resolve`, {
      keep,
      reason: 'the paper notes say so',
    });

  for (const keep of ['both', 'local'])
    it(`that were kept with their refused session are of their modules where it is resolved for ${keep}`, async () => {
      const id = unique('s');
      const first = await site.bulk({ sessions: [item(id)], responses: responses(id, [0.1, 0.2]) });
      expect(first, JSON.stringify(first)).to.include({ created: 3 });
      const server = first.results[0]!.server_id!;
      const computed = ((await seen(server)) as unknown[][])[0]![3] as string[];
      expect(computed).not.to.deep.equal([]);
      expect(await seen(server)).to.deep.equal(named([0.1, 0.2], computed));
      const other = { sessions: [item(id, { startedAt: instant(-HOUR), completedAt: instant() })] };
      const second = await site.bulk({ ...other, responses: responses(id, [0.3, 0.4]) });
      expect(second, JSON.stringify(second)).to.include({ conflicts: 3 });
      const conflict = (await site.conflicts('?status=open')).items.find((one) => one.local_id === id)!;
      const resolved = await resolve(conflict, keep);
      const now = keep === 'local' ? server : (resolved.server_content as Loose).beside_session_id;
      expect(await seen(String(now))).to.deep.equal(named([0.3, 0.4], computed));
      const again = await site.bulk({ ...other, responses: responses(id, [0.3, 0.4]) });
      expect(again, JSON.stringify(again)).to.include({ duplicates: 3 });
      const open = (await site.conflicts('?status=open')).items.filter(({ session_id }) => session_id === now);
      expect(open).to.deep.equal([]);
    });

  it('that differ from those of their module take their place, and are known when they come again', async () => {
    const id = unique('s'),
      session = item(id);
    const first = await site.bulk({ sessions: [session], responses: responses(id, [0.1, 0.2]) });
    const server = first.results[0]!.server_id!;
    const computed = ((await seen(server)) as unknown[][])[0]![3] as string[];
    const [, evening] = responses(id, [0.1, 0.9]);
    expect(await site.bulk({ sessions: [session], responses: [evening] })).to.include({ conflicts: 1, duplicates: 1 });
    const conflict = (await site.conflicts('?status=open')).items.find(({ session_id }) => session_id === server)!;
    expect([conflict.task, (conflict.local_content as Loose).task]).to.deep.equal(['Evening', 'Evening']);
    await resolve(conflict, 'local');
    expect(await seen(server)).to.deep.equal(named([0.1, 0.9], computed));
    expect(await site.bulk({ sessions: [session], responses: [evening] })).to.include({ duplicates: 2 });
  });

  it('that come again without their session are duplicates, also where other participants have such a session', async () => {
    const id = unique('s');
    const people = [site.participant, await site.newParticipant()];
    for (const { id: participantId } of people) {
      const bulk = { sessions: [item(id, { participantId })], responses: responses(id, [0.5, 0.6]) };
      expect(await site.bulk(bulk)).to.include({ created: 3 });
    }
    const again = await site.bulk({ responses: responses(id, [0.5, 0.6]) });
    expect(again, JSON.stringify(again)).to.include({ duplicates: 2 });
  });
});
