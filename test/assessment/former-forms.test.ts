import { expect } from 'chai';
import type { Loose } from '../support/http.js';
import { unique } from '../support/http.js';
import { HOUR, Site, instant, trials } from './stage.js';
import type { BulkView } from './stage.js';

const outcomes = ({ results }: BulkView) => results.map(({ status, code }) => code ?? status);

describe('Results of a battery that is not, or not any more, as their device read it', () => {
  let site: Site;
  before(async () => {
    site = await Site.open();
  });

  const path = (battery: Loose) => `/api/batteries/${String(battery.id)}`;
  const publish = (battery: Loose): Promise<Loose & { modules: Loose[] }> =>
    site.http.expect(200, 'PATCH', path(battery), { status: 'published' });
  const response = (sessionId: string, task: string, fields: Record<string, unknown> = {}) => ({
    id: unique('r'),
    sessionId,
    task,
    summary: { accuracy: 0.5 },
    trials: trials(task, 1, { timestamp: instant(-HOUR) }),
    ...fields,
  });
  const tasksOf = async (id: string) =>
    ((await site.see(id)).tasks as Loose[]).map(({ task, module_id }) => [task, module_id]);

  describe('whose module was renamed', () => {
    let battery: Loose & { modules: Loose[] }, module: Loose;
    const [former, present] = [unique('maze'), unique('long maze')];
    before(async () => {
      battery = await publish(await site.battery([{ task: 'custom', name: former }]));
      [module] = battery.modules as [Loose];
      await site.http.expect(200, 'PATCH', `${path(battery)}/modules/${String(module.id)}`, { name: present });
      await publish(battery);
    });

    for (const [what, name, fields] of [
      ['its former name off line', () => former, {}],
      ['its present name in a session of the former version', () => present, { batteryVersion: 1 }],
    ] as const)
      for (const named of [false, true])
        it(`are taken under ${what}${named ? ', with the module' : ''}`, async () => {
          const id = unique('s');
          const answer = response(id, name(), named ? { moduleId: module.id } : {});
          const bulk = { sessions: [site.item(id, { batteryId: battery.id, ...fields })], responses: [answer] };
          const made = await site.bulk(bulk);
          expect(outcomes(made)[1], JSON.stringify(made)).to.equal('created');
          expect((await site.bulk(bulk)).duplicates).to.equal(2);
          expect(await tasksOf(made.results[0]!.server_id!)).to.deep.equal([[name(), named ? module.id : null]]);
        });

    it('are taken on line from an app that reads the battery after the start of its session', async () => {
      const other = await publish(await site.battery([{ task: 'custom', name: 'tower' }]));
      const id = await site.session({ battery_id: other.id });
      await site.http.expect(200, 'PATCH', `${path(other)}/modules/${String(other.modules[0]!.id)}`, { name: 'spire' });
      await publish(other);
      const answer = await site.submit(id, { task_summaries: { spire: { score: 1 } } });
      expect([answer.status, answer.body.status], answer.text).to.deep.equal([200, 'accepted']);
    });
  });

  it('which got further modules of a task are kept apart by module, as in a session of that version', async () => {
    const battery = await publish(await site.battery([{ task: 'stroop', name: 'First' }]));
    const session = await site.session({ battery_id: battery.id });
    for (const [task, name] of [
      ['stroop', 'Second'],
      ['flanker', 'Third'],
      ['flanker', 'Fourth'],
    ])
      await site.http.expect(201, 'POST', `${path(battery)}/modules`, { task, name });
    const { modules } = await publish(battery);
    const sent = (module: Loose) => ({ task_summaries: { [module.task as string]: { accuracy: 0.5 } } });
    for (const status of ['accepted', 'duplicate'])
      for (const module of modules) {
        const answer = await site.submit(session, { ...sent(module), module_id: module.id });
        expect([answer.status, answer.body.status], answer.text).to.deep.equal([200, status]);
      }
    const id = unique('s');
    const made = await site.bulk({
      sessions: [site.item(id, { batteryId: battery.id, batteryVersion: 1 })],
      responses: modules.map((module) => response(id, module.task as string, { moduleId: module.id })),
    });
    expect(outcomes(made).slice(1), JSON.stringify(made)).to.deep.equal(Array(4).fill('created'));
    const apart = ['stroop', 'Second', 'Third', 'Fourth'].map((task, i) => [task, modules[i]!.id]);
    for (const of of [session, made.results[0]!.server_id!]) expect(await tasksOf(of)).to.have.deep.members(apart);
  });

  describe('where several visits are open and the app names none', () => {
    let battery: Loose & { modules: Loose[] };
    const own = unique('own test');
    before(async () => {
      battery = await publish(await site.battery([{ task: 'custom', name: own }, { task: 'n_back' }]));
      for (let i = 0; i < 2; i++) await site.visit({ battery_id: battery.id }, [-3, 3]);
    });

    it('are taken on line, and refused for what no battery of the study has', async () => {
      const started = await site.start();
      expect([started.body.batteryId, started.body.warnings[0]!.code]).to.deep.equal([null, 'SEVERAL_OPEN_VISITS']);
      const { sessionId } = started.body;
      const answer = await site.submit(sessionId, { task_summaries: { [own]: { score: 1 } } });
      expect([answer.body.status, answer.body.warnings], answer.text).to.deep.equal(['accepted', []]);
      const strange = await site.submit(sessionId, { task_summaries: { [unique('never')]: { score: 1 } } });
      expect([strange.status, strange.body.errors![0]!.code]).to.deep.equal([422, 'UNKNOWN_TASK']);
    });

    it('are taken off line, with their module as well', async () => {
      const id = unique('s');
      const { results } = await site.bulk({
        sessions: [site.item(id)],
        responses: [
          response(id, own),
          response(id, 'n_back', { moduleId: battery.modules[1]!.id }),
          response(id, unique('never')),
        ],
      });
      expect(results.map(({ status, code }) => code ?? status)).to.deep.equal([
        'created',
        'created',
        'created',
        'UNKNOWN_TASK',
      ]);
    });

    it('are taken for a visit that has another battery by now', async () => {
      const visit = await site.visit({ battery_id: battery.id }, [-3, 3]);
      const other = await publish(await site.battery([{ task: 'stroop' }]));
      await site.http.expect(200, 'PATCH', `/api/visits/${String(visit.id)}`, { battery_id: other.id });
      const id = unique('s');
      const { results } = await site.bulk({
        sessions: [site.item(id, { visitId: visit.id })],
        responses: [response(id, own)],
      });
      expect(results[1], JSON.stringify(results)).to.include({ status: 'created' });
    });
  });
});
