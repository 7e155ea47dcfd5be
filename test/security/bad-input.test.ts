import { createHmac, randomUUID } from 'node:crypto';
import { connect } from 'node:net';
import { expect } from 'chai';
import jwt from 'jsonwebtoken';
import { startApi } from '../support/api-process.js';
import type { ApiProcess } from '../support/api-process.js';
import { admin, newParticipant, newStudy, unique } from '../support/http.js';
import type { Http, Loose } from '../support/http.js';
import { until } from '../support/until.js';

const SECRET = 'a signing secret that this test knows';
/** In every request that is refused: it must not come up in the log. */
const MARK = unique('zqmark').replaceAll('-', '');
/** `text` goes over the wire as it is; `status` where one alone is right. */
interface Case {
  title: string;
  text: (at: Place) => string | Buffer;
  status?: number;
}
interface Place {
  host: string;
  token: string;
  study: string;
  participant: string;
  user: string;
  used: string;
  scoped: string;
  cursor: string;
}

const lines = (...parts: string[]): string => parts.join('\r\n');
const get =
  (path: string, ...headers: string[]) =>
  ({ host, token }: Place): string =>
    lines(
      `GET ${path} HTTP/1.1`,
      `Host: ${host}`,
      'Connection: close',
      ...(headers.some((one) => /^Authorization/.test(one)) ? [] : [`Authorization: Bearer ${token}`]),
      ...headers,
      '',
      '',
    );
const post =
  (path: string, body: string | Buffer, ...headers: string[]) =>
  ({ host, token }: Place): Buffer =>
    Buffer.concat([
      Buffer.from(
        lines(
          `POST ${path} HTTP/1.1`,
          `Host: ${host}`,
          'Connection: close',
          `Authorization: Bearer ${token}`,
          ...(headers.some((one) => /^Content-Type/.test(one)) ? [] : ['Content-Type: application/json']),
          ...headers,
          `Content-Length: ${Buffer.byteLength(body)}`,
          '',
          '',
        ),
      ),
      Buffer.from(body),
    ]);
const bearing =
  (made: (user: string) => string): Case['text'] =>
  (at) =>
    get('/api/auth/me', `Authorization: Bearer ${made(at.user)}`)(at);
const claims = (sub: string, more: object = {}) => ({
  iss: 'research-assessment-platform',
  aud: 'api',
  sub,
  role: 'admin',
  jti: 'x',
  exp: Math.floor(Date.now() / 1000) + 60,
  ...more,
});
const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
const deep = (open: string, close: string): string => `{"study_code":${open.repeat(10_000)}${close.repeat(10_000)}}`;

