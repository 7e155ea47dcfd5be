import { expect } from 'chai';
import type { ServerResponse } from 'node:http';
import { bounceOf, headersOf } from '../support/bounce.js';
import { Http, unique, user } from '../support/http.js';
import type { Loose } from '../support/http.js';
import { PushBrowser, vapidOf } from '../support/push-sink.js';
import { Receiver } from '../support/receiver.js';
import { startService, until } from '../support/service.js';
import type { Service } from '../support/service.js';
import { TestMailServer } from '../support/smtp-server.js';
import type { AnchorStudy } from '../anchor/stage.js';
import { Visitor } from '../console/stage.js';
import { remindersOverRandomLives } from '../property/reminders-service.js';
import { NOT_OF_ADDRESSES, kindOf, refusals, refusing } from './refusals.js';
import type { MailCase } from './refusals.js';
import { Desk, clockIn, dayIn, daytimeZone } from './stage.js';

const zone = daytimeZone();
/** A push every half second. */
const PUSHES_PER_MINUTE = 120;
type Answer = (response: ServerResponse, count: number) => void;
const says =
  (status: number, headers: Record<string, string> = {}): Answer =>
  (response) => {
    response.writeHead(status, headers).end('{}');
  };
const first =
  (once: Answer, then: Answer = says(200)): Answer =>
  (response, count) =>
    (count === 1 ? once : then)(response, count);

/**
 * What a text gateway may do, and what becomes of the reminder: status, how often it was asked, what stands in
 * last_error.
 */
const GATEWAY: [string, Answer, { status: string; asked: number; last_error: string | null; reason: string | null }][] =
  [
    ['takes it', says(200), { status: 'sent', asked: 1, last_error: null, reason: null }],
    [
      'refuses it (400)',
      says(400),
      { status: 'failed', asked: 1, last_error: 'the SMS gateway refused the message (400)', reason: 'refused' },
    ],
    [
      'refuses it (422)',
      says(422),
      { status: 'failed', asked: 1, last_error: 'the SMS gateway refused the message (422)', reason: 'refused' },
    ],
    [
      'lets nobody in for a while (401)',
      first(says(401)),
      { status: 'sent', asked: 2, last_error: 'SMS_401', reason: null },
    ],
    [
      'is asked too often (429) and says when to come back',
      first(says(429, { 'Retry-After': '2' })),
      { status: 'sent', asked: 2, last_error: 'SMS_429', reason: null },
    ],
    ['is broken (500)', first(says(500)), { status: 'sent', asked: 2, last_error: 'SMS_500', reason: null }],
    [
      'is away (503), twice',
      (response, count) => {
        response.writeHead(count < 3 ? 503 : 200).end();
      },
      { status: 'sent', asked: 3, last_error: 'SMS_503', reason: null },
    ],
    [
      'takes it and its answer is lost',
      first((response) => {
        response.destroy();
      }),
      { status: 'sent', asked: 2, last_error: 'SMS_CONNECTION', reason: null },
    ],
    [
      'redirects',
      first(says(302, { Location: 'http://127.0.0.1:9/' })),
      { status: 'sent', asked: 2, last_error: 'SMS_302', reason: null },
    ],
    ['does not answer', first(() => undefined), { status: 'sent', asked: 2, last_error: 'SMS_TIMEOUT', reason: null }],
    [
      'answers 200 MB',
      (response) => {
        response.writeHead(200, { 'Content-Length': 200 * 1024 * 1024 });
        response.write(Buffer.alloc(1024 * 1024));
      },
      { status: 'sent', asked: 1, last_error: null, reason: null },
    ],
  ];

