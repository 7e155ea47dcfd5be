import { expect } from 'chai';
import { generateSync } from 'otplib';
import { goodPassword, login, newStudy, unique, user } from '../support/http.js';
import { Stage } from '../anchor/stage.js';
import { ConsoleBrowser, axe, fill, openConsole, submit, textOf, valueOf } from './browser.js';
import { Visitor, hiddenIn, tokenIn } from './stage.js';

describe('the console’s pages of users', function () {
  this.timeout(180_000);
  let stage: Stage;
  let browser: ConsoleBrowser;
  let email: string;
  before(async () => {
    stage = await Stage.open();
    browser = await ConsoleBrowser.start();
    ({ email } = await user(stage.admin, 'admin'));
  });
  after(async () => {
    await browser?.close();
    await stage.close();
  });

  const asAdmin = async (): Promise<Visitor> => {
    return Visitor.of(stage.run.api, email);
  };
  const shown = async (id: string) => {
    const { body } = await stage.admin.get(`/api/users?search=${encodeURIComponent(id)}`);
    return body.items[0]! as unknown as {
      id: string;
      role: string;
      status: string;
      study_ids: string[];
      site_ids: string[];
    };
  };

  it('invite somebody, with studies and sites, without JavaScript; then change and deactivate', async () => {
    const study = await newStudy(stage.admin);
    const site = await stage.admin.expect(201, 'POST', `/api/studies/${study.id}/sites`, {
      site_code: unique('S').slice(0, 10),
      name: 'A site',
      timezone: 'Europe/Berlin',
    });
    const invited = `${unique('person')}@example.org`;
    const { page, faults } = await openConsole(browser, '/console/users', { javascript: false, as: email });
    await submit(page, 'a[href="/console/users/invite"]');
    await fill(page, { email: invited, name: 'Ada <i>Lovelace</i>' });
    await page.click(`[name=study_ids][value="${study.id}"]`);
    await page.click(`[name=sites][value="${study.id}/${site.id}"]`);
    await submit(page, 'main button.primary');
    expect(await textOf(page, 'main'))
      .to.include('The invitation is on its way.')
      .and.to.include('Ada <i>Lovelace</i>');
    expect(page.url()).not.to.include('example.org');
    const made = await shown(invited);
    expect(made).to.deep.include({ role: 'coordinator', study_ids: [study.id], site_ids: [site.id] });
    // Taking the study away takes its site with it.
    await page.select('[name=role]', 'researcher');
    await page.click(`[name=study_ids][value="${study.id}"]`);
    await submit(page, 'section.card button.primary');
    expect(await textOf(page, 'main')).to.include('Saved.');
    expect(await shown(invited)).to.deep.include({ role: 'researcher', study_ids: [], site_ids: [] });
    await submit(page, 'button.danger[value=inactive]');
    expect(await shown(invited)).to.deep.include({ status: 'inactive' });
    await submit(page, 'button[value=active]');
    expect(await shown(invited)).to.deep.include({ status: 'active' });
    // The same address again: what was typed is still there.
    await page.goto(`${browser.base}/console/users/invite`);
    await fill(page, { email: invited, name: 'Another' });
    await submit(page, 'main button.primary');
    expect(await textOf(page, '[role=alert]')).to.include('Another user has this email.');
    expect(await valueOf(page, '[name=name]')).to.equal('Another');
    expect(faults).to.deep.equal([]);
  });

  it('find by a part of name or email, which stands in no address', async () => {
    const { email: sought } = await user(stage.admin, 'coordinator');
    const { page } = await openConsole(browser, '/console/users', { as: email });
    await fill(page, { search: sought });
    await submit(page, '[action="/console/users/search"] button');
    expect(await textOf(page, 'main table')).to.include(sought);
    expect(page.url()).not.to.include(sought);
    expect(await axe(page)).to.deep.equal([]);
    for (const selector of ['main tbody a', '.crumbs a', 'a[href="/console/users/invite"]']) {
      await submit(page, selector);
    }
    await page.goto(`${browser.base}/console/users?role=admin&status=`);
    expect(await textOf(page, 'main table')).not.to.include(sought);
  });

  it('reset a second factor and end logins, at once', async () => {
    const someone = await user(stage.admin, 'researcher');
    const made = await someone.expect<{ secret: string }>(200, 'POST', '/api/auth/mfa/setup', {
      password: goodPassword,
    });
    await someone.expect(200, 'POST', '/api/auth/mfa/verify', { code: generateSync({ secret: made.secret }) });
    const { id } = await shown(someone.email);
    const { page } = await openConsole(browser, `/console/users/${id}`, { as: email });
    expect(await textOf(page, 'main')).to.match(/logins? (is|are) open/);
    await submit(page, `[action="/console/users/${id}/mfa-reset"] button`);
    expect(await textOf(page, 'main'))
      .to.include('The second factor is reset')
      .and.to.include('No login is open.');
    expect((await someone.get('/api/auth/me')).status).to.equal(401);
    const { http } = await login(stage.run.api, someone.email, goodPassword);
    await page.reload();
    await submit(page, `[action="/console/users/${id}/logout-all"] button`);
    expect(await textOf(page, 'main')).to.include('All logins have ended.');
    expect((await http.get('/api/auth/me')).status).to.equal(401);
    expect((await stage.admin.get(`/api/users/${id}/sessions`)).body.total).to.equal(0);
  });

  it('refuse what was changed meanwhile, and keep the choice', async () => {
    const someone = await user(stage.admin, 'coordinator');
    const { id } = await shown(someone.email);
    const visitor = await asAdmin();
    const path = `/console/users/${id}`;
    const { text } = await visitor.get(path);
    await stage.admin.expect(200, 'PATCH', `/api/users/${id}`, { role: 'investigator' });
    const refused = await visitor.send('POST', path, {
      _token: tokenIn(text),
      _back: path,
      shown_version: hiddenIn(text, 'shown_version'),
      role: 'data_manager',
    });
    expect(refused.status).to.equal(409);
    expect(refused.text)
      .to.include('Somebody changed this user')
      .and.to.match(/value="data_manager" selected|selected value="data_manager"/);
    expect(await shown(someone.email)).to.deep.include({ role: 'investigator' });
    const forged = await visitor.post(path, path, { role: 'emperor', shown_version: 'x' });
    expect(forged.status).to.equal(422);
  });

  it('are for admins alone', async () => {
    const other = await user(stage.admin, 'researcher');
    const visitor = await Visitor.of(stage.run.api, other.email);
    expect((await visitor.get('/console/inbox')).text).not.to.include('href="/console/users"');
    const { id } = await shown(other.email);
    for (const path of ['/console/users', '/console/users/invite', `/console/users/${id}`])
      expect((await visitor.get(path)).status, path).to.equal(403);
    expect((await other.get(`/api/users/${id}/sessions`)).status).to.equal(403);
  });
});
