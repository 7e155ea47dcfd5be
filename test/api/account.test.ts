import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { hash } from '@node-rs/argon2';
import { expect } from 'chai';
import pg from 'pg';
import { openDatabase } from '../../db/client/knex.js';
import { seesEverything } from '../support/everything.js';
import { whileHeld } from '../support/held-row.js';
import { Http, admin, goodPassword, login, newStudy, unique, user } from '../support/http.js';
import type { Loose } from '../support/http.js';
import { service } from '../support/service.js';
import { until } from '../support/until.js';

interface Mail {
  text: string;
  subject: string;
  to: { address: string }[];
}
const next = 'another green clip 77';

describe('One’s own account', () => {
  let root: Http;
  let nobody: Http;
  before(async () => {
    root = await admin();
    nobody = new Http(root.base);
  });
  const mailsTo = async (email: string) =>
    (
      (await (
        await fetch(`${(await service()).mail_ui}/email?to.address=${encodeURIComponent(email)}`)
      ).json()) as Mail[]
    ).filter((mail) => mail.to.some(({ address }) => address === email));
  /** The token in the mail of that number to the address. */
  const tokenTo = async (email: string, count = 1): Promise<string> => {
    const mails = await until(
      async () => {
        // Of what is sent to a user besides, some is about the account and has no link.
        const all = (await mailsTo(email)).filter((mail) => /\/console\/(reset|accept)#/.test(mail.text));
        return all.length >= count ? all : undefined;
      },
      { timeout: 60_000, what: `mail ${count} to a user` },
    );
    const tokens = mails.map((mail) => /\/console\/(?:reset|accept)#token=([\w-]{43})\s/.exec(mail.text)?.[1]);
    expect(tokens.every(Boolean)).to.equal(true);
    return [...new Set(tokens)].find((token) => !seen.has(token!) && seen.add(token!))!;
  };
  const seen = new Set<string>();
  const reset = (token: string, new_password = next) =>
    nobody.post('/api/auth/password/reset', { token, new_password });

  it('a forgotten password is replaced by a mailed link, once, and every login ends', async () => {
    const one = await user(root, 'coordinator');
    const { tokens } = await login(root.base, one.email, goodPassword);
    expect((await nobody.post('/api/auth/password/forgot', { email: one.email.toUpperCase() })).body).to.deep.equal({
      status: 'queued',
    });
    const token = await tokenTo(one.email);
    expect((await reset(token, 'short')).status).to.equal(422);
    expect((await reset(token, 'passwordpassword')).status, 'the link is good still').to.equal(400);
    expect((await reset(token)).status).to.equal(204);
    const again = await reset(token, 'yet another clip 78');
    expect([again.status, again.body.code]).to.deep.equal([401, 'INVALID_LINK']);
    expect((await one.get('/api/auth/me')).status, 'an earlier access token').to.equal(401);
    expect((await nobody.post('/api/auth/refresh', { refresh_token: tokens.refresh_token })).status).to.equal(401);
    expect((await nobody.post('/api/auth/login', { email: one.email, password: goodPassword })).status).to.equal(401);
    await login(root.base, one.email, next);
  });

  it('a link for a password, used while its user is deactivated, is good no more, and nobody waits in a circle', async () => {
    const one = await user(root, 'coordinator');
    await nobody.post('/api/auth/password/forgot', { email: one.email });
    const token = await tokenTo(one.email);
    const url = (await service()).database_url;
    const owner = openDatabase({ url, poolMax: 3, name: 'account-test', asOwner: true });
    try {
      const [deactivated, used] = await whileHeld(
        owner,
        ['select 1 from users where id = ? for update', one.userId!],
        () => root.patch(`/api/users/${one.userId}`, { status: 'inactive' }),
        () => reset(token),
      );
      expect([deactivated!.status, used!.status, used!.body.code]).to.deep.equal([200, 401, 'INVALID_LINK']);
    } finally {
      await owner.destroy();
    }
  });

  it('a password is the same however a keyboard composes its letters, also one of an earlier release', async () => {
    const { email, userId } = await user(root, 'coordinator');
    const composed = 'r\u00e9sum\u00e9 of blue staples 42';
    const typed = composed.normalize('NFD');
    const enter = async (password: string) => (await nobody.post('/api/auth/login', { email, password })).status;
    await root.expect(201, 'POST', '/api/auth/register', {
      email: `other-${email}`,
      name: 'N',
      password: composed,
      role: 'coordinator',
    });
    await login(root.base, `other-${email}`, typed);
    const database = await seesEverything();
    try {
      await database.query('update users set password_hash = $1 where id = $2', [await hash(typed), userId]);
    } finally {
      await database.end();
    }
    expect([await enter(typed), await enter(composed)]).to.deep.equal([200, 401]);
  });

  it('an unknown and an inactive account are answered alike, and get no mail', async () => {
    const one = await user(root, 'coordinator');
    await root.expect(200, 'PATCH', `/api/users/${one.userId}`, { status: 'inactive' });
    const stranger = `${unique()}@example.org`;
    const answers = await Promise.all(
      [one.email, stranger].map((email) => nobody.post('/api/auth/password/forgot', { email })),
    );
    for (const { status, body } of answers) expect([status, body]).to.deep.equal([202, { status: 'queued' }]);
    const known = await user(root, 'coordinator');
    await nobody.post('/api/auth/password/forgot', { email: known.email });
    await tokenTo(known.email);
    expect([await mailsTo(one.email), await mailsTo(stranger)]).to.deep.equal([[], []]);
    for (const token of ['x', 'a'.repeat(43)]) expect((await reset(token)).status).to.equal(401);
  });

  it('the newest of two links ends the other, and a lock of the account', async () => {
    const { email } = await user(root, 'coordinator');
    for (let i = 0; i < 5; i++) await nobody.post('/api/auth/login', { email, password: 'wrong' });
    await nobody.post('/api/auth/password/forgot', { email });
    const first = await tokenTo(email);
    await nobody.post('/api/auth/password/forgot', { email });
    const second = await tokenTo(email, 2);
    expect((await reset(second)).status).to.equal(204);
    expect((await reset(first)).status).to.equal(401);
    await login(root.base, email, next);
  });

  it('an invited user chooses a password by the mail, and has the role and studies given', async () => {
    const study = await newStudy(root);
    const email = `${unique()}@example.org`;
    const invited = await root.expect(201, 'POST', '/api/users/invite', {
      email,
      name: 'New',
      role: 'coordinator',
      study_ids: [study.id],
    });
    expect(invited).to.deep.include({ email, role: 'coordinator', status: 'active', study_ids: [study.id] });
    expect((await root.post('/api/users/invite', { email, name: 'New', role: 'coordinator' })).status).to.equal(409);
    const lost = await tokenTo(email);
    expect((await root.post(`/api/users/${invited.id}/invite`)).status).to.equal(202);
    const token = await tokenTo(email, 2);
    expect((await reset(token)).status).to.equal(204);
    expect((await reset(lost)).status).to.equal(401);
    const { http } = await login(root.base, email, next);
    expect((await http.expect(200, 'GET', '/api/studies')).items.map((one) => one.id)).to.deep.equal([study.id]);
    expect(
      (await http.post('/api/users/invite', { email: `${unique()}@example.org`, name: 'x', role: 'admin' })).status,
    ).to.equal(403);
  });

  it('the link is nowhere but in the mail', async () => {
    const { email } = await user(root, 'coordinator');
    await nobody.post('/api/auth/password/forgot', { email });
    const token = await tokenTo(email);
    const run = await service();
    const client = new pg.Client({ connectionString: run.database_url });
    await client.connect();
    try {
      const { rows } = await client.query(
        'select l::text from user_links l union all select o::text from outbox o union all select a::text from audit_log a where study_id is null',
      );
      expect(JSON.stringify(rows)).not.to.include(token).and.not.include(email);
    } finally {
      await client.end();
    }
    const logs = join(run.data_dir, 'logs');
    for (const file of readdirSync(logs)) expect(readFileSync(join(logs, file), 'utf8'), file).not.to.include(token);
  });

  it('its page loads everything from the service, under a policy that allows nothing else', async () => {
    const page = await nobody.get('/account/password?token=x');
    expect(page.status).to.equal(200);
    expect(page.headers.get('content-security-policy')).to.include("default-src 'none'");
    expect(page.headers.get('referrer-policy')).to.equal('no-referrer');
    for (const [, path] of page.text.matchAll(/(?:src|href)="([^"]+)"/g))
      expect((await nobody.get(path!)).status, path).to.equal(200);
  });

  it('its page is in the first language of the browser that it has, what its script says as well', async () => {
    for (const [accepted, language, title] of [
      ['de-CH', 'de', 'Passwort wählen'],
      ['it-IT, fr;q=0.8, en;q=0.5', 'fr', 'Choisissez un mot de passe'],
      ['es', 'es', 'Elija una contraseña'],
      ['it', 'en', 'Choose a password'],
    ] as const) {
      const page = await nobody.get('/account/password', { headers: { 'Accept-Language': accepted } });
      expect(page.text, accepted).to.include(`<html lang="${language}"`).and.include(`<h1>${title}</h1>`);
      expect(page.headers.get('vary'), accepted).to.include('Accept-Language');
      for (const key of ['open', 'differ', 'invalid', 'common', 'later', 'saved', 'tokens', 'unreachable'])
        expect(page.text, accepted).to.match(new RegExp(` data-${key}="[^"]{10,}"`));
    }
    expect((await nobody.get('/account/password.js')).text).not.to.match(/'[A-Z][a-z]+ [a-z]+/);
    // Other pages of nobody read all of the header as well.
    const nothing = await nobody.get('/nothing-here', {
      headers: { Accept: 'text/html', 'Accept-Language': 'it, de;q=0.5' },
    });
    expect(nothing.text).to.include('<html lang="de"');
  });

  describe('logins', () => {
    const open = async (http: Http) =>
      (await http.expect(200, 'GET', '/api/auth/sessions')).items as (Loose & {
        current: boolean;
        user_agent: string | null;
      })[];

    it('are listed, with the one that asks; a refresh is the same login', async () => {
      const { email } = await user(root, 'coordinator');
      const { http, tokens } = await login(root.base, email, goodPassword);
      const before = await open(http);
      expect([before.length, before.filter((one) => one.current).length]).to.deep.equal([2, 1]);
      const refreshed = await nobody.expect<{ access_token: string }>(200, 'POST', '/api/auth/refresh', {
        refresh_token: tokens.refresh_token,
      });
      const after = await open(new Http(root.base, refreshed.access_token));
      expect(after.map((one) => one.id)).to.have.members(before.map((one) => one.id));
      expect(after.find((one) => one.current)!.id).to.equal(before.find((one) => one.current)!.id);
      expect(before[0]).to.include.keys('created_at', 'last_used_at', 'expires_at', 'user_agent', 'ip_address');
    });

    it('one is ended at once, its access token too; the others stay, and another’s is not there', async () => {
      const { email } = await user(root, 'coordinator');
      const other = await login(root.base, email, goodPassword);
      const { http, tokens } = await login(root.base, email, goodPassword);
      const id = (await open(http)).find((one) => one.current)!.id;
      expect((await (await user(root, 'coordinator')).delete(`/api/auth/sessions/${id}`)).status).to.equal(404);
      expect((await other.http.delete(`/api/auth/sessions/${id}`)).status).to.equal(204);
      expect((await other.http.delete(`/api/auth/sessions/${id}`)).status).to.equal(404);
      for (const path of ['/api/auth/me', '/api/participants', '/api/auth/sessions'])
        expect((await http.get(path)).status, path).to.equal(401);
      expect((await other.http.get('/api/auth/me')).status).to.equal(200);
      expect((await nobody.post('/api/auth/refresh', { refresh_token: tokens.refresh_token })).status).to.equal(401);
    });

    it('a logout and a refresh token that comes again end the access tokens of the login', async () => {
      const { email } = await user(root, 'coordinator');
      const [one, two] = [await login(root.base, email, goodPassword), await login(root.base, email, goodPassword)];
      expect((await nobody.post('/api/auth/logout', { refresh_token: one.tokens.refresh_token })).status).to.equal(204);
      expect((await one.http.get('/api/auth/me')).status).to.equal(401);
      const renewed = await nobody.expect<{ access_token: string }>(200, 'POST', '/api/auth/refresh', {
        refresh_token: two.tokens.refresh_token,
      });
      for (const token of [two.tokens.access_token, renewed.access_token])
        expect((await new Http(root.base, token).get('/api/auth/me')).status).to.equal(200);
      expect((await nobody.post('/api/auth/refresh', { refresh_token: two.tokens.refresh_token })).status).to.equal(
        401,
      );
      for (const token of [two.tokens.access_token, renewed.access_token])
        expect((await new Http(root.base, token).get('/api/auth/me')).status).to.equal(401);
    });

    it('all are ended at once, access tokens too; a new login is good', async () => {
      const { email } = await user(root, 'coordinator');
      const [one, two] = [await login(root.base, email, goodPassword), await login(root.base, email, goodPassword)];
      expect((await one.http.post('/api/auth/logout-all')).status).to.equal(204);
      for (const { http, tokens } of [one, two]) {
        expect((await http.get('/api/auth/me')).status).to.equal(401);
        expect((await nobody.post('/api/auth/refresh', { refresh_token: tokens.refresh_token })).status).to.equal(401);
      }
      const { http } = await login(root.base, email, goodPassword);
      expect(await open(http)).to.have.length(1);
      // By an admin as well.
      await root.expect(204, 'POST', `/api/users/${http.userId!}/logout-all`, {});
      expect((await http.get('/api/auth/me')).status).to.equal(401);
      expect((await http.post(`/api/users/${http.userId!}/logout-all`, {})).status).to.equal(401);
    });

    it('that are refreshed at the moment end as well', async () => {
      const { email, userId } = await user(root, 'coordinator');
      const { http, tokens } = await login(root.base, email, goodPassword);
      const sql = new pg.Client({ connectionString: (await service()).database_url });
      await sql.connect();
      try {
        const waiting = (n: number) =>
          until(
            async () => {
              // A transaction sees no session that began after its first look, unless it forgets that one.
              await sql.query('select pg_stat_clear_snapshot()');
              const { rows } = await sql.query<{ n: number }>(
                `select count(*)::int as n from pg_stat_activity
                 where application_name = 'api' and cardinality(pg_blocking_pids(pid)) > 0`,
              );
              return rows[0]!.n >= n;
            },
            { what: `${n} requests that wait` },
          );
        await sql.query('begin');
        await sql.query('select from users where id = $1 for update', [userId]);
        const refreshing = nobody.post<{ refresh_token?: string }>('/api/auth/refresh', {
          refresh_token: tokens.refresh_token,
        });
        await waiting(1);
        const ending = http.post('/api/auth/logout-all');
        await waiting(2);
        await sql.query('rollback');
        expect((await ending).status).to.equal(204);
        const { body } = await refreshing;
        if (body.refresh_token !== undefined)
          expect((await nobody.post('/api/auth/refresh', { refresh_token: body.refresh_token })).status).to.equal(401);
        expect(await open((await login(root.base, email, goodPassword)).http)).to.have.length(1);
      } finally {
        await sql.end();
      }
    });
  });
});
