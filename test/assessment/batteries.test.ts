import { createHash } from 'node:crypto';
import { expect } from 'chai';
import { canonicalJson } from '../../db/audit/canonical-json.js';
import { openDatabase } from '../../db/client/knex.js';
import { Http, newStudy, unique, user } from '../support/http.js';
import type { Loose } from '../support/http.js';
import { enterPortal } from '../support/portal.js';
import { service } from '../support/service.js';
import { Site } from './stage.js';

interface ModuleView {
  id: string;
  position: number;
  task: string;
  name: string;
  settings: Record<string, unknown>;
  required: boolean;
  estimated_minutes: number;
}
type BatteryView = Omit<Loose, 'id'> & { id: number; modules: ModuleView[]; published_version: number | null };

describe('Batteries', () => {
  let site: Site;
  before(async () => {
    site = await Site.open();
  });
  const create = async (modules?: object[], fields?: Record<string, unknown>) =>
    (await site.battery(modules, fields)) as unknown as BatteryView;
  const patch = (id: number, body: unknown) =>
    site.http.expect<BatteryView>(200, 'PATCH', `/api/batteries/${id}`, body);
  const compile = (id: number, query = '', headers = {}) =>
    site.http.send(`GET`, `/api/batteries/${id}/compile${query}`, undefined, { headers });

  it('have an integer id, are drafts at version 1, and give each module its task’s default settings', async () => {
    const { items } = await site.http.expect<{ items: { task: string; default_settings: object }[] }>(
      200,
      'GET',
      '/api/tasks',
    );
    expect(items.map((t) => t.task)).to.deep.equal([
      'reaction_time',
      'n_back',
      'stroop',
      'flanker',
      'trail_making',
      'digit_span',
      'symbol_search',
      'continuous_performance',
      'custom',
    ]);
    const battery = await create(items.map(({ task }) => ({ task })));
    expect(battery.id).to.be.a('number');
    expect([battery.version, battery.status, battery.published_version]).to.deep.equal([1, 'draft', null]);
    expect(battery.modules.map((m) => m.settings)).to.deep.equal(items.map((t) => t.default_settings));
    expect(battery.modules.map((m) => m.position)).to.deep.equal([1, 2, 3, 4, 5, 6, 7, 8, 9]);
  });

  it('take their modules in the order of the positions, and are published at once where that is said', async () => {
    for (const [given, order] of [
      [
        [
          ['stroop', 2],
          ['n_back', 1],
        ],
        ['n_back', 'stroop'],
      ],
      [
        [['stroop', 2], ['n_back']],
        ['n_back', 'stroop'],
      ],
      [
        [['stroop'], ['n_back', 1], ['flanker']],
        ['n_back', 'stroop', 'flanker'],
      ],
      [
        [
          ['stroop', 5],
          ['n_back', 5],
          ['flanker', 1],
        ],
        ['flanker', 'stroop', 'n_back'],
      ],
    ] as [[string, number?][], string[]][]) {
      const modules = given.map(([task, position]) => ({ task, ...(position && { position }) }));
      const battery = await create(modules, { status: 'published' });
      expect([battery.status, battery.version, battery.published_version]).to.deep.equal(['published', 1, 1]);
      expect(battery.modules.map((m) => [m.task, m.position])).to.deep.equal(order.map((task, i) => [task, i + 1]));
      expect(
        (await patch((await create([], { status: 'draft' })).id, { modules })).modules.map((m) => m.task),
      ).to.deep.equal(order);
      expect((await compile(battery.id, '?version=1&language=de_AT')).body).to.deep.include({ language: 'de_AT' });
    }
    const retired = await site.http.post('/api/batteries', {
      study_id: site.study.id,
      code: unique('B'),
      name: 'x',
      status: 'retired',
    });
    expect([retired.status, retired.body.errors[0]?.path]).to.deep.equal([422, 'status']);
  });

  it('a code is unique in its study, and free in another', async () => {
    const { code } = await create();
    const again = await site.http.post('/api/batteries', { study_id: site.study.id, code, name: 'x' });
    expect([again.status, again.body.code]).to.deep.equal([409, 'BATTERY_CODE_TAKEN']);
    const other = await newStudy(site.http);
    expect((await site.http.post('/api/batteries', { study_id: other.id, code, name: 'x' })).status).to.equal(201);
  });

  for (const [title, module, field] of [
    ['a setting of another type', { task: 'n_back', settings: { n: 'two' } }, 'module.0.settings.n'],
    [
      'a setting out of range',
      { task: 'stroop', settings: { congruent_ratio: 1.5 } },
      'module.0.settings.congruent_ratio',
    ],
    ['an unknown task', { task: 'telepathy' }, 'task'],
    [
      'texts that are not by language',
      { task: 'stroop', settings: { instructions: 'Press' } },
      'module.0.settings.instructions',
    ],
  ] as const) {
    it(`refuses ${title} by its field`, async () => {
      const { id } = await create();
      const answer = await site.http.post(`/api/batteries/${id}/modules`, module);
      expect(answer.status).to.equal(422);
      expect(answer.body.errors.map((e) => e.path)).to.include(field);
    });
  }

  it('take modules that several add at once, one after the other', async () => {
    for (const status of ['draft', 'published'] as const) {
      const battery = await create([{ task: 'stroop' }]);
      if (status === 'published') await patch(battery.id, { status });
      const added = await Promise.all(
        Array.from({ length: 6 }, () => site.http.post(`/api/batteries/${battery.id}/modules`, { task: 'flanker' })),
      );
      expect(
        added.map((answer) => answer.status),
        status,
      ).to.deep.equal([201, 201, 201, 201, 201, 201]);
      const { modules } = await site.http.expect<{ modules: { position: number }[] }>(
        200,
        'GET',
        `/api/batteries/${battery.id}`,
      );
      expect(modules.map(({ position }) => position)).to.deep.equal([1, 2, 3, 4, 5, 6, 7]);
    }
  });

  it('hold custom settings against the study’s own schema', async () => {
    const own = await Site.open({
      config: { custom_task_schema: { type: 'object', required: ['url'], properties: { url: { type: 'string' } } } },
    });
    const battery = await own.battery([]);
    expect(
      (await own.http.post(`/api/batteries/${battery.id}/modules`, { task: 'custom', settings: {} })).status,
    ).to.equal(422);
    expect(
      (await own.http.post(`/api/batteries/${battery.id}/modules`, { task: 'custom', settings: { url: 'maze' } }))
        .status,
    ).to.equal(201);
    await own.http.expect(200, 'PATCH', `/api/studies/${own.study.id}`, {
      config: { custom_task_schema: { type: 'nothing' } },
    });
    expect(
      (await own.http.post(`/api/batteries/${battery.id}/modules`, { task: 'custom', settings: { url: 'x' } })).body
        .code,
    ).to.equal('CUSTOM_SCHEMA_INVALID');
  });

  it('an edit of a published version makes the next draft under the same id; the published one never changes', async () => {
    const battery = await create([{ task: 'stroop' }, { task: 'flanker' }]);
    await patch(battery.id, { status: 'published' });
    const before = (await compile(battery.id)).text;
    const edited = await patch(battery.id, { name: 'Renamed' });
    expect([edited.id, edited.version, edited.status, edited.published_version]).to.deep.equal([
      battery.id,
      2,
      'draft',
      1,
    ]);
    expect(
      edited.modules.map((m) => m.id),
      'modules keep their ids',
    ).to.deep.equal(battery.modules.map((m) => m.id));
    await site.http.expect(201, 'POST', `/api/batteries/${battery.id}/modules`, { task: 'n_back', position: 1 });
    expect((await compile(battery.id)).text, 'clients get the published one until the next is').to.equal(before);
    expect((await compile(battery.id, '?version=2')).body.modules).to.have.length(3);
    const published = await patch(battery.id, { status: 'published' });
    expect([published.version, published.status, published.published_version]).to.deep.equal([2, 'published', 2]);
    expect((await compile(battery.id)).body).to.include({ version: 2, estimated_minutes: 16 });
    expect((await compile(battery.id, '?version=1')).text).to.equal(before);
    expect((await compile(battery.id, '?version=3')).status).to.equal(404);
    const versions = await site.http.expect<{ items: { version: number; status: string; name: string }[] }>(
      200,
      'GET',
      `/api/batteries/${battery.id}/versions`,
    );
    expect(versions.items.map((v) => [v.version, v.status, v.name])).to.deep.equal([
      [2, 'published', 'Renamed'],
      [1, 'published', 'A battery'],
    ]);
  });

  it('a published version is guarded by the database itself', async () => {
    const battery = await create();
    await patch(battery.id, { status: 'published' });
    const database = openDatabase({
      url: (await service()).database_url,
      name: 'battery-test',
      asOwner: true,
      poolMax: 1,
    });
    try {
      for (const statement of [
        "update battery_modules set name = 'x' where battery_id = ?",
        'delete from battery_modules where battery_id = ?',
        'delete from battery_versions where battery_id = ?',
      ]) {
        const fault = await database.raw(statement, [battery.id]).then(
          () => 'done',
          (thrown: Error) => thrown.message,
        );
        expect(fault).to.include('is published');
      }
    } finally {
      await database.destroy();
    }
  });

  it('reorders modules: all of them, each once', async () => {
    const battery = await create([{ task: 'stroop' }, { task: 'flanker' }, { task: 'n_back' }]);
    const ids = battery.modules.map((m) => m.id);
    const put = (module_ids: string[]) =>
      site.http.send<BatteryView>('PUT', `/api/batteries/${battery.id}/modules`, { module_ids });
    expect((await put([ids[2]!, ids[0]!, ids[1]!])).body.modules.map((m) => m.task)).to.deep.equal([
      'n_back',
      'stroop',
      'flanker',
    ]);
    for (const bad of [
      [ids[0]!],
      [ids[0]!, ids[0]!, ids[1]!],
      [...ids.slice(1), '00000000-0000-4000-8000-000000000000'],
      [],
    ])
      expect((await put(bad)).status).to.equal(400);
  });

  it('changes and takes out modules; settings are merged, positions close up', async () => {
    const battery = await create([{ task: 'stroop', settings: { trials: 30 } }, { task: 'flanker' }]);
    const [stroop, flanker] = battery.modules;
    const changed = await site.http.expect<ModuleView>(
      200,
      'PATCH',
      `/api/batteries/${battery.id}/modules/${stroop!.id}`,
      { name: 'Colours', settings: { timeout_ms: 500 } },
    );
    expect(changed.settings).to.include({ trials: 30, timeout_ms: 500 });
    await site.http.expect(204, 'DELETE', `/api/batteries/${battery.id}/modules/${stroop!.id}`);
    const after = await site.http.expect<BatteryView>(200, 'GET', `/api/batteries/${battery.id}`);
    expect(after.modules.map((m) => [m.id, m.position])).to.deep.equal([[flanker!.id, 1]]);
  });

  it('what is there already is no edit: no draft is made, and modules keep their ids', async () => {
    const settings = { trials: 30, timeout_ms: 500 };
    const battery = await create([{ task: 'stroop', name: 'Colours', settings }, { task: 'flanker' }]);
    const published = await patch(battery.id, { status: 'published' });
    const [stroop, flanker] = published.modules;
    const module = `/api/batteries/${battery.id}/modules/${stroop!.id}`;
    for (const same of [{ name: 'Colours', required: true }, { settings: { timeout_ms: 500, trials: 30 } }, {}])
      expect(await site.http.expect<ModuleView>(200, 'PATCH', module, same), JSON.stringify(same)).to.deep.include({
        id: stroop!.id,
        version: 1,
      });
    const modules = published.modules.map(({ task, name, settings: own }) => ({ task, name, settings: own }));
    expect(await patch(battery.id, { name: published.name, modules })).to.deep.equal(published);
    const renamed = await patch(battery.id, { name: 'Renamed', modules });
    expect([renamed.version, renamed.status, renamed.modules.map(({ id }) => id)]).to.deep.equal([
      2,
      'draft',
      [stroop!.id, flanker!.id],
    ]);
    const changed = await site.http.expect<ModuleView>(200, 'PATCH', module, { name: 'Colours', required: false });
    expect(changed).to.include({ required: false, version: 2 });
    expect((await patch(battery.id, { modules: modules.slice(1) })).modules).to.have.length(1);
  });

  it('retires: no edit any more, and what was published is still compiled; it may come back', async () => {
    const battery = await create();
    await patch(battery.id, { status: 'published' });
    await patch(battery.id, { status: 'retired' });
    expect((await site.http.patch(`/api/batteries/${battery.id}`, { name: 'x' })).body.code).to.equal(
      'BATTERY_RETIRED',
    );
    expect((await compile(battery.id)).status).to.equal(200);
    expect(await patch(battery.id, { status: 'published' })).to.include({ version: 1, status: 'published' });
  });

  it('copies into another study as a draft', async () => {
    const battery = await create([{ task: 'n_back', settings: { n: 3 } }]);
    const other = await newStudy(site.http);
    const copy = await site.http.expect<BatteryView>(201, 'POST', `/api/batteries/${battery.id}/duplicate`, {
      study_id: other.id,
    });
    expect([copy.study_id, copy.code, copy.status, copy.version]).to.deep.equal([other.id, battery.code, 'draft', 1]);
    expect(copy.modules[0]!.settings).to.deep.equal(battery.modules[0]!.settings);
    expect(copy.modules[0]!.id).not.to.equal(battery.modules[0]!.id);
  });

  it('is deleted only while nothing names it', async () => {
    const battery = await create();
    await patch(battery.id, { status: 'published' });
    const window = await site.http.expect(201, 'POST', '/api/schedules/windows', {
      study_id: site.study.id,
      code: unique('W'),
      name: 'w',
      target_day: 1,
      battery_id: battery.id,
    });
    expect((await site.http.delete(`/api/batteries/${battery.id}`)).body.code).to.equal('BATTERY_IN_USE');
    await site.http.expect(204, 'DELETE', `/api/schedules/windows/${window.id}`);
    await site.http.expect(204, 'DELETE', `/api/batteries/${battery.id}`);
    expect((await site.http.get(`/api/batteries/${battery.id}`)).status).to.equal(404);
  });

  it('compiles to the same bytes, checksum included, and answers 304 to who has them', async () => {
    const battery = await create([
      { task: 'stroop', settings: { instructions: { en: 'Press', de: 'Drücken', 'pt-BR': 'Aperte' } } },
      { task: 'flanker', estimated_minutes: 2.25 },
    ]);
    await patch(battery.id, { status: 'published' });
    const [one, two] = [await compile(battery.id), await compile(battery.id)];
    expect(one.text).to.equal(two.text);
    const { checksum, ...content } = one.body;
    expect(checksum).to.equal(createHash('sha256').update(canonicalJson(content)).digest('hex'));
    expect(one.headers.get('etag')).to.equal(`"${checksum}"`);
    expect((await compile(battery.id, '', { 'If-None-Match': one.headers.get('etag')! })).status).to.equal(304);
    expect(content).to.include({ language: 'en', estimated_minutes: 7.25, version: 1 });
    const instructions = async (language: string) =>
      ((await compile(battery.id, `?language=${language}`)).body.modules as ModuleView[])[0]!.settings.instructions;
    expect(await Promise.all(['de', 'de-CH', 'pt-BR', 'fr', 'en'].map(instructions))).to.deep.equal([
      'Drücken',
      'Drücken',
      'Aperte',
      'Press',
      'Press',
    ]);
  });

  it('that are compiled and kept are given at once no more to who loses the right to them', async () => {
    const battery = await create([{ task: 'stroop' }]);
    await patch(battery.id, { status: 'published' });
    const path = `/api/batteries/${battery.id}/compile`;
    const coordinator = await user(site.http, 'coordinator', { study_ids: [site.study.id] });
    const {
      items: [account],
    } = await site.http.expect(200, 'GET', `/api/users?search=${encodeURIComponent(coordinator.email)}`);
    const person = await site.newParticipant();
    const participant = await enterPortal(site.http, person.id);
    for (const caller of [coordinator, coordinator, participant, participant])
      expect((await caller.get(path)).status).to.equal(200);
    const crowd = await Promise.all(
      Array.from({ length: 40 }, (_, i) =>
        [coordinator, participant, site.http, new Http(site.http.base)][i % 4]!.get(path),
      ),
    );
    expect(
      crowd.map(({ status }) => status),
      'of a crowd each has an answer of its own',
    ).to.deep.equal(Array.from({ length: 10 }, () => [200, 200, 200, 401]).flat());

    await site.http.expect(200, 'PATCH', `/api/users/${account!.id}`, { study_ids: [(await newStudy(site.http)).id] });
    expect((await coordinator.get(path)).status).to.equal(404);
    await site.http.expect(200, 'PATCH', `/api/users/${account!.id}`, { study_ids: [site.study.id] });
    expect((await coordinator.get(path)).status).to.equal(200);
    expect((await coordinator.get(`${path}?study_id=${(await newStudy(site.http)).id}`)).status).to.equal(404);
    expect((await coordinator.get(`${path}?version=x`)).status).to.equal(422);
    await site.http.expect(200, 'PATCH', `/api/users/${account!.id}`, { status: 'inactive' });
    expect((await coordinator.get(path)).status).to.equal(401);
    await site.http.expect(200, 'POST', `/api/participants/${person.id}/withdraw`, { reason: 'x' });
    expect((await participant.get(path)).status).to.equal(403);
  });

  it('are of their study: another study’s is not there', async () => {
    const battery = await create();
    const stranger = await user(site.http, 'researcher', { study_ids: [(await newStudy(site.http)).id] });
    for (const path of ['', '/compile', '/versions'])
      expect((await stranger.get(`/api/batteries/${battery.id}${path}`)).status).to.equal(404);
    expect((await stranger.patch(`/api/batteries/${battery.id}`, { name: 'x' })).status).to.equal(404);
    expect((await stranger.get('/api/batteries')).body.items).to.deep.equal([]);
    for (const path of ['seven', '0', '99999999999', '1.5'])
      expect((await site.http.get(`/api/batteries/${path}`)).status, path).to.equal(404);
  });
});