/** What a mail server may say of a recipient. Whether the address counts as dead afterwards. */
const MAIL: MailCase[] = [
  ['takes it', 'good', { status: 'sent', taken: 1, dead: false, last_error: null }],
  [
    'knows no such mailbox (550 5.1.1)',
    'unknown',
    { status: 'failed', taken: 0, dead: true, last_error: 'the mail server refused the message (550)' },
  ],
  [
    'knows no such mailbox and says so by 550 alone',
    'bare',
    { status: 'failed', taken: 0, dead: true, last_error: 'the mail server refused the message (550)' },
  ],
  [
    'refuses by a rule of its own (550 5.7.1)',
    'policy',
    { status: 'failed', taken: 0, dead: false, last_error: 'the mail server refused the message (550)' },
  ],
  [
    'says that the mailbox is full (552 5.2.2)',
    'full',
    { status: 'failed', taken: 0, dead: false, last_error: 'the mail server refused the message (552)' },
  ],
  ['asks to come back (451)', 'later', { status: 'sent', taken: 1, dead: false, last_error: 'EENVELOPE' }],
  ['takes it and its answer is lost', 'lost', { status: 'sent', taken: 2, dead: false, last_error: 'ECONNECTION' }],
  ...NOT_OF_ADDRESSES,
];
const said: Record<string, { code: number; text: string }> = {
  unknown: { code: 550, text: '5.1.1 no such user' },
  bare: { code: 550, text: 'no such user' },
  policy: { code: 550, text: '5.7.1 not from you' },
  full: { code: 552, text: '5.2.2 mailbox full' },
  later: { code: 451, text: '4.7.1 try again' },
  never: { code: 451, text: '4.7.1 try again' },
};