const cases: Case[] = [
  {
    title: 'alg none',
    status: 401,
    text: bearing((user) => `${part({ alg: 'none', typ: 'JWT' })}.${part(claims(user))}.`),
  },
  {
    title: 'alg None and an empty signature part',
    status: 401,
    text: bearing((user) => `${part({ alg: 'None' })}.${part(claims(user))}`),
  },
  {
    title: 'another algorithm',
    status: 401,
    text: bearing((user) => jwt.sign(claims(user), SECRET, { algorithm: 'HS512' })),
  },
  {
    title: 'another audience',
    status: 401,
    text: bearing((user) => jwt.sign(claims(user, { aud: 'portal' }), SECRET)),
  },
  {
    title: 'an expired token',
    status: 401,
    text: bearing((user) => jwt.sign(claims(user, { exp: 1_000_000_000 }), SECRET)),
  },
  {
    title: 'a token that says where its key is',
    status: 401,
    text: bearing((user) => {
      const head = `${part({ alg: 'HS256', jku: 'http://127.0.0.1:9/', kid: '../../dev/null' })}.${part(claims(user))}`;
      return `${head}.${createHmac('sha256', '').update(head).digest('base64url')}`;
    }),
  },
  {
    title: 'a replayed refresh token',
    status: 401,
    text: (at) => post('/api/auth/refresh', JSON.stringify({ refresh_token: at.used }))(at),
  },
  {
    title: 'a forged cursor',
    status: 400,
    text: (at) =>
      get(
        `/api/v1/studies/${at.study}/participants?cursor=${Buffer.from(`["${MARK}"]`).toString('base64url')}.${'A'.repeat(22)}`,
        `Authorization: Bearer ${at.scoped}`,
      )(at),
  },
  {
    title: 'a cursor of nothing',
    status: 400,
    text: (at) => get(`/api/v1/studies/${at.study}/participants?cursor=.`, `Authorization: Bearer ${at.scoped}`)(at),
  },
  { title: 'a line break in a header’s value', text: get('/api/studies', `X-Correlation-ID: a\n${MARK}: b`) },
  {
    title: 'a header folded over two lines',
    status: 400,
    text: get('/api/studies', `X-Correlation-ID: a`, ` ${MARK}: b`),
  },
  {
    title: 'a carriage return alone in a header',
    status: 400,
    text: get('/api/studies', `X-Correlation-ID: a\r${MARK}: b`),
  },
  {
    title: 'an encoded line break in a code that a file is named by',
    status: 422,
    text: post('/api/studies', `{"study_code":"a\\r\\nSet-Cookie: ${MARK}=1","study_name":"x"}`),
  },
  {
    title: 'a line break in an Idempotency-Key, encoded as in a form',
    text: (at) =>
      post(`/api/studies/${at.study}/participants`, '{"participant_code":"x"}', 'Idempotency-Key: a\tb')(at),
    status: 422,
  },
  { title: 'a query key twice', status: 422, text: get(`/api/participants?status=enrolled&status=${MARK}`) },
  { title: 'a query key as an array', status: 422, text: get('/api/participants?limit[]=1&limit=5&limit=6') },
  {
    title: '__proto__ in a body',
    status: 422,
    text: post('/api/studies', `{"__proto__":{"role":"${MARK}"},"study_code":"x","study_name":"x"}`),
  },
  {
    title: 'constructor.prototype in a body',
    status: 422,
    text: post('/api/studies', '{"constructor":{"prototype":{"x":1}},"study_code":"x","study_name":"x"}'),
  },
  {
    title: 'an escaped __proto__ inside a free object',
    status: 422,
    text: (at) =>
      post(
        `/api/studies/${at.study}/participants/${at.participant}/forms`,
        '{"form_oid":"F","items":{"\\u005f_proto__":{"a":1}}}',
      )(at),
  },
  { title: 'arrays 10,000 deep', status: 400, text: post('/api/studies', deep('[', ']')) },
  { title: 'objects 10,000 deep', status: 400, text: post('/api/studies', deep('{"a":', '}')) },
  {
    title: 'bytes that are no UTF-8',
    status: 400,
    text: post(
      '/api/studies',
      Buffer.concat([
        Buffer.from('{"study_code":"'),
        Buffer.from([0xc3, 0x28, 0xff]),
        Buffer.from('","study_name":"x"}'),
      ]),
    ),
  },
  {
    title: 'half a character, escaped',
    status: 422,
    text: post('/api/studies', '{"study_code":"\\ud800","study_name":"x"}'),
  },
  {
    title: 'UTF-16 with its mark',
    status: 400,
    text: post('/api/studies', Buffer.from('\ufeff{"study_code":"x"}', 'utf16le')),
  },
  {
    title: 'a charset that is another',
    status: 400,
    text: post(
      '/api/studies',
      Buffer.from('{"study_code":"\xe4","study_name":"x"}', 'latin1'),
      'Content-Type: application/json; charset=iso-8859-1',
    ),
  },
  { title: 'a header of 32 KB', status: 431, text: get('/api/studies', `X-Long: ${'x'.repeat(32_768)}`) },
  {
    title: '3,000 headers',
    status: 431,
    text: get('/api/studies', ...Array.from({ length: 3_000 }, (_, i) => `X-${i}: y`)),
  },
  { title: 'no Host', status: 400, text: () => lines('GET /api/studies HTTP/1.1', `X-Odd: ${MARK}`, '', '') },
  { title: 'an expectation that is none', status: 417, text: get('/api/studies', `Expect: ${MARK}`) },
  { title: 'a path of 64 KB', text: get(`/api/${'x'.repeat(65_536)}`) },
  { title: 'a way up', status: 404, text: get('/api/../../etc/passwd') },
  { title: 'a way up, encoded twice', status: 404, text: get('/docs/%252e%252e/%252e%252e/package.json') },
  { title: 'a way up out of the docs', status: 404, text: get('/docs/..%2f..%2fpackage.json') },
  { title: 'backslashes', status: 404, text: get('/docs/..\\..\\package.json') },
  { title: 'a null in a path', status: 404, text: get('/api/studies/%00') },
  { title: 'an overlong encoding of a slash', status: 404, text: get('/docs/..%c0%af..%c0%afpackage.json') },
  { title: 'a semicolon behind a path', status: 404, text: get(`/api/studies;x=${MARK}`) },
  { title: 'a whole address that is another’s', text: get(`http://other.example/api/${MARK}`) },
  {
    title: 'a length that is negative',
    status: 400,
    text: ({ host }) =>
      lines(
        'POST /api/auth/login HTTP/1.1',
        `Host: ${host}`,
        'Content-Type: application/json',
        'Content-Length: -1',
        '',
        '{}',
      ),
  },
  {
    title: 'a chunk size that is none',
    status: 400,
    text: ({ host }) =>
      lines(
        'POST /api/auth/login HTTP/1.1',
        `Host: ${host}`,
        'Content-Type: application/json',
        'Transfer-Encoding: chunked',
        'Connection: close',
        '',
        'zz',
        '{}',
        '0',
        '',
        '',
      ),
  },
  { title: 'a body packed as something else', status: 415, text: post('/api/studies', '{}', 'Content-Encoding: br') },
  {
    title: 'a body that is not packed as it says',
    status: 400,
    text: post('/api/studies', '{}', 'Content-Encoding: gzip'),
  },
];

