import { expect } from 'chai';
import { generateSync } from 'otplib';
import type { Page } from 'puppeteer-core';
import qrcode from 'qrcode-generator';
import { consoleRoutes } from '../../api/console/console.routes.js';
import { Http, admin, goodPassword, login, newStudy, unique, user } from '../support/http.js';
import { startApi } from '../support/api-process.js';
import { service } from '../support/service.js';
import { until } from '../support/until.js';
import { ConsoleBrowser, axe, fill, openConsole, signIn, submit, textOf, valueOf } from './browser.js';
import { Visitor, tokenIn } from './stage.js';

const NOBODY = '00000000-0000-4000-8000-000000000000';

describe('logins of the console', function () {
  this.timeout(240_000);
  let by: Http;
  let base: string;
  before(async () => {
    by = await admin();
    base = (await service()).api;
  });
  const person = () => user(by, 'coordinator');

  it('lead back to pages of the console, and nowhere else', async () => {
    const { email } = await person();
    for (const [next, leads] of [
      ['/console/inbox?skip=0', '/console/inbox?skip=0'],
      ['https://evil.example/console', '/console/inbox'],
      ['//evil.example/console', '/console/inbox'],
      ['/\\evil.example', '/console/inbox'],
      ['/console/../api/studies', '/console/inbox'],
      ['/consolex', '/console/inbox'],
      ['javascript:alert(1)', '/console/inbox'],
    ] as const) {
      const answer = await new Visitor(base).login(email, goodPassword, next);
      expect(answer.headers.get('location'), next).to.equal(leads);
    }
  });

  it('are found from the address alone, by a person', async () => {
    const at = (accept: string) => fetch(`${base}/`, { redirect: 'manual', headers: { accept } });
    const person = await at('text/html,application/xhtml+xml,*/*;q=0.8');
    expect([person.status, person.headers.get('location')]).to.deep.equal([303, '/console']);
    expect((await at('*/*')).status, 'a program has the wrong address').to.equal(404);
  });

  it('answer a wrong password as a page, keep the email, and lock as the API does', async () => {
    const { email } = await person();
    const visitor = new Visitor(base);
    for (let n = 0; n < 5; n += 1) {
      const { status, text } = await visitor.login(email, 'not the password');
      expect(status).to.equal(401);
      expect(text).to.include('Email or password is wrong').and.to.include(email);
    }
    expect((await visitor.login(email, goodPassword)).status).to.equal(401);
  });

  it('take the second factor, once', async () => {
    const someone = await person();
    const made = await someone.expect<{ secret: string; recovery_codes: string[] }>(
      200,
      'POST',
      '/api/auth/mfa/setup',
      {
        password: goodPassword,
      },
    );
    const code = () => generateSync({ secret: made.secret });
    await someone.expect(200, 'POST', '/api/auth/mfa/verify', { code: code() });
    const visitor = new Visitor(base);
    const asked = await visitor.login(someone.email, goodPassword, '/console/inbox');
    expect(asked.status).to.equal(200);
    expect(asked.text).to.include('Second factor');
    expect((await visitor.get('/console/inbox')).status).to.equal(303);
    const send = (given: string) =>
      visitor.send('POST', '/console/login/code', { _token: tokenIn(asked.text), code: given, next: '/console/inbox' });
    const wrong = await send('000000');
    expect(wrong.status).to.equal(401);
    expect(wrong.text).to.include('The code is wrong');
    expect((await send(made.recovery_codes[0]!)).headers.get('location')).to.equal('/console/inbox');
    expect((await visitor.get('/console/inbox')).status).to.equal(200);
  });

  it('are no login of the API, and the API’s token is none of the console', async () => {
    const someone = await person();
    const visitor = await Visitor.of(base, someone.email);
    const cookie = visitor.cookies.get('console_login')!;
    const asLogin: [string, string][] = [
      ['cookie', `console_login=${cookie}`],
      ['authorization', `Bearer ${cookie}`],
    ];
    for (const header of asLogin)
      expect((await fetch(`${base}/api/auth/me`, { headers: [header] })).status, header[0]).to.equal(401);
    const bearer = await fetch(`${base}/console/inbox`, {
      redirect: 'manual',
      headers: { authorization: `Bearer ${someone.token}` },
    });
    expect(bearer.status).to.equal(303);
    const asCookie = await fetch(`${base}/console/inbox`, {
      redirect: 'manual',
      headers: { cookie: `console_login=${someone.token}` },
    });
    expect(asCookie.status).to.equal(303);
  });

  it('have a cookie that scripts and other sites do not get', async () => {
    const { email } = await person();
    const visitor = new Visitor(base);
    const { headers } = await visitor.login(email, goodPassword);
    const line = headers.getSetCookie().find((one) => one.startsWith('console_login='))!;
    expect(line).to.include('HttpOnly').and.to.include('SameSite=Lax').and.to.include('Path=/console');
  });

  it('end at once by logging out, here or everywhere, and by a new password', async () => {
    const someone = await person();
    const enter = async () => {
      const visitor = await Visitor.of(base, someone.email);
      expect((await visitor.get('/console/inbox')).status).to.equal(200);
      return visitor;
    };
    const [one, two] = [await enter(), await enter()];
    const kept = one.cookies.get('console_login')!;
    await one.post('/console/inbox', '/console/logout', {});
    one.cookies.set('console_login', kept);
    expect((await one.get('/console/inbox')).status).to.equal(303);
    expect((await two.get('/console/inbox')).status).to.equal(200);
    const three = await enter();
    await three.post('/console/inbox', '/console/logout', { everywhere: '1' });
    expect((await two.get('/console/inbox')).status).to.equal(303);
    const four = await enter();
    const { http } = await login(base, someone.email, goodPassword);
    await http.send('POST', '/api/auth/password', {
      current_password: goodPassword,
      new_password: 'another blue staple 43',
    });
    expect((await four.get('/console/inbox')).status).to.equal(303);
  });

  it('refuse a form of another page, and give back what was typed after the login has ended', async () => {
    const someone = await person();
    const visitor = await Visitor.of(base, someone.email);
    for (const token of ['', 'forged'])
      expect((await visitor.send('POST', '/console/logout', { _token: token })).status).to.equal(403);
    visitor.cookies.delete('console_login');
    const back = '/console/approvals/00000000-0000-4000-8000-000000000000';
    const ended = await visitor.send('POST', back, { _token: 'x', _back: back, reason: 'long <thoughts>' });
    expect(ended.status).to.equal(401);
    expect(ended.text).to.include('Log in').and.to.include('long &lt;thoughts');
    const resumed = await visitor.send('POST', '/console/login', {
      _token: tokenIn(ended.text),
      email: someone.email,
      password: goodPassword,
      next: back,
      kept: JSON.stringify([['reason', 'long <thoughts>']]),
    });
    expect(resumed.text).to.include('long &lt;thoughts').and.to.include(`href="${back}"`);
  });

  it('are needed by every page that is not the login’s', async () => {
    for (const { method, path, access } of consoleRoutes) {
      if (!access.token) continue;
      expect(access.byConsole, path).to.be.a('string');
      const at = path.replaceAll(/\{\w+\}/g, NOBODY);
      const { status } = await new Visitor(base).send(method, at, method === 'POST' ? { _token: 'x' } : undefined);
      expect(status, `${method} ${path}`).to.be.oneOf([303, 401, 204]);
    }
  });

  it('show what is not there as a page', async () => {
    const { status, text, headers } = await new Visitor(base).get('/console/nothing/here');
    expect(status).to.equal(404);
    expect(headers.get('content-type')).to.include('text/html');
    expect(text).to.include('Not found');
  });

  it('have pages without a fault of accessibility', async () => {
    const browser = await ConsoleBrowser.start();
    try {
      const { page, faults } = await openConsole(browser, '/console/login');
      for (const path of ['/console/login', '/console/forgot', '/console/reset', '/console/accept', '/console/none']) {
        await page.goto(`${browser.base}${path}`);
        expect(await axe(page), path).to.deep.equal([]);
        expect(faults, path).to.deep.equal([]);
      }
      await page.goto(`${browser.base}/console/reset#token=abc`);
      expect(page.url()).not.to.include('abc');
      expect(await valueOf(page, '[name=token]')).to.equal('abc');
    } finally {
      await browser.close();
    }
  });

  it('get their links in the language of their studies, and of the page by which they ask for one', async () => {
    const { mail_ui } = await service();
    const subjects = async (email: string, count: number) =>
      until(
        async () => {
          const mails = (await (await fetch(`${mail_ui}/email?to.address=${encodeURIComponent(email)}`)).json()) as {
            subject: string;
            text: string;
            html: string;
            to: { address: string }[];
          }[];
          const mine = mails.filter(({ to }) => to.some(({ address }) => address === email));
          return mine.length >= count ? mine : undefined;
        },
        { what: 'the mails' },
      );
    const [german, english] = [
      await newStudy(by, { config: { notifications: { default_language: 'de-AT' } } }),
      await newStudy(by),
    ];
    const invited = async (study_ids: unknown[]) => {
      const email = `${unique('invited')}@example.org`;
      await by.expect(201, 'POST', '/api/users/invite', { email, name: 'Invited', role: 'researcher', study_ids });
      return { email, mail: (await subjects(email, 1))[0]! };
    };
    const first = await invited([german.id]);
    expect(first.mail.subject).to.equal('Ihr Konto bei der Research Assessment Platform');
    expect(first.mail.text)
      .to.include('Wählen Sie hier Ihr Passwort')
      .and.to.match(/gilt einmal, \d+ Tage lang/);
    expect(first.mail.html).to.include('lang="de"').and.to.include('>Passwort wählen<');
    for (const study_ids of [[german.id, english.id], []])
      expect((await invited(study_ids)).mail.subject).to.equal('Your account of the Research Assessment Platform');
    const asks = new Visitor(base);
    const { text } = await asks.get('/console/forgot');
    const form = { _token: tokenIn(text), email: first.email };
    await asks.send('POST', '/console/forgot', form, { 'accept-language': 'en' });
    const both = await subjects(first.email, 2);
    expect(both.map(({ subject }) => subject)).to.include('Choose a new password');
    await asks.send('POST', '/console/forgot', form, { 'accept-language': 'de' });
    const all = await subjects(first.email, 3);
    expect(all.map(({ subject }) => subject)).to.include('Neues Passwort wählen');
  });

  it('begin with a mailed link: an invitation, or a new password', async () => {
    const email = `${unique('invited')}@example.org`;
    const study = await newStudy(by);
    await by.expect(201, 'POST', '/api/users/invite', {
      email,
      name: 'Invited',
      role: 'researcher',
      study_ids: [study.id],
    });
    const { mail_ui } = await service();
    const tokenFrom = (page: 'accept' | 'reset') =>
      until(
        async () => {
          const mails = (await (await fetch(`${mail_ui}/email?to.address=${encodeURIComponent(email)}`)).json()) as {
            text: string;
            to: { address: string }[];
          }[];
          const mine = mails.filter(({ to }) => to.some(({ address }) => address === email));
          const link = new RegExp(`${base}/console/${page}#token=([\\w-]+)`);
          return mine.map(({ text }) => link.exec(text)?.[1]).find((token) => token !== undefined);
        },
        { what: `the mail that leads to ${page}` },
      );
    const choose = async (page: 'accept' | 'reset', token: string, password: string, again = password) =>
      new Visitor(base).post(`/console/${page}`, `/console/${page}`, { token, new_password: password, again });
    const invitation = await tokenFrom('accept');
    const differ = await choose('accept', invitation, goodPassword, `${goodPassword}!`);
    expect(differ.status).to.equal(400);
    expect(differ.text).to.include('The two are not the same.');
    expect((await choose('accept', invitation, 'passwordpassword')).status).to.equal(400);
    expect((await choose('accept', invitation, goodPassword)).headers.get('location')).to.equal(
      '/console/login?saved=1',
    );
    expect((await choose('accept', invitation, goodPassword)).text).to.include('The link is invalid');
    expect((await new Visitor(base).post('/console/forgot', '/console/forgot', { email })).text).to.include(
      'the link is on its way',
    );
    const other = 'another blue staple 43';
    expect((await choose('reset', await tokenFrom('reset'), other)).status).to.equal(303);
    expect((await new Visitor(base).login(email, other)).headers.get('location')).to.equal('/console/inbox');
  });

  /** The dark modules of the QR code that the page draws, as `row column`. */
  const drawnModules = async (page: Page): Promise<string[]> => {
    const paths = await page.$$eval('svg.qr-code path', (found) => found.map((path) => path.getAttribute('d')!));
    expect(paths).to.have.length(2);
    return [...paths[1]!.matchAll(/M(\d+) (\d+)h1v1h-1z/g)].map(([, x, y]) => `${Number(y) - 4} ${Number(x) - 4}`);
  };

  /** The same of the address that the page offers to an app. */
  const modulesOfLink = async (page: Page, secret: string): Promise<string[]> => {
    const link = await page.$eval('a[href^="otpauth:"]', (found) => found.getAttribute('href')!);
    expect(new URL(link).searchParams.get('secret')).to.equal(secret);
    const code = qrcode(0, 'M');
    code.addData(link);
    code.make();
    const all = Array.from({ length: code.getModuleCount() }, (_, at) => at);
    return all.flatMap((row) => all.flatMap((column) => (code.isDark(row, column) ? [`${row} ${column}`] : [])));
  };

  /** Anyone who must have a second factor sets it up with the first login; a wrong code takes nothing away. */
  const setsUpSecondFactor = async (browser: ConsoleBrowser): Promise<void> => {
    const email = `${unique('manager')}@example.org`;
    const account = { email, name: 'A manager', password: goodPassword, role: 'data_manager' };
    await (await admin(browser.base)).expect(201, 'POST', '/api/auth/register', account);
    const { page, faults } = await openConsole(browser, '/console/login');
    await signIn(page, email);
    const shown = async () => [await textOf(page, '#secret'), await textOf(page, '.codes')];
    const [secret, codes] = (await shown()) as [string, string];
    expect(codes.match(/[a-z2-9-]{19}/g)).to.have.length(10);
    expect(await drawnModules(page)).to.deep.equal(await modulesOfLink(page, secret));
    await fill(page, { code: '12345x' });
    await submit(page, 'button.primary');
    expect(await textOf(page, 'main')).to.include('The code is wrong');
    expect(await shown()).to.deep.equal([secret, codes]);
    await fill(page, { code: generateSync({ secret }) });
    await submit(page, 'button.primary');
    expect([page.url(), faults]).to.deep.equal([`${browser.base}/console/inbox`, []]);
    await page.browserContext().close();
  };

  it('end after a while without a request, with a warning before', async () => {
    const run = await service();
    const idle = await startApi({ CONSOLE_IDLE_MINUTES: '0.1', MFA_REQUIRED_ROLES: 'data_manager' });
    const browser = await ConsoleBrowser.start(idle.url);
    try {
      const { page } = await openConsole(browser, '/console');
      await page.type('[name=email]', run.admin_email);
      await page.type('[name=password]', run.admin_password ?? '');
      await Promise.all([page.waitForNavigation(), page.click('button.primary')]);
      await page.waitForSelector('#idle.shown button:not([hidden])');
      await page.waitForSelector('#idle.shown a:not([hidden])');
      await page.reload();
      expect(await textOf(page, 'main')).to.include('Log in');
      await setsUpSecondFactor(browser);
    } finally {
      await browser.close();
      await idle.stop();
    }
  });
});
