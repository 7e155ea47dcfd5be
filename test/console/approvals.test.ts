import { expect } from 'chai';
import { goodPassword, unique, user } from '../support/http.js';
import { until } from '../support/until.js';
import { DAY, Stage } from '../anchor/stage.js';
import type { Person } from '../anchor/stage.js';
import { ConsoleBrowser, axe, fill, openConsole, signIn, submit, textOf } from './browser.js';
import { Visitor, hiddenIn, tokenIn, waiting, withApproval } from './stage.js';
import type { Waiting } from './stage.js';

interface Caught {
  text: string;
  html: string;
  to: { address: string }[];
}

const A_LINK = /https?:\/\/[^\s]*\/console\/approvals\/[0-9a-f-]+/;

describe('the console’s page of an approval', function () {
  this.timeout(240_000);
  let stage: Stage;
  let browser: ConsoleBrowser;
  before(async () => {
    stage = await Stage.open();
    browser = await ConsoleBrowser.start();
  });
  after(async () => {
    await browser?.close();
    await stage.close();
  });

  const askingMail = async (email: string): Promise<Caught | undefined> => {
    const at = `${stage.run.mail_ui}/email?to.address=${encodeURIComponent(email)}`;
    return ((await (await fetch(at)).json()) as Caught[]).find(
      ({ to, text }) => A_LINK.test(text) && to.some(({ address }) => address === email),
    );
  };
  const linkIn = async (email: string): Promise<string> => {
    const { text } = await until(() => askingMail(email), { what: 'the mail to the approver' });
    return A_LINK.exec(text)![0];
  };
  const signedIn = async ({ email }: { email: string }): Promise<Visitor> => {
    return Visitor.of(stage.run.api, email);
  };
  const decide = async (visitor: Visitor, { request }: Waiting, fields: Record<string, string>) => {
    const path = `/console/approvals/${request}`;
    const { text } = await visitor.get(path);
    return visitor.send('POST', path, {
      _token: tokenIn(text),
      _back: path,
      preview_hash: hiddenIn(text, 'preview_hash') || 'x',
      shown: hiddenIn(text, 'shown'),
      ...fields,
    });
  };

  it('is opened from the mail, shows what moves, and carries the approval out', async () => {
    const of = await waiting(stage, { reason: 'read <b>wrong</b>' });
    const link = await linkIn(of.approver.email);
    expect(link).to.contain(`/console/approvals/${of.request}`);
    const { page, faults } = await openConsole(browser, new URL(link).pathname);
    expect(page.url()).to.include('/console/login?next=%2Fconsole%2Fapprovals%2F');
    expect(await axe(page)).to.deep.equal([]);
    await signIn(page, of.approver.email);
    expect(new URL(page.url()).pathname).to.equal(`/console/approvals/${of.request}`);
    const said = await textOf(page, 'main');
    for (const part of ['10 Mar 2024', '17 Mar 2024', '7 days later', 'A coordinator', 'read <b>wrong</b>', 'Move'])
      expect(said).to.include(part);
    await fill(page, { reason: 'agreed by telephone' });
    await submit(page, 'button[value=approve]');
    expect(await textOf(page, 'main'))
      .to.include('Approved. The enrollment date is now 17 Mar 2024')
      .and.to.include('A researcher')
      .and.to.include('agreed by telephone');
    expect(await axe(page)).to.deep.equal([]);
    expect(await of.person.anchor()).to.include({ enrollment_date: '2024-03-17', is_override: true });
    await page.goto(`${browser.base}/console`);
    expect(faults).to.deep.equal([]);
  });

  it('shows the question, the reason and both buttons without scrolling, at a desk and on a phone', async () => {
    const of = await waiting(stage, { reason: 'The first training day was entered three days early.' });
    for (const language of ['en', 'de'])
      for (const viewport of [
        { width: 1280, height: 720 },
        { width: 360, height: 740 },
      ]) {
        const { page } = await openConsole(browser, `/console/approvals/${of.request}`, {
          viewport,
          language,
          as: of.approver.email,
        });
        const lowest = Number(
          await page.evaluate(
            `Math.max(...[...document.querySelectorAll('.dates, textarea, .decide .buttons button')].map((one) => one.getBoundingClientRect().bottom))`,
          ),
        );
        expect(lowest, `${language}, ${viewport.width} px`).to.be.within(200, viewport.height);
        await page.browserContext().close();
      }
  });

  it('is asked for by a mail whose button comes before the list of visits', async () => {
    const of = await waiting(stage);
    const { html, text } = await until(() => askingMail(of.approver.email), { what: 'the mail to the approver' });
    const [button, list] = ['>Review the request</a>', 'Visits that move:'].map((part) => html.indexOf(part));
    expect(button, html).to.be.greaterThan(0);
    expect(list).to.be.greaterThan(button!);
    expect(text.indexOf('/console/approvals/')).to.be.lessThan(text.indexOf('Visits that move:'));
  });

  it('is listed in the inbox with its count, and denied without JavaScript', async () => {
    const of = await waiting(stage);
    const { page } = await openConsole(browser, '/console', { javascript: false, language: 'de' });
    await signIn(page, of.approver.email);
    expect(await textOf(page, 'h1')).to.equal('Eingang');
    expect(await textOf(page, '#menu .count')).to.match(/^1/);
    // The second page of what was a longer list.
    await page.goto(`${browser.base}/console/inbox?skip=50`);
    await submit(page, `a[href="/console/approvals/${of.request}"]`);
    await fill(page, { reason: 'nicht begründet' });
    await submit(page, 'button[value=deny]');
    expect(await textOf(page, 'main'))
      .to.include('Abgelehnt')
      .and.to.include('nicht begründet');
    expect(await of.person.anchor()).to.include({ enrollment_date: '2024-03-10' });
  });

  it('lets nobody decide their own request, nor a role that the policy leaves out', async () => {
    const of = await waiting(stage);
    const asker = await signedIn(of.asker);
    const { text } = await asker.get(`/console/approvals/${of.request}`);
    expect(text).to.include('You requested this change').and.not.to.include('value="approve"');
    const refused = await decide(asker, of, { decision: 'approve', reason: 'mine' });
    expect(refused.status).to.equal(403);
    expect(refused.text).to.include('You requested this change');
    expect((await of.study.audit('override_decision_refused')).length).to.be.greaterThan(0);
  });

  it('says of one that nobody decided why it ended, in words, as the history and the timeline do', async () => {
    const ended = (person: Person) =>
      until(async () => (await person.history())[0]!.event_type === 'OVERRIDE_DENIED' || undefined, {
        what: 'the end of the request',
      });
    const quick = await stage.study({ ...withApproval, override_approval_timeout_hours: 1 / 3600 });
    const late = await user(stage.admin, 'coordinator', { study_ids: [quick.id] });
    const person = await quick.person();
    await person.set(DAY);
    const { body } = await person.override('2024-03-17', late);
    await ended(person);
    const asker = await signedIn(late);
    const { text } = await asker.get(`/console/approvals/${body.override_request_id}`);
    expect(text).to.include('Nobody decided in time; the date stays as it was.').and.not.to.include('>Denied<');
    const history = (await asker.get(`/console/participants/${person.id}?tab=date`)).text;
    expect(history).to.include('>Nobody decided in time<').and.not.to.include('>expired<');
    const gone = await waiting(stage);
    await gone.person.withdraw();
    await ended(gone.person);
    const page = (await (await signedIn(gone.asker)).get(`/console/approvals/${gone.request}`)).text;
    expect(page).to.include('The participant withdrew before anybody had decided.').and.not.to.include('>withdrawn<');
  });

  it('asks for a reason, and keeps what was typed', async () => {
    const of = await waiting(stage);
    const approver = await signedIn(of.approver);
    const without = await decide(approver, of, { decision: 'approve', reason: '  ' });
    expect(without.status).to.equal(400);
    expect(without.text).to.include('Give a reason.');
    const forged = await decide(approver, of, { decision: 'approve', reason: 'my words', _token: 'forged' });
    expect(forged.status).to.equal(403);
    expect(forged.text).to.include('my words');
    expect(await of.person.anchor()).to.include({ enrollment_date: '2024-03-10' });
  });

  it('shows the new preview when the old one is stale, with the visits that differ marked', async () => {
    const of = await waiting(stage);
    const approver = await signedIn(of.approver);
    const path = `/console/approvals/${of.request}`;
    const { text } = await approver.get(path);
    await of.study.window(60);
    await until(async () => ((await approver.get(path)).text.includes('Day 60') ? true : undefined), {
      what: 'the window to be in the preview',
    });
    const stale = await approver.send('POST', path, {
      _token: tokenIn(text),
      _back: path,
      preview_hash: hiddenIn(text, 'preview_hash'),
      shown: hiddenIn(text, 'shown'),
      reason: 'as shown',
      decision: 'approve',
    });
    expect(stale.status).to.equal(409);
    expect(stale.text).to.include('The schedule has changed').and.to.include('as shown');
    expect(stale.text.match(/<mark>/g)).to.have.length(1);
  });

  it('says to the second of two tabs that it is decided already', async () => {
    const of = await waiting(stage);
    const approver = await signedIn(of.approver);
    const answers = await Promise.all([
      decide(approver, of, { decision: 'approve', reason: 'first tab' }),
      decide(approver, of, { decision: 'deny', reason: 'second tab' }),
    ]);
    expect(answers.map(({ status }) => status).sort()).to.deep.equal([303, 409]);
    expect(answers.find(({ status }) => status === 409)!.text).to.include('It is decided already');
  });

  it('asks for the password where the study’s signatures do, and counts a wrong one', async () => {
    const of = await waiting(stage);
    const { config } = await stage.admin.expect<{ config: object }>(200, 'GET', `/api/studies/${of.study.id}`);
    await stage.admin.expect(200, 'PATCH', `/api/studies/${of.study.id}`, {
      config: { ...config, signatures: { reauthenticate: true } },
    });
    const approver = await signedIn(of.approver);
    const sent = (fields: Record<string, string>) =>
      decide(approver, of, { decision: 'approve', reason: 'yes', ...fields });
    const without = await sent({});
    expect(without.status).to.equal(401);
    expect(without.text).to.include('asks for your password or a code again').and.to.include('yes</textarea>');
    const wrong = await sent({ proof_password: 'not this one' });
    expect(wrong.text).to.include('The password or code is wrong.').and.not.to.include('not this one');
    const counted = await stage.sql(
      `select 1 from audit_log where action = 'reauthentication_failed' and user_id = ?`,
      [of.approver.userId],
    );
    expect(counted).to.have.length(1);
    expect((await sent({ proof_password: goodPassword })).status).to.equal(303);
  });

  it('fits names and codes of any length and direction on a small phone', async () => {
    const of = await waiting(stage, {
      reason: `${'unbreakable'.repeat(20)} سبب التغيير`,
      code: `${unique('P')}${'x'.repeat(40)}`,
    });
    const { page } = await openConsole(browser, `/console/approvals/${of.request}`, {
      viewport: { width: 320, height: 640 },
    });
    await signIn(page, of.approver.email);
    expect(await page.evaluate('document.documentElement.scrollWidth')).to.equal(320);
    expect(await axe(page)).to.deep.equal([]);
    await page.goto(`${browser.base}/console`);
    expect(await axe(page)).to.deep.equal([]);
    // What is faulty is found.
    await page.evaluate(`document.querySelector('h1').insertAdjacentHTML('afterend', '<img src="/console/none">')`);
    expect((await axe(page)).join()).to.include('image-alt');
  });

  it('escapes scripts, and shows nothing of another study', async () => {
    const of = await waiting(stage, {
      reason: '<script>alert(1)</script>',
      code: `${unique('P')}"><img src=x>`,
    });
    const approver = await signedIn(of.approver);
    const { text, headers } = await approver.get(`/console/approvals/${of.request}`);
    expect(text).not.to.include('<script>alert').and.not.to.include('<img src=x');
    expect(headers.get('content-security-policy')).to.include("default-src 'none'").and.not.to.include('unsafe-inline');
    expect(headers.get('cache-control')).to.equal('no-store');
    const other = await waiting(stage);
    const foreign = await approver.get(`/console/approvals/${other.request}`);
    expect(foreign.status).to.equal(404);
    expect(foreign.text).to.include('Not found').and.not.to.include('misread');
  });
});
