import { expect } from 'chai';
import { consoleRoutes } from '../../api/console/console.routes.js';
import { largestBody } from '../../api/http/body/limit.js';
import { requestBody } from '../../api/http/route.js';
import type { Route } from '../../api/http/route.js';
import { Visitor, tokenIn } from '../console/stage.js';
import { goodPassword, newStudy, user } from '../support/http.js';
import type { Loose } from '../support/http.js';
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
  let watched: WatchedApi | undefined, reader: Visitor, researcher: Visitor, study: Loose;
  before(async function () {
    watched = await WatchedApi.start();
    if (!watched) return this.skip();
    const { admin, api } = watched;
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
          ms = Math.min(ms, usualMs(watched!.usedMs() - before));
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
});
