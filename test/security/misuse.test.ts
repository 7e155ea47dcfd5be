import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo, Server } from 'node:net';
import { expect } from 'chai';
import pg from 'pg';
import { Visitor } from '../console/stage.js';
import { startApi } from '../support/api-process.js';
import type { ApiProcess } from '../support/api-process.js';
import { Http, admin, login, newParticipant, newStudy, unique, user } from '../support/http.js';
import type { Answer, Loose } from '../support/http.js';
import { PRODUCTION } from '../support/production.js';
import { service } from '../support/service.js';
import { until } from '../support/until.js';

const code = ({ status, body }: Answer<Loose>) => [status, body.code];

describe('Somebody who is admitted, and goes too far', () => {
  let root: Http;
  let study: Loose;
  before(async () => {
    root = await admin();
    study = await newStudy(root);
  });

  describe('with test messages', () => {
    const mail = (recipient: string) => ({ recipient, subject: 'Dear customer', body: 'Pay here.' });

    it('no staff role writes to strangers, nor to others of the study', async () => {
      const email = `${unique('participant')}@example.org`;
      await newParticipant(root, study.id, { email, phone: '+4917012345' });
      const colleague = await user(root, 'researcher', { study_ids: [study.id] });
      for (const role of ['researcher', 'coordinator', 'investigator', 'data_manager'] as const) {
        const one = await user(root, role, { study_ids: [study.id] });
        for (const recipient of [`${unique('stranger')}@example.com`, email, colleague.email])
          expect(code(await one.post('/api/test/email', mail(recipient))), role).to.deep.equal([
            403,
            'RECIPIENT_NOT_ALLOWED',
          ]);
        expect(code(await one.post('/api/test/sms', { recipient: '+4917012345', body: 'x' })), role).to.deep.equal([
          403,
          'RECIPIENT_NOT_ALLOWED',
        ]);
        expect((await one.post('/api/test/email', mail(one.email.toUpperCase()))).status, 'to oneself').to.equal(202);
      }
    });

    it('an admin writes to those whom the service knows, and to nobody else', async () => {
      const email = `${unique('participant')}@example.org`;
      const phone = `+49 170 ${Math.floor(Math.random() * 1e9)}`;
      await newParticipant(root, study.id, { email, phone });
      const colleague = await user(root, 'coordinator');
      for (const recipient of [email, colleague.email])
        expect((await root.post('/api/test/email', mail(recipient))).status).to.equal(202);
      expect(
        (await root.post('/api/test/sms', { recipient: phone.replaceAll(' ', '-'), body: 'x' })).status,
        'written otherwise',
      ).to.equal(202);
      expect(code(await root.post('/api/test/email', mail(`${unique('x')}@example.com`)))).to.deep.equal([
        403,
        'RECIPIENT_NOT_ALLOWED',
      ]);
      expect(code(await root.post('/api/test/sms', { recipient: '+1 555 0100 99', body: 'x' }))).to.deep.equal([
        403,
        'RECIPIENT_NOT_ALLOWED',
      ]);
    });
  });

  describe('with many requests', () => {
    let api: ApiProcess, proxied: ApiProcess;
    let at: Http;
    /** The mail server that the proxied one asks for its health; mails are sent by the worker. */
    let mail: Server;
    let connections = 0;
    before(async () => {
      mail = createServer((socket) => {
        connections += 1;
        // The service looks whether it is answered, and breaks off.
        socket.on('error', () => undefined);
        socket.end('220 ready\r\n');
      });
      await once(mail.listen(0, '127.0.0.1'), 'listening');
      const SMTP_URL = `smtp://127.0.0.1:${(mail.address() as AddressInfo).port}`;
      [api, proxied] = await Promise.all([
        startApi({ EXPORTS_PER_USER: '3', LINKS_PER_HOUR: '2', PUBLIC_URL: 'https://study.example.org' }),
        startApi({ AUTH_RATE_LIMIT_PER_MINUTE: '4', TRUST_PROXY: 'true', SMTP_URL }),
      ]);
      const run = await service();
      at = (await login(api.url, run.admin_email, run.admin_password ?? '')).http;
    });
    after(async () => {
      await Promise.all([api?.stop(), proxied?.stop()]);
      mail?.close();
    });

    it('exports in the background are so many for each user and study', async () => {
      const ask = () => at.post('/api/exports/csv', { study_id: study.id, dataset: 'visits', mode: 'background' });
      const statuses = (await Promise.all(Array.from({ length: 6 }, ask))).map(code);
      expect(statuses.filter(([status]) => status === 202)).to.have.length(3);
      for (const refused of statuses.filter(([status]) => status !== 202))
        expect(refused).to.deep.equal([429, 'QUOTA_EXCEEDED']);
      const other = await newStudy(root);
      expect(
        (await at.post('/api/exports/csv', { study_id: other.id, dataset: 'visits', mode: 'background' })).status,
      ).to.equal(202);
    });

    it('links are so many an hour for each recipient; a forgotten password is answered alike', async () => {
      const { id } = await newParticipant(root, study.id, { email: `${unique('linked')}@example.org` });
      const link = () => at.post('/api/portal/magic-link', { participant_id: id, channel: 'email' });
      expect([code(await link())[0], code(await link())[0], code(await link())]).to.deep.equal([
        202,
        202,
        [429, 'QUOTA_EXCEEDED'],
      ]);
      const email = `${unique('forgetful')}@example.org`;
      const invited = await at.expect(201, 'POST', '/api/users/invite', { email, name: 'N', role: 'coordinator' });
      const forgot = () => new Http(api.url).post('/api/auth/password/forgot', { email });
      for (let i = 0; i < 3; i++) expect((await forgot()).status).to.equal(202);
      expect(code(await at.post(`/api/users/${invited.id}/invite`))).to.deep.equal([429, 'QUOTA_EXCEEDED']);
      const links = async () =>
        (
          (await (
            await fetch(`${(await service()).mail_ui}/email?to.address=${encodeURIComponent(email)}`)
          ).json()) as { to: { address: string }[] }[]
        ).filter(({ to }) => to.some(({ address }) => address === email)).length;
      await until(async () => (await links()) >= 2 || undefined, { what: 'the mails' });
      expect(await links()).to.equal(2);
    });

    it('a message is sent again to one recipient so often an hour, whatever its kind', async () => {
      const { id } = await newParticipant(root, study.id, { email: `${unique('again')}@example.org` });
      const target_date = new Date(Date.now() + 20 * 86_400_000).toISOString().slice(0, 10);
      await root.expect(201, 'POST', '/api/schedules/visits', { participant_id: id, name: 'V', target_date });
      const [reminder] = (await root.expect(200, 'GET', `/api/notifications?participant_id=${id}`)).items;
      await root.expect(200, 'POST', `/api/notifications/${reminder!.id}/cancel`);
      const again = () => at.post(`/api/notifications/${reminder!.id}/resend`);
      expect([code(await again())[0], code(await again())[0], code(await again())]).to.deep.equal([
        202,
        202,
        [429, 'QUOTA_EXCEEDED'],
      ]);
    });

    it('devices are so many for each person: the newest are written to', async () => {
      const { id } = await newParticipant(root, study.id);
      const device = (participant_id: string, token: string) =>
        root.post('/api/notifications/register', { platform: 'ios', token, participant_id });
      for (let i = 0; i < 23; i++) expect((await device(id, `device-${i}`)).status).to.equal(201);
      const database = new pg.Client({ connectionString: (await service()).database_url });
      await database.connect();
      const { rows } = await database.query(
        'select token from push_tokens where participant_id = $1 order by created_at',
        [id],
      );
      await database.end();
      expect(rows.map(({ token }) => token)).to.deep.equal(Array.from({ length: 20 }, (_, i) => `device-${i + 3}`));
      expect((await device(id, 'device-22')).status).to.equal(200);
    });

    it('subscriptions of a study are so many: each event goes to all of them', async () => {
      const { id } = await newStudy(root);
      const subscribe = () =>
        root.post(`/api/studies/${id}/event-subscriptions`, {
          url: 'https://one.example.org/hook',
          events: ['ENROLLMENT_DATE_SET'],
        });
      for (let i = 0; i < 50; i++) expect((await subscribe()).status).to.equal(201);
      const { status, body } = await subscribe();
      expect([status, body.errors?.[0]?.code]).to.deep.equal([400, 'TOO_MANY']);
    });

    it('the mail server is not connected to for each who asks how the service is', async () => {
      const anybody = new Http(proxied.url);
      for (let i = 0; i < 3; i += 1) {
        const answers = await Promise.all(Array.from({ length: 20 }, () => anybody.get('/api/health/detailed')));
        expect(answers.map(({ body }) => (body.dependencies as unknown as Loose).mail)).to.satisfy((all: Loose[]) =>
          all.every(({ status }) => status === 'ok'),
        );
      }
      expect(connections).to.be.within(1, 6);
    });

    it('test messages are counted as logins are', async () => {
      const one = (await login(api.url, (await user(root, 'coordinator')).email, 'correct blue staple 42')).http;
      const { email } = await one.expect<{ email: string }>(200, 'GET', '/api/auth/me');
      const sender = new Http(proxied.url, one.token);
      const statuses = [];
      for (let i = 0; i < 5; i++)
        statuses.push((await sender.post('/api/test/email', { recipient: email, subject: 'x', body: 'x' })).status);
      expect(statuses).to.deep.equal([202, 202, 202, 202, 429]);
    });

    it('behind https every answer says that it is (HSTS); without, none does', async () => {
      for (const path of ['/api/health', '/api/studies', '/nothing', '/portal'])
        expect((await at.get(path)).headers.get('strict-transport-security'), path).to.equal(
          'max-age=31536000; includeSubDomains',
        );
      expect((await root.get('/api/health')).headers.get('strict-transport-security')).to.equal(null);
      const seen = async (headers: Record<string, string>) =>
        (await new Http(proxied.url).get('/api/health', { headers })).headers.get('strict-transport-security');
      expect(await seen({ 'X-Forwarded-Proto': 'https' })).to.include('max-age');
      expect(await seen({})).to.equal(null);
    });
  });

  describe('to where the secrets are not meant to go', () => {
    it('a subscription that is turned to another address gets another secret at once', async () => {
      const path = `/api/studies/${study.id}/event-subscriptions`;
      const made = await root.expect<{ id: string; secret: string }>(201, 'POST', path, {
        url: 'https://one.example.org/hook',
        events: ['ENROLLMENT_DATE_SET'],
      });
      await root.expect(200, 'POST', `${path}/${made.id}/rotate-secret`);
      const same = await root.expect<Loose>(200, 'PATCH', `${path}/${made.id}`, {
        url: 'https://one.example.org/hook',
        description: 'the same',
      });
      expect(same).not.to.have.property('secret');
      const turned = await root.expect<{ secret: string; previous_secret_until: null }>(
        200,
        'PATCH',
        `${path}/${made.id}`,
        { url: 'https://other.example.org/hook' },
      );
      expect(turned.secret)
        .to.match(/^whsec_/)
        .and.not.equal(made.secret);
      expect(turned.previous_secret_until, 'nothing is signed by a former one').to.equal(null);
      expect(await root.expect(200, 'GET', `${path}/${made.id}`)).not.to.have.property('secret');
    });

    it('the capture system’s token does not follow api_url to another server', async () => {
      const config = `/api/datacapture/config/${study.id}`;
      const manager = await user(root, 'data_manager', { study_ids: [study.id] });
      await root.expect(201, 'PATCH', config, {
        api_url: 'https://capture.example.org/api/',
        api_token: 'A'.repeat(32),
      });
      for (const api_url of [
        'https://attacker.example.com/api/',
        'http://capture.example.org/api/',
        'https://capture.example.org:8443/api/',
      ]) {
        const refused = await manager.patch(config, { api_url });
        expect(code(refused), api_url).to.deep.equal([422, 'TOKEN_REQUIRED']);
        expect(refused.body.errors[0]).to.include({ path: 'api_token', code: 'TOKEN_REQUIRED' });
      }
      await manager.expect(200, 'PATCH', config, { api_url: 'https://capture.example.org/elsewhere/api/' });
      await manager.expect(200, 'PATCH', config, {
        api_url: 'https://moved.example.org/api/',
        api_token: 'B'.repeat(32),
      });
      const { items } = await root.expect<{ items: { audit_metadata: Loose }[] }>(
        200,
        'GET',
        `/api/audit?study_id=${study.id}&action=datacapture_config_changed`,
      );
      expect(items.find(({ audit_metadata }) => 'origin_after' in audit_metadata)!.audit_metadata).to.deep.include({
        origin_before: 'https://capture.example.org',
        origin_after: 'https://moved.example.org',
      });
      expect(JSON.stringify(items)).not.to.include('BBBB');
    });

    it('nor in a trial before it is saved', async () => {
      const other = await newStudy(root);
      await root.expect(201, 'PATCH', `/api/datacapture/config/${other.id}`, {
        api_url: 'https://capture.example.org/api/',
        api_token: 'A'.repeat(32),
      });
      const { email } = await user(root, 'researcher', { study_ids: [other.id] });
      const visitor = await Visitor.of(root.base, email);
      const path = `/console/capture/${other.id}/connection`;
      const refused = await visitor.post(path, path, { do: 'try', api_url: 'https://attacker.example.com/api/' });
      expect(refused.status).to.equal(422);
      const { items } = await root.expect<{ items: unknown[] }>(
        200,
        'GET',
        `/api/audit?study_id=${other.id}&action=datacapture_connection_tried`,
      );
      expect(items, 'nobody was asked').to.deep.equal([]);
    });

    it('in production neither goes out over http', async () => {
      const production = await startApi({ ...PRODUCTION, MFA_REQUIRED_ROLES: 'none' });
      try {
        const run = await service();
        const { http } = await login(production.url, run.admin_email, run.admin_password ?? '');
        const other = await newStudy(http);
        const config = await http.patch(`/api/datacapture/config/${other.id}`, {
          api_url: 'http://capture.example.org/api/',
          api_token: 'A'.repeat(32),
        });
        expect([config.status, config.body.errors[0]!.code]).to.deep.equal([400, 'INSECURE_URL']);
        const hook = await http.post(`/api/studies/${other.id}/event-subscriptions`, {
          url: 'http://one.example.org/hook',
          events: ['ENROLLMENT_DATE_SET'],
        });
        expect([hook.status, hook.body.errors[0]!.code]).to.deep.equal([400, 'INSECURE_URL']);
      } finally {
        await production.stop();
      }
    });
  });

  it('a coordinator of one site starts no session at another', async () => {
    const site = (name: string) =>
      root.expect<Loose>(201, 'POST', `/api/studies/${study.id}/sites`, { site_code: unique(name), name });
    const [own, other] = [await site('own'), await site('other')];
    const bound = await user(root, 'coordinator', { study_ids: [study.id], site_ids: [own.id] });
    const { id } = await newParticipant(root, study.id, { site_id: own.id });
    const start = (site_id?: unknown) => bound.post('/api/session/start', { participant_id: id, site_id });
    for (const named of [other.id, other.site_code])
      expect(code(await start(named)), String(named)).to.deep.equal([403, 'SITE_NOT_ASSIGNED']);
    for (const named of [own.id, own.site_code, undefined]) expect((await start(named)).status).to.equal(201);
    const free = await user(root, 'coordinator', { study_ids: [study.id] });
    expect(
      (await free.post('/api/session/start', { participant_id: id, site_id: other.id })).status,
      'who works for the whole study may',
    ).to.equal(201);
  });
});