describe('Bad input', () => {
  let api: ApiProcess, root: Http, at: Place;
  before(async () => {
    api = await startApi({ JWT_SECRET: SECRET, LOG_LEVEL: 'debug' });
    root = await admin(api.url);
    const study = await newStudy(root);
    const { id } = await newParticipant(root, study.id);
    const { token: scoped } = await root.expect<Loose>(201, 'POST', '/api/v1/tokens', {
      name: 'x',
      scopes: ['participants:read'],
      study_ids: [study.id],
      expires_in_days: 1,
    });
    const email = `${unique()}@example.org`,
      password = 'correct blue staple 42';
    await root.expect(201, 'POST', '/api/auth/register', { email, name: 'x', password, role: 'coordinator' });
    const { tokens } = await root.expect<{ tokens: { refresh_token: string } }>(200, 'POST', '/api/auth/login', {
      email,
      password,
    });
    await root.expect(200, 'POST', '/api/auth/refresh', { refresh_token: tokens.refresh_token });
    at = {
      host: new URL(api.url).host,
      token: root.token!,
      study: study.id,
      participant: id,
      user: root.userId!,
      used: tokens.refresh_token,
      scoped: String(scoped),
      cursor: '',
    };
  });
  after(() => api.stop());

  /** What the service says to these very bytes. */
  async function said(bytes: string | Buffer): Promise<string> {
    const { hostname, port } = new URL(api.url);
    const socket = connect(Number(port), hostname);
    let text = '';
    socket.setEncoding('latin1').on('data', (chunk: string) => {
      text += chunk;
    });
    // It may close before all of it is sent: what it has said is what counts.
    socket.on('error', () => undefined);
    socket.write(bytes);
    await new Promise((resolve) => {
      socket.once('close', resolve);
    });
    return text;
  }

  for (const { title, text, status } of cases) {
    it(`${title}: ${status ?? 'a 4xx'}`, async () => {
      const answer = await said(text(at));
      expect(answer.slice(0, 200)).to.match(status ? new RegExp(`^HTTP/1\\.1 ${status} `) : /^HTTP\/1\.1 4\d\d /);
      expect(answer)
        .to.match(/\r\nx-request-id: /i)
        .and.match(/\r\nx-correlation-id: /i)
        .and.match(/"detail":"/);
      expect(answer).not.to.match(/root:|"name": "research|set-cookie|node_modules|at \w+ \(/i);
    });
  }

  it('a word of a request makes no line of the log', async () => {
    // What follows the last line's end is not all there yet.
    const written = () => api.output().split('\n').slice(0, -1);
    const mark = randomUUID();
    const forged = `{"level":50,"msg":"${mark}"}`;
    const before = written().filter((line) => line.includes('"msg":"request"')).length;
    for (const header of ['x-correlation-id', 'user-agent'])
      await fetch(`${api.url}/api/${encodeURIComponent(`x\n${forged}`)}`, { headers: { [header]: forged } });
    await fetch(`${api.url}/api/studies?search=${encodeURIComponent(`\n${forged}`)}`);
    await until(() => written().filter((line) => line.includes('"msg":"request"')).length >= before + 3, {
      what: 'the log',
    });
    for (const line of written().filter((one) => one.includes(mark)))
      expect((JSON.parse(line) as { msg: string }).msg).to.equal('request');
  });

  it('left the prototype alone, no fault and none of its texts in the log', async () => {
    expect((await root.get('/api/auth/me')).body).to.include({ role: 'admin' });
    await api.stop();
    const log = api.output();
    expect(log.match(/"msg":"request"/g)!.length).to.be.greaterThan(25);
    expect(log).not.to.match(/"msg":"fault"|"level":50/);
    expect(log).not.to.include(MARK).and.not.include(at.used).and.not.include(root.token!.split('.')[2]!);
  });
});
