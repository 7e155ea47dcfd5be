import { randomBytes } from 'node:crypto';
import { h } from 'preact';
import { expect } from 'chai';
import { pino } from 'pino';
import { openDatabase } from '../../db/client/knex.js';
import { consoleRoutes } from '../../api/console/console.routes.js';
import { entryOf } from '../../api/console/navigation.js';
import { anyone } from '../../api/http/access.js';
import { problem } from '../../api/http/errors.js';
import { rateLimits } from '../../api/http/rate-limits.js';
import { listen } from '../../api/server.js';
import type { Dependencies } from '../../api/dependencies.js';
import { RequestMetrics } from '../../api/operations/metrics/requests.js';
import { Type } from '../../api/http/common.schemas.js';
import { consoleForm, consolePage } from '../../api/console/routing/page.js';
import { Form, RefusalNotice } from '../../api/console/html/form.js';
import { readSettings } from '../../settings.js';
import { apiEnvironment } from '../support/api-process.js';
import { admin, goodPassword, newStudy, user } from '../support/http.js';
import { service } from '../support/service.js';
import { Visitor, tokenIn } from './stage.js';

const PATH = '/console/upload';
/** A page with a form that takes a file, and says what it got. */
const uploading = [
  consolePage({
    path: PATH,
    summary: 'Show a form with a file',
    access: anyone,
    view: () => ({ title: 'Upload', content: h(Form, { action: PATH, upload: true }) }),
  }),
  consoleForm({
    path: PATH,
    summary: 'Take a file',
    access: anyone,
    upload: true,
    fields: Type.Object({ note: Type.String() }),
    submit: ({ raw, form }) => {
      if (form.get('note') === 'refuse') throw problem('FILE_UNREADABLE');
      if (form.get('note') === 'unknown') throw problem('SUBSCRIPTION_DISABLED');
      return { title: 'Taken', content: `${raw.toString('utf8')} with ${form.get('note')}` };
    },
    again: ({ form, fault }) => ({
      title: 'Upload',
      content: [h(RefusalNotice, { fault }), h('p', {}, `typed: ${form.get('note')}`)],
    }),
  }),
];

