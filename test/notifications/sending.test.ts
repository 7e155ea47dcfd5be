import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { expect } from 'chai';
import { createReminderActivities } from '../../activities/notifications/reminders/reminders.activities.js';
import type { SweepReport } from '../../activities/notifications/reminders/reminders.activities.js';
import { smsGateway } from '../../activities/notifications/sms.js';
import type { Channels } from '../../activities/notifications/provider.js';
import { pushGateway } from '../../activities/notifications/push.js';
import { Http, unique, user } from '../support/http.js';
import { until } from '../support/until.js';
import { runSchedule } from '../assessment/stage.js';
import { Desk, clockIn, dayIn, daytimeZone } from './stage.js';
import type { NotificationView } from './stage.js';

const zone = daytimeZone();
/** Due some minutes ago, for a visit tomorrow. */
const due = () => ({ send_at: clockIn(zone, -10) });
const words = {
  en: {
    visit_reminder: {
      subject: 'Come to {{visit_name}}',
      body: 'Dear {{participant_code}}, see you on {{target_date}}.',
    },
  },
  de: { visit_reminder: { subject: 'Kommen Sie zu {visit_name}', body: 'Bis zum {{target_date}} in {{study_name}}.' } },
};

describe('Reminders are sent', function sending() {
  let desk: Desk;
  before(async () => {
    desk = await Desk.open();
  });
  after(() => desk.close());

  const study = (notifications: Record<string, unknown>) =>
    desk.study({ ...due(), ...notifications }, { timezone: zone });
  const tomorrow = () => dayIn(zone, 1);
  const settled = (who: { id: string }) => async () => {
    const rows = await desk.of(who);
    return rows.length > 0 && rows.every(({ status }) => status !== 'pending') ? rows : undefined;
  };
  const sent = (who: { id: string }): Promise<NotificationView[]> =>
    desk.sweep(settled(who), 'the reminders to be settled');
  /** A sweep with providers of the test's own, in this process. */
  const sweepHere = (channels: Partial<Channels>, more: { leaseSeconds?: number } = {}): Promise<SweepReport> =>
    createReminderActivities({
      database: desk.stage.database,
      channels: { email: null, sms: null, push: null, ...channels },
      messages: { publicUrl: 'https://study.example.org', secret: 'a secret of this test, long enough' },
      maxLatenessHours: 12,
      retrySeconds: 1,
      log: { warn: () => undefined },
      heartbeat: () => undefined,
      ...more,
    }).sweepReminders();
  interface Answer {
    status: number;
    body?: string;
  }
  /** A gateway that answers what it is told, and remembers what it was given. */
  async function gateway(answer: (given: Record<string, unknown>) => Answer | Promise<Answer>) {
    const got: { body: Record<string, unknown>; key: string | undefined }[] = [];
    const server = createServer((request, response) => {
      void request.toArray().then(async (chunks: Buffer[]) => {
        const given = JSON.parse(Buffer.concat(chunks).toString()) as Record<string, unknown>;
        got.push({ body: given, key: request.headers['idempotency-key'] as string | undefined });
        const { status, body } = await answer(given);
        response.writeHead(status).end(body);
      });
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    return {
      got,
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
      close: () => {
        server.close();
        server.closeAllConnections();
      },
    };
  }
  const hold = (who: { id: string }) =>
    desk.stage.sql(`update notifications set attempt_at = now() where participant_id = ? and status = 'pending'`, [
      who.id,
    ]);

  it('by mail in the participant’s language, as text and HTML, with the visit for the calendar and a way out', async () => {
    const of = await study({ languages: words });
    const [anna, bernd, cecile] = await Promise.all(
      ['en', 'de-AT', 'it'].map((preferred_language) => desk.person(of, { preferred_language })),
    );
    for (const who of [anna!, bernd!, cecile!]) await desk.visit(who, tomorrow());
    for (const [who, subject, text] of [
      [anna!, 'Come to Visit 1', 'see you on'],
      [bernd!, 'Kommen Sie zu Visit 1', 'Bis zum'],
      [cecile!, 'Come to Visit 1', 'see you on'],
    ] as const) {
      const [row] = await sent(who);
      expect(row).to.include({ status: 'sent', attempts: 1, reason: null });
      const mails = await desk.mailsTo(await desk.addressOf(who));
      expect(mails).to.have.length(1);
      const [mail] = mails;
      expect(mail!.subject).to.equal(subject);
      expect(mail!.text).to.include(`${text} ${tomorrow()}`).and.include('/api/notifications/unsubscribe?token=');
      expect(mail!.html).to.include(`${text} ${tomorrow()}`).and.not.include('{{');
      expect(mail!.headers['list-unsubscribe']).to.match(/^<http.*\/api\/notifications\/unsubscribe\?token=.*>$/);
      expect(mail!.headers['list-unsubscribe-post']).to.equal('List-Unsubscribe=One-Click');
      expect(mail!.attachments.map(({ fileName, contentType }) => [fileName, contentType])).to.deep.equal([
        ['visit.ics', 'text/calendar'],
      ]);
    }
    const [told] = await desk.explain((await desk.of(anna!))[0]!.visit_id!);
    expect(told).to.include({ outcome: 'sent', why: 'It was accepted by the email provider on attempt 1.' });
  });

  it('by text message and to devices; the same device is registered once', async () => {
    const phone = `+49${Date.now()}`;
    const of = await study({ channels: ['sms', 'push'] });
    const who = await desk.person(of, { email: null, phone });
    const token = unique('device');
    const device = { participant_id: who.id, platform: 'android', token };
    expect((await desk.stage.admin.post('/api/notifications/register', device)).status).to.equal(201);
    expect((await desk.stage.admin.post('/api/notifications/register', device)).status).to.equal(200);
    await desk.visit(who, tomorrow());
    expect((await sent(who)).map(({ channel, status }) => `${channel} ${status}`).sort()).to.deep.equal([
      'push sent',
      'sms sent',
    ]);
    const texts = (await desk.caught<{ body: { to: string; text: string; status_callback: string } }[]>('/sms')).filter(
      ({ body }) => body.to === phone,
    );
    expect(texts).to.have.length(1);
    const pushes = (
      await desk.caught<{ body: { message: { token: string; notification: { title: string } } } }[]>('/push')
    ).filter(({ body }) => body.message?.token === token);
    expect(pushes.map(({ body }) => body.message.notification.title)).to.deep.equal([
      `Reminder: Visit 1 on ${tomorrow()}`,
    ]);
    const report = new URL(texts[0]!.body.status_callback);
    const anybody = new Http(desk.stage.run.api);
    expect((await anybody.post(`${report.pathname}?token=x.y`, { status: 'failed' })).status).to.equal(404);
    expect(
      (await anybody.post(`${report.pathname}${report.search}`, { status: 'failed', error_code: '30003' })).status,
    ).to.equal(204);
    expect((await desk.of(who, '&channel=sms'))[0]).to.include({
      delivery_status: 'undelivered',
      last_error: 'the gateway reported 30003',
    });
  });

  it('not to who has opted out by the link, and on the next channel where the study says so', async () => {
    const phone = `+49${Date.now()}`;
    const of = await study({ channels: ['email'], fallback: ['sms'], days_before: [1, 2] });
    const who = await desk.person(of, { phone });
    await desk.visit(who, tomorrow());
    const mail = await until(async () => {
      await desk.sweep(async () => (await desk.mailsTo(await desk.addressOf(who)))[0], 'the mail');
      return (await desk.mailsTo(await desk.addressOf(who)))[0];
    });
    const link = new URL(mail.headers['list-unsubscribe']!.slice(1, -1));
    const reader = new Http(link.origin);
    const page = await reader.get(`${link.pathname}${link.search}`);
    expect([page.status, page.headers.get('content-type')]).to.deep.equal([200, 'text/html; charset=utf-8']);
    const click = (search: string) =>
      reader.post(`${link.pathname}${search}`, undefined, {
        raw: { type: 'application/x-www-form-urlencoded', content: 'List-Unsubscribe=One-Click' },
      });
    for (const [search, status] of [
      [link.search, 200],
      [link.search, 200],
      [`?token=${link.searchParams.get('token')!}x`, 404],
    ] as const)
      expect((await click(search)).status).to.equal(status);
    // A mail program cut the link off: a person reads words, a program the error.
    for (const [search, status] of [
      [link.search.slice(0, -4), 404],
      ['', 422],
    ] as const) {
      const cut = await fetch(`${link.origin}${link.pathname}${search}`, {
        headers: { accept: 'text/html,*/*;q=0.8', 'accept-language': 'de-AT,en;q=0.5' },
      });
      const said = await cut.text();
      expect([cut.status, cut.headers.get('content-type')], said).to.deep.equal([status, 'text/html; charset=utf-8']);
      expect(said).to.include('<html lang="de"').and.include('Dieser Link funktioniert nicht');
      expect((await reader.get(`${link.pathname}${search}`)).body.code).to.equal(
        status === 404 ? 'NOT_FOUND' : 'VALIDATION_FAILED',
      );
    }
    const visit = await desk.visit(who, tomorrow(), { name: 'Visit 2' });
    const rows = await desk.sweep(async () => {
      const found = (await desk.of(who, `&visit_id=${visit.id}`)).filter(({ days_before }) => days_before === 1);
      return found.length === 2 && found.every(({ status }) => status !== 'pending') ? found : undefined;
    }, 'the text message instead');
    expect(rows.map(({ channel, status, reason }) => [channel, status, reason]).sort()).to.deep.equal([
      ['email', 'suppressed', 'opted_out'],
      ['sms', 'sent', null],
    ]);
    expect(await desk.mailsTo(await desk.addressOf(who))).to.have.length(1);
  });

  it('again after a provider that failed, under the same key; never again once it refused', () =>
    desk.alone(async () => {
      let status = 503;
      const sms = await gateway(() => ({ status }));
      const who = await desk.person(await study({ channels: ['sms'] }), { phone: '+4912345678' });
      try {
        const visit = await desk.visit(who, tomorrow());
        await hold(who);
        await until(async () => {
          await sweepHere({ sms: smsGateway(sms.url) });
          return sms.got.length > 0;
        });
        expect((await desk.of(who))[0]).to.include({ status: 'pending', attempts: 1, last_error: 'SMS_503' });
        expect((await desk.explain(visit.id))[0]).to.include({ outcome: 'will_be_sent' });
        status = 422;
        await until(
          async () => {
            await hold(who);
            await sweepHere({ sms: smsGateway(sms.url) });
            return sms.got.length > 1;
          },
          { interval: 200 },
        );
        const [row] = await desk.of(who);
        expect(row).to.include({
          status: 'failed',
          attempts: 2,
          reason: 'refused',
          last_error: 'the SMS gateway refused the message (422)',
        });
        expect(new Set(sms.got.map(({ key }) => key)).size).to.equal(1);
        expect(JSON.stringify(row)).not.to.include('12345678');
      } finally {
        sms.close();
      }
    }));

  const register = async (who: { id: string }, tokens: string[]) => {
    for (const token of tokens)
      await desk.stage.admin.expect(201, 'POST', '/api/notifications/register', {
        participant_id: who.id,
        platform: 'ios',
        token,
      });
  };
  const tokenOf = (message: unknown) => (message as { token: string }).token;

  it('to all devices at the same time: one that is not answered keeps no other waiting, nor the claim', () =>
    desk.alone(async () => {
      const tokens = ['tablet', 'phone', 'watch'];
      const arrived = new Set<string>();
      let allArrived!: () => void;
      const all = new Promise<void>((resolve) => {
        allArrived = resolve;
      });
      // It answers nobody before it was asked for each device.
      const push = await gateway(async ({ message }) => {
        arrived.add(tokenOf(message));
        if (arrived.size === tokens.length) allArrived();
        await all;
        return { status: 200 };
      });
      const who = await desk.person(await study({ channels: ['push'] }));
      try {
        await register(who, tokens);
        await desk.visit(who, tomorrow());
        const row = await until(
          async () => {
            await sweepHere({ push: pushGateway(push.url) });
            return (await desk.of(who)).find(({ attempts }) => attempts > 0);
          },
          { interval: 200 },
        );
        expect(row).to.include({ status: 'sent', attempts: 1, last_error: null });
        expect(push.got.map(({ body }) => tokenOf(body.message)).sort()).to.deep.equal([...tokens].sort());
        expect(new Set(push.got.map(({ key }) => key)).size).to.equal(tokens.length);
      } finally {
        push.close();
      }
    }));

  it('to the devices that are left; one that is gone is forgotten', () =>
    desk.alone(async () => {
      const push = await gateway(({ message }) =>
        tokenOf(message) === 'old'
          ? { status: 404, body: '{"error":{"details":[{"errorCode":"UNREGISTERED"}]}}' }
          : { status: 200 },
      );
      const who = await desk.person(await study({ channels: ['push'] }));
      try {
        await register(who, ['old', 'new']);
        await desk.visit(who, tomorrow());
        await until(
          async () => {
            await sweepHere({ push: pushGateway(push.url) });
            return (await desk.of(who))[0]!.status === 'sent';
          },
          { interval: 200 },
        );
        expect(await desk.stage.sql('select token from push_tokens where participant_id = ?', [who.id])).to.deep.equal([
          { token: 'new' },
        ]);
      } finally {
        push.close();
      }
    }));

  it('once, by two workers at the same time; what one left behind that died is sent by the other, under the same key', () =>
    desk.alone(async () => {
      const delivered = new Map<string, number>();
      let dies = true;
      const channel = (name: string) => ({
        send: async ({ key, id }: { key?: string; id: string }) => {
          delivered.set(key ?? id, (delivered.get(key ?? id) ?? 0) + 1);
          // The process ends between the provider's answer and the note of it: nobody comes back to tell.
          if (name === 'dies' && dies && delivered.size > 20) await new Promise(() => undefined);
        },
      });
      const of = await study({});
      await desk.visitors(of.id, 40);
      const dead = sweepHere({ email: channel('dies') }, { leaseSeconds: 3 });
      const alive = async () => {
        await sweepHere({ email: channel('lives') });
        const rows = await desk.stage.sql<{ status: string }>(
          `select status from notifications where study_id = ? and kind = 'visit_reminder'`,
          [of.id],
        );
        return rows.length === 40 && rows.every(({ status }) => status === 'sent');
      };
      await until(alive, { timeout: 60_000, interval: 300, what: 'every reminder to be sent' });
      dies = false;
      void dead;
      const mine = await desk.stage.sql<{ id: string }>('select id from notifications where study_id = ?', [of.id]);
      const times = mine.map(({ id }) => [...delivered].filter(([key]) => key.startsWith(id)));
      expect(
        times.every((keys) => keys.length === 1),
        'one message each',
      ).to.equal(true);
      // In doubt are those that were at the provider when it died, sixteen at most.
      expect(times.flat().filter(([, count]) => count > 1).length).to.be.at.most(16);
    }));

  it('missed visits are told of the day after their window has closed', async () => {
    const who = await desk.person(await study({}));
    const visit = await desk.visit(who, dayIn(zone, -1));
    await runSchedule(
      'update_visit_statuses',
      async () => (await desk.of(who, '&kind=visit_missed'))[0],
      'the visit to be missed',
    );
    const [row] = await desk.sweep(async () => {
      const rows = await desk.of(who, '&kind=visit_missed');
      return rows[0]?.status === 'sent' ? rows : undefined;
    }, 'the message');
    expect(row).to.include({ visit_id: visit.id, status: 'sent' });
    expect((await desk.mailsTo(await desk.addressOf(who))).map(({ subject }) => subject)).to.deep.equal([
      'Missed: Visit 1',
    ]);
  });

  it('staff see, resend, cancel, preview; and send test messages', async () => {
    const of = await study({});
    const who = await desk.person(of);
    const coordinator = await of.as('coordinator');
    const [soon, later] = [await desk.visit(who, tomorrow()), await desk.visit(who, '2031-05-20')];
    await desk.sweep(async () => (await desk.of(who)).find(({ status }) => status === 'sent'), 'the reminder');
    const [first] = await desk.of(who, `&visit_id=${soon.id}`);
    const again = await coordinator.expect(202, 'POST', `/api/notifications/${first!.id}/resend`);
    expect(again).to.include({ status: 'pending', resend_of: first!.id, kind: 'visit_reminder' });
    await until(async () => (await desk.mailsTo(await desk.addressOf(who))).length === 2, { what: 'the second mail' });
    await until(async () => (await desk.of(who)).find(({ id }) => id === again.id)?.status === 'sent', {
      what: 'the note of it',
    });
    expect((await desk.explain(soon.id)).map(({ outcome }) => outcome)).to.deep.equal(['sent', 'sent']);
    const [waits] = await desk.of(who, `&visit_id=${later.id}`);
    expect((await coordinator.post(`/api/notifications/${waits!.id}/resend`)).body.code).to.equal(
      'NOTIFICATION_PENDING',
    );
    expect((await coordinator.post(`/api/notifications/${waits!.id}/cancel`)).body).to.include({
      status: 'cancelled',
      reason: 'cancelled_by_staff',
    });
    expect((await coordinator.post(`/api/notifications/${first!.id}/cancel`)).body.code).to.equal(
      'NOTIFICATION_SETTLED',
    );
    await desk.stage.admin.expect(200, 'PATCH', `/api/visits/${later.id}`, {
      target_date: '2031-05-21',
      window_close: '2031-05-21',
    });
    expect((await desk.of(who, `&visit_id=${later.id}`)).map(({ status }) => status)).to.deep.equal(['cancelled']);
    expect((await desk.explain(later.id))[0]).to.include({
      outcome: 'will_not_be_sent',
      why: 'It is not sent: it was cancelled by hand.',
    });
    const preview = await coordinator.expect(200, 'POST', '/api/notifications/preview', {
      kind: 'visit_reminder',
      visit_id: soon.id,
      language: 'de',
    });
    expect(preview).to.include({ language: 'de', subject: `Erinnerung: Visit 1 am ${tomorrow()}` });
    expect(
      (
        await coordinator.post('/api/notifications/preview', {
          kind: 'visit_reminder',
          visit_id: soon.id,
          template: { subject: '{{no}}', body: 'x' },
        })
      ).body.errors[0],
    ).to.include({ path: 'template.subject', code: 'UNKNOWN_VARIABLE' });
    const elsewhere = await (await desk.study({})).as('coordinator');
    expect((await elsewhere.post(`/api/notifications/${first!.id}/resend`)).status).to.equal(404);
    expect((await elsewhere.get(`/api/visits/${soon.id}/notifications/explain`)).status).to.equal(404);
    expect((await elsewhere.get(`/api/notifications?participant_id=${who.id}`)).body.total).to.equal(0);

    const { email: to } = await coordinator.expect<{ email: string }>(200, 'GET', '/api/auth/me');
    const phone = `+49${Date.now()}`;
    await desk.stage.admin.expect(201, 'POST', `/api/studies/${of.id}/participants`, {
      participant_code: unique('P'),
      phone,
    });
    const mail = await coordinator.expect(202, 'POST', '/api/test/email', {
      recipient: to,
      subject: 'Does it work?',
      body: 'It does.',
    });
    expect(mail).to.have.all.keys('status', 'notification_id');
    await until(
      async () =>
        (await desk.mailsTo(to)).find(({ subject, text }) => subject === 'Does it work?' && text.includes('It does.')),
      { what: 'the test mail' },
    );
    expect((await desk.stage.admin.post('/api/test/sms', { recipient: phone, body: 'It does.' })).status).to.equal(202);
    await until(
      async () => (await desk.caught<{ body: { to: string } }[]>('/sms')).find(({ body }) => body.to === phone),
      { what: 'the test message' },
    );
    expect(
      (await coordinator.post('/api/test/email', { recipient: 'nobody', subject: 'x', body: 'x' })).status,
    ).to.equal(422);
    await until(
      async () =>
        (
          await desk.stage.sql<{ draft: unknown; status: string }>(
            'select draft, status from notifications where id = ?',
            [mail.notification_id],
          )
        )[0],
      { what: 'its record' },
    );
  });

  it('a preview names the participant’s site as the message does', async () => {
    const of = await study({});
    const site = await desk.stage.admin.expect(201, 'POST', `/api/studies/${of.id}/sites`, {
      site_code: 'BER',
      name: 'Charité',
    });
    const visit = await desk.visit(await desk.person(of, { site_id: site.id }), tomorrow());
    const template = { subject: '{{site_code}}', body: 'Come to {{site_name}}.' };
    const ask = { kind: 'visit_reminder', visit_id: visit.id, template };
    expect(await desk.stage.admin.expect(200, 'POST', '/api/notifications/preview', ask)).to.include({
      subject: 'BER',
      body: 'Come to Charité.',
    });
  });

  it('the jobs are Temporal Schedules of these names, that skip a run while one is open', async () => {
    for (const [id, spec] of [
      ['process_pending_reminders', 300_000],
      ['update_visit_statuses', 3_600_000],
    ] as const) {
      const about = await desk.stage.temporal.schedule.getHandle(id).describe();
      expect([about.spec.intervals?.[0]?.every, about.policies.overlap]).to.deep.equal([spec, 'SKIP']);
    }
    const about = await desk.stage.temporal.schedule.getHandle('send_daily_summary').describe();
    expect(about.spec.calendars?.[0]?.hour).to.deep.equal([{ start: 9, end: 9, step: 1 }]);
  });

  it('staff are told in the morning what is theirs, once for each study and day', async () => {
    const of = await desk.study({}, { timezone: zone });
    const site = await desk.stage.admin.expect(201, 'POST', `/api/studies/${of.id}/sites`, { site_code: 'A' });
    const here = await desk.person(of, { participant_code: unique('HERE'), site_id: site.id });
    await desk.visit(here, dayIn(zone), { window_open: dayIn(zone, -1), window_close: dayIn(zone, 1) });
    await desk.visit(await desk.person(of, { participant_code: unique('THERE') }), dayIn(zone, -2), {
      window_open: dayIn(zone, -3),
      window_close: dayIn(zone, 1),
    });
    await desk.visit(here, dayIn(zone), { name: 'Opens', window_close: dayIn(zone, 9) });
    await desk.visit(here, dayIn(zone, -5), { name: 'Closed' });
    const [all, one] = [
      await user(desk.stage.admin, 'researcher', { study_ids: [of.id] }),
      await user(desk.stage.admin, 'coordinator', { study_ids: [of.id], site_ids: [site.id] }),
    ];
    const [whole] = await runSchedule(
      'send_daily_summary',
      async () => {
        const mails = await desk.mailsTo(all.email);
        return mails.length > 0 ? mails : undefined;
      },
      'the summary',
    );
    expect(whole!.subject).to.include(`Daily summary of ${dayIn(zone)}`);
    expect(whole!.text)
      .to.include('Today: visits due: 2')
      .and.include('Past target, still in window: 1')
      .and.include('Window closes within 3 days: 2')
      .and.include('Today: windows that open: 1')
      .and.include('Window closed, not done (last 14 days): 1')
      .and.include('HERE')
      .and.include('THERE')
      .and.include(`/console/today?study=${of.id}`)
      .and.include(`/console/inbox?study=${of.id}`);
    expect(whole!.html).to.include('<table').and.include('THERE').and.include(`/console/today?study=${of.id}"`);
    const part = await until(async () => (await desk.mailsTo(one.email))[0], { what: 'the other summary' });
    expect(part.text).to.include('Past target, still in window: 0').and.include('HERE').and.not.include('THERE');
    await desk.stage.temporal.schedule.getHandle('send_daily_summary').trigger();
    await desk.stage.temporal.schedule.getHandle('send_daily_summary').trigger();
    const third = await user(desk.stage.admin, 'coordinator', { study_ids: [of.id] });
    await runSchedule(
      'send_daily_summary',
      async () => (await desk.mailsTo(third.email))[0],
      'the summary of who came later',
    );
    expect([(await desk.mailsTo(all.email)).length, (await desk.mailsTo(one.email)).length]).to.deep.equal([1, 1]);
  });

  it('staff are told of each visit by the calendar of its site', async () => {
    // The two are 25 hours apart: it is never the same day there.
    const [west, east] = ['Pacific/Pago_Pago', 'Pacific/Kiritimati'];
    const of = await desk.study({}, { timezone: west });
    const site = await desk.stage.admin.expect(201, 'POST', `/api/studies/${of.id}/sites`, {
      site_code: 'EAST',
      timezone: east,
    });
    const there = await desk.person(of, { participant_code: unique('EAST'), site_id: site.id });
    const opens = dayIn(east);
    await desk.visit(there, opens, { window_open: opens, window_close: opens });
    const closed = dayIn(east, -1);
    await desk.visit(there, closed, { name: 'Closed there', window_open: closed, window_close: closed });
    const { email } = await user(desk.stage.admin, 'coordinator', { study_ids: [of.id] });
    const mail = await runSchedule(
      'send_daily_summary',
      async () => (await desk.mailsTo(email))[0],
      'the summary of two places',
    );
    if (dayIn(east) === opens)
      expect(mail.text)
        .to.include('Today: visits due: 1')
        .and.include('Today: windows that open: 1')
        .and.include('Window closes within 3 days: 1')
        .and.include('Past target, still in window: 0')
        .and.include('Window closed, not done (last 14 days): 1');
  });
});
