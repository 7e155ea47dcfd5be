import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { consoleRoutes } from '../../api/console/console.routes.js';
import { Stage } from '../anchor/stage.js';
import { goodPassword, user } from '../support/http.js';
import { Visitor, tokenIn, waiting } from './stage.js';
import type { Waiting } from './stage.js';

const TYPED = 'typed with care, äöü <b>';
const SHOWN = 'typed with care, äöü &lt;b>';
/** Forms before a login, and the way out of it: nothing is typed there that could be lost. */
const OF_NO_LOGIN = /^\/console\/(login|forgot|reset|accept|logout|preferences|stay)/;
/** A file is sent with its parts: it is chosen again. */
const UPLOADS = /\/import$/;

/** Nothing is typed there: they are buttons alone. */
const BUTTONS = /\/(?:capture\/.*|checkpoints|verifications|evaluate|delete|retry|process)$/;

/** A page of what went wrong has no form of its own; one that is drawn again has kept its fields. */
const isOfTheFault = (html: string): boolean => !/<form[^>]* action="(?!\/console\/(?:preferences|logout)")/.test(html);

describe('every form of the console', function () {
  this.timeout(120_000);
  let stage: Stage;
  let one: Waiting;
  let forms: string[];
  before(async () => {
    stage = await Stage.open();
    one = await waiting(stage);
    const [visit] = await one.person.visits();
    const ids: Record<string, string> = {
      study_id: one.study.id,
      participant_id: one.person.id,
      request_id: one.request,
      visit_id: visit?.id ?? randomUUID(),
      window: 'new',
      window_id: 'new',
      template_id: 'longitudinal',
      id: one.asker.userId!,
    };
    forms = consoleRoutes
      .filter(({ method, path }) => method === 'POST' && !OF_NO_LOGIN.test(path))
      .map(({ path }) => path.replaceAll(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? randomUUID()));
    // A window that is not there yet cannot be deleted.
    forms = forms.filter((path) => !path.endsWith('/windows/new/delete'));
    expect(forms.length).to.be.greaterThan(25);
  });
  after(() => stage?.close());

  const entered = async (email: string): Promise<Visitor> => {
    return Visitor.of(stage.run.api, email);
  };
  /** What people did in the study; that something was refused is written down as well. */
  const changes = () =>
    stage.sql<{ action: string }>(
      `select action from audit_log where study_id = ? and user_id is not null and action !~ '(denied|refused)' order by seq`,
      [one.study.id],
    );
  const typed = (token: string) => ({
    _token: token,
    _back: '/console/today',
    reason: TYPED,
    resolution: TYPED,
    note: TYPED,
    participant_code: 'CODE-THAT-WAS-TYPED',
    webhook_secret: 'SECRET-THAT-WAS-TYPED',
  });

  it('changes nothing by a forged token, says so, and gives back what was typed', async () => {
    const visitor = await entered((await user(stage.admin, 'admin')).email);
    const before = await changes();
    for (const form of forms) {
      const { status, text } = await visitor.send('POST', form, typed('forged'));
      expect(status, form).to.be.oneOf(UPLOADS.test(form) ? [403, 415, 422] : [403]);
      if (UPLOADS.test(form)) continue;
      expect(text, form).to.include('The form is out of date or was sent from another site.');
      if (isOfTheFault(text) && !BUTTONS.test(form))
        expect(text, form).to.include(SHOWN).and.to.include('href="/console/today"');
    }
    expect(await changes()).to.deep.equal(before);
  });

  it('leads to the login when the session has ended, and carries what was typed through it', async () => {
    const { email } = await user(stage.admin, 'admin');
    const visitor = await entered(email);
    const token = tokenIn((await visitor.get('/console/inbox')).text);
    visitor.cookies.clear();
    for (const form of forms) {
      const { status, text } = await visitor.send('POST', form, typed(token));
      expect(status, form).to.equal(401);
      expect(text, form).to.include('name="password"');
      if (!UPLOADS.test(form))
        expect(text, form).to.include('typed with care, äöü').and.to.include('CODE-THAT-WAS-TYPED');
      expect(text, form).not.to.include('SECRET-THAT-WAS-TYPED');
    }
    const page = await visitor.send('POST', forms[0]!, typed(token));
    const kept = /name="kept" value="([^"]*)"/.exec(page.text)![1]!.replaceAll('&quot;', '"').replaceAll('&lt;', '<');
    const again = await visitor.send('POST', '/console/login', {
      _token: tokenIn(page.text),
      email,
      password: goodPassword,
      next: '/console/today',
      kept,
    });
    expect(again.status).to.equal(200);
    expect(again.text).to.include(SHOWN).and.to.include('/console/today');
    const upload = forms.find((form) => UPLOADS.test(form))!;
    const file = new FormData();
    file.set('file', new Blob(['participant_code\nP-1\n']), 'participants.csv');
    const sent = await fetch(`${stage.run.api}${upload}`, { method: 'POST', body: file, redirect: 'manual' });
    expect(sent.status).to.equal(401);
    expect(await sent.text(), 'a file is chosen again on its page').to.include(`name="next" value="${upload}"`);
  });

  it('refuses who has lost the right while the page was open, and gives back what was typed', async () => {
    const leaving = await user(stage.admin, 'coordinator', { study_ids: [one.study.id] });
    const visitor = await entered(leaving.email);
    const token = tokenIn((await visitor.get('/console/inbox')).text);
    await stage.admin.expect(200, 'PATCH', `/api/users/${leaving.userId}`, { study_ids: [] });
    const before = await changes();
    for (const form of forms.filter((path) => !UPLOADS.test(path))) {
      const { status, text } = await visitor.send('POST', form, typed(token));
      // A search finds nothing; else it is not there, not allowed, or what is missing is said first.
      expect(status, form).to.be.oneOf(form === '/console/participants' ? [303] : [400, 403, 404, 409, 422]);
      if (status !== 303 && isOfTheFault(text) && !BUTTONS.test(form)) expect(text, form).to.include(SHOWN);
    }
    expect(await changes()).to.deep.equal(before);
  });
});