describe('Providers of messages that do not do as they should', function providers() {
  this.timeout(180_000);
  let gateway: Receiver;
  let mails: TestMailServer;
  let service: Service;
  let desk: Desk;
  const answers = new Map<string, Answer>();
  before(async () => {
    gateway = await Receiver.open();
    mails = await TestMailServer.open({
      ...refusing,
      recipient: (address, count) =>
        refusing.recipient(address, count) ??
        (kindOf(address) === 'later' && count > 1 ? undefined : said[kindOf(address)]),
      losesAnswer: (address, count) => kindOf(address) === 'lost' && count === 1,
    });
    service = await startService({
      SMTP_URL: mails.url,
      SMS_GATEWAY_URL: `${gateway.url}/sms`,
      PUSH_GATEWAY_URL: `${gateway.url}/push`,
      REMINDER_INTERVAL_SECONDS: '1',
      PUSH_PER_MINUTE: String(PUSHES_PER_MINUTE),
    });
    desk = await Desk.open(service.run);
    gateway.answer = ({ path, body }, response) => {
      const to = path === '/sms' ? (JSON.parse(body) as { to: string }).to : '';
      (answers.get(to) ?? says(200))(response, asked(to).length);
    };
  });
  after(async () => {
    await desk?.close();
    await service?.stop();
    await gateway?.close();
    await mails?.close();
  });

  const asked = (phone: string) =>
    gateway.at('/sms').filter(({ body }) => (JSON.parse(body) as { to: string }).to === phone);
  const study = (notifications: Record<string, unknown>): Promise<AnchorStudy> =>
    desk.study({ send_at: clockIn(zone, -10), ...notifications }, { timezone: zone });
  let numbers = 0;
  const phone = (): string => `+49${Date.now()}${numbers++}`;
  const comesTomorrow = (who: { id: string }): Promise<Loose> => desk.visit(who, dayIn(zone, 1));

  describe('a gateway that', () => {
    const people = new Map<string, { id: string; phone: string }>();
    before(async () => {
      const of = await study({ channels: ['sms'] });
      await Promise.all(
        GATEWAY.map(async ([what, answer]) => {
          const number = phone();
          answers.set(number, answer);
          const who = await desk.person(of, { email: null, phone: number });
          people.set(what, { id: who.id, phone: number });
          await comesTomorrow(who);
        }),
      );
    });
    for (const [what, , wanted] of GATEWAY) {
      it(what, async () => {
        const who = people.get(what)!;
        const [row] = await desk.settled(who);
        const requests = asked(who.phone);
        expect({
          status: row!.status,
          asked: requests.length,
          last_error: row!.last_error,
          reason: row!.reason,
        }).to.deep.equal(wanted);
        expect(
          new Set(requests.map(({ headers }) => headers['idempotency-key'])).size,
          'one key for all attempts',
        ).to.equal(1);
        expect(JSON.stringify(row)).not.to.include(who.phone);
        if (wanted.last_error === 'SMS_429') expect(requests[1]!.at - requests[0]!.at).to.be.at.least(2_000);
      });
    }
  });

  describe('a mail server that', () => {
    const people = new Map<string, { id: string; email: string }>();
    let of: AnchorStudy;
    before(async () => {
      of = await study({ channels: ['email'] });
      await Promise.all(
        MAIL.map(async ([what, kind]) => {
          const email = `${kind}-${unique()}@example.org`;
          const who = await desk.person(of, { email });
          people.set(what, { id: who.id, email });
          await comesTomorrow(who);
        }),
      );
    });
    it('asks to come back, for a login link: the message says that it was tried, and why it still waits', async () => {
      const who = await desk.person(of, { email: `never-${unique()}@example.org` });
      await desk.stage.admin.expect(202, 'POST', '/api/portal/magic-link', {
        participant_id: who.id,
        channel: 'email',
      });
      const row = await until(
        async () => (await desk.of(who)).find(({ kind, attempts }) => kind === 'magic_link' && attempts > 1),
        { what: 'two attempts' },
      );
      expect([row.status, row.last_error]).to.deep.equal(['pending', 'EENVELOPE']);
    });

    it('knows no such mailbox, for an invitation: the audit log says that nobody got it', async () => {
      const email = `unknown-${unique()}@example.org`;
      const { id } = await desk.stage.admin.expect<{ id: string }>(201, 'POST', '/api/users/invite', {
        email,
        name: 'Mistyped',
        role: 'admin',
      });
      const [record] = await until(
        async () => {
          const found = await desk.stage.sql<{ audit_metadata: object }>(
            `select audit_metadata from audit_log where action = 'user_link_refused' and resource_id = ?`,
            [id],
          );
          return found.length > 0 ? found : undefined;
        },
        { what: 'the record' },
      );
      expect(record!.audit_metadata).to.deep.equal({
        purpose: 'invitation',
        reason: 'the mail server refused the message (550)',
      });
      const { email: admin } = await user(desk.stage.admin, 'admin');
      const visitor = await Visitor.of(desk.stage.run.api, admin);
      const page = await visitor.get(`/console/users/${id}`);
      expect(page.text)
        .to.include('The invitation did not arrive')
        .and.to.include('the mail server refused the message (550)');
      const listed = async () => (await visitor.get('/console/users?role=admin')).text;
      expect(await listed()).to.include('Mail refused');
      // Another one is under way: nothing is known of it yet.
      await desk.stage.sql(`insert into user_links (user_id, purpose) values (?, 'invitation')`, [id]);
      expect(await listed()).not.to.include('Mail refused');
    });

    for (const [what, , wanted] of MAIL) {
      it(what, async () => {
        const who = people.get(what)!;
        const [row] = await desk.settled(who);
        const taken = mails.to(who.email);
        expect({
          status: row!.status,
          taken: taken.length,
          dead: await desk.isDead(who),
          last_error: row!.last_error,
        }).to.deep.equal(wanted);
        expect(new Set(taken.map(({ messageId }) => messageId)).size, 'one Message-ID').to.equal(
          Math.min(1, wanted.taken),
        );
        expect(JSON.stringify(row)).not.to.include(who.email);
      });
    }

    it('an address that is not there gets no more of them, until it is changed', async () => {
      const who = people.get('knows no such mailbox (550 5.1.1)')!;
      await desk.settled(who);
      const second = await comesTomorrow(who);
      const rows = await desk.settled(who, 2);
      const found = rows.find(({ visit_id }) => visit_id === second.id)!;
      expect(found).to.include({ status: 'suppressed', reason: 'address_dead', attempts: 0 });
      expect((await desk.explain(second.id))[0]!.why).to.include('messages to this address came back');
      await desk.stage.admin.expect(200, 'PATCH', `/api/participants/${who.id}`, {
        email: `good-${unique()}@example.org`,
      });
      await until(async () => (await desk.of(who)).find(({ id, status }) => id === found.id && status === 'sent'), {
        what: 'the reminder at the new address',
      });
    });
  });

  it('a text message that is reported undelivered is followed on the channel that the study names instead, once', async () => {
    const of = await study({ channels: ['sms'], fallback: ['email'] });
    const email = `good-${unique()}@example.org`,
      number = phone();
    const who = await desk.person(of, { email, phone: number });
    await comesTomorrow(who);
    const [sent] = await desk.settled(who);
    const { pathname, search } = new URL(
      (JSON.parse(asked(number)[0]!.body) as { status_callback: string }).status_callback,
    );
    const anybody = new Http(service.run.api);
    expect((await anybody.post(`${pathname}${search}`, { status: 'delivered' })).status).to.equal(204);
    expect(await desk.of(who)).to.have.length(1);
    for (let i = 0; i < 2; i += 1)
      expect(
        (await anybody.post(`${pathname}${search}`, { status: 'undelivered', error_code: '30003' })).status,
      ).to.equal(204);
    const rows = await desk.settled(who, 2);
    expect(rows.find(({ id }) => id === sent!.id)).to.include({
      status: 'sent',
      delivery_status: 'undelivered',
      last_error: 'the gateway reported 30003',
    });
    expect(rows.find(({ channel }) => channel === 'email')).to.include({ status: 'sent', fallback_of: sent!.id });
    expect(mails.to(email)).to.have.length(1);
    expect(rows).to.have.length(2);
  });

  it('channels are tried in the order that the study gives, past those that nobody can be reached on', async () => {
    const of = await study({ channels: ['push'], fallback: ['sms', 'email'] });
    const email = `good-${unique()}@example.org`,
      number = phone();
    answers.set(number, says(400));
    const who = await desk.person(of, { email, phone: number });
    const visit = await comesTomorrow(who);
    const rows = await until(
      async () => {
        const all = await desk.settled(who);
        return all.length === 3 ? all : undefined;
      },
      { what: 'all three channels to be tried' },
    );
    expect(
      Object.fromEntries(rows.map(({ channel, status, reason }) => [channel, `${status} ${String(reason)}`])),
    ).to.deep.equal({ push: 'suppressed no_address', sms: 'failed refused', email: 'sent null' });
    expect(mails.to(email)).to.have.length(1);
    const told = await desk.explain(visit.id);
    expect(told.find(({ channel }) => channel === 'email')!.rule).to.include(
      'because the channel before it did not work',
    );
  });

  it('what is pending for who has no address is said not to be sent, what instead, and to be sent once there is one', async () => {
    const of = await study({ fallback: ['sms'] });
    const who = await desk.person(of, { email: null });
    const visit = await desk.visit(who, '2031-05-20');
    const [told] = await desk.explain(visit.id);
    expect(told).to.include({
      outcome: 'will_not_be_sent',
      status: 'pending',
      why: 'As things are it will not be sent: the participant has no address for this channel; sms is tried instead.',
    });
    await desk.stage.admin.expect(200, 'PATCH', `/api/participants/${who.id}`, {
      email: `good-${unique()}@example.org`,
    });
    expect((await desk.explain(visit.id))[0]).to.include({ outcome: 'will_be_sent', why: 'It waits for its time.' });
  });

  describe('a mail that comes back', () => {
    const bounced = (content: string) =>
      new Http(service.run.api).send('POST', '/api/notifications/bounces', undefined, {
        raw: { type: 'message/rfc822', content },
      });
    let of: AnchorStudy;
    before(async () => {
      of = await study({ fallback: ['sms'] });
    });
    async function sent(): Promise<{ who: { id: string }; email: string; number: string; headers: string }> {
      const email = `good-${unique()}@example.org`,
        number = phone();
      const who = await desk.person(of, { email, phone: number });
      await comesTomorrow(who);
      await desk.settled(who);
      return { who, email, number, headers: headersOf(mails.to(email)[0]!.source) };
    }

    it('because its mailbox is not there: it goes to the next channel, and no more mail to that address', async () => {
      const { who, email, number, headers } = await sent();
      expect((await bounced(bounceOf(headers))).status).to.equal(204);
      expect((await bounced(bounceOf(headers))).status).to.equal(204);
      const rows = await desk.settled(who, 2);
      expect(rows.find(({ channel }) => channel === 'email')).to.include({
        status: 'sent',
        delivery_status: 'undelivered',
        last_error: 'the mail came back (5.1.1)',
      });
      expect(rows.find(({ channel }) => channel === 'sms')).to.include({ status: 'sent' });
      const next = await comesTomorrow(who);
      await until(
        async () =>
          (await desk.of(who, `&visit_id=${next.id}`)).filter(({ status }) => status !== 'pending').length === 2,
        { what: 'the next reminder' },
      );
      expect(
        (await desk.of(who, `&visit_id=${next.id}`))
          .map(({ channel, status, reason }) => `${channel} ${status} ${String(reason)}`)
          .sort(),
      ).to.deep.equal(['email suppressed address_dead', 'sms sent null']);
      expect([mails.to(email).length, asked(number).length]).to.deep.equal([1, 2]);
    });

    for (const [what, change, dead] of [
      ['for another reason (5.2.2): the next channel, the address stays good', { status: '5.2.2' }, 0],
      ['only late: nothing', { action: 'delayed', status: '4.4.7' }, 0],
    ] as const) {
      it(what, async () => {
        const { who, headers } = await sent();
        expect((await bounced(bounceOf(headers, change))).status).to.equal(204);
        if (what.startsWith('for')) await desk.settled(who, 2);
        const [row] = await desk.of(who, '&channel=email');
        expect([
          row!.delivery_status,
          (await desk.stage.sql('select 1 from dead_addresses where participant_id = ?', [who.id])).length,
        ]).to.deep.equal([what.startsWith('for') ? 'undelivered' : null, dead]);
      });
    }

    it('is refused where it is no such report, or returns no message of ours', async () => {
      const { headers } = await sent();
      for (const [content, status, code] of [
        ['Subject: hello\r\n\r\nhow are you?', 422, 'NO_DELIVERY_REPORT'],
        ['\u0000\u0001', 422, 'NO_DELIVERY_REPORT'],
        [bounceOf('Subject: something else'), 404, 'NOT_FOUND'],
        [bounceOf(headers.replace(/(X-Delivery-Report:\s*\S{8})\S/i, '$1_')), 404, 'NOT_FOUND'],
      ] as const) {
        const answer = await bounced(content);
        expect([answer.status, answer.body.code], content.slice(0, 40)).to.deep.equal([status, code]);
      }
    });
  });

  describe('a browser', () => {
    const register = (who: { id: string }, token: string) =>
      desk.stage.admin.post('/api/notifications/register', { participant_id: who.id, platform: 'web', token });

    it('is sent what it alone can read, signed with the key that it was given', async () => {
      const of = await study({ channels: ['push'] });
      const who = await desk.person(of);
      const browser = new PushBrowser(`${gateway.url}/browser/${unique()}`);
      const { public_key } = await new Http(service.run.api).expect<{ public_key: string }>(
        200,
        'GET',
        '/api/notifications/web-push-key',
      );
      expect((await register(who, browser.token)).status).to.equal(201);
      expect((await register(who, browser.token)).status).to.equal(200);
      await comesTomorrow(who);
      const [row] = await desk.settled(who);
      expect(row).to.include({ channel: 'push', status: 'sent' });
      const [got, ...more] = gateway.at(new URL((JSON.parse(browser.token) as { endpoint: string }).endpoint).pathname);
      expect(more).to.deep.equal([]);
      expect(browser.read(got!)).to.deep.include({
        title: `Reminder: Visit 1 on ${dayIn(zone, 1)}`,
        notification_id: row!.id,
      });
      const { key, claims } = vapidOf(got!);
      expect([key, claims.aud]).to.deep.equal([public_key, gateway.url]);
      expect(claims.sub).to.match(/^mailto:/);
      expect(got!.headers).to.include({ topic: row!.id.replaceAll('-', ''), 'content-encoding': 'aes128gcm' });
      expect(() => new PushBrowser(gateway.url).read(got!)).to.throw();
    });

    it('that has gone (410) is forgotten; the next device is told', async () => {
      const of = await study({ channels: ['push'], fallback: ['sms'] });
      const who = await desk.person(of, { phone: phone() });
      const path = `/gone/${unique()}`;
      const before = gateway.answer;
      gateway.answer = (request, response, count) => {
        if (request.path === path) response.writeHead(410).end();
        else before(request, response, count);
      };
      try {
        await register(who, new PushBrowser(`${gateway.url}${path}`).token);
        await comesTomorrow(who);
        await until(async () => (await desk.of(who)).length === 2 && (await desk.settled(who)).length === 2, {
          what: 'the text message instead',
        });
        expect((await desk.of(who, '&channel=push'))[0]).to.include({
          status: 'failed',
          last_error: 'the push service does not know the browser any more (410)',
        });
        expect(await desk.stage.sql('select 1 from push_tokens where participant_id = ?', [who.id])).to.deep.equal([]);
      } finally {
        gateway.answer = before;
      }
    });

    it('that gives no subscription is refused with what is wrong', async () => {
      const who = await desk.person(await study({ channels: ['push'] }));
      const good = JSON.parse(new PushBrowser('https://push.example.org/x').token) as { keys: Record<string, string> };
      for (const [token, words] of [
        ['{"endpoint": 5}', 'no push subscription'],
        ['{oh', 'no push subscription'],
        [JSON.stringify({ ...good, keys: { ...good.keys, auth: 'AAAA' } }), 'auth that is not 16 bytes'],
        [JSON.stringify({ ...good, keys: { ...good.keys, p256dh: 'AAAA' } }), 'p256dh that is not 65 bytes'],
      ] as const) {
        const answer = await register(who, token);
        expect([answer.status, answer.body.errors[0]!.path], token).to.deep.equal([422, 'token']);
        expect(answer.body.errors[0]!.message).to.include(words);
      }
    });
  });

  it('a limit of messages a minute is kept, also by several workers; what waits is sent in its turn', async () => {
    const of = await study({ channels: ['push'] });
    const tokens = new Set<string>();
    const began = performance.now();
    const people = await Promise.all(
      Array.from({ length: 8 }, async () => {
        const who = await desk.person(of);
        const token = unique('device');
        tokens.add(token);
        await desk.stage.admin.expect(201, 'POST', '/api/notifications/register', {
          participant_id: who.id,
          platform: 'ios',
          token,
        });
        return who;
      }),
    );
    const elsewhere = desk.sweepHere({ pushPerMinute: PUSHES_PER_MINUTE, pushUrl: `${gateway.url}/push` });
    await Promise.all(people.map(comesTomorrow));
    await elsewhere();
    for (const who of people) expect((await desk.settled(who))[0]).to.include({ status: 'sent' });
    const times = gateway
      .at('/push')
      .filter(({ body }) => tokens.has((JSON.parse(body) as { message: { token: string } }).message.token))
      .map(({ at }) => at)
      .sort((a, b) => a - b);
    expect(times).to.have.length(people.length);
    // None of them may go before all of this began. A busy machine is late, for each of them, and never early; timers
    // may be by a moment.
    expect(times.at(-1)! - began).to.be.at.least(((people.length - 1) * 60_000) / PUSHES_PER_MINUTE - 50);
  });

  describe('properties of reminders on the running service, over random lives, with a worker that is killed', function () {
    this.timeout(240_000);
    remindersOverRandomLives(() => ({ service, gateway, desk }));
  });
  describe('What a provider says that is not about an address', () =>
    refusals(() => ({ service, gateway, mails, desk })));
});
