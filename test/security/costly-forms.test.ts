import { expect } from 'chai';
import { consoleRoutes } from '../../api/console/console.routes.js';
import { largestBody } from '../../api/http/body/limit.js';
import { requestBody } from '../../api/http/route.js';
import type { Route } from '../../api/http/route.js';
import { Site } from '../assessment/stage.js';
import { Visitor, tokenIn } from '../console/stage.js';
import { goodPassword, newStudy, user } from '../support/http.js';
import type { Http, Loose } from '../support/http.js';
import { usualMs } from '../support/processor-speed.js';
import { MOST_MS, WatchedApi } from './costly/watched-api.js';

const TRIES = 4;
const FORM = 'application/x-www-form-urlencoded';
/** Forms as nobody fills them in. */
const FORMS: Record<string, (bytes: number) => string> = {
  fields: (bytes) => 'a=1&'.repeat(bytes / 4),
  'plus signs': (bytes) => `a=${'+'.repeat(bytes - 2)}`,
  escapes: (bytes) => `a=${'%41'.repeat((bytes - 2) / 3)}`,
  'broken escapes': (bytes) => `a=${'%4'.repeat((bytes - 2) / 2)}`,
};

describe('No form of the console keeps the API from the others', function () {
  this.timeout(300_000);
  let watched: WatchedApi | undefined, admin: Http, reader: Visitor, researcher: Visitor, study: Loose;
  before(async function () {
    watched = await WatchedApi.start();
    if (!watched) return this.skip();
    const { api } = watched;
    ({ admin } = watched);
    study = await newStudy(admin);
    const visitor = async (role: 'data_manager' | 'researcher') => {
      const { email } = await user(admin, role, { study_ids: [study.id] });
      const made = new Visitor(api.url);
      await made.login(email, goodPassword);
      return made;
    };
    [reader, researcher] = [await visitor('data_manager'), await visitor('researcher')];
  });
  after(() => watched?.stop());

  const limits = { MAX_BODY_BYTES: 5 * 1024 * 1024, MAX_UPLOAD_BYTES: 20 * 1024 * 1024 };
  const forms = consoleRoutes.filter((route) => route.method === 'POST' && requestBody(route)?.kind === 'bytes');
  const pathOf = (path: string) =>
    path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
      name === 'study_id' ? study.id : '00000000-0000-4000-8000-000000000000',
    );

  /** @param bytes how long a form may be; by default as long as its route takes it */
  async function dear(by: Visitor, routes: readonly Route[], bytes?: number): Promise<string[]> {
    const found: string[] = [];
    const token = tokenIn((await by.get('/console/login')).text) || tokenIn((await by.get('/console/inbox')).text);
    const cookie = [...by.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const around = `_token=${token}&_back=%2Fconsole%2Finbox&`;
    for (const route of routes)
      for (const [what, form] of Object.entries(FORMS)) {
        const body = `${around}${form((bytes ?? largestBody(route, limits)) - around.length)}`;
        let ms = Infinity,
          status = 0;
        for (let i = 0; i < TRIES && ms > MOST_MS; i += 1) {
          const before = watched!.usedMs();
          const answer = await fetch(`${by.base}${pathOf(route.path)}`, {
            method: 'POST',
            redirect: 'manual',
            headers: { 'content-type': FORM, cookie },
            body,
          });
          await answer.arrayBuffer();
          ({ status } = answer);
          const used = watched!.usedMs() - before;
          // A slow processor takes longer, never shorter: what is below needs no comparison.
          ms = Math.min(ms, used <= MOST_MS ? used : usualMs(used));
        }
        if (process.env.SHOW_COSTS) console.log(ms.toFixed(1), status, route.path, what);
        if (ms > MOST_MS || status >= 500) found.push(`${route.path}, ${what}: ${ms} ms, ${status}`);
      }
    return found;
  }

  it('by who reads only', async () => {
    expect(forms.length).to.be.greaterThan(30);
    const some = ['/console/participants', '/console/preferences', '/console/inbox/pushes/{session_id}'];
    const routes = forms.filter(({ path }) => some.includes(path));
    expect(routes.length).to.equal(some.length);
    expect(await dear(reader, routes)).to.deep.equal([]);
  });

  it('by who may change a study', async () => {
    const routes = forms.filter(({ path }) => path.includes('{study_id}'));
    expect(await dear(researcher, routes)).to.deep.equal([]);
  });

  it('by anybody', async () => {
    const some = ['/console/login', '/console/forgot', '/console/participants', '/console/studies/{study_id}/policy'];
    const routes = forms.filter(({ path }) => some.includes(path));
    expect(await dear(new Visitor(watched!.api.url), routes, 64 * 1024)).to.deep.equal([]);
  });

  describe('A study’s own schema of custom tasks keeps nobody from being answered', () => {
    /** What a module of these settings is answered in a study of this schema, and the longest turn meanwhile. */
    async function asked(schema: object, settings: object) {
      const site = await Site.open({ config: { custom_task_schema: schema } });
      const { id } = await site.battery([]);
      let answer = { status: 0, code: '' };
      const ms = await watched!.longest(async () => {
        const { status, body } = await admin.post(`/api/batteries/${id}/modules`, { task: 'custom', settings });
        answer = { status, code: body.code };
      });
      expect(ms).to.be.below(MOST_MS);
      return answer;
    }
    const invalid = { status: 400, code: 'CUSTOM_SCHEMA_INVALID' };

    it('that refers to itself without end, or to the same again and again', async () => {
      expect(await asked({ allOf: [{ $ref: '#' }] }, { url: 'x' })).to.deep.equal(invalid);
      const twice = (i: number) => ({ allOf: [{ $ref: `#/$defs/a${i + 1}` }, { $ref: `#/$defs/a${i + 1}` }] });
      const $defs = Object.fromEntries(Array.from({ length: 41 }, (_, i) => [`a${i}`, i < 40 ? twice(i) : {}]));
      expect(await asked({ $ref: '#/$defs/a0', $defs }, { url: 'x' })).to.deep.equal(invalid);
    });

    it('that is long, or compares each item with each other one', async () => {
      const properties = Object.fromEntries(Array.from({ length: 1_200 }, (_, i) => [`p${i}`, { maxLength: i }]));
      expect((await asked({ type: 'object', properties }, { p3: 'x' })).status).to.equal(201);
      const items = Array.from({ length: 6_000 }, (_, i) => ({ a: i }));
      const settings = { items: items.slice(0, 4_000) };
      expect((await asked({ properties: { items: { uniqueItems: true } } }, settings)).status).to.be.oneOf([201, 400]);
      expect(await asked({ properties: { items: { uniqueItems: true } } }, { items })).to.deep.equal({
        status: 422,
        code: 'VALIDATION_FAILED',
      });
    });
  });
});
