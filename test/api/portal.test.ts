import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Provider } from '../../activities/notify/provider.js';
import { sendNotification } from '../../activities/notify/send.js';
import { linkHash } from '../../db/queries/portal.js';
import { AnchorStudy, Stage } from '../anchor/stage.js';
import type { Person, SetView } from '../anchor/stage.js';
import { startApi } from '../support/api-process.js';
import { Http, unique, user } from '../support/http.js';
import type { Answer, Loose, Role } from '../support/http.js';
import { until } from '../support/until.js';

interface Session { portal_token: string; expires_in: number; participant: Record<string, unknown> }
interface Mail { subject: string; text: string; to: { address: string }[] }
interface PortalVisit { id: string; name: string; status: string; target_date: string }

const DAY = '2024-03-10';
const ownDate = { permissions: { participant_can_set: true }, prerequisites: { require_consent_signed: false }, sources: [{ type: 'manual_entry', priority: 1, is_active: true }] };

describe('The portal', function portal() {
  let stage: Stage;
  let study: AnchorStudy;
  let anybody: Http;
  before(async () => {
    stage = await Stage.open();
    study = await stage.study(ownDate);
    anybody = new Http(stage.run.api);
  });
  after(() => stage.close());

  const caught = async <T>(path: string): Promise<T> => (await fetch(`${stage.run.mail_ui}${path}`)).json() as Promise<T>;
  const person = (fields: Record<string, unknown> = {}, of = study): Promise<Person> => of.person({ email: `${unique('p')}@example.org`, ...fields });
  const ask = (who: Person, channel = 'email', by: Http = stage.admin) => by.post('/api/portal/magic-link', { participant_id: who.id, channel });
  const addressOf = async (who: Person) => (await stage.admin.expect<{ email: string }>(200, 'GET', `/api/participants/${who.id}`)).email;
  const mailsTo = async (address: string) => (await caught<Mail[]>('/email')).filter((mail) => mail.to.some((to) => to.address === address));
  const tokenIn = (text: string): string => /\/portal\?token=([\w-]+)/.exec(text)![1]!;
  /** The token of a new link, read from its mail. */
  const link = async (who: Person): Promise<string> => {
    const address = await addressOf(who);
    const before = (await mailsTo(address)).length;
    expect((await ask(who)).status).to.equal(202);
    return tokenIn((await until(async () => (await mailsTo(address))[before], { what: 'the mail with the link' })).text);
  };
  const open = (token: string): Promise<Answer<Session & Loose>> => anybody.post('/api/portal/session', { token });
  /** The participant's own caller. */
  const entered = async (who: Person): Promise<Http> => new Http(stage.run.api, (await open(await link(who))).body.portal_token);

  describe('a link', () => {
    it('goes to the participant’s address, bears the token and is told to nobody else', async () => {
      const anna = await person();
      const answer = await ask(anna);
      expect([answer.status, answer.body]).to.deep.equal([202, { status: 'queued' }]);
      const address = await addressOf(anna);
      const mail = await until(async () => (await mailsTo(address))[0], { what: 'the mail' });
      expect(mail.text).to.include(`${stage.run.api}/portal?token=`).and.include('15 minutes');
      const token = tokenIn(mail.text);
      await until(async () => (await stage.sql<{ status: string }>('select status from notifications where participant_id = ?', [anna.id]))[0]?.status === 'sent', { what: 'the notification to be sent' });
      await open(token);
      const tables = await stage.sql<{ name: string }>(`select c.oid::regclass::text as name from pg_class c where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p')`);
      expect(tables.length).to.be.greaterThan(20);
      for (const { name } of tables) expect(await stage.sql(`select 1 from ${name} x where position(? in x::text) > 0`, [token]), name).to.deep.equal([]);
      const logs = join(stage.run.data_dir, 'logs');
      for (const file of readdirSync(logs)) expect(readFileSync(join(logs, file), 'utf8'), file).not.to.include(token);
      const [asked] = (await study.audit('portal_link_requested')).filter((record) => record.resource_id === anna.id);
      expect(asked).to.deep.include({ user_id: stage.admin.userId });
    });

    it('is in the study’s own words where it has some, in the participant’s language; the link is in them or below', async () => {
      const of = await stage.study(ownDate, { fields: { config: { enrollment_date_policy: ownDate, notifications: { languages: {
        en: { magic_link: { subject: 'Welcome to {{study_code}}', body: 'Come in, {participant_code}.' }, override_pending: { subject: 'x', body: 'y' }, daily_summary: { subject: 'x', body: 'y' } },
        de_AT: { magic_link: { subject: 'Servus', body: 'Bitte: {{link}} ({{minutes}} Minuten)' } },
      } } } } });
      for (const [preferred_language, subject, text] of [['de-AT', 'Servus', /^Bitte: http\S+\/portal\?token=[\w-]+ \(15 Minuten\)\s*$/], ['en_US', /^Welcome to /, /^Come in, \S+\.\s+http\S+\/portal\?token=[\w-]+\s*$/]] as const) {
        const who = await person({ preferred_language }, of);
        await ask(who);
        const mail = await until(async () => (await mailsTo(await addressOf(who)))[0], { what: 'the mail' });
        expect(mail.subject).to.match(new RegExp(subject));
        expect(mail.text).to.match(text);
        expect((await open(tokenIn(mail.text))).status).to.equal(200);
      }
    });

    it('names to a caregiver all whom it lets in for: their codes, and each site once', async () => {
      const of = await stage.study(ownDate, { fields: { config: { enrollment_date_policy: ownDate, notifications: { languages: { en: { magic_link: { subject: 'For {{participant_code}}', body: 'At {{site_code}}, {{site_name}}: {{link}}' } } } } } } });
      const { admin } = stage;
      const made = (site_code: string, name: string) => admin.expect(201, 'POST', `/api/studies/${of.id}/sites`, { site_code, name });
      const [north, south] = [await made('N', 'North'), await made('S', 'South')];
      const people: Person[] = [];
      for (const [participant_code, site_id] of [['C-3', south.id], ['C-1', north.id], ['C-2', north.id], ['C-0', south.id]] as const) people.push(await person({ participant_code, site_id }, of));
      const email = `${unique('carer')}@example.org`;
      const { id } = await admin.expect(201, 'POST', `/api/studies/${of.id}/caregivers`, { email });
      for (const one of people) await admin.expect(200, 'PUT', `/api/studies/${of.id}/caregivers/${id}/participants/${one.id}`, { relationship: 'parent' });
      await people[3]!.withdraw();
      await admin.expect(202, 'POST', '/api/portal/magic-link', { caregiver_id: id, channel: 'email' });
      const mail = await until(async () => (await mailsTo(email))[0], { what: 'the mail' });
      expect([mail.subject, mail.text.replace(/: http\S+\s*$/, '')]).to.deep.equal(['For C-1, C-2, C-3', 'At N, S, North, South']);
      expect((await open(tokenIn(mail.text))).status).to.equal(200);
    });

    it('goes as a text message', async () => {
      const phone = `+49${Date.now()}`;
      const ben = await person({ email: null, phone });
      expect((await ask(ben, 'sms')).status).to.equal(202);
      const message = await until(async () => (await caught<{ body: { to: string; text: string } }[]>('/sms')).find(({ body }) => body.to === phone), { what: 'the text message' });
      expect((await open(tokenIn(message.body.text))).body.participant).to.include({ id: ben.id });
    });

    for (const [channel, field] of [['email', 'email'], ['sms', 'phone']] as const) {
      it(`is 400 for a participant without ${field}`, async () => {
        const answer = await ask(await person({ email: null }), channel);
        expect([answer.status, answer.body.code]).to.deep.equal([400, 'NO_ADDRESS']);
        expect(answer.body.detail).to.include(field);
      });
    }

    it('is 409 for who has withdrawn, 404 for a participant of another study, 422 for another channel', async () => {
      const gone = await person();
      await gone.withdraw();
      expect((await ask(gone)).body.code).to.equal('PARTICIPANT_WITHDRAWN');
      const other = await (await stage.study()).person({ email: 'x@example.org' });
      expect((await ask(other, 'email', await study.as('coordinator'))).status).to.equal(404);
      expect((await ask(await person(), 'pigeon')).status).to.equal(422);
    });

    it('is asked for by staff who work with participants', async () => {
      const someone = await person();
      for (const [role, status] of [['coordinator', 202], ['researcher', 202], ['investigator', 202], ['data_manager', 403]] as [Role, number][]) {
        expect((await ask(someone, 'email', await study.as(role))).status, role).to.equal(status);
      }
      expect((await ask(someone, 'email', anybody)).status).to.equal(401);
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
      const rows = await stage.sql<{ id: string }>(`insert into notifications (study_id, participant_id, kind, channel) values (?, ?, 'magic_link', 'email') returning id`, [study.id, who.id]);
      return rows[0]!.id;
    };
    const stateOf = async (id: string) => (await stage.sql<{ status: string; reason: string | null }>('select status, reason from notifications where id = ?', [id]))[0];
    before(() => {
      const secret = readFileSync(join(stage.run.data_dir, 'keys', 'SESSION_SECRET'), 'utf8').trim();
      send = sendNotification({ database: stage.database, channels: { email: provider, sms: null }, links: { secret, minutes: 15, publicUrl: 'https://study.example.org/' } });
    });
    beforeEach(() => { texts.length = 0; down = false; });

    it('is not sent to a caregiver with nobody left who takes part', async () => {
      const who = await person();
      const { id: carer } = await stage.admin.expect(201, 'POST', `/api/studies/${study.id}/caregivers`, { email: `${unique('carer')}@example.org` });
      await stage.admin.expect(200, 'PUT', `/api/studies/${study.id}/caregivers/${carer}/participants/${who.id}`, { relationship: 'parent' });
      const [row] = await stage.sql<{ id: string }>(`insert into notifications (study_id, caregiver_id, kind, channel) values (?, ?, 'magic_link', 'email') returning id`, [study.id, carer]);
      await who.withdraw();
      await send(row!.id);
      expect([await stateOf(row!.id), texts]).to.deep.equal([{ status: 'cancelled', reason: 'the caregiver cares for nobody who takes part' }, []]);
    });

    it('that is written again has another token, and the last one counts; once opened it is not sent again', async () => {
      const id = await queued(await person());
      down = true;
      const fault = await send(id).then(() => undefined, (thrown: Error) => thrown.message);
      expect([fault, (await stateOf(id))!.status]).to.deep.equal(['the mail server hung up', 'pending']);
      down = false;
      await send(id);
      expect(await stateOf(id)).to.deep.equal({ status: 'sent', reason: null });
      expect(texts[1]).to.include('https://study.example.org/portal?token=');
      const [first, second] = texts.map(tokenIn) as [string, string];
      expect([(await open(first)).status, (await open(second)).status]).to.deep.equal([401, 200]);
      // As if the process had died before it noted that the message went.
      await stage.sql(`update notifications set status = 'pending', sent_at = null where id = ?`, [id]);
      await send(id);
      expect(texts).to.have.length(2);
      expect((await stateOf(id))!.status).to.equal('sent');
    });

    it('is cancelled where the participant has withdrawn meanwhile', async () => {
      const gone = await person();
      const id = await queued(gone);
      await gone.withdraw();
      await send(id);
      expect(await stateOf(id)).to.deep.equal({ status: 'cancelled', reason: 'the participant has withdrawn' });
      expect(texts).to.deep.equal([]);
    });
  });

  describe('a session', () => {
    it('answers a token, the participant and a cookie', async () => {
      const carl = await person({ preferred_language: 'de' });
      const { status, body, headers } = await open(await link(carl));
      expect(status).to.equal(200);
      expect(body).to.have.all.keys('portal_token', 'expires_in', 'participant');
      expect(body.expires_in).to.equal(1800);
      expect(body.participant).to.include({ id: carl.id, study_id: study.id, preferred_language: 'de', status: 'enrolled' }).and.have.all.keys('id', 'study_id', 'participant_code', 'preferred_language', 'status');
      expect(headers.get('set-cookie')).to.match(/^portal_session=\S+; Path=\/api; Max-Age=1800; HttpOnly; SameSite=Strict$/);
      const records = (await study.audit('portal_session_started')).filter((record) => record.resource_id === carl.id);
      expect(records).to.have.length(1);
      expect(records[0]!.user_id).to.equal(null);
      expect(await study.chainVerifies()).to.equal(true);
    });

    it('opens once, also of ten at the same moment', async () => {
      const token = await link(await person());
      const answers = await Promise.all(Array.from({ length: 10 }, () => open(token)));
      expect(answers.map(({ status }) => status).sort()).to.deep.equal([200, ...Array.from({ length: 9 }, () => 401)]);
    });

    it('is refused alike for a link that is unknown, used, expired or of somebody who has withdrawn; the record says which', async () => {
      const [used, late, gone] = await Promise.all([person(), person(), person()]);
      const tokens = { used: await link(used), expired: await link(late), withdrawn: await link(gone) };
      await open(tokens.used);
      await stage.sql(`update portal_links set expires_at = clock_timestamp() where participant_id = ?`, [late.id]);
      await gone.withdraw();
      const answers = [await open('unknown-token'), ...await Promise.all(Object.values(tokens).map((token) => open(token)))];
      for (const { status, body } of answers) expect([status, { ...body, request_id: '' }]).to.deep.equal([401, { detail: 'The link is not valid, has expired or was used.', code: 'INVALID_LINK', request_id: '' }]);
      const refused = await study.audit('portal_session_refused');
      for (const [reason, who] of [['used', used], ['expired', late], ['withdrawn', gone]] as const) {
        expect(refused.filter((record) => record.resource_id === who.id).map((record) => record.audit_metadata.reason)).to.deep.equal([reason]);
      }
    });

    it('counts by address, apart from the logins; its cookie is Secure behind https; another service’s secret opens nothing', async () => {
      const api = await startApi({ RATE_LIMIT_PER_MINUTE: '3', AUTH_RATE_LIMIT_PER_MINUTE: '1', TRUST_PROXY: 'true', PUBLIC_URL: 'https://study.example.org' });
      try {
        // The counters are shared with the other API: an address of its own.
        const headers = { 'X-Forwarded-For': `10.${[0, 0, 0].map(() => Math.floor(Math.random() * 256)).join('.')}` };
        const opening = (given: string) => new Http(api.url).post<Session & Loose>('/api/portal/session', { token: given }, { headers });
        const dora = await person();
        const token = await link(dora);
        expect((await opening(token)).status).to.equal(401);
        await stage.sql('update portal_links set token_hash = ? where participant_id = ?', [linkHash('a session secret of tests, 32 and more', token), dora.id]);
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
      const emma = await person();
      const me = await (await entered(emma)).expect(200, 'GET', '/api/portal/me');
      expect(me).to.have.all.keys('id', 'study_id', 'participant_code', 'preferred_language', 'status').and.include({ id: emma.id, status: 'enrolled' });
    });

    it('is its own visits that count, in order', async () => {
      const [fay, other] = await Promise.all([person(), person()]);
      await fay.set(DAY);
      await other.set(DAY);
      await fay.override('2024-03-20');
      const standing = (await fay.standing()).sort((a, b) => a.target_date.localeCompare(b.target_date));
      expect(standing.length).to.be.greaterThan(1).and.lessThan((await fay.visits()).length);
      const http = await entered(fay);
      const { items, total } = await http.expect<{ items: PortalVisit[]; total: number }>(200, 'GET', '/api/portal/visits');
      expect(total).to.equal(standing.length);
      expect(items.map(({ id, status, target_date }) => [id, status, target_date])).to.deep.equal(standing.map(({ id, status, target_date }) => [id, status, target_date]));
      expect(items[0]).to.have.all.keys('id', 'name', 'target_date', 'window_open', 'window_close', 'status', 'battery_id');
      expect((await http.expect<{ items: PortalVisit[] }>(200, 'GET', '/api/portal/visits?skip=1&limit=1')).items.map(({ id }) => id)).to.deep.equal([standing[1]!.id]);
    });

    it('is whether a push of its own results failed', async () => {
      const [gus, other] = await Promise.all([person(), person()]);
      await gus.set(DAY);
      await other.set(DAY);
      const http = await entered(gus);
      const failed = (who: Person) => stage.sql(`update scheduled_visits set data_sync_status = 'failed' where id = (select id from scheduled_visits where participant_id = ? limit 1)`, [who.id]);
      await failed(other);
      expect(await http.expect(200, 'GET', '/api/portal/data-status')).to.deep.equal({ has_failed_sync: false });
      await failed(gus);
      expect(await http.expect(200, 'GET', '/api/portal/data-status')).to.deep.equal({ has_failed_sync: true });
    });

    it('ends at once with the withdrawal, and with the record', async () => {
      const [gone, deleted] = await Promise.all([person(), person()]);
      const [first, second] = [await entered(gone), await entered(deleted)];
      await gone.withdraw();
      await stage.admin.expect(204, 'DELETE', `/api/participants/${deleted.id}`);
      for (const http of [first, second]) {
        for (const path of ['/api/portal/me', '/api/portal/visits', '/api/portal/data-status']) expect((await http.get(path)).status, path).to.equal(401);
      }
      expect((await gone.set(DAY, first)).status).to.equal(401);
      expect(await stage.sql('select 1 from portal_links where participant_id = ?', [deleted.id])).to.deep.equal([]);
    });
  });

  describe('tokens', () => {
    const own = ['/api/portal/me', '/api/portal/visits', '/api/portal/data-status'];

    it('of staff are no good in the portal, nor is none', async () => {
      for (const http of [stage.admin, await study.as('coordinator'), anybody]) {
        for (const path of own) expect((await http.get(path)).status, path).to.equal(401);
      }
    });

    it('of the portal are no good anywhere else', async () => {
      const hal = await person();
      const http = await entered(hal);
      const elsewhere: [string, string, unknown?][] = [
        ['GET', '/api/auth/me'], ['GET', '/api/studies'], ['GET', `/api/studies/${study.id}`], ['GET', '/api/participants'], ['GET', `/api/participants/${hal.id}`],
        ['GET', '/api/schedules/visits'], ['GET', `${hal.path}/anchor-date`], ['GET', `${hal.path}/anchor-date/history`], ['POST', `${hal.path}/anchor-date/cancel`, {}],
        ['POST', `${hal.path}/anchor-date/evaluate`], ['POST', `${hal.path}/anchor-date/override`, { new_enrollment_date: DAY, reason: 'x' }],
        ['POST', '/api/portal/magic-link', { participant_id: hal.id, channel: 'email' }],
      ];
      for (const [method, path, body] of elsewhere) expect((await http.send(method, path, body)).status, `${method} ${path}`).to.equal(401);
    });

    it('that are changed or no tokens at all are 401', async () => {
      const http = await entered(await person());
      const [head, payload, signature] = http.token!.split('.') as [string, string, string];
      const forged = Buffer.from(JSON.stringify({ ...(JSON.parse(Buffer.from(payload, 'base64url').toString()) as object), sub: (await person()).id })).toString('base64url');
      for (const token of [`${head}.${forged}.${signature}`, `${head}.${payload}.${signature.slice(0, -4)}AAAA`, 'x', `${head}.x.y.z`]) {
        for (const path of own) expect((await new Http(stage.run.api, token).get(path)).status, token).to.equal(401);
        const who = await person();
        expect((await who.set(DAY, new Http(stage.run.api, token))).status, token).to.equal(401);
      }
    });
  });

  describe('the cookie', () => {
    let ida: Person;
    let cookie: string;
    let token: string;
    before(async () => {
      ida = await person();
      const { headers, body } = await open(await link(ida));
      cookie = headers.get('set-cookie')!.split(';')[0]!;
      token = body.portal_token;
    });
    const set = (headers: Record<string, string>) => anybody.post<SetView & Loose>(`${ida.path}/anchor-date`, { enrollment_date: DAY }, { headers });

    it('reads without more', async () => {
      expect(await anybody.expect(200, 'GET', '/api/portal/me', undefined, { headers: { Cookie: cookie } })).to.include({ id: ida.id });
    });

    it('changes only with the header, or from a page of the service itself', async () => {
      for (const headers of [{}, { 'X-Portal-CSRF': '0' }, { 'Sec-Fetch-Site': 'cross-site' }, { 'Sec-Fetch-Site': 'same-site' }, { 'Sec-Fetch-Site': 'none' }] as Record<string, string>[]) {
        const answer = await set({ Cookie: cookie, ...headers });
        expect([answer.status, answer.body.code], JSON.stringify(headers)).to.deep.equal([403, 'CSRF_REFUSED']);
      }
      expect((await ida.anchor()).status).to.equal('unset');
      expect((await set({ Cookie: cookie, 'X-Portal-CSRF': '1' })).status).to.equal(200);
      expect((await set({ Cookie: cookie, 'Sec-Fetch-Site': 'same-origin' })).status).to.equal(200);
    });

    it('is no bearer token, and a token no cookie', async () => {
      const value = cookie.slice(cookie.indexOf('=') + 1);
      expect((await new Http(stage.run.api, value).get('/api/portal/me')).status).to.equal(401);
      for (const given of [token, `${token}.`, `${token}.AAAA`, `${value.slice(0, -2)}AA`, '']) {
        expect((await anybody.get('/api/portal/me', { headers: { Cookie: `portal_session=${given}` } })).status, given).to.equal(401);
      }
    });

    it('does not stand in for a bearer that is refused', async () => {
      expect((await stage.admin.get('/api/portal/me', { headers: { Cookie: cookie } })).status).to.equal(401);
    });
  });

  describe('the date', () => {
    it('is set by the participant where the policy lets it; the history says who', async () => {
      const jo = await person();
      const http = await entered(jo);
      const { status, body } = await jo.set(DAY, http, { reason: 'my first day' });
      expect(status).to.equal(200);
      expect(body).to.include({ enrollment_date: DAY, status: 'finalized', source_type: 'manual_entry' });
      const [latest] = await jo.history();
      expect(latest).to.include({ actor_type: 'participant', actor_user_id: null, enrollment_date_value: DAY, reason: 'my first day' });
      const entries = (await study.audit('manual_date_entered')).filter((record) => record.resource_id === jo.id);
      expect(entries.map((entry) => [entry.user_id, entry.request_id])).to.deep.equal([[null, latest!.request_id]]);
      expect((await http.expect<{ total: number }>(200, 'GET', '/api/portal/visits')).total).to.equal(2);
      expect((await jo.set('2024-03-11', http)).body.code).to.equal('OVERRIDE_REQUIRED');
    });

    it('is 403 where the policy does not, and nothing is stored', async () => {
      const closed = await stage.study({ ...ownDate, permissions: { participant_can_set: false } });
      const kim = await person({}, closed);
      const http = await entered(kim);
      expect((await kim.set(DAY, http)).status).to.equal(403);
      expect((await kim.anchor()).status).to.equal('unset');
      await closed.policy({ ...ownDate, permissions: { participant_can_set: true } });
      expect((await kim.set(DAY, http)).status).to.equal(200);
    });

    it('of another participant is not there, in this study or another', async () => {
      const [lea, other, far] = [await person(), await person(), await person({}, await stage.study(ownDate))];
      const http = await entered(lea);
      for (const path of [other.path, far.path, `/api/studies/${study.id}/participants/${far.id}`, `/api/studies/${far.study.id}/participants/${lea.id}`]) {
        expect((await http.post(`${path}/anchor-date`, { enrollment_date: DAY })).status, path).to.equal(404);
      }
      for (const who of [lea, other, far]) expect((await who.anchor()).status).to.equal('unset');
    });

    it('channels are chosen under a tag', async () => {
      const http = await entered(await person());
      const choose = (match: string) => http.patch<Loose & { sms: boolean }>('/api/portal/preferences', { sms: false }, { headers: { 'If-Match': match } });
      const tag = (await http.get('/api/portal/preferences')).headers.get('etag')!;
      const chosen = await choose(tag);
      expect([chosen.status, chosen.body.sms]).to.deep.equal([200, false]);
      expect([(await choose(tag)).status, (await choose(chosen.headers.get('etag')!)).status]).to.deep.equal([409, 200]);
    });

    it('that breaks a rule is 400, one that is none 422; the same key is answered once', async () => {
      const mia = await person();
      const http = await entered(mia);
      const ahead = await mia.set('2999-01-01', http);
      expect([ahead.status, ahead.body.errors.map(({ code }) => code)]).to.deep.equal([400, ['FUTURE_DATE']]);
      expect((await mia.set('2024-02-30', http)).status).to.equal(422);
      const keyed = () => http.post(`${mia.path}/anchor-date`, { enrollment_date: DAY }, { headers: { 'Idempotency-Key': 'mine' } });
      const [first, second] = [await keyed(), await keyed()];
      expect([first.status, second.status, second.headers.get('idempotent-replay')]).to.deep.equal([200, 200, 'true']);
      expect(second.body).to.deep.equal(first.body);
    });

    it('is set by staff as before', async () => {
      const nia = await person();
      expect((await nia.set(DAY, await study.as('data_manager'))).status).to.equal(403);
      expect((await nia.set(DAY, await study.as('coordinator'))).status).to.equal(200);
      expect((await nia.history())[0]).to.include({ actor_type: 'user' });
      const stranger = await user(stage.admin, 'coordinator');
      expect((await nia.set(DAY, stranger)).status).to.equal(404);
    });
  });
});
