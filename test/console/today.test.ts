import { expect } from 'chai';
import { Stage } from '../anchor/stage.js';
import { Site, day } from '../assessment/stage.js';
import { whileTheDayLasts } from '../reports/world.js';
import { admin, newParticipant, unique, user } from '../support/http.js';
import type { Http, Loose, Role } from '../support/http.js';
import { enterPortal } from '../support/portal.js';
import { service } from '../support/service.js';
import { until } from '../support/until.js';
import { ConsoleBrowser, axe, fill, openConsole, signIn, submit, textOf } from './browser.js';
import { Visitor, hiddenIn, tokenIn } from './stage.js';

type Named = Http & { email: string };

describe('the console’s visits of today', function () {
  this.timeout(240_000);
  let browser: ConsoleBrowser;
  before(async () => {
    browser = await ConsoleBrowser.start();
  });
  after(() => browser?.close());
  beforeEach(whileTheDayLasts);

  const staffOf = async (study: string, role: Role = 'coordinator'): Promise<Named> =>
    user(await admin(), role, { study_ids: [study] });
  const entered = async ({ email }: Named): Promise<Visitor> => {
    return Visitor.of(browser.base, email);
  };
  /** A visit of each group; the calendar is UTC. */
  const filled = async () => {
    const site = await Site.open({ timezone: 'UTC' });
    const visits = {
      wide: await site.visit({ name: 'Wide' }, [-5, 20]),
      opening: await site.visit({ name: 'Opening' }, [0, 20]),
      closing: await site.visit({ name: 'Closing' }, [-5, 2]),
      closed: await site.visit({ name: 'Closed' }, [-9, -2]),
      later: await site.visit({ name: 'Later' }, [4, 9]),
      long: await site.visit({ name: 'Long ago' }, [-60, -40]),
    };
    return { site, visits };
  };
  const namesOn = async (visitor: Visitor, query = ''): Promise<string[]> => {
    const { text } = await visitor.get(`/console/today${query}`);
    return [...text.matchAll(/href="\/console\/visits\/[0-9a-f-]+"><bdi>([^<]*)</g)].map(([, name]) => name!);
  };
  const seen = (site: Site, visit: Loose) => site.seeVisit(visit.id);

  it('are in their groups, by study, site and day', async () => {
    const { site } = await filled();
    const visitor = await entered(await staffOf(site.study.id));
    expect(await namesOn(visitor)).to.deep.equal(['Closing', 'Opening', 'Wide']);
    expect(await namesOn(visitor, '?group=opening')).to.deep.equal(['Opening']);
    expect(await namesOn(visitor, '?group=closing')).to.deep.equal(['Closing']);
    expect(await namesOn(visitor, '?group=closed')).to.deep.equal(['Closed']);
    expect(await namesOn(visitor, `?group=opening&day=${day(4)}`)).to.deep.equal(['Later']);
    expect(await namesOn(visitor, `?day=${day(4)}`)).to.deep.equal(['Later', 'Opening', 'Wide']);
    expect(await namesOn(visitor, '?day=nonsense&study=x')).to.have.length(3);
    // The list became shorter since its second page was opened.
    expect(await namesOn(visitor, '?skip=50'), 'the last page').to.have.length(3);
    const place = await site.http.expect(201, 'POST', `/api/studies/${site.study.id}/sites`, {
      site_code: unique('SITE'),
      name: 'A site',
    });
    const there = await newParticipant(site.http, site.study.id, { site_id: place.id });
    await site.visit({ name: 'There', participant_id: there.id }, [-1, 1]);
    expect(await namesOn(visitor, `?site=${place.id}`)).to.deep.equal(['There']);
    const bound = await user(await admin(), 'coordinator', { study_ids: [site.study.id], site_ids: [place.id] });
    expect(await namesOn(await entered(bound))).to.deep.equal(['There']);
    const other = await Site.open();
    expect(await namesOn(await entered(await staffOf(other.study.id)))).to.deep.equal([]);
  });

  it('of a study that has ended are no work, and nothing that its participants are told to come to', async () => {
    const { site } = await filled();
    const portal = await enterPortal(site.http, String(site.participant.id));
    const ahead = async () =>
      (await portal.expect<{ items: { name: string }[]; total: number }>(200, 'GET', '/api/portal/visits')).items.map(
        ({ name }) => name,
      );
    // Two have the same first target date.
    const next = async (visitor: Visitor) => /Closing|Wide/.test((await visitor.get('/console/participants')).text);
    const staff = await entered(await staffOf(site.study.id));
    expect(await ahead()).to.include.members(['Wide', 'Opening', 'Closing', 'Later']);
    expect(await next(staff)).to.equal(true);
    for (const status of ['completed', 'archived']) {
      await site.http.expect(200, 'PATCH', `/api/studies/${site.study.id}`, { status });
      for (const group of ['in_window', 'opening', 'closing', 'closed'])
        expect(await namesOn(staff, `?group=${group}`), `${status}, ${group}`).to.deep.equal([]);
      expect((await ahead()).sort(), status).to.deep.equal(['Closed', 'Long ago']);
      expect(await next(staff), status).to.equal(false);
    }
    await site.http.expect(200, 'PATCH', `/api/studies/${site.study.id}`, { status: 'active' });
    expect(await namesOn(staff)).to.deep.equal(['Closing', 'Opening', 'Wide']);
    expect(await ahead()).to.include('Closing');
  });

  it('are completed from the list, and twice makes no difference', async () => {
    const { site, visits } = await filled();
    const { page, faults } = await openConsole(browser, '/console/today', { as: (await staffOf(site.study.id)).email });
    expect(await textOf(page, 'main'))
      .to.include('In window now 3')
      .and.to.include('2 days left');
    expect(await axe(page)).to.deep.equal([]);
    await submit(page, `form[action="/console/visits/${visits.closing.id}/complete"] button`);
    expect(await textOf(page, 'main'))
      .to.include('The visit is completed.')
      .and.not.to.include('Closing');
    expect((await seen(site, visits.closing)).status).to.equal('completed');
    await page.goBack();
    await page.goto(`${browser.base}/console/visits/${visits.closing.id}`);
    expect(await textOf(page, 'main')).to.include('There is nothing left to do for this visit.');
    expect(await axe(page)).to.deep.equal([]);
    expect(faults).to.deep.equal([]);
  });

  it('are moved without JavaScript; a day outside of the window and a stale page change nothing', async () => {
    const { site, visits } = await filled();
    const { page } = await openConsole(browser, `/console/visits/${visits.wide.id}`, {
      javascript: false,
      language: 'de',
    });
    const coordinator = await staffOf(site.study.id);
    await signIn(page, coordinator.email);
    expect(await textOf(page, 'main'))
      .to.include('Visite verschieben')
      .and.to.include('UTC');
    const visitor = await entered(coordinator);
    const path = `/console/visits/${visits.wide.id}`;
    const { text } = await visitor.get(path);
    const move = (target_date: string, version = hiddenIn(text, 'version')) =>
      visitor.send('POST', `${path}/move`, {
        _token: tokenIn(text),
        _back: path,
        version,
        target_date,
        window_open: day(-5),
        window_close: day(20),
      });
    const outside = await move(day(30));
    expect(outside.status).to.equal(400);
    expect(outside.text)
      .to.include('between the two days of the window')
      .and.to.include(`value="${day(30)}"`);
    expect((await move(day(3))).headers.get('location')).to.equal(`${path}?done=move`);
    expect(await seen(site, visits.wide)).to.include({ target_date: day(3) });
    const stale = await move(day(4));
    expect(stale.status).to.equal(409);
    expect(stale.text)
      .to.include('has changed since this page was opened')
      .and.to.include(`value="${day(4)}"`);
  });

  it('are completed for an earlier day, and cancelled with a reason', async () => {
    const { site, visits } = await filled();
    const { page } = await openConsole(browser, `/console/visits/${visits.opening.id}`, {
      as: (await staffOf(site.study.id)).email,
    });
    await fill(page, { reason: 'the participant has moved' });
    await submit(page, 'button.danger');
    expect(await textOf(page, 'main')).to.include('The visit is cancelled.');
    expect(await seen(site, visits.opening)).to.include({
      status: 'cancelled',
      status_reason: 'the participant has moved',
    });
    const visitor = await entered(await staffOf(site.study.id));
    const path = `/console/visits/${visits.closed.id}`;
    const ahead = await visitor.post(path, `${path}/complete`, { done_on: day(3) });
    expect(ahead.status).to.equal(400);
    expect(ahead.text).to.include('The day is in the future.');
    expect((await visitor.post(path, `${path}/cancel`, { reason: ' ' })).text).to.include('Give a reason.');
    expect((await visitor.post(path, `${path}/complete`, { done_on: day(-3) })).status).to.equal(303);
    expect(await seen(site, visits.closed)).to.include({
      status: 'completed',
      completed_at: `${day(-3)}T12:00:00.000Z`,
    });
  });

  it('completed or cancelled by mistake are found by the notice, and are to be done again for a reason', async () => {
    const { site, visits } = await filled();
    const { page, faults } = await openConsole(browser, '/console/today');
    const coordinator = await staffOf(site.study.id);
    await signIn(page, coordinator.email);
    await submit(page, `form[action="/console/visits/${visits.closing.id}/complete"] button`);
    await submit(page, '.notice.good a');
    const path = `/console/visits/${visits.closing.id}`;
    expect(new URL(page.url()).pathname).to.equal(path);
    const reopen = `form[action="${path}/reopen"] button`;
    await fill(page, { reopen_reason: '   ' });
    await submit(page, reopen);
    expect(await textOf(page, 'main')).to.include('Give a reason.');
    expect((await seen(site, visits.closing)).status).to.equal('completed');
    expect(await axe(page)).to.deep.equal([]);
    await fill(page, { reopen_reason: 'the wrong line' });
    await submit(page, reopen);
    expect(await textOf(page, 'main')).to.include('The visit is to be done again.');
    expect(await seen(site, visits.closing)).to.include({ status: 'open', completed_at: null });
    expect(await page.$(reopen), 'it is open').to.equal(null);
    const { items } = await site.http.expect(200, 'GET', `/api/audit?study_id=${site.study.id}&action=visit_reopened`);
    expect((items as Loose[]).map(({ user_id }) => user_id)).to.deep.equal([coordinator.userId]);

    const visitor = await entered(coordinator);
    const at = `/console/visits/${visits.wide.id}`;
    expect((await visitor.post(at, `${at}/cancel`, { reason: 'by mistake' })).status).to.equal(303);
    const reader = await entered(await staffOf(site.study.id, 'data_manager'));
    expect((await reader.get(at)).text).not.to.include('/reopen"');
    const left = await visitor.get(at);
    expect(left.text).to.include('/reopen"').and.not.to.include('by mistake</textarea>');
    await site.http.expect(200, 'POST', `/api/participants/${site.participant.id}/withdraw`, { reason: 'moved' });
    expect((await visitor.get(at)).text, 'the schedule is frozen').not.to.include('/reopen"');
    const late = await visitor.send('POST', `${at}/reopen`, {
      _token: tokenIn(left.text),
      _back: at,
      reopen_reason: 'typed before the withdrawal',
    });
    expect(late.status).to.equal(409);
    expect(late.text).to.include('typed before the withdrawal');
    expect((await seen(site, visits.wide)).status).to.equal('cancelled');
    expect(faults).to.deep.equal([]);
  });

  it('of more than a page say which of them are shown, on paper too', async () => {
    const site = await Site.open({ timezone: 'UTC' });
    const stage = await Stage.open();
    try {
      await stage.sql(
        `insert into scheduled_visits (visit_key, study_id, participant_id, name, target_date, window_open, window_close)
         select gen_random_uuid(), ?, ?, 'Visit ' || n, ?, ?, ? from generate_series(0, 51) n`,
        [site.study.id, site.participant.id, day(-1), day(-1), day(1)],
      );
    } finally {
      await stage.close();
    }
    const { page } = await openConsole(browser, '/console/today', { as: (await staffOf(site.study.id)).email });
    await page.emulateMediaType('print');
    expect(await textOf(page, '.pages')).to.include('1 to 50 of 52');
    await page.emulateMediaType('screen');
    await submit(page, '.pages [rel=next]');
    expect(await textOf(page, '.pages')).to.include('51 to 52 of 52');
  });

  it('whoever completes or cancels one that somebody else settled otherwise meanwhile is told, and keeps what was typed', async () => {
    const { site, visits } = await filled();
    const visitor = await entered(await staffOf(site.study.id));
    const send = async (visit: Loose, action: string, fields: Record<string, string>) => {
      const path = `/console/visits/${visit.id}`;
      return visitor.post(path, `${path}/${action}`, fields);
    };
    for (const [visit, action, first, other] of [
      [visits.closed, 'complete', { done_on: day(-3) }, { done_on: day(-4) }],
      [visits.wide, 'cancel', { reason: 'moved away' }, { reason: 'on holiday' }],
    ] as const) {
      expect((await send(visit, action, first)).status).to.equal(303);
      const settled = await seen(site, visit);
      expect((await send(visit, action, first)).status, 'sent twice').to.equal(303);
      const { status, text } = await send(visit, action, other);
      expect(status, action).to.equal(409);
      expect(text).to.include('has changed since this page was opened').and.to.include(Object.values(other)[0]);
      expect(await seen(site, visit)).to.deep.equal(settled);
    }
    expect((await send(visits.closed, 'complete', {})).status, 'it is done, on whatever day').to.equal(303);
    const moved = { target_date: day(3), window_open: day(1), window_close: day(5) };
    expect((await send(visits.closed, 'move', moved)).text).to.include(day(5));
  });

  it('have a portal link sent, and say where there is no address', async () => {
    const { site, visits } = await filled();
    const email = `${unique('p')}@example.org`;
    await site.http.expect(200, 'PATCH', `/api/participants/${site.participant.id}`, { email });
    const { page } = await openConsole(browser, `/console/visits/${visits.wide.id}`, {
      as: (await staffOf(site.study.id)).email,
    });
    await submit(page, 'button[value=email]');
    expect(await textOf(page, 'main')).to.include('The portal link is on its way.');
    const { mail_ui } = await service();
    await until(
      async () =>
        (
          (await (await fetch(`${mail_ui}/email?to.address=${encodeURIComponent(email)}`)).json()) as {
            to: { address: string }[];
          }[]
        ).some(({ to }) => to.some(({ address }) => address === email)),
      { what: 'the mail with the link' },
    );
    await submit(page, 'button[value=sms]');
    expect(await textOf(page, 'main')).to.include('The participant has no address for this.');
    expect(await page.content()).not.to.include(email);
  });

  it('have a reminder sent at once by the way that reaches the participant, or say why not', async () => {
    const { site, visits } = await filled();
    const hours = (of: object) =>
      site.http.expect(200, 'PATCH', `/api/studies/${site.study.id}`, { config: { notifications: of } });
    await hours({ channels: ['sms'], fallback: ['email'] });
    const at = `/console/visits/${visits.wide.id}`;
    const visitor = await entered(await staffOf(site.study.id));
    const none = await visitor.get(at);
    expect(none.text).to.include('the participant has no address for this channel');
    expect(none.text).to.match(/<button[^>]*value="reminder"[^>]*disabled/);
    const refused = await visitor.post(at, `${at}/message`, { send: 'reminder' });
    expect(refused.status).to.equal(409);
    expect(refused.text).to.include('No reminder can be sent to the participant as things are.');

    const email = `${unique('p')}@example.org`;
    await site.http.expect(200, 'PATCH', `/api/participants/${site.participant.id}`, { email });
    expect((await visitor.get(at)).text).to.include('the study’s way that reaches the participant: Email.');
    const { text } = await visitor.get(at);
    // A double click: one message.
    const form = { _token: tokenIn(text), _back: at, send: 'reminder' };
    const twice = await Promise.all([1, 2].map(() => visitor.send('POST', `${at}/message`, form)));
    for (const { status, headers } of twice) {
      expect(status).to.equal(303);
      expect(headers.get('location')).to.equal(`${at}?done=remind_email`);
    }
    expect((await visitor.get(`${at}?done=remind_email`)).text).to.include('The reminder is on its way by email.');
    const sent = await until(
      async () => {
        const { items } = await site.http.expect(
          200,
          'GET',
          `/api/notifications?visit_id=${visits.wide.id}&status=sent`,
        );
        return (items as Loose[])[0];
      },
      { what: 'the reminder is sent' },
    );
    expect(sent).to.include({ kind: 'visit_reminder', channel: 'email' });
    const { mail_ui } = await service();
    const mails = (
      (await (await fetch(`${mail_ui}/email?to.address=${encodeURIComponent(email)}`)).json()) as {
        to: { address: string }[];
      }[]
    ).filter(({ to }) => to.some(({ address }) => address === email));
    expect(mails).to.have.length(1);
    const explained = await site.http.expect(200, 'GET', `/api/visits/${visits.wide.id}/notifications/explain`);
    const byHand = (explained.items as Loose[]).filter(({ status }) => status === 'sent');
    expect(byHand.map(({ rule }) => rule)).to.deep.equal(['sent by hand, by email']);

    // Whatever the hour is: it is quiet all day but for a minute of the night.
    const now = new Date();
    const clock = (minutes: number) => new Date(now.getTime() + minutes * 60_000).toISOString().slice(11, 16);
    await hours({ channels: ['email'], quiet_hours: { from: clock(-60), to: clock(120) } });
    const quiet = await visitor.get(at);
    expect(quiet.text).to.include('The participant has quiet hours.').and.to.include('The last one was sent (Email)');
    expect((await visitor.post(at, `${at}/message`, { send: 'reminder' })).text).to.include(
      'The participant has quiet hours',
    );
  });

  it('are a CSV file, in which nothing is run as a formula, and a page for paper', async () => {
    const { site } = await filled();
    await site.visit({ name: '=cmd|calc <script>alert(1)</script>' }, [-1, 1]);
    const visitor = await entered(await staffOf(site.study.id, 'data_manager'));
    const { text, headers } = await visitor.get('/console/today/csv');
    expect(headers.get('content-type')).to.include('text/csv');
    const cookie = [...visitor.cookies].map((pair) => pair.join('=')).join('; ');
    const file = await fetch(`${visitor.base}/console/today/csv`, { headers: { cookie } });
    const mark = Buffer.from(await file.arrayBuffer())
      .subarray(0, 3)
      .toString('hex');
    expect(mark, 'by which a spreadsheet knows UTF-8').to.equal('efbbbf');
    const { headers: again } = await visitor.get('/console/today/csv');
    const named = /^attachment; filename="visits-in_window-\d{8}T\d{6}Z-[0-9a-f]{8}\.csv"$/;
    expect(headers.get('content-disposition')).to.match(named);
    expect(again.get('content-disposition')).to.match(named).and.not.to.equal(headers.get('content-disposition'));
    expect(text.split('\n')[0]).to.equal('study,site,participant,visit,target_date,window_open,window_close,time_zone');
    expect(text)
      .to.include(`'=cmd|calc`)
      .and.to.include(`Closing,${day(-5)},${day(-5)},${day(2)},UTC`);
    const page = await visitor.get('/console/today');
    expect(page.text).to.include('=cmd|calc &lt;script>').and.not.to.include('<script>alert');
    const paper = await openConsole(browser, '/console/today', {
      viewport: { width: 718, height: 1_000 },
      as: (await staffOf(site.study.id)).email,
    });
    const row = () => paper.page.evaluate(`getComputedStyle(document.querySelector('main tbody tr')).display`);
    expect(await row(), 'as cards on a tablet').to.equal('block');
    await paper.page.emulateMediaType('print');
    expect(await row(), 'as a table on paper').to.equal('table-row');
    expect(Number(await paper.page.evaluate('document.documentElement.scrollWidth'))).to.be.at.most(718);
    expect(page.text, 'a data manager changes no visit').not.to.include('/complete"');
    const refused = await visitor.send('POST', `/console/visits/${site.participant.id}/complete`, {
      _token: tokenIn(page.text),
    });
    expect(refused.status).to.equal(403);
  });
});
