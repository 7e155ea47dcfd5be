import { expect } from 'chai';
import PostalMime from 'postal-mime';
import type { AnchorStudy } from '../anchor/stage.js';
import { bounceOf, headersOf } from '../support/bounce.js';
import { Http, unique } from '../support/http.js';
import type { Loose } from '../support/http.js';
import { tokenIn } from '../support/portal.js';
import type { Receiver } from '../support/receiver.js';
import { until } from '../support/service.js';
import type { Service } from '../support/service.js';
import type { MailBehaviour, Refusal, TestMailServer } from '../support/smtp-server.js';
import { clockIn, dayIn, daytimeZone } from './stage.js';
import type { Desk } from './stage.js';

const zone = daytimeZone();

/** What a mail server says of a recipient at first, and whether it takes the next attempt. */
const AT_RECIPIENT: Record<string, Refusal> = {
  closed: { code: 550, text: 'relay not permitted' },
  other: { code: 553, text: '5.7.1 <no-reply@example.org>: Sender address rejected: not owned by user' },
  locked: { code: 530, text: '5.7.0 Authentication required' },
  relay: { code: 550, text: '5.1.1 <relay-x@example.org>: no such user' },
};
const CONTENT: Record<string, Refusal> = { spam: { code: 550, text: 'looks like spam' } };
const REFUSED = 'the mail server refused the message (550)';

/** What a mail server does, at which kind of address, and what becomes of the reminder and of the address. */
export type MailCase = [
  what: string,
  kind: string,
  wanted: { status: string; taken: number; dead: boolean; last_error: string | null },
];
/** Those of a server that is `refusing`. */
export const NOT_OF_ADDRESSES: MailCase[] = [
  [
    'passes nothing on for this service, for a while',
    'closed',
    { status: 'sent', taken: 1, dead: false, last_error: 'SMTP_550' },
  ],
  [
    'does not let this sender, and says so of its first recipient',
    'other',
    { status: 'sent', taken: 1, dead: false, last_error: 'SMTP_553' },
  ],
  ['asks for a login', 'locked', { status: 'sent', taken: 1, dead: false, last_error: 'SMTP_530' }],
  ['refuses a content by 550 alone', 'spam', { status: 'failed', taken: 0, dead: false, last_error: REFUSED }],
  ['knows no mailbox of such a name', 'relay', { status: 'failed', taken: 0, dead: true, last_error: REFUSED }],
];
export const kindOf = (address: string): string => address.split('-')[0]!;

let sender: Refusal | undefined;
/** What the mail server of the service below says of these recipients, senders and contents. */
export const refusing = {
  sender: () => sender,
  recipient: (address: string, count: number) =>
    count > 1 && kindOf(address) !== 'relay' ? undefined : AT_RECIPIENT[kindOf(address)],
  content: (address: string) => CONTENT[kindOf(address)],
} satisfies MailBehaviour;

interface Setting {
  service: Service;
  gateway: Receiver;
  mails: TestMailServer;
  desk: Desk;
}

/**
 * What a provider says that is not about an address.
 * @param of a service whose mails go to a server that is `refusing`, and whose text messages to the gateway’s /sms
 */
