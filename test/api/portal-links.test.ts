import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Provider } from '../../activities/notifications/provider.js';
import type { RateLimiter } from '../../activities/notifications/rate-limiter.js';
import { sendNotification } from '../../activities/notifications/send.js';
import type { Person } from '../anchor/stage.js';
import { Http, unique } from '../support/http.js';
import type { Answer, Loose, Role } from '../support/http.js';
import { mailsTo, ownDate, tokenIn } from '../support/portal.js';
import { until } from '../support/until.js';
import { PortalSetting } from './portal-setting.js';

describe('Into the portal', function links() {
  let setting: PortalSetting;
  before(async () => {
    setting = await PortalSetting.open();
  });
  after(() => setting.close());

  const ask = (who: Person, channel = 'email', by: Http = setting.stage.admin) =>
    by.post('/api/portal/magic-link', { participant_id: who.id, channel });
  const addressOf = async (who: Person) =>
    (await setting.stage.admin.expect<{ email: string }>(200, 'GET', `/api/participants/${who.id}`)).email;
  const open = (token: string): Promise<Answer<Loose & { participant: Record<string, unknown> }>> =>
    setting.anybody.post('/api/portal/session', { token });

  describe('a link', () => {
    it('goes to the participant’s address, has the token and is told to nobody else', async () => {
      const anna = await setting.person();
      const answer = await ask(anna);
      expect([answer.status, answer.body]).to.deep.equal([202, { status: 'queued' }]);
      const address = await addressOf(anna);
      const mail = await until(async () => (await mailsTo(address))[0], { what: 'the mail' });
      expect(mail.text).to.include(`${setting.stage.run.api}/portal?token=`).and.include('15 minutes');
      const token = tokenIn(mail.text)!;
      await until(
        async () =>
          (
            await setting.stage.sql<{ status: string }>('select status from notifications where participant_id = ?', [
              anna.id,
            ])
          )[0]?.status === 'sent',
        { what: 'the notification to be sent' },
      );
      await open(token);
      const tables = await setting.stage.sql<{ name: string }>(
        `select c.oid::regclass::text as name from pg_class c where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p')`,
      );
      expect(tables.length).to.be.greaterThan(20);
      for (const { name } of tables)
        expect(
          await setting.stage.sql(`select 1 from ${name} x where position(? in x::text) > 0`, [token]),
          name,
        ).to.deep.equal([]);
      const logs = join(setting.stage.run.data_dir, 'logs');
      for (const file of readdirSync(logs)) expect(readFileSync(join(logs, file), 'utf8'), file).not.to.include(token);
      const [asked] = (await setting.study.audit('portal_link_requested')).filter(
        (record) => record.resource_id === anna.id,
      );
      expect(asked).to.deep.include({ user_id: setting.stage.admin.userId });
    });

    it('is in the study’s own words where it has some, in the participant’s language; the link is in them or below', async () => {
      const of = await setting.stage.study(ownDate, {
        fields: {
          config: {
            enrollment_date_policy: ownDate,
            notifications: {
              languages: {
                en: {
                  magic_link: { subject: 'Welcome to {{study_code}}', body: 'Come in, {participant_code}.' },
                  override_pending: { subject: 'x', body: 'y' },
                  daily_summary: { subject: 'x', body: 'y' },
                },
                de_AT: { magic_link: { subject: 'Servus', body: 'Bitte: {{link}} ({{minutes}} Minuten)' } },
              },
            },
          },
        },
      });
      for (const [preferred_language, subject, text] of [
        ['de-AT', 'Servus', /^Bitte: http\S+\/portal\?token=[\w-]+ \(15 Minuten\)\s*$/],
        ['en_US', /^Welcome to /, /^Come in, \S+\.\s+http\S+\/portal\?token=[\w-]+\s*$/],
      ] as const) {
        const who = await setting.person({ preferred_language }, of);
        await ask(who);
        const mail = await until(async () => (await mailsTo(await addressOf(who)))[0], { what: 'the mail' });
        expect(mail.subject).to.match(new RegExp(subject));
        expect(mail.text).to.match(text);
        expect((await open(tokenIn(mail.text)!)).status).to.equal(200);
      }
    });

    it('names to a caregiver all whom it lets in for: their codes, and each site once', async () => {
      const of = await setting.stage.study(ownDate, {
        fields: {
          config: {
            enrollment_date_policy: ownDate,
            notifications: {
              languages: {
                en: {
                  magic_link: {
                    subject: 'For {{participant_code}}',
                    body: 'At {{site_code}}, {{site_name}}: {{link}}',
                  },
                },
              },
            },
          },
        },
      });
      const { admin } = setting.stage;
      const made = (site_code: string, name: string) =>
        admin.expect(201, 'POST', `/api/studies/${of.id}/sites`, { site_code, name });
      const [north, south] = [await made('N', 'North'), await made('S', 'South')];
      const people: Person[] = [];
      for (const [participant_code, site_id] of [
        ['C-3', south.id],
        ['C-1', north.id],
        ['C-2', north.id],
        ['C-0', south.id],
      ] as const)
        people.push(await setting.person({ participant_code, site_id }, of));
      const email = `${unique('carer')}@example.org`;
      const { id } = await admin.expect(201, 'POST', `/api/studies/${of.id}/caregivers`, { email });
      for (const one of people)
        await admin.expect(200, 'PUT', `/api/studies/${of.id}/caregivers/${id}/participants/${one.id}`, {
          relationship: 'parent',
        });
      await people[3]!.withdraw();
      await admin.expect(202, 'POST', '/api/portal/magic-link', { caregiver_id: id, channel: 'email' });
      const mail = await until(async () => (await mailsTo(email))[0], { what: 'the mail' });
      expect([mail.subject, mail.text.replace(/: http\S+\s*$/, '')]).to.deep.equal([
        'For C-1, C-2, C-3',
        'At N, S, North, South',
      ]);
      expect((await open(tokenIn(mail.text)!)).status).to.equal(200);
    });

    it('goes as a text message', async () => {
      const phone = `+49${Date.now()}`;
      const ben = await setting.person({ email: null, phone });
      expect((await ask(ben, 'sms')).status).to.equal(202);
      const message = await until(
        async () =>
          (
            (await (await fetch(`${setting.stage.run.mail_ui}/sms`)).json()) as { body: { to: string; text: string } }[]
          ).find(({ body }) => body.to === phone),
        { what: 'the text message' },
      );
      expect((await open(tokenIn(message.body.text)!)).body.participant).to.include({ id: ben.id });
    });

    for (const [channel, field] of [
      ['email', 'email'],
      ['sms', 'phone'],
    ] as const) {
      it(`is 400 for a participant without ${field}`, async () => {
        const answer = await ask(await setting.person({ email: null }), channel);
        expect([answer.status, answer.body.code]).to.deep.equal([400, 'NO_ADDRESS']);
        expect(answer.body.detail).to.include(field);
      });
    }

    it('is 409 for who has withdrawn, 404 for a participant of another study, 422 for another channel', async () => {
      const gone = await setting.person();
      await gone.withdraw();
      expect((await ask(gone)).body.code).to.equal('PARTICIPANT_WITHDRAWN');
      const other = await (await setting.stage.study()).person({ email: 'x@example.org' });
      expect((await ask(other, 'email', await setting.study.as('coordinator'))).status).to.equal(404);
      expect((await ask(await setting.person(), 'pigeon')).status).to.equal(422);
    });

    it('is asked for by staff who work with participants', async () => {
      const someone = await setting.person();
      for (const [role, status] of [
        ['coordinator', 202],
        ['researcher', 202],
        ['investigator', 202],
        ['data_manager', 403],
      ] as [Role, number][]) {
        expect((await ask(someone, 'email', await setting.study.as(role))).status, role).to.equal(status);
      }
      expect((await ask(someone, 'email', setting.anybody)).status).to.equal(401);
    });
  });

  describe('a message with a link', () => {
    const texts: string[] = [];
    let down: boolean;
    const provider: Provider = {
      send: async ({ text }) => {
        texts.push(text);
        if (down) throw new Error('the mail server hung up');
      },
    };
    let send: (id: string) => Promise<void>;
    const queued = async (who: Person): Promise<string> => {
      const rows = await setting.stage.sql<{ id: string }>(
        `insert into notifications (study_id, participant_id, kind, channel) values (?, ?, 'magic_link', 'email') returning id`,
        [setting.study.id, who.id],
      );
      return rows[0]!.id;
    };
    const stateOf = async (id: string) =>
      (
        await setting.stage.sql<{ status: string; reason: string | null }>(
          'select status, reason from notifications where id = ?',
          [id],
        )
      )[0];
    const depsOf = (email: Provider): Parameters<typeof sendNotification>[0] => ({
      database: setting.stage.database,
      channels: { email, sms: null },
      links: {
        secret: readFileSync(join(setting.stage.run.data_dir, 'keys', 'SESSION_SECRET'), 'utf8').trim(),
        minutes: 15,
        publicUrl: 'https://study.example.org/',
      },
      retryDays: 7,
    });
    before(() => {
      send = sendNotification(depsOf(provider));
    });
    beforeEach(() => {
      texts.length = 0;
      down = false;
    });

    it('is not sent to a caregiver with nobody left who takes part', async () => {
      const who = await setting.person();
      const { id: carer } = await setting.stage.admin.expect(
        201,
        'POST',
        `/api/studies/${setting.study.id}/caregivers`,
        { email: `${unique('carer')}@example.org` },
      );
      await setting.stage.admin.expect(
        200,
        'PUT',
        `/api/studies/${setting.study.id}/caregivers/${carer}/participants/${who.id}`,
        { relationship: 'parent' },
      );
      const [row] = await setting.stage.sql<{ id: string }>(
        `insert into notifications (study_id, caregiver_id, kind, channel) values (?, ?, 'magic_link', 'email') returning id`,
        [setting.study.id, carer],
      );
      await who.withdraw();
      await send(row!.id);
      expect([await stateOf(row!.id), texts]).to.deep.equal([
        { status: 'cancelled', reason: 'no active participants are assigned to this caregiver' },
        [],
      ]);
    });

    /** Why a message could not be sent. */
    const faultOf = (id: string) =>
      send(id).then(
        () => undefined,
        (thrown: Error) => thrown.message,
      );

    it('that is put off for longer than messages are tried has failed, and says why', async () => {
      const [recent, old] = [await queued(await setting.person()), await queued(await setting.person())];
      await setting.stage.sql(`update notifications set created_at = now() - interval '8 days' where id = ?`, [old]);
      down = true;
      expect(await faultOf(recent)).to.equal('the mail server hung up');
      await send(old);
      expect(await stateOf(recent)).to.deep.equal({ status: 'pending', reason: null });
      expect(await stateOf(old)).to.deep.equal({
        status: 'failed',
        reason: 'put off for as long as MESSAGE_RETRY_MAX_DAYS allows (Error)',
      });
    });

    it('that is written again has the same link, which its reader may have already, for one use; once opened it is not sent again', async () => {
      const id = await queued(await setting.person());
      down = true;
      expect([await faultOf(id), (await stateOf(id))!.status]).to.deep.equal(['the mail server hung up', 'pending']);
      down = false;
      await send(id);
      expect(await stateOf(id)).to.deep.equal({ status: 'sent', reason: null });
      expect(texts[1]).to.include('https://study.example.org/portal?token=');
      const [first, second] = texts.map(tokenIn) as [string, string];
      expect(second, 'mailboxes keep one of two messages under one id').to.equal(first);
      expect([(await open(first)).status, (await open(second)).status]).to.deep.equal([200, 401]);
      // As if the process had died before it noted that the message went.
      await setting.stage.sql(`update notifications set status = 'pending', sent_at = null where id = ?`, [id]);
      await send(id);
      expect(texts).to.have.length(2);
      expect((await stateOf(id))!.status).to.equal('sent');
    });

    it('that is written while the address is corrected goes to no former one, and is written again', async () => {
      const who = await setting.person();
      const id = await queued(who);
      const sent: string[] = [];
      const now = `${unique('now')}@example.org`;
      // Between the reading of the address and the making of the link.
      const pace = {
        jumpIn: () =>
          setting.stage.admin.expect(200, 'PATCH', `/api/participants/${who.id}`, { email: now }).then(() => undefined),
      };
      const deps = depsOf({ send: async ({ to }) => void sent.push(to) });
      const fault = await sendNotification({ ...deps, pace: pace as unknown as RateLimiter })(id).then(
        () => undefined,
        ({ code }: { code?: string }) => code,
      );
      expect([fault, sent]).to.deep.equal(['ADDRESS_CHANGED', []]);
      await sendNotification(deps)(id);
      expect([sent, (await stateOf(id))!.status]).to.deep.equal([[now], 'sent']);
    });

    it('is cancelled where the participant has withdrawn meanwhile', async () => {
      const gone = await setting.person();
      const id = await queued(gone);
      await gone.withdraw();
      await send(id);
      expect(await stateOf(id)).to.deep.equal({ status: 'cancelled', reason: 'the participant has withdrawn' });
      expect(texts).to.deep.equal([]);
    });
  });
});