describe('the frame of the console', function () {
  this.timeout(120_000);
  let base: string;
  before(async () => {
    base = (await service()).api;
  });

  it('answers a method that a page does not have by a page', async () => {
    const { email } = await user(await admin(), 'coordinator');
    const visitor = await Visitor.of(base, email);
    for (const [method, path] of [
      ['DELETE', '/console/inbox'],
      ['PUT', '/console/login'],
      ['POST', '/console/inbox'],
      ['PATCH', '/console/counts'],
      ['POST', '/console/no/such/page'],
    ] as const) {
      const { status, text, headers } = await visitor.send(method, path);
      expect(status, path).to.equal(405);
      expect(headers.get('content-type'), path).to.include('text/html');
      expect(headers.get('allow'), path).to.include('OPTIONS');
      expect(text, path).to.include('Not possible here');
    }
    const deep = await visitor.get('/console/a/b/c/d/e');
    expect(deep.status).to.equal(404);
    expect(deep.text).to.include('Not found');
  });

  it('has its menu where there is no page, or no such method of it, for who is logged in alone', async () => {
    const root = await admin();
    const { email, userId } = await user(root, 'coordinator');
    const visitor = await Visitor.of(base, email);
    const refusals = [
      ['GET', '/console/no-such-page', 404],
      ['GET', '/console/studies/no/such/page', 404],
      // As deep as the deepest page.
      ['GET', '/console/studies/a/batteries/b/modules/c/moved', 404],
      ['PUT', '/console/inbox', 405],
    ] as const;
    const entries = async (who: Visitor, [method, path, status]: (typeof refusals)[number]) => {
      const page = await who.send(method, path);
      expect(page.status, path).to.equal(status);
      expect(page.headers.get('content-type'), path).to.include('text/html');
      return [...page.text.matchAll(/<a href="(\/console\/[a-z]+)"(?! class)/g)].map(([, href]) => href);
    };
    const menu = ['inbox', 'today', 'participants', 'studies', 'reports'].map((entry) => `/console/${entry}`);
    for (const one of refusals) {
      expect(await entries(visitor, one), one[1])
        .to.include.members(menu)
        .and.not.include('/console/audit');
      for (const entry of menu) expect(await entries(new Visitor(base), one), one[1]).not.to.include(entry);
    }
    // The entry of the menu that such a page would be below, if any.
    const marked = async (path: string) =>
      [...(await visitor.get(path)).text.matchAll(/<a href="([^"]+)" aria-current="page"/g)].map(([, href]) => href);
    expect(await marked('/console/no-such-page')).to.deep.equal([]);
    expect(await marked('/console/studies/no/such/page')).to.deep.equal(['/console/studies']);
    // A login that was ended shows nothing of its user either.
    await root.expect(200, 'PATCH', `/api/users/${userId!}`, { status: 'inactive' });
    const ended = await visitor.get('/console/no-such-page');
    expect(ended.status).to.equal(404);
    expect(ended.text).not.to.include('href="/console/today"').and.not.to.include(email);
  });

  it('marks the entry of the menu that a page belongs to, on every page', async () => {
    const pages = consoleRoutes
      .filter(({ method, access }) => method === 'GET' && access.token)
      .map(({ path }) => path);
    // Parts and files: nobody sees them as a page.
    const none = ['/console', '/console/', '/console/counts', '/console/stay'];
    expect(pages.filter((path) => !entryOf(path) && !none.includes(path))).to.deep.equal([]);
    for (const [page, entry] of [
      ['/console/studies/{study_id}/enroll', '/console/participants'],
      ['/console/studies/{study_id}/import', '/console/participants'],
      ['/console/studies/{study_id}/imports/{import_id}', '/console/participants'],
      ['/console/approvals/{request_id}', '/console/inbox'],
      ['/console/visits/{visit_id}', '/console/today'],
      ['/console/capture/{study_id}/mapping', '/console/studies'],
      ['/console/studies/{study_id}/policy', '/console/studies'],
    ] as const)
      expect(entryOf(page)?.path, page).to.equal(entry);
    const visitor = new Visitor(base);
    const asker = await admin();
    const study_ids = [(await newStudy(asker)).id];
    await visitor.login((await user(asker, 'coordinator', { study_ids })).email, goodPassword);
    const { text } = await visitor.get(`/console/studies/${study_ids[0]}/enroll`);
    expect([...text.matchAll(/<a href="([^"]+)" aria-current="page"/g)].map(([, href]) => href)).to.deep.equal([
      '/console/participants',
    ]);
  });

  it('has its menu on the page of a refusal, whatever refuses it', async () => {
    const root = await admin();
    const [own, foreign] = [await newStudy(root), await newStudy(root)];
    const { email } = await user(root, 'coordinator', { study_ids: [own.id] });
    const visitor = await Visitor.of(base, email);
    for (const [path, status] of [
      ['/console/users', 403],
      [`/console/studies/${foreign.id}`, 404],
    ] as const) {
      const page = await visitor.get(path);
      expect(page.status, path).to.equal(status);
      for (const entry of ['inbox', 'today', 'participants', 'studies'])
        expect(page.text, path).to.include(`href="/console/${entry}"`);
      expect(page.text, path).not.to.include('href="/console/audit"');
    }
  });

  it('has form tokens that no two pages share, and takes each of them', async () => {
    const { email } = await user(await admin(), 'coordinator');
    const visitor = await Visitor.of(base, email);
    const tokens: string[] = [];
    for (let n = 0; n < 4; n += 1) tokens.push(tokenIn((await visitor.get('/console/inbox')).text));
    expect(new Set(tokens).size).to.equal(tokens.length);
    // No place of the text is the same in all of them: compressing a page tells nothing of the secret.
    const bytes = tokens.map((token) => Buffer.from(token, 'base64url'));
    const alike = bytes[0]!.filter((byte, at) => bytes.every((one) => one[at] === byte)).length;
    expect(alike).to.be.lessThan(4);
    for (const token of tokens)
      expect((await visitor.send('POST', '/console/preferences', { _token: token, theme: 'dark' })).status).to.equal(
        303,
      );
    for (const forged of [
      randomBytes(64).toString('base64url'),
      Buffer.alloc(64).toString('base64url'),
      tokens[0]!.slice(0, 43),
      `${tokens[0]}AAAA`,
    ])
      expect((await visitor.send('POST', '/console/preferences', { _token: forged })).status).to.equal(403);
  });

  it('takes a form with a file, checks its token and fields, and draws it again with what was typed', async () => {
    const settings = readSettings({ ...(await apiEnvironment()), PORT: 'auto' });
    const database = openDatabase({ url: (await service()).database_url, name: 'upload-form', poolMax: 2 });
    const services = {
      settings,
      database,
      rateLimits: rateLimits(settings, database, undefined),
      metrics: new RequestMetrics(),
      draining: new AbortController().signal,
      log: pino({ level: 'silent' }),
    } as unknown as Dependencies;
    const { url, drain } = await listen(services, uploading);
    try {
      const page = await fetch(`${url}${PATH}`);
      const html = await page.text();
      expect(html).to.include('multipart/form-data');
      const cookie = page.headers.getSetCookie()[0]!.split(';')[0]!;
      const send = async (fields: Record<string, string>, headers: Record<string, string> = { cookie }) => {
        const form = new FormData();
        for (const [name, value] of Object.entries(fields)) form.set(name, value);
        form.set('file', new Blob(['a,b\n1,2']), 'rows.csv');
        const answer = await fetch(`${url}${PATH}`, { method: 'POST', body: form, headers });
        return { status: answer.status, text: await answer.text() };
      };
      const token = tokenIn(html);
      expect((await send({ _token: token, note: 'a note' })).text).to.include('a,b\n1,2 with a note');
      expect((await send({ note: 'a note' })).status).to.equal(403);
      expect((await send({ _token: token, note: 'a note' }, {})).status).to.equal(403);
      expect((await send({ _token: token })).status).to.equal(422);
      const refused = await send({ _token: token, note: 'refuse' });
      expect(refused.status).to.equal(400);
      expect(refused.text).to.include('typed: refuse').and.to.include('The file cannot be read.');
      const german = await send({ _token: token, note: 'refuse' }, { cookie, 'accept-language': 'de' });
      expect(german.text).to.include('Die Datei kann nicht gelesen werden.');
      const unknown = await send({ _token: token, note: 'unknown' }, { cookie, 'accept-language': 'de' });
      expect(unknown.text)
        .to.include('Der Dienst hat dies abgelehnt: Subscription disabled.')
        .and.to.include('lang="en"');
    } finally {
      await drain();
      await database.destroy();
    }
  });
});