export function refusals(of: () => Setting): void {
  let gateway: Receiver;
  let mails: TestMailServer;
  let service: Service;
  let desk: Desk;
  before(() => {
    ({ gateway, mails, service, desk } = of());
  });

  let numbers = 0;
  const phone = (): string => `+49${Date.now()}${numbers++}`;
  const addressOf = (kind: string): string => `${kind}-${unique()}@example.org`;
  const study = (notifications: Record<string, unknown>): Promise<AnchorStudy> =>
    desk.study({ send_at: clockIn(zone, -10), ...notifications }, { timezone: zone });
  const comesTomorrow = (who: { id: string }): Promise<Loose> => desk.visit(who, dayIn(zone, 1));

  describe('a mail server that', () => {
    let of: AnchorStudy;
    before(async () => {
      of = await study({ channels: ['email'] });
    });

    it('lets this service send nothing: what is due waits, a login link too, and no address is dead', async () => {
      const [reminded, asks] = [await desk.person(of), await desk.person(of)];
      sender = { code: 550, text: 'not a sender of ours' };
      await comesTomorrow(reminded);
      await desk.stage.admin.expect(202, 'POST', '/api/portal/magic-link', {
        participant_id: asks.id,
        channel: 'email',
      });
      for (const who of [reminded, asks]) {
        const row = await until(async () => (await desk.of(who)).find(({ attempts }) => attempts > 0), {
          what: 'an attempt',
        });
        expect([row.status, row.last_error, await desk.isDead(who)]).to.deep.equal(['pending', 'SMTP_550', false]);
      }
      sender = undefined;
      for (const who of [reminded, asks]) expect((await desk.settled(who))[0]).to.include({ status: 'sent' });
    });
  });

  describe('whose answer is lost has the message already, which is sent once more with the same link:', () => {
    const opened = async (token: string) =>
      (await new Http(service.run.api).post('/api/portal/session', { token })).status;
    const twice = (what: () => string[]): Promise<string[]> =>
      until(() => (what().length === 2 ? what() : undefined), { what: 'the second attempt', timeout: 60_000 });
    /** Of the mails to an address, as their readers see them. */
    const texts = async (email: string): Promise<string[]> =>
      Promise.all(
        (await twice(() => mails.to(email).map(({ source }) => source))).map(
          async (source) => (await PostalMime.parse(source)).text ?? '',
        ),
      );

    it('a mail with a link to the portal, whose reader has the first one', async () => {
      const email = addressOf('lost');
      const who = await desk.person(await study({}), { email });
      await desk.stage.admin.expect(202, 'POST', '/api/portal/magic-link', {
        participant_id: who.id,
        channel: 'email',
      });
      const [first, second] = (await texts(email)).map((text) => tokenIn(text)!);
      expect(mails.to(email)[1]!.messageId, 'mailboxes keep one').to.equal(mails.to(email)[0]!.messageId);
      expect(second).to.equal(first);
      expect(await opened(first!)).to.equal(200);
      expect(await opened(second!), 'once').to.equal(401);
    });

    it('a text message, which its gateway passes on once', async () => {
      const number = phone();
      const asked = () =>
        gateway
          .at('/sms')
          .filter(({ body }) => (JSON.parse(body) as { to: string }).to === number)
          .map(({ headers, body }) => `${headers['idempotency-key'] as string} ${body}`);
      gateway.answer = ({ path, body }, response) => {
        const to = path === '/sms' && (JSON.parse(body) as { to: string }).to;
        if (to === number && asked().length === 1) response.destroy();
        else response.writeHead(200).end('{}');
      };
      const who = await desk.person(await study({}), { email: null, phone: number });
      await desk.stage.admin.expect(202, 'POST', '/api/portal/magic-link', { participant_id: who.id, channel: 'sms' });
      const [first, second] = await twice(asked);
      expect(second, 'key and content').to.equal(first);
      expect(await opened(tokenIn(first!)!)).to.equal(200);
    });

    it('a mail with a link for a password', async () => {
      const email = addressOf('lost');
      await desk.stage.admin.expect(201, 'POST', '/api/users/invite', { email, name: 'N', role: 'coordinator' });
      const [first, second] = (await texts(email)).map((text) => /[?#]token=([\w-]+)/.exec(text)![1]!);
      expect(second).to.equal(first);
      const chosen = { token: first, new_password: 'another green clip 77' };
      expect((await new Http(service.run.api).post('/api/auth/password/reset', chosen)).status).to.equal(204);
    });
  });

  it('a mail that comes back once its address was corrected says nothing of the new one', async () => {
    const of = await study({ channels: ['email'], fallback: ['sms'] });
    const sent = async () => {
      const email = addressOf('good');
      const who = await desk.person(of, { email, phone: phone() });
      await comesTomorrow(who);
      await desk.settled(who);
      return { who, headers: headersOf(mails.to(email)[0]!.source) };
    };
    const bounced = async (headers: string) => {
      const raw = { type: 'message/rfc822', content: bounceOf(headers) };
      const answer = await new Http(service.run.api).send('POST', '/api/notifications/bounces', undefined, { raw });
      expect(answer.status).to.equal(204);
    };
    const change = (who: { id: string }, fields: object) =>
      desk.stage.admin.expect(200, 'PATCH', `/api/participants/${who.id}`, fields);
    const { who, headers } = await sent();
    const right = addressOf('right');
    await change(who, { email: right });
    await bounced(headers);
    expect(await desk.isDead(who), 'the new address').to.equal(false);
    expect((await desk.settled(who, 2)).find(({ channel }) => channel === 'email')).to.include({
      delivery_status: 'undelivered',
    });
    const next = await comesTomorrow(who);
    await until(
      async () =>
        (await desk.of(who, `&visit_id=${next.id}`)).some(({ channel, status }) => channel + status === 'emailsent'),
      { what: 'the next reminder' },
    );
    expect(mails.to(right)).to.have.length(1);
    const same = await sent();
    await change(same.who, { phone: phone() });
    await bounced(same.headers);
    expect(await desk.isDead(same.who), 'another field is no other address').to.equal(true);
  });

  it('a text message that is reported undelivered before the gateway has answered is followed by a mail', async () => {
    const of = await study({ channels: ['sms'], fallback: ['email'] });
    const [email, number] = [addressOf('good'), phone()];
    const answers: number[] = [];
    gateway.answer = ({ path, body }, response) => {
      if (path !== '/sms') return void response.writeHead(200).end('{}');
      const { to, status_callback } = JSON.parse(body) as { to: string; status_callback: string };
      // Of another test.
      if (to !== number) return void response.writeHead(200).end('{}');
      const { pathname, search } = new URL(status_callback);
      void new Http(service.run.api)
        .post(`${pathname}${search}`, { status: 'undelivered', error_code: '30003' })
        .then(({ status }) => {
          answers.push(status);
          response.writeHead(200).end('{}');
        });
    };
    const who = await desk.person(of, { email, phone: number });
    await comesTomorrow(who);
    const rows = await until(
      async () => {
        const all = await desk.settled(who);
        return all.length === 2 ? all : undefined;
      },
      { what: 'both channels' },
    );
    expect(answers).to.deep.equal([204]);
    const [text, mail] = ['sms', 'email'].map((channel) => rows.find((row) => row.channel === channel)!);
    expect(text).to.include({
      status: 'sent',
      delivery_status: 'undelivered',
      last_error: 'the gateway reported 30003',
    });
    expect(mail).to.include({ status: 'sent', fallback_of: text!.id });
    expect(mails.to(email)).to.have.length(1);
  });
}
