import { expect } from 'chai';
import { openDatabase } from '../../db/client/knex.js';
import type { Person } from '../anchor/stage.js';
import { sendFile } from '../data/stage.js';
import { atItsCommit, whileHeld } from '../support/held-row.js';
import { Http, unique } from '../support/http.js';
import type { Loose } from '../support/http.js';
import { mailsTo, sendCaregiverLink, sendLink, tokenIn } from '../support/portal.js';
import { until } from '../support/until.js';
import { PortalSetting } from './portal-setting.js';

interface Tokens {
  portal_token: string;
  refresh_token: string;
  refresh_expires_in: number;
}

describe('Logins of the portal', () => {
  let setting: PortalSetting;
  before(async () => {
    setting = await PortalSetting.open();
  });
  after(() => setting.close());

  const opened = async (link: string): Promise<Tokens> =>
    setting.anybody.expect<Loose & Tokens>(200, 'POST', '/api/portal/session', { token: link });
  const entered = async (who: Person): Promise<Tokens> => opened(await sendLink(setting.stage.admin, who.id));
  const refresh = (refresh_token: string) =>
    setting.anybody.post<Loose & Tokens>('/api/portal/refresh', { refresh_token });
  const sees = async (token: string): Promise<number> =>
    (await new Http(setting.stage.run.api, token).get('/api/portal/visits')).status;
  const refused = async (refresh_token: string) => {
    const { status, body } = await refresh(refresh_token);
    return [status, body.code];
  };
  const REFUSED = [401, 'INVALID_REFRESH_TOKEN'];

  it('go on by a refresh token that is another each time; a second use ends the login at once', async () => {
    const who = await setting.person();
    const first = await entered(who);
    expect(first.refresh_expires_in).to.equal(30 * 86_400);
    const second = await refresh(first.refresh_token);
    expect([second.status, await sees(second.body.portal_token)]).to.deep.equal([200, 200]);
    expect(second.body.refresh_token).not.to.equal(first.refresh_token);
    const third = (await refresh(second.body.refresh_token)).body;
    expect(await refused(first.refresh_token)).to.deep.equal(REFUSED);
    expect(await refused(third.refresh_token)).to.deep.equal(REFUSED);
    expect(await sees(third.portal_token)).to.equal(401);
    const [record] = (await setting.study.audit('portal_refresh_token_reused')).filter(
      ({ resource_id }) => resource_id === who.id,
    );
    expect(record!.user_id).to.equal(null);
    expect(await setting.study.chainVerifies()).to.equal(true);
  });

  it('end by a refresh token that comes again after its own time', async () => {
    const who = await setting.person();
    const first = await entered(who);
    const second = (await refresh(first.refresh_token)).body;
    await setting.stage.sql(
      'update portal_refresh_tokens set expires_at = clock_timestamp() where participant_id = ? and rotated_at is not null',
      [who.id],
    );
    expect(await refused(first.refresh_token)).to.deep.equal(REFUSED);
    expect(await refused(second.refresh_token)).to.deep.equal(REFUSED);
    expect(await sees(second.portal_token)).to.equal(401);
  });

  it('of ten refreshes at once go on with one at most', async () => {
    const { refresh_token } = await entered(await setting.person());
    const answers = await Promise.all(Array.from({ length: 10 }, () => refresh(refresh_token)));
    expect(answers.filter(({ status }) => status === 200)).to.have.length(1);
  });

  it('that staff end while one is refreshed go on no more, and are not listed', async () => {
    const who = await setting.person();
    const { refresh_token } = await entered(who);
    const path = `/api/participants/${who.id}/portal-sessions`;
    const waiting = (count: number) =>
      until(
        async () =>
          (
            await setting.stage.sql(
              `select 1 from pg_stat_activity
               where cardinality(pg_blocking_pids(pid)) > 0 and query like '%portal_refresh_tokens%'`,
            )
          ).length >= count,
        { what: 'requests to wait for the token' },
      );
    const both: Promise<{ status: number; body: Partial<Tokens> }>[] = [];
    await setting.stage.holding(
      'select 1 from portal_refresh_tokens where participant_id = ? for update',
      [who.id],
      async () => {
        both.push(refresh(refresh_token));
        await waiting(1);
        both.push(setting.stage.admin.send('DELETE', path));
        await waiting(2);
      },
    );
    const [refreshed, ended] = await Promise.all(both);
    expect([refreshed!.status, ended!.status]).to.deep.equal([200, 204]);
    expect(await sees(refreshed!.body.portal_token!)).to.equal(401);
    expect(await refused(refreshed!.body.refresh_token!)).to.deep.equal(REFUSED);
    expect((await setting.stage.admin.expect<{ total: number }>(200, 'GET', path)).total).to.equal(0);
  });

  it('of a link that is opened while a file corrects its address end with the address', async () => {
    const participant_code = unique('P');
    const who = await setting.person({ participant_code });
    const link = await sendLink(setting.stage.admin, who.id);
    // The mail arrives before it is written down as sent, which would wait beside the two.
    const unsent = `select 1 from notifications where participant_id = ? and status <> 'sent'`;
    await until(async () => (await setting.stage.sql(unsent, [who.id])).length === 0, { what: 'the mail to be sent' });
    await who.settled();
    const file = `participant_code,email\n${participant_code},${unique('right')}@example.org\n`;
    const owner = openDatabase({
      url: setting.stage.run.database_url,
      poolMax: 2,
      name: 'portal-links',
      asOwner: true,
    });
    try {
      const [opening, correcting] = await whileHeld<{ status: number; body: object }>(
        owner,
        atItsCommit(setting.study.id),
        () => setting.anybody.post('/api/portal/session', { token: link }),
        () => sendFile(setting.stage.admin, setting.study.id, file, '?mode=upsert'),
      );
      expect([opening!.status, correcting!.status]).to.deep.equal([200, 200]);
      const { portal_token, refresh_token } = opening!.body as Tokens;
      expect(await sees(portal_token)).to.equal(401);
      expect(await refused(refresh_token)).to.deep.equal(REFUSED);
    } finally {
      await owner.destroy();
    }
  });

  it('end with a withdrawal, a changed address, a logout and their time', async () => {
    const [gone, moved, left, late] = [
      await setting.person(),
      await setting.person(),
      await setting.person(),
      await setting.person(),
    ];
    const tokens = {
      gone: await entered(gone),
      moved: await entered(moved),
      left: await entered(left),
      late: await entered(late),
    };
    await gone.withdraw();
    await setting.stage.admin.expect(200, 'PATCH', `/api/participants/${moved.id}`, {
      email: `${unique('new')}@example.org`,
    });
    await setting.anybody.expect(204, 'POST', '/api/portal/logout', { refresh_token: tokens.left.refresh_token });
    await setting.stage.sql(
      'update portal_refresh_tokens set expires_at = clock_timestamp() where participant_id = ?',
      [late.id],
    );
    for (const [name, { refresh_token }] of Object.entries(tokens))
      expect(await refused(refresh_token), name).to.deep.equal(REFUSED);
    expect(await sees(tokens.left.portal_token)).to.equal(401);
    expect(await sees(tokens.moved.portal_token), 'let in at the former address').to.equal(401);
    // By the portal token alone, too.
    const again = await entered(left);
    await new Http(setting.stage.run.api, again.portal_token).expect(204, 'POST', '/api/portal/logout');
    expect([await sees(again.portal_token), await refused(again.refresh_token)]).to.deep.equal([401, REFUSED]);
  });

  it('do not begin by a link that went to an address before it was corrected', async () => {
    const { admin } = setting.stage;
    const who = await setting.person();
    const link = await sendLink(admin, who.id);
    await admin.expect(200, 'PATCH', `/api/participants/${who.id}`, { email: `${unique('new')}@example.org` });
    const at = `/api/studies/${setting.study.id}/caregivers`;
    const { id } = await admin.expect(201, 'POST', at, { name: 'Ada' });
    await admin.expect(200, 'PUT', `${at}/${id}/participants/${who.id}`, { relationship: 'parent' });
    const ofCaregiver = await sendCaregiverLink(admin, setting.study.id, id);
    await admin.expect(200, 'PATCH', `${at}/${id}`, { email: `${unique('new')}@example.org` });
    for (const token of [link, ofCaregiver]) {
      const { status, body } = await setting.anybody.post('/api/portal/session', { token });
      expect([status, body.code]).to.deep.equal([401, 'INVALID_LINK']);
    }
  });

  it('leave nothing to a stranger at an address that was corrected: no calendar, no device', async () => {
    const { admin, run } = setting.stage;
    const feed = (http: Http, path = '/api/portal/calendar-feed') =>
      http.expect<{ url: string }>(201, 'POST', path).then(({ url }) => new URL(url).search);
    const reads = async (query: string) => (await setting.anybody.get(`/api/calendar/visits.ics${query}`)).status;
    const device = (http: Http, token: string, more: object = {}) =>
      http.expect(201, 'POST', '/api/notifications/register', { platform: 'android', token, ...more });
    const devices = async (id: string) =>
      (await setting.stage.sql<{ token: string }>('select token from push_tokens where participant_id = ?', [id])).map(
        ({ token }) => token,
      );
    const correct = (path: string) => admin.expect(200, 'PATCH', path, { email: `${unique('new')}@example.org` });
    const [who, apart] = [await setting.person(), await setting.person()];
    const at = `/api/studies/${setting.study.id}/caregivers`;
    const { id } = await admin.expect(201, 'POST', at, { name: 'Ada', email: `${unique('ada')}@example.org` });
    await admin.expect(200, 'PUT', `${at}/${id}/participants/${who.id}`, { relationship: 'parent' });
    const stranger = new Http(run.api, (await entered(who)).portal_token);
    const other = new Http(run.api, (await opened(await sendCaregiverLink(admin, setting.study.id, id))).portal_token);
    const feeds = [await feed(stranger), await feed(other)];
    const ofStaff = await feed(admin, `/api/participants/${apart.id}/calendar-feeds`);
    await device(stranger, 'of a stranger');
    await device(other, 'of another');
    await device(admin, 'of the study', { participant_id: who.id });
    await correct(`/api/participants/${who.id}`);
    await correct(`/api/participants/${apart.id}`);
    expect([await reads(feeds[0]!), await reads(feeds[1]!)]).to.deep.equal([404, 200]);
    expect(await devices(who.id)).to.have.members(['of another', 'of the study']);
    await correct(`${at}/${id}`);
    expect(await reads(feeds[1]!)).to.equal(404);
    expect(await devices(who.id)).to.deep.equal(['of the study']);
    expect(await reads(ofStaff), 'whose portal nobody has opened').to.equal(200);
    // An erasure counts them, although they end with the address.
    const gone = await setting.person();
    await device(new Http(run.api, (await entered(gone)).portal_token), 'of one who is erased');
    await gone.withdraw();
    const { erased } = await admin.expect<{ erased: { devices: number } }>(
      200,
      'POST',
      `/api/participants/${gone.id}/erase`,
      { reason: 'asked for' },
    );
    expect(erased.devices).to.equal(1);
  });

  it('are listed and ended by staff of the study', async () => {
    const who = await setting.person();
    const address = await setting.stage.admin.expect<{ email: string }>(200, 'GET', `/api/participants/${who.id}`);
    const link = async () => {
      const before = (await mailsTo(address.email)).length;
      await setting.stage.admin.expect(202, 'POST', '/api/portal/magic-link', {
        participant_id: who.id,
        channel: 'email',
      });
      return until(async () => (await mailsTo(address.email)).map(({ text }) => tokenIn(text)!)[before], {
        what: 'the mail',
      });
    };
    const devices = [await opened(await link()), await opened(await link())];
    const coordinator = await setting.study.as('coordinator');
    const path = `/api/participants/${who.id}/portal-sessions`;
    const { items, total } = await coordinator.expect<{ items: Loose[]; total: number }>(200, 'GET', path);
    expect([items.length, total]).to.deep.equal([2, 2]);
    expect(items[0]).to.have.all.keys('id', 'created_at', 'last_used_at', 'expires_at', 'user_agent', 'ip_address');
    expect(JSON.stringify(items)).not.to.include(devices[0]!.refresh_token);
    await coordinator.expect(204, 'DELETE', `${path}/${items[1]!.id}`);
    await coordinator.expect(404, 'DELETE', `${path}/${items[1]!.id}`);
    expect([await sees(devices[0]!.portal_token), await sees(devices[1]!.portal_token)]).to.deep.equal([401, 200]);
    expect(await refused(devices[0]!.refresh_token)).to.deep.equal(REFUSED);
    await coordinator.expect(204, 'DELETE', path);
    expect(await sees(devices[1]!.portal_token)).to.equal(401);
    expect((await coordinator.expect<{ total: number }>(200, 'GET', path)).total).to.equal(0);
    expect((await (await setting.study.as('data_manager')).get(path)).status).to.equal(403);
    expect((await new Http(setting.stage.run.api, devices[1]!.portal_token).get(path)).status).to.equal(401);
  });

  it('of a caregiver go on and end in the same way', async () => {
    const who = await setting.person();
    const at = `/api/studies/${setting.study.id}/caregivers`;
    const { id } = await setting.stage.admin.expect(201, 'POST', at, { name: 'Ada' });
    await setting.stage.admin.expect(200, 'PUT', `${at}/${id}/participants/${who.id}`, { relationship: 'parent' });
    const tokens = await opened(await sendCaregiverLink(setting.stage.admin, setting.study.id, id));
    const next = (await refresh(tokens.refresh_token)).body;
    expect(await sees(next.portal_token)).to.equal(200);
    const { items } = await setting.stage.admin.expect<{ items: Loose[] }>(200, 'GET', `${at}/${id}/portal-sessions`);
    expect(items).to.have.length(1);
    await setting.stage.admin.expect(204, 'DELETE', `${at}/${id}/portal-sessions/${items[0]!.id}`);
    expect([await sees(next.portal_token), await refused(next.refresh_token)]).to.deep.equal([401, REFUSED]);
    const again = await opened(await sendCaregiverLink(setting.stage.admin, setting.study.id, id));
    await setting.stage.admin.expect(204, 'DELETE', `${at}/${id}/portal-sessions`);
    expect([await sees(again.portal_token), await refused(again.refresh_token)]).to.deep.equal([401, REFUSED]);
  });

  it('of a page are kept in a cookie that no other site can use, where the person wants it', async () => {
    const who = await setting.person();
    const open = async (more: object) => {
      const answer = await setting.anybody.post('/api/portal/session', {
        token: await sendLink(setting.stage.admin, who.id),
        ...more,
      });
      return answer.headers.getSetCookie();
    };
    expect((await open({})).map((cookie) => cookie.split('=')[0])).to.deep.equal(['portal_session']);
    const cookies = await open({ remember: true });
    expect(cookies.map((cookie) => cookie.split('=')[0])).to.deep.equal(['portal_session', 'portal_refresh']);
    expect(cookies[1]).to.match(/; Path=\/api\/portal; Max-Age=2592000; HttpOnly; SameSite=Strict/);
    const Cookie = cookies[1]!.split(';')[0]!;
    const by = (headers: Record<string, string>) =>
      setting.anybody.post('/api/portal/refresh', undefined, { headers: { Cookie, ...headers } });
    expect((await by({})).body.code).to.equal('CSRF_REFUSED');
    const next = await by({ 'X-Portal-CSRF': '1' });
    expect(next.status).to.equal(200);
    expect(next.headers.getSetCookie().map((cookie) => cookie.split('=')[0])).to.deep.equal([
      'portal_session',
      'portal_refresh',
    ]);
    expect((await setting.anybody.post('/api/portal/refresh')).body.code).to.equal('INVALID_REFRESH_TOKEN');
  });

  describe('a new link', () => {
    const ask = (body: object) => setting.anybody.post('/api/portal/new-link', body);

    it('is sent to the address, no matter who requests it', async () => {
      const email = `${unique('lost')}@example.org`;
      const who = await setting.person({ email });
      const twin = await setting.person({ email });
      const gone = `${unique('gone')}@example.org`;
      await (await setting.person({ email: gone })).withdraw();
      const answers = [await ask({ email: email.toUpperCase() }), await ask({ email: gone })];
      answers.push(await ask({ email: `${unique('nobody')}@example.org` }));
      expect(answers.map(({ status, body }) => [status, body])).to.deep.equal(
        answers.map(() => [202, { status: 'accepted' }]),
      );
      const mails = await until(
        async () => {
          const found = await mailsTo(email);
          return found.length >= 2 ? found : undefined;
        },
        { what: 'both mails' },
      );
      const whose: string[] = [];
      for (const { text } of mails)
        whose.push(
          (
            await setting.anybody.expect<{ participant: { id: string } }>(200, 'POST', '/api/portal/session', {
              token: tokenIn(text),
            })
          ).participant.id,
        );
      expect(whose.sort()).to.deep.equal([who.id, twin.id].sort());
      const [record] = (await setting.study.audit('portal_link_requested')).filter(
        ({ resource_id }) => resource_id === who.id,
      );
      expect(record!.user_id).to.equal(null);
      expect(JSON.stringify(record)).not.to.include(email);
      expect(await mailsTo(gone)).to.deep.equal([]);
    });

    it('goes by text message to a number however it is written', async () => {
      const digits = String(Date.now());
      const who = await setting.person({ email: null, phone: `+49 (${digits.slice(0, 4)}) ${digits.slice(4)}` });
      const abroad = await setting.person({ email: null, phone: `0049 ${digits}1` });
      for (const phone of [`+49${digits}`, `0049 ${digits}`, `+49 ${digits}1`])
        await setting.anybody.expect(202, 'POST', '/api/portal/new-link', { phone });
      const sent = async ({ id }: Person, count: number) =>
        until(
          async () => {
            const found = await setting.stage.sql<{ status: string }>(
              `select status from notifications where participant_id = ? and channel = 'sms'`,
              [id],
            );
            return found.length === count && found.every(({ status }) => status === 'sent');
          },
          { what: `${count} text messages` },
        );
      await sent(who, 2);
      await sent(abroad, 1);
    });

    it('is sent three times at most within minutes, and never says so', async () => {
      const email = `${unique('often')}@example.org`;
      const who = await setting.person({ email });
      for (let i = 0; i < 5; i += 1) expect((await ask({ email })).status).to.equal(202);
      expect(await setting.stage.sql('select id from notifications where participant_id = ?', [who.id])).to.have.length(
        3,
      );
    });

    it('is sent three times to who is asked for by many at once', async () => {
      const email = `${unique('at-once')}@example.org`;
      const who = await setting.person({ email });
      const answers = await Promise.all(Array.from({ length: 8 }, () => ask({ email })));
      expect(answers.map(({ status }) => status)).to.deep.equal(Array(8).fill(202));
      expect(await setting.stage.sql('select id from notifications where participant_id = ?', [who.id])).to.have.length(
        3,
      );
    });

    it('needs exactly one address', async () => {
      expect((await ask({})).body.errors[0]).to.include({ path: 'email', code: 'ONE_OF' });
      expect((await ask({ email: 'a@example.org', phone: '+49123456' })).status).to.equal(422);
    });
  });
});
