import { expect } from 'chai';
import type { Loose } from '../support/http.js';
import { unique } from '../support/http.js';
import { Site, trials } from './stage.js';

describe('A battery that was changed while a device was offline', () => {
  let site: Site, battery: Loose & { id: never }, module: Loose;
  before(async () => {
    site = await Site.open();
    battery = await site.battery([{ task: 'custom', name: 'gone' }, { task: 'stroop' }]);
    module = (battery.modules as Loose[])[0]!;
    const path = `/api/batteries/${battery.id as number}`;
    await site.http.expect(200, 'PATCH', path, { status: 'published' });
    await site.http.expect(204, 'DELETE', `${path}/modules/${module.id}`);
    await site.http.expect(200, 'PATCH', path, { status: 'published' });
  });

  for (const [what, session, named] of [
    ['that says its version', { batteryVersion: 1 }, {}],
    ['that does not say its version', {}, {}],
    ['that does not say its version, but the module', {}, { module: true }],
  ] as const)
    it(`still takes results of a module that it has no more from a device ${what}`, async () => {
      const id = unique('s');
      const { results } = await site.bulk({
        sessions: [site.item(id, { batteryId: battery.id, ...session })],
        responses: [
          {
            id,
            sessionId: id,
            task: 'gone',
            summary: { score: 1 },
            trials: trials('gone', 1).map(({ task: _task, ...trial }) => trial),
            ...('module' in named && { moduleId: module.id }),
          },
        ],
      });
      expect(results[1], JSON.stringify(results)).to.include({ status: 'created' });
      expect((await site.see(results[0]!.server_id!)).task_summaries).to.deep.equal({ gone: { score: 1 } });
    });

  it('refuses what none of its versions has', async () => {
    const id = unique('s');
    const { results } = await site.bulk({
      sessions: [site.item(id, { batteryId: battery.id })],
      responses: [{ id, sessionId: id, task: 'never', summary: { score: 1 }, trials: [] }],
    });
    expect(results.map(({ status, code }) => [status, code])[1]).to.deep.equal(['rejected', 'UNKNOWN_TASK']);
  });
});
