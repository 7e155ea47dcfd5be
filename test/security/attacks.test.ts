import { randomUUID } from 'node:crypto';
import { request } from 'node:http';
import { expect } from 'chai';
import { Visitor, tokenIn } from '../console/stage.js';
import { formOf } from '../data/stage.js';
import { Http, admin, goodPassword, newParticipant, newStudy, unique, user } from '../support/http.js';
import type { Loose } from '../support/http.js';
import { service } from '../support/service.js';
import { until } from '../support/until.js';

/** Names that every object of JavaScript has without being given any. */
const INHERITED = ['constructor', 'toString', 'valueOf', 'hasOwnProperty', 'isPrototypeOf', '__defineGetter__'];
/** What is done for a known address takes less. A timer may end a little early. */
const LEAST_MS = 148;

const mapped = (form_oid: string, item_oid: string) => ({
  type: 'form_item',
  form_mapping: { form_oid, item_oid },
});
const computed = (expression: string) => ({ type: 'computed_rule', computed_rule: { expression } });

interface Mail {
  subject: string;
  text: string;
  headers: Record<string, unknown>;
  to: { address: string }[];
  cc?: unknown[];
  bcc?: unknown[];
}

describe('Attacks from outside', function () {
  this.timeout(180_000);
  let root: Http, study: Loose;
  before(async () => {
    root = await admin();
    study = await newStudy(root);
  });
  /** All of them, or those to one address. */
  const mails = async (to?: string) => {
    const narrowed = to === undefined ? '' : `?to.address=${encodeURIComponent(to)}`;
    return (await (await fetch(`${(await service()).mail_ui}/email${narrowed}`)).json()) as Mail[];
  };

  describe('names that every object has', () => {
    it('as names of forms, items, metrics, tasks and settings are names like others', async () => {
      const of = `/api/studies/${study.id}/participants/${(await newParticipant(root, study.id)).id}`;
      for (const name of INHERITED) {
        const form = { form_oid: name, status: 'complete', items: { [name]: '2024-03-01' } };
        const made = await root.send('POST', `${of}/forms`, form);
        expect(made.status, made.text).to.equal(201);
        expect((made.body.items as unknown as Record<string, unknown>)[name], name).to.equal('2024-03-01');
        const { config } = await root.expect<{ config: Loose }>(200, 'PATCH', `/api/studies/${study.id}`, {
          config: { [name]: { [name]: 1 } },
        });
        expect(Object.hasOwn(config, name) && config[name], name).to.deep.equal({ [name]: 1 });
      }
      expect((await root.get('/api/health')).status).to.equal(200);
    });

    it('as sources of an anchor date find nothing where no form has them', async () => {
      for (const name of INHERITED)
        for (const source of [
          mapped(name, name),
          mapped('F', name),
          computed(`forms.F.${name}`),
          computed(`forms["${name}"]["${name}"]`),
        ]) {
          const policy = { sources: [source], prerequisites: { require_consent_signed: false } };
          const made = await root.post('/api/studies', {
            study_code: unique('PROTO'),
            study_name: 'P',
            config: { enrollment_date_policy: policy },
          });
          if (made.status !== 201) {
            expect(made.status, made.text).to.be.oneOf([400, 422]);
            continue;
          }
          const { id } = await newParticipant(root, made.body.id);
          const at = `/api/studies/${made.body.id}/participants/${id}`;
          const form = { form_oid: 'F', status: 'complete', items: { A: 1 } };
          expect((await root.send('POST', `${at}/forms`, form)).status).to.equal(201);
          const evaluated = await root.post(`${at}/anchor-date/evaluate`, {});
          expect(evaluated.status, `${JSON.stringify(source)}: ${evaluated.text}`).to.be.below(500);
          const anchor = await root.expect<Loose>(200, 'GET', `${at}/anchor-date`);
          expect(anchor.enrollment_date, JSON.stringify(source)).to.equal(null);
        }
    });

    it('as tasks, metrics, columns, languages and keys are no fault', async () => {
      const run = await service();
      const { id } = await newParticipant(root, study.id);
      for (const name of INHERITED) {
        const started = { study_id: study.id, participant_id: id };
        const { sessionId } = await root.expect<{ sessionId: string }>(201, 'POST', '/api/session/start', started);
        const headers = { 'X-Session-ID': sessionId };
        const body = { session_id: sessionId, task_summaries: { [name]: { [name]: 1 } } };
        expect((await root.send('POST', '/api/submit', body, { headers })).status, name).to.be.below(500);
        const local = { id: name, participantId: id, studyId: study.id, status: 'completed' };
        const times = { startedAt: '2024-01-01T10:00:00Z', completedAt: '2024-01-01T11:00:00Z' };
        const sync = await root.post('/api/sync/bulk', {
          sessions: [{ ...local, ...times }],
          responses: [{ id: name, sessionId: name, task: name, summary: { [name]: 1 } }],
        });
        expect(sync.status, sync.text).to.equal(200);
        const csv = await formOf(`participant_code,${name}\n${unique('c')},x\n`);
        const path = `/api/studies/${study.id}/participants/import/csv?dry_run=true`;
        expect((await root.send('POST', path, undefined, { raw: csv })).status, name).to.be.below(500);
        for (const page of ['/console/login', '/portal', '/api/health', '/api/notifications/unsubscribe?token=x'])
          for (const language of [name, `${name};q=0.9`])
            expect(
              (await fetch(`${run.api}${page}`, { headers: { 'accept-language': language } })).status,
              `${page} ${name}`,
            ).to.be.below(500);
        for (const query of [`?${name}=1`, `?sort=${name}`, `?status=${name}`])
          expect((await root.get(`/api/studies${query}`)).status, query).to.be.oneOf([400, 422]);
      }
      const wide = await root.post('/api/exports/csv', { study_id: study.id, dataset: 'session_summaries' });
      expect(wide.status, wide.text.slice(0, 300)).to.be.below(500);
    });

    it('in Object.prototype nothing is written', async () => {
      const bodies = [
        '{"config":{"constructor":{"prototype":{"polluted":true}}}}',
        '{"config":{"a":{"constructor":{"prototype":{"polluted":true}}}}}',
      ];
      for (const content of bodies)
        expect(
          (
            await root.send('PATCH', `/api/studies/${study.id}`, undefined, {
              raw: { type: 'application/json', content },
            })
          ).status,
        ).to.equal(200);
      const form = new URLSearchParams({ email: 'a@example.org', password: 'x', '__proto__[polluted]': '1' });
      const visitor = new Visitor(root.base);
      const token = tokenIn((await visitor.get('/console/login')).text);
      await visitor.send('POST', '/console/login', { ...Object.fromEntries(form), _token: token });
      expect((await root.post('/api/studies', { study_code: unique('P'), study_name: 'P' })).body).not.to.have.property(
        'polluted',
      );
    });
  });

  describe('a mail', () => {
    const line = 'Hello\r\nBcc: victim@example.org\r\nX-Injected: yes';
    it('gets no header by a line break in what it is given', async () => {
      const own = (await root.expect<{ email: string }>(200, 'GET', '/api/auth/me')).email;
      const word = unique('word');
      const sent = await root.post('/api/test/email', { recipient: own, subject: `${word} ${line}`, body: line });
      if (sent.status !== 202) expect(sent.status).to.equal(422);
      else {
        const mail = await until(async () => (await mails(own)).find(({ subject }) => subject.includes(word)), {
          what: 'the mail',
        });
        expect(Object.keys(mail.headers)).not.to.include('x-injected');
        expect(mail.to.map(({ address }) => address)).to.deep.equal([own]);
        expect([mail.bcc ?? [], mail.cc ?? []].flat()).to.deep.equal([]);
      }
      for (const name of [line, 'A\u2028Bcc: victim@example.org']) {
        const email = `${unique('named')}@example.org`;
        const { status, text } = await root.post('/api/users/invite', { email, name, role: 'coordinator' });
        expect(status, text).to.be.oneOf([201, 422]);
      }
      const named = await root.post('/api/studies', { study_code: unique('INJ'), study_name: line });
      expect(named.status, named.text).to.be.oneOf([201, 422]);
    });

    it('goes to one address: none that is several, and none with a line break', async () => {
      const bad = [
        'a@example.org\r\nBcc: b@example.org',
        'a@example.org,b@example.org',
        'a@example.org b@example.org',
        'A <a@example.org>',
        'a@example.org;b@example.org',
        '"a@example.org, b"@example.org\n',
        'a@[127.0.0.1]\r\n',
      ];
      for (const email of bad) {
        const { id } = await newParticipant(root, study.id);
        for (const answer of [
          await root.post('/api/users/invite', { email, name: 'N', role: 'coordinator' }),
          await root.patch(`/api/participants/${id}`, { email }),
          await root.post('/api/auth/password/forgot', { email }),
          await root.post('/api/test/email', { recipient: email, subject: 'x', body: 'x' }),
        ])
          expect(answer.status, `${JSON.stringify(email)} ${answer.text}`).to.equal(422);
      }
    });

    it('goes to nobody by an address of an import that is several, or has a line break', async () => {
      const { id } = await newParticipant(root, study.id, { email: 'a@example.org' });
      const exported = await root.get<{ tables: { participants: Loose[] } }>(`/api/exports/studies/${study.id}/full`);
      const tag = unique('smuggled');
      const bad = [
        `a@example.org\r\nBcc: ${tag}@example.org`,
        `a@example.org, ${tag}@example.org`,
        `${tag} <a@example.org>`,
        `a@example.org;${tag}@example.org`,
      ];
      const { tables } = exported.body;
      const row = tables.participants.find((one) => one.id === id)!;
      const query = new URLSearchParams({ study_code: unique('COPY'), study_name: 'A copy' });
      const copy = await root.expect<{ study_id: string }>(201, 'POST', `/api/studies/import/full?${query}`, {
        ...exported.body,
        tables: {
          participants: bad.map((email, i) => ({ ...row, id: randomUUID(), participant_code: `C${i}`, email })),
        },
      });
      const { items } = await root.expect(200, 'GET', `/api/studies/${copy.study_id}/participants`);
      expect(items.map(({ email }) => email).sort()).to.deep.equal([...bad].sort());
      for (const person of items) {
        await root.expect(202, 'POST', '/api/portal/magic-link', { participant_id: person.id, channel: 'email' });
        const sent = await until(
          async () =>
            (await root.get(`/api/notifications?participant_id=${person.id}`)).body.items.find(
              ({ status }) => status !== 'pending',
            ),
          { what: 'the mail to be tried' },
        );
        expect([sent.status, sent.last_error]).to.deep.equal([
          'failed',
          'the mail server refused the message: its address is not usable',
        ]);
      }
      expect(JSON.stringify(await mails())).not.to.include(tag);
    });

    it('has links to this service, whatever host a request names', async () => {
      const { email } = await user(root, 'coordinator');
      const { hostname, port } = new URL(root.base);
      const body = JSON.stringify({ email });
      const status = await new Promise<number>((resolve, reject) => {
        const sent = request(
          {
            hostname,
            port,
            method: 'POST',
            path: '/api/auth/password/forgot',
            headers: {
              host: 'attacker.example.com',
              'x-forwarded-host': 'attacker.example.com',
              forwarded: 'host=attacker.example.com',
              'content-type': 'application/json',
              'content-length': Buffer.byteLength(body),
            },
          },
          (answer) => {
            answer.resume();
            resolve(answer.statusCode!);
          },
        );
        sent.once('error', reject);
        sent.end(body);
      });
      expect(status).to.equal(202);
      const mail = await until(
        async () => (await mails(email)).find(({ to, text }) => to[0]?.address === email && text.includes('#token=')),
        { what: 'the mail' },
      );
      expect(JSON.stringify(mail)).not.to.include('attacker');
    });
  });

  describe('a page of the console', () => {
    const elsewhere = [
      'https://attacker.example.com/',
      '//attacker.example.com/console',
      '/\\attacker.example.com/console',
      '\\\\attacker.example.com',
      '/console/../../attacker',
      '/console//attacker.example.com',
      'javascript:alert(1)//console',
      '/console@attacker.example.com',
      ' https://attacker.example.com/console',
      '/console/\r\nLocation: https://attacker.example.com',
      'data:text/html,x',
      '/console/%2e%2e/%2e%2e/portal',
      '\t//attacker.example.com/console',
    ];
    it('leads nowhere else after a login', async () => {
      const { email } = await user(root, 'coordinator');
      for (const next of elsewhere) {
        const visitor = new Visitor(root.base);
        const { status, headers } = await visitor.login(email, goodPassword, next);
        expect(status, next).to.equal(303);
        const to = new URL(headers.get('location')!, 'http://here.invalid/console/login');
        expect([to.host, to.pathname.startsWith('/console')], next).to.deep.equal(['here.invalid', true]);
      }
    });

    it('takes no form that another page sends: without its token, or in another type', async () => {
      const someone = await user(root, 'researcher', { study_ids: [study.id] });
      const visitor = await Visitor.of(root.base, someone.email);
      const other = await Visitor.of(root.base, (await user(root, 'researcher', { study_ids: [study.id] })).email);
      const page = await visitor.get('/console/inbox');
      const token = tokenIn(page.text);
      expect(token).not.to.equal('');
      const fields = { language: 'de', _back: '/console/inbox' };
      const cookie = [...visitor.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
      const send = (type: string, body: string) =>
        fetch(`${root.base}/console/preferences`, {
          method: 'POST',
          redirect: 'manual',
          headers: { cookie, 'content-type': type, origin: 'https://attacker.example.com' },
          body,
        });
      const foreign = tokenIn((await other.get('/console/inbox')).text);
      const form = 'application/x-www-form-urlencoded';
      const of = (given: Record<string, string>) => new URLSearchParams({ ...fields, ...given }).toString();
      const trials: [string, string][] = [
        [form, of({})],
        [form, of({ _token: '' })],
        [form, of({ _token: foreign })],
        [form, of({ _token: token.slice(0, -2) })],
        ['text/plain', of({ _token: token })],
        ['application/json', JSON.stringify({ ...fields, _token: token })],
        ['text/plain', JSON.stringify({ ...fields, _token: token })],
      ];
      for (const [type, body] of trials) {
        const answer = await send(type, body);
        expect(answer.status, `${type} ${body}`).to.be.oneOf([403, 415]);
        expect(
          answer.headers.getSetCookie().filter((one) => one.includes('de')),
          body,
        ).to.deep.equal([]);
      }
    });

    it('gives the API no login: a cookie alone changes nothing there', async () => {
      const visitor = await Visitor.of(root.base, (await user(root, 'admin')).email);
      const cookie = [...visitor.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
      for (const type of ['application/json', 'text/plain', 'application/x-www-form-urlencoded']) {
        const answer = await fetch(`${root.base}/api/studies`, {
          method: 'POST',
          headers: { cookie, 'content-type': type },
          body: JSON.stringify({ study_code: unique('CSRF'), study_name: 'x' }),
        });
        expect(answer.status, type).to.equal(401);
      }
    });
  });

  it('no time tells whether an address is known: of a forgotten password, nor of a portal link', async () => {
    const known = (await user(root, 'coordinator')).email;
    const person = `${unique('person')}@example.org`;
    await newParticipant(root, study.id, { email: person });
    const took = async (path: string, email: string) => {
      const began = performance.now();
      expect((await new Http(root.base).post(path, { email })).status).to.equal(202);
      return performance.now() - began;
    };
    for (const [path, email] of [
      ['/api/auth/password/forgot', known],
      ['/api/portal/new-link', person],
    ] as const)
      for (const one of [email, `nobody-${email}`]) expect(await took(path, one), one).to.be.at.least(LEAST_MS);
  });
});
