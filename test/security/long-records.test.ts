import { expect } from 'chai';
import type { Visitor } from '../console/stage.js';
import { newParticipant, newStudy, unique } from '../support/http.js';
import type { Http, Loose } from '../support/http.js';
import { asMuchAs } from '../support/in-full.js';
import { MOST_MS, WatchedApi } from './costly/watched-api.js';

/** So many of them make a list much longer than a record. */
const CONFIGS = asMuchAs(5, 12),
  POLICIES = asMuchAs(5, 12),
  BATTERIES = asMuchAs(3, 6);

describe('Records of megabytes keep nobody from being answered, alone and in lists', function () {
  this.timeout(300_000);
  let watched: WatchedApi | undefined, admin: Http, visitor: Visitor, study: Loose;
  before(async function () {
    watched = await WatchedApi.start({ STATEMENT_TIMEOUT_SECONDS: '60' });
    if (!watched) return this.skip();
    ({ admin } = watched);
    visitor = await watched.visitor();
    study = await newStudy(admin);
  });
  after(() => watched?.stop());

  const parsed = async (path: string) => (await admin.expect(200, 'GET', path)) as Loose;
  /** What holds the event loop longer, of these requests. */
  async function dear(requests: Record<string, () => Promise<unknown>>): Promise<string[]> {
    const found: string[] = [];
    for (const [what, send] of Object.entries(requests)) {
      if (process.env.SHOW_COSTS) console.log(what);
      const ms = await watched!.longest(send);
      if (ms > MOST_MS) found.push(`${what}: ${ms.toFixed(1)} ms`);
    }
    return found;
  }
  /** What the answer says is not parsed here: the test has one processor with the service. */
  const get = (path: string) => async () => {
    const answer = await fetch(`${admin.base}${path}`, { headers: { Authorization: `Bearer ${admin.token!}` } });
    await answer.arrayBuffer();
    expect(answer.status, path).to.equal(200);
  };
  const change = (method: string, path: string, body: () => object) => async () => {
    const { status, text } = await admin.send(method, path, body());
    expect(status, text.slice(0, 300)).to.be.below(300);
  };
  const page = (path: string) => async () => expect((await visitor.get(path)).status, path).to.equal(200);

  /** Nearly as much as a body may have: texts, and many values. */
  const long = (letters = 4_300_000, values = 30_000) => ({
    text: 'ä"'.repeat(letters / 4),
    values: Object.fromEntries(Array.from({ length: values }, (_, i) => [`k${i}`, i])),
  });

  it('configurations of studies', async () => {
    const word = unique('long');
    const configs = Array.from({ length: CONFIGS }, () => ({ long: long(), notifications: { days_before: [1] } }));
    const made: Loose[] = [];
    for (const [i, config] of configs.entries())
      made.push(await newStudy(admin, { study_code: `${word}-${i}`, study_name: word, config }));
    const [one] = made;
    const list = `/api/studies?search=${word}`;
    expect(
      await dear({
        list: get(list),
        'one of it': get(`/api/studies/${one!.id}`),
        'a small change': change('PATCH', `/api/studies/${one!.id}`, () => ({ description: unique('d') })),
        'a change of the configuration': change('PATCH', `/api/studies/${one!.id}`, () => ({
          config: { a: unique('a') },
        })),
        'the console’s list': page(`/console/studies?search=${word}`),
        'the console’s page': page(`/console/studies/${one!.id}`),
      }),
    ).to.deep.equal([]);
    // A list has what each has alone.
    const { items, total } = await parsed(`${list}&limit=2&sort=study_code`);
    expect(total).to.equal(CONFIGS);
    expect(items.map(({ config }) => (config as unknown as { long: unknown }).long)).to.deep.equal([long(), long()]);
    expect(items[0]!.config).to.deep.equal((await parsed(`/api/studies/${items[0]!.id}`)).config);
  });

  it('a configuration grows by many changes to a limit', async () => {
    const { id } = await newStudy(admin);
    const statuses: number[] = [];
    for (const name of ['a', 'b', 'c'])
      statuses.push((await admin.patch(`/api/studies/${id}`, { config: { [name]: 'x'.repeat(3_000_000) } })).status);
    expect(statuses).to.deep.equal([200, 422, 422]);
    const refused = await admin.patch(`/api/studies/${id}`, { config: { b: 'x'.repeat(3_000_000) } });
    expect(refused.body.errors[0]).to.include({ path: 'config', code: 'MAX_TOTAL' });
    // What is there already may be made smaller.
    expect((await admin.patch(`/api/studies/${id}`, { config: { a: 'x' } })).status).to.equal(200);
  });

  it('policies, of which each version is kept', async () => {
    const { id } = await newStudy(admin);
    const path = `/api/studies/${id}/config/enrollment-policy`;
    const policy = (i: number) => ({
      validation: {
        custom_rules: Array.from({ length: 45 }, (_, n) => ({
          id: `r${n}`,
          name: `rule ${n} of ${i}`,
          expression: `size("${'x'.repeat(3_900)}") > ${n}`,
          error_message: 'ä"'.repeat(490),
          severity: 'error',
        })),
      },
    });
    for (let i = 0; i < POLICIES; i += 1) await admin.expect(200, 'POST', path, policy(i));
    expect(
      await dear({
        versions: get(`${path}/versions`),
        'in force': get(path),
        'a change': change('POST', path, () => policy(Math.random())),
      }),
    ).to.deep.equal([]);
    const { items } = await parsed(`${path}/versions?limit=2`);
    const [newest] = items;
    expect(await parsed(`${path}/versions/${String(newest!.policy_version)}`)).to.deep.equal(newest);
  });

  it('batteries of many long settings, their versions, and templates made of them', async () => {
    const settings = { note: 'x'.repeat(48_000) };
    const word = unique('B');
    const modules = Array.from({ length: 90 }, (_, i) => ({ task: 'custom', name: `m${i}`, settings }));
    const made: Loose[] = [];
    for (let i = 0; i < BATTERIES; i += 1) {
      const body = { study_id: study.id, code: `${word}-${i}`, name: word, modules };
      made.push(await admin.expect<Loose>(201, 'POST', '/api/batteries', body));
    }
    const [one] = made;
    await admin.expect(200, 'PATCH', `/api/batteries/${one!.id}`, { status: 'published' });
    await admin.expect(200, 'PATCH', `/api/batteries/${one!.id}`, { name: 'another' });
    const template = unique('long').toLowerCase();
    // All of them are too much for one template; one of them is not.
    await admin.expect(413, 'POST', `/api/studies/${study.id}/template`, { template_id: template, name: 'too long' });
    const { id: other } = await newStudy(admin);
    await admin.expect(201, 'POST', '/api/batteries', { study_id: other, code: word, name: word, modules });
    await admin.expect(201, 'POST', `/api/studies/${other}/template`, { template_id: template, name: 'long' });
    const console_ = `/console/studies/${study.id}/batteries`;
    expect(
      await dear({
        list: get(`/api/batteries?study_id=${study.id}`),
        'one of it': get(`/api/batteries/${one!.id}`),
        versions: get(`/api/batteries/${one!.id}/versions`),
        compiled: get(`/api/batteries/${one!.id}/compile`),
        'a small change': change('PATCH', `/api/batteries/${one!.id}`, () => ({ description: unique('d') })),
        templates: get('/api/templates?limit=500'),
        categories: get('/api/templates/categories'),
        'a template': get(`/api/templates/${template}`),
        'its preview': get(`/api/templates/${template}/preview`),
        'the console’s list': page(console_),
        'the console’s page': page(`${console_}/${one!.id}`),
      }),
    ).to.deep.equal([]);
    const { items } = await parsed(`/api/batteries?study_id=${study.id}&limit=1`);
    expect(items[0]!.modules).to.deep.equal((await parsed(`/api/batteries/${items[0]!.id}`)).modules);
    const { items: versions } = await parsed(`/api/batteries/${one!.id}/versions`);
    expect(versions.map(({ modules: all }) => (all as unknown as unknown[]).length)).to.deep.equal([90, 90]);
  });

  it('forms of a participant', async () => {
    const { id } = await newParticipant(admin, study.id);
    const of = `/api/studies/${study.id}/participants/${id}`;
    const items = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, i) => [`ITEM_${i}`, 'ä"'.repeat(4_000)]));
    for (let i = 0; i < 4; i += 1)
      await admin.expect(201, 'POST', `${of}/forms`, { form_oid: `F${i}`, status: 'complete', items: items(60) });
    expect(
      await dear({
        list: get(`${of}/forms`),
        'the participant': get(`/api/participants/${id}`),
        timeline: get(`${of}/timeline`),
        'the console’s page': page(`/console/participants/${id}`),
      }),
    ).to.deep.equal([]);
  });

  it('texts of notifications', async () => {
    const text = 'Dear {{participant_code}}, '.repeat(200);
    const kinds = ['visit_reminder', 'visit_missed', 'magic_link'];
    const languages = Object.fromEntries(
      Array.from({ length: 100 }, (_, i) => [
        `${String.fromCharCode(97 + (i % 26))}${String.fromCharCode(97 + Math.floor(i / 26))}`,
        Object.fromEntries(kinds.map((kind) => [kind, { subject: 'A visit', body: text }])),
      ]),
    );
    const { id } = await newStudy(admin);
    const made = await admin.patch(`/api/studies/${id}`, { config: { notifications: { languages } } });
    if (process.env.SHOW_COSTS) console.log(made.status, made.text.slice(0, 300));
    expect(
      await dear({
        study: get(`/api/studies/${id}`),
        'a change': change('PATCH', `/api/studies/${id}`, () => ({ config: { a: unique('a') } })),
        'the console’s settings': page(`/console/studies/${id}/settings`),
      }),
    ).to.deep.equal([]);
  });
});
