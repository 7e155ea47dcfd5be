import { expect } from 'chai';
import { linkHash } from '../../db/portal/portal.queries.js';
import { DAY } from '../anchor/stage.js';
import type { Person, SetView } from '../anchor/stage.js';
import { startApi } from '../support/api-process.js';
import { Http, user } from '../support/http.js';
import type { Answer, Loose } from '../support/http.js';
import { enterPortal, ownDate, sendLink } from '../support/portal.js';
import { PortalSetting } from './portal-setting.js';

interface Session {
  portal_token: string;
  expires_in: number;
  participant: Record<string, unknown>;
}
interface PortalVisit {
  id: string;
  name: string;
  status: string;
  target_date: string;
}

describe('The portal', function portal() {
  let setting: PortalSetting;
  before(async () => {
    setting = await PortalSetting.open();
  });
  after(() => setting.close());

  const link = (who: Person): Promise<string> => sendLink(setting.stage.admin, who.id);
  const open = (token: string): Promise<Answer<Session & Loose>> =>
    setting.anybody.post('/api/portal/session', { token });
  /** The participant's own caller. */
  const entered = (who: Person): Promise<Http> => enterPortal(setting.stage.admin, who.id);

  describe('a session', () => {
    it('answers a token, the participant and a cookie', async () => {
      const carl = await setting.person({ preferred_language: 'de' });
      const { status, body, headers } = await open(await link(carl));
      expect(status).to.equal(200);
      expect(body).to.have.all.keys('portal_token', 'expires_in', 'refresh_token', 'refresh_expires_in', 'participant');
      expect(body.expires_in).to.equal(1800);
      expect(body.participant)
        .to.include({ id: carl.id, study_id: setting.study.id, preferred_language: 'de', status: 'enrolled' })
        .and.have.all.keys('id', 'study_id', 'participant_code', 'preferred_language', 'status');
      expect(headers.get('set-cookie')).to.match(
        /^portal_session=\S+; Path=\/api; Max-Age=1800; HttpOnly; SameSite=Strict$/,
      );
      const records = (await setting.study.audit('portal_session_started')).filter(
        (record) => record.resource_id === carl.id,
      );
      expect(records).to.have.length(1);
      expect(records[0]!.user_id).to.equal(null);
      expect(await setting.study.chainVerifies()).to.equal(true);
    });

    it('opens once, also of ten at the same moment', async () => {
      const token = await link(await setting.person());
      const answers = await Promise.all(Array.from({ length: 10 }, () => open(token)));
      expect(answers.map(({ status }) => status).sort()).to.deep.equal([200, ...Array.from({ length: 9 }, () => 401)]);
    });

    it('is refused alike for a link that is unknown, used, expired or of somebody who has withdrawn; the record says which', async () => {
      const [used, late, gone] = await Promise.all([setting.person(), setting.person(), setting.person()]);
      const tokens = { used: await link(used), expired: await link(late), withdrawn: await link(gone) };
      await open(tokens.used);
      await setting.stage.sql(`update portal_links set expires_at = clock_timestamp() where participant_id = ?`, [
        late.id,
      ]);
      await gone.withdraw();
      const answers = [
        await open('unknown-token'),
        ...(await Promise.all(Object.values(tokens).map((token) => open(token)))),
      ];
      for (const { status, body } of answers)
        expect([status, { ...body, request_id: '' }]).to.deep.equal([
          401,
          { detail: 'The link is invalid, has expired, or was used already.', code: 'INVALID_LINK', request_id: '' },
        ]);
      const refused = await setting.study.audit('portal_session_refused');
      for (const [reason, who] of [
        ['used', used],
        ['expired', late],
        ['withdrawn', gone],
      ] as const) {
        expect(
          refused.filter((record) => record.resource_id === who.id).map((record) => record.audit_metadata.reason),
        ).to.deep.equal([reason]);
      }
    });

    it('counts by address, apart from the logins; its cookie is Secure behind https; another service’s secret opens nothing', async () => {
      const api = await startApi({
        RATE_LIMIT_PER_MINUTE: '3',
        AUTH_RATE_LIMIT_PER_MINUTE: '1',
        TRUST_PROXY: 'true',
        PUBLIC_URL: 'https://study.example.org',
      });
      try {
        // The counters are shared with the other API: an address of its own.
        const headers = { 'X-Forwarded-For': `10.${[0, 0, 0].map(() => Math.floor(Math.random() * 256)).join('.')}` };
        const opening = (given: string) =>
          new Http(api.url).post<Session & Loose>('/api/portal/session', { token: given }, { headers });
        const dora = await setting.person();
        const token = await link(dora);
        expect((await opening(token)).status).to.equal(401);
        await setting.stage.sql('update portal_links set token_hash = ? where participant_id = ?', [
          linkHash('a session secret of tests, 32 and more', token),
          dora.id,
        ]);
        const opened = await opening(token);
        expect(opened.status).to.equal(200);
        expect(opened.headers.get('set-cookie')).to.match(/; Secure$/);
        expect((await opening(token)).status).to.equal(401);
        expect((await opening(token)).status).to.equal(429);
      } finally {
        await api.stop();
      }
    });
  });

  describe('what a participant sees', () => {
    it('is itself', async () => {
      const emma = await setting.person();
      const me = await (await entered(emma)).expect(200, 'GET', '/api/portal/me');
      expect(me)
        .to.have.all.keys('id', 'study_id', 'participant_code', 'preferred_language', 'status')
        .and.include({ id: emma.id, status: 'enrolled' });
    });

    it('is its own visits that count, in order', async () => {
      const [fay, other] = await Promise.all([setting.person(), setting.person()]);
      await fay.set(DAY);
      await other.set(DAY);
      await fay.override('2024-03-20');
      const standing = (await fay.standing()).sort((a, b) => a.target_date.localeCompare(b.target_date));
      expect(standing.length)
        .to.be.greaterThan(1)
        .and.lessThan((await fay.visits()).length);
      const http = await entered(fay);
      const { items, total } = await http.expect<{ items: PortalVisit[]; total: number }>(
        200,
        'GET',
        '/api/portal/visits',
      );
      expect(total).to.equal(standing.length);
      expect(items.map(({ id, status, target_date }) => [id, status, target_date])).to.deep.equal(
        standing.map(({ id, status, target_date }) => [id, status, target_date]),
      );
      expect(items[0]).to.have.all.keys(
        'id',
        'name',
        'target_date',
        'window_open',
        'window_close',
        'status',
        'battery_id',
      );
      expect(
        (await http.expect<{ items: PortalVisit[] }>(200, 'GET', '/api/portal/visits?skip=1&limit=1')).items.map(
          ({ id }) => id,
        ),
      ).to.deep.equal([standing[1]!.id]);
    });

    it('is whether a push of its own results failed', async () => {
      const [gus, other] = await Promise.all([setting.person(), setting.person()]);
      await gus.set(DAY);
      await other.set(DAY);
      const http = await entered(gus);
      const failed = (who: Person) =>
        setting.stage.sql(
          `update scheduled_visits set data_sync_status = 'failed' where id = (select id from scheduled_visits where participant_id = ? limit 1)`,
          [who.id],
        );
      await failed(other);
      expect(await http.expect(200, 'GET', '/api/portal/data-status')).to.deep.equal({ has_failed_sync: false });
      await failed(gus);
      expect(await http.expect(200, 'GET', '/api/portal/data-status')).to.deep.equal({ has_failed_sync: true });
    });

    it('ends at once with the withdrawal, and with the record', async () => {
      const [gone, deleted] = await Promise.all([setting.person(), setting.person()]);
      const [first, second] = [await entered(gone), await entered(deleted)];
      await gone.withdraw();
      await setting.stage.admin.expect(204, 'DELETE', `/api/participants/${deleted.id}`);
      for (const path of ['/api/portal/me', '/api/portal/visits', '/api/portal/data-status']) {
        const refused = await first.get(path);
        expect([refused.status, refused.body.code], path).to.deep.equal([403, 'PARTICIPANT_WITHDRAWN']);
        expect((await second.get(path)).status, path).to.equal(401);
      }
      expect((await gone.set(DAY, first)).status).to.equal(403);
      expect(
        await setting.stage.sql('select 1 from portal_links where participant_id = ?', [deleted.id]),
      ).to.deep.equal([]);
    });
  });

  describe('tokens', () => {
    const own = ['/api/portal/me', '/api/portal/visits', '/api/portal/data-status'];

    it('of staff are no good in the portal, nor is none', async () => {
      for (const http of [setting.stage.admin, await setting.study.as('coordinator'), setting.anybody]) {
        for (const path of own) expect((await http.get(path)).status, path).to.equal(401);
      }
    });

    it('of the portal are no good anywhere else', async () => {
      const hal = await setting.person();
      const http = await entered(hal);
      const elsewhere: [string, string, unknown?][] = [
        ['GET', '/api/auth/me'],
        ['GET', '/api/studies'],
        ['GET', `/api/studies/${setting.study.id}`],
        ['GET', '/api/participants'],
        ['GET', `/api/participants/${hal.id}`],
        ['GET', '/api/schedules/visits'],
        ['GET', `${hal.path}/anchor-date/history`],
        ['POST', `${hal.path}/anchor-date/cancel`, {}],
        ['POST', `${hal.path}/anchor-date/evaluate`],
        ['POST', `${hal.path}/anchor-date/override`, { new_enrollment_date: DAY, reason: 'x' }],
        ['POST', '/api/portal/magic-link', { participant_id: hal.id, channel: 'email' }],
      ];
      for (const [method, path, body] of elsewhere)
        expect((await http.send(method, path, body)).status, `${method} ${path}`).to.equal(401);
    });

    it('that are changed or no tokens at all are 401', async () => {
      const http = await entered(await setting.person());
      const [head, payload, signature] = http.token!.split('.') as [string, string, string];
      const forged = Buffer.from(
        JSON.stringify({
          ...(JSON.parse(Buffer.from(payload, 'base64url').toString()) as object),
          sub: (await setting.person()).id,
        }),
      ).toString('base64url');
      for (const token of [
        `${head}.${forged}.${signature}`,
        `${head}.${payload}.${signature.slice(0, -4)}${signature.endsWith('AAAA') ? 'BBBA' : 'AAAA'}`,
        'x',
        `${head}.x.y.z`,
      ]) {
        for (const path of own)
          expect((await new Http(setting.stage.run.api, token).get(path)).status, token).to.equal(401);
        const who = await setting.person();
        expect((await who.set(DAY, new Http(setting.stage.run.api, token))).status, token).to.equal(401);
      }
    });
  });

  describe('the cookie', () => {
    let ida: Person;
    let cookie: string;
    let token: string;
    before(async () => {
      ida = await setting.person();
      const { headers, body } = await open(await link(ida));
      cookie = headers.get('set-cookie')!.split(';')[0]!;
      token = body.portal_token;
    });
    const set = (headers: Record<string, string>) =>
      setting.anybody.post<SetView & Loose>(`${ida.path}/anchor-date`, { enrollment_date: DAY }, { headers });

    it('reads without more', async () => {
      expect(
        await setting.anybody.expect(200, 'GET', '/api/portal/me', undefined, { headers: { Cookie: cookie } }),
      ).to.include({ id: ida.id });
    });

    it('changes only with the header, or from a page of the service itself', async () => {
      for (const headers of [
        {},
        { 'X-Portal-CSRF': '0' },
        { 'Sec-Fetch-Site': 'cross-site' },
        { 'Sec-Fetch-Site': 'same-site' },
        { 'Sec-Fetch-Site': 'none' },
      ] as Record<string, string>[]) {
        const answer = await set({ Cookie: cookie, ...headers });
        expect([answer.status, answer.body.code], JSON.stringify(headers)).to.deep.equal([403, 'CSRF_REFUSED']);
      }
      expect((await ida.anchor()).status).to.equal('unset');
      expect((await set({ Cookie: cookie, 'X-Portal-CSRF': '1' })).status).to.equal(200);
      expect((await set({ Cookie: cookie, 'Sec-Fetch-Site': 'same-origin' })).status).to.equal(200);
    });

    it('is no bearer token, and a token no cookie', async () => {
      const value = cookie.slice(cookie.indexOf('=') + 1);
      expect((await new Http(setting.stage.run.api, value).get('/api/portal/me')).status).to.equal(401);
      const forged = value.slice(0, -4) + (value.endsWith('AAAA') ? 'BBBA' : 'AAAA');
      for (const given of [token, `${token}.`, `${token}.AAAA`, forged, '']) {
        expect(
          (await setting.anybody.get('/api/portal/me', { headers: { Cookie: `portal_session=${given}` } })).status,
          given,
        ).to.equal(401);
      }
    });

    it('does not stand in for a bearer that is refused', async () => {
      expect((await setting.stage.admin.get('/api/portal/me', { headers: { Cookie: cookie } })).status).to.equal(401);
    });
  });

  describe('the date', () => {
    it('is set by the participant where the policy lets it; the history says who', async () => {
      const jo = await setting.person();
      const http = await entered(jo);
      const { status, body } = await jo.set(DAY, http, { reason: 'my first day' });
      expect(status).to.equal(200);
      expect(body).to.include({ enrollment_date: DAY, status: 'finalized', source_type: 'manual_entry' });
      const [latest] = await jo.history();
      expect(latest).to.include({
        actor_type: 'participant',
        actor_user_id: null,
        enrollment_date_value: DAY,
        reason: 'my first day',
      });
      const entries = (await setting.study.audit('manual_date_entered')).filter(
        (record) => record.resource_id === jo.id,
      );
      expect(entries.map((entry) => [entry.user_id, entry.request_id])).to.deep.equal([[null, latest!.request_id]]);
      expect((await http.expect<{ total: number }>(200, 'GET', '/api/portal/visits')).total).to.equal(2);
      expect((await jo.set('2024-03-11', http)).body.code).to.equal('OVERRIDE_REQUIRED');
    });

    it('is 403 where the policy does not, and nothing is stored', async () => {
      const closed = await setting.stage.study({ ...ownDate, permissions: { participant_can_set: false } });
      const kim = await setting.person({}, closed);
      const http = await entered(kim);
      expect((await kim.set(DAY, http)).status).to.equal(403);
      expect((await kim.anchor()).status).to.equal('unset');
      const refused = await http.get(`${kim.path}/anchor-date`);
      expect([refused.status, refused.body.code]).to.deep.equal([403, 'FORBIDDEN']);
      await closed.policy({ ...ownDate, permissions: { participant_can_set: true } });
      expect((await kim.set(DAY, http)).status).to.equal(200);
    });

    it('of another participant is not there, in this study or another', async () => {
      const [lea, other, far] = [
        await setting.person(),
        await setting.person(),
        await setting.person({}, await setting.stage.study(ownDate)),
      ];
      const http = await entered(lea);
      for (const path of [
        other.path,
        far.path,
        `/api/studies/${setting.study.id}/participants/${far.id}`,
        `/api/studies/${far.study.id}/participants/${lea.id}`,
      ]) {
        expect((await http.post(`${path}/anchor-date`, { enrollment_date: DAY })).status, path).to.equal(404);
      }
      for (const who of [lea, other, far]) expect((await who.anchor()).status).to.equal('unset');
    });

    it('channels are chosen under a tag', async () => {
      const http = await entered(await setting.person());
      const choose = (match: string) =>
        http.patch<Loose & { sms: boolean }>(
          '/api/portal/preferences',
          { sms: false },
          { headers: { 'If-Match': match } },
        );
      const tag = (await http.get('/api/portal/preferences')).headers.get('etag')!;
      const chosen = await choose(tag);
      expect([chosen.status, chosen.body.sms]).to.deep.equal([200, false]);
      expect([(await choose(tag)).status, (await choose(chosen.headers.get('etag')!)).status]).to.deep.equal([
        409, 200,
      ]);
    });

    it('that breaks a rule is 400, one that is none 422; the same key is answered once', async () => {
      const mia = await setting.person();
      const http = await entered(mia);
      const ahead = await mia.set('2999-01-01', http);
      expect([ahead.status, ahead.body.errors.map(({ code }) => code)]).to.deep.equal([400, ['FUTURE_DATE']]);
      expect((await mia.set('2024-02-30', http)).status).to.equal(422);
      const keyed = () =>
        http.post(`${mia.path}/anchor-date`, { enrollment_date: DAY }, { headers: { 'Idempotency-Key': 'mine' } });
      const [first, second] = [await keyed(), await keyed()];
      expect([first.status, second.status, second.headers.get('idempotent-replay')]).to.deep.equal([200, 200, 'true']);
      expect(second.body).to.deep.equal(first.body);
    });

    it('is set by staff as before', async () => {
      const nia = await setting.person();
      expect((await nia.set(DAY, await setting.study.as('data_manager'))).status).to.equal(403);
      expect((await nia.set(DAY, await setting.study.as('coordinator'))).status).to.equal(200);
      expect((await nia.history())[0]).to.include({ actor_type: 'user' });
      const stranger = await user(setting.stage.admin, 'coordinator');
      expect((await nia.set(DAY, stranger)).status).to.equal(404);
    });
  });
});
