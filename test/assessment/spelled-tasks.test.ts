import { expect } from 'chai';
import type { Loose } from '../support/http.js';
import { unique } from '../support/http.js';
import { HOUR, Site, instant, trials } from './stage.js';

/** Keyboards and file systems write a letter with a mark as one sign or as two. */
const NAME = 'Gedächtnis'.normalize('NFC');
const OTHER = NAME.normalize('NFD');

describe('Results of a module that an app spells with composed or decomposed letters', () => {
  let site: Site, battery: Loose & { id: never };
  before(async () => {
    site = await Site.open();
    battery = await site.battery([
      { task: 'custom', name: OTHER },
      { task: 'custom', name: 'Word list' },
    ]);
    await site.http.expect(200, 'PATCH', `/api/batteries/${String(battery.id)}`, { status: 'published' });
  });
  const moduleId = () => (battery.modules as { id: string; name: string }[]).find(({ name }) => name === NAME)!.id;
  const tasks = async (id: string) =>
    ((await site.see(id)).tasks as Loose[]).map(({ task, trial_count }) => [task, trial_count]);
  const recorded = (task: string) => trials(task, 2, { timestamp: instant(-HOUR) });

  for (const named of [false, true])
    it(`are taken on line${named ? ', with the module' : ''}, and known when they come again`, async () => {
      const id = await site.session({ battery_id: battery.id });
      const sent = {
        task_summaries: { [OTHER]: { accuracy: 1 } },
        raw_trials: recorded(OTHER),
        ...(named && { module_id: moduleId() }),
      };
      for (const status of ['accepted', 'duplicate']) {
        const answer = await site.submit(id, sent);
        expect([answer.status, answer.body.status], answer.text).to.deep.equal([200, status]);
      }
      expect(await tasks(id)).to.deep.equal([[NAME, 2]]);
    });

  for (const named of [false, true])
    it(`are taken off line${named ? ', with the module' : ''}, also where a conflict is resolved for them`, async () => {
      const id = unique('s');
      const session = site.item(id, { batteryId: battery.id });
      const bulk = (accuracy: number) => ({
        sessions: [session],
        responses: [
          {
            id: `${id} r`,
            sessionId: id,
            task: OTHER,
            summary: { accuracy },
            trials: recorded(OTHER),
            ...(named && { moduleId: moduleId() }),
          },
        ],
      });
      const first = bulk(1);
      const made = await site.bulk(first);
      expect(made.results.map(({ status }) => status)).to.deep.equal(['created', 'created']);
      expect((await site.bulk(first)).duplicates).to.equal(2);
      const server = made.results[0]!.server_id!;
      expect(await tasks(server)).to.deep.equal([[NAME, 2]]);
      const second = bulk(0.5);
      expect((await site.bulk(second)).conflicts).to.equal(1);
      const [conflict] = (await site.conflicts('?status=open')).items;
      await site.http.expect(200, 'POST', `/api/studies/${site.study.id}/sync-conflicts/${conflict!.id}/resolve`, {
        keep: 'local',
        reason: 'the paper notes say so',
      });
      expect((await site.see(server)).task_summaries).to.deep.equal({ [NAME]: { accuracy: 0.5 } });
      expect((await site.bulk(second)).duplicates).to.equal(2);
    });

  it('are of one task where the summary has the one spelling and the trials have the other', async () => {
    const id = await site.session({ battery_id: battery.id });
    for (const [summary, trial] of [
      [OTHER, NAME],
      [NAME, OTHER],
    ] as const) {
      const answer = await site.submit(id, {
        task_summaries: { [summary]: { accuracy: 1 } },
        raw_trials: recorded(trial),
      });
      // Other bytes, but the same task.
      expect([answer.status, answer.body.status ?? answer.body.code], answer.text).to.deep.equal(
        summary === OTHER ? [200, 'accepted'] : [409, 'TASK_CONFLICT'],
      );
    }
    expect(await tasks(id)).to.deep.equal([[NAME, 2]]);
    const twice = await site.submit(await site.session({ battery_id: battery.id }), {
      task_summaries: { [OTHER]: { accuracy: 1 }, [NAME]: { accuracy: 0.5 } },
    });
    expect(twice.status, twice.text).to.equal(422);
    expect(twice.body.errors![0]).to.include({ path: `task_summaries.${NAME}`, code: 'DUPLICATE_FIELD' });
    const s = unique('s');
    const offline = await site.bulk({
      sessions: [site.item(s, { batteryId: battery.id })],
      responses: [{ id: `${s} r`, sessionId: s, task: OTHER, trials: recorded(NAME) }],
    });
    expect(offline.results[1], JSON.stringify(offline)).to.include({ status: 'created' });
  });
});
