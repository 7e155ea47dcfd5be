import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { Http, admin, newParticipant, newStudy, unique } from '../support/http.js';
import type { Answer, Loose, Options } from '../support/http.js';

describe('HTTP conventions', () => {
  let http: Http;
  let study: string;
  let participant: string;
  before(async () => {
    http = await admin();
    study = (await newStudy(http)).id;
    participant = (await newParticipant(http, study)).id;
  });

  interface Case {
    title: string;
    method: string;
    path: () => string;
    body?: () => unknown;
    options?: Options;
    status: number;
    code?: string;
    field?: string;
    rule?: string;
  }
  const json = (content: string | Uint8Array): Options => ({ raw: { type: 'application/json', content } });
  const studies = () => '/api/studies';
  const participants = () => `/api/studies/${study}/participants`;
  const cases: Case[] = [
    {
      title: 'an unknown body field',
      method: 'POST',
      path: studies,
      body: () => ({ study_code: unique(), study_name: 'x', colour: 1 }),
      status: 422,
      field: 'colour',
      rule: 'UNKNOWN_FIELD',
    },
    {
      title: 'a missing field',
      method: 'POST',
      path: studies,
      body: () => ({ study_code: unique() }),
      status: 422,
      field: 'study_name',
      rule: 'REQUIRED',
    },
    {
      title: 'a field of another type',
      method: 'POST',
      path: studies,
      body: () => ({ study_code: 7, study_name: 'x' }),
      status: 422,
      field: 'study_code',
      rule: 'TYPE',
    },
    {
      title: 'a word that is none of the words',
      method: 'POST',
      path: studies,
      body: () => ({ study_code: unique(), study_name: 'x', status: 'dead' }),
      status: 422,
      field: 'status',
      rule: 'ENUM',
    },
    {
      title: 'a zone that is none',
      method: 'POST',
      path: studies,
      body: () => ({ study_code: unique(), study_name: 'x', timezone: 'Mars/Base' }),
      status: 422,
      field: 'timezone',
      rule: 'FORMAT',
    },
    {
      title: 'an offset in place of a zone',
      method: 'POST',
      path: studies,
      body: () => ({ study_code: unique(), study_name: 'x', timezone: '+02:00' }),
      status: 422,
      field: 'timezone',
    },
    {
      title: 'a day that the calendar does not have',
      method: 'POST',
      path: studies,
      body: () => ({ study_code: unique(), study_name: 'x', start_date: '2026-02-30' }),
      status: 422,
      field: 'start_date',
      rule: 'FORMAT',
    },
    {
      title: 'a year that no column can hold',
      method: 'POST',
      path: studies,
      body: () => ({ study_code: unique(), study_name: 'x', start_date: '0000-01-01' }),
      status: 422,
      field: 'start_date',
      rule: 'FORMAT',
    },
    { title: 'an array for a body', method: 'POST', path: studies, body: () => [], status: 422, field: 'body' },
    {
      title: 'an end before the start',
      method: 'POST',
      path: studies,
      body: () => ({ study_code: unique(), study_name: 'x', start_date: '2026-02-02', end_date: '2026-02-01' }),
      status: 400,
      field: 'end_date',
    },
    {
      title: 'an enrollment date by hand',
      method: 'POST',
      path: participants,
      body: () => ({ participant_code: unique(), enrollment_date: '2026-01-01' }),
      status: 422,
      field: 'enrollment_date',
    },
    {
      title: 'an unknown site',
      method: 'POST',
      path: participants,
      body: () => ({ participant_code: unique(), site_code: 'nowhere' }),
      status: 400,
      field: 'site_code',
      rule: 'UNKNOWN_SITE',
    },
    {
      title: 'a character that text columns refuse',
      method: 'POST',
      path: participants,
      options: json('{"participant_code":"a\\u0000b"}'),
      status: 422,
      field: 'participant_code',
    },
    {
      title: 'half a character',
      method: 'POST',
      path: participants,
      options: json('{"participant_code":"x","external_id":"\\ud800"}'),
      status: 422,
      field: 'external_id',
    },
    {
      title: 'a number beyond all numbers, in a free object',
      method: 'POST',
      path: studies,
      options: json(`{"study_code":"${unique()}","study_name":"x","config":{"n":1e400}}`),
      status: 422,
      field: 'config.n',
      rule: 'NOT_FINITE',
    },
    {
      title: 'a number beyond all numbers, deep in a change of a free object',
      method: 'PATCH',
      path: () => `/api/studies/${study}`,
      options: json('{"config":{"a":[1,{"b":-1E+400}]}}'),
      status: 422,
      field: 'config.a.1.b',
      rule: 'NOT_FINITE',
    },
    {
      title: 'a number beyond all numbers by its digits',
      method: 'POST',
      path: () => `${participants()}/${participant}/forms`,
      options: json(`{"form_oid":"F","items":{"x":${'9'.repeat(400)}}}`),
      status: 422,
      field: 'items.x',
      rule: 'NOT_FINITE',
    },
    {
      title: 'a key of the prototype',
      method: 'PATCH',
      path: () => `/api/studies/${study}`,
      options: json('{"config":{"__proto__":{"admin":true}}}'),
      status: 422,
    },
    {
      title: 'JSON that breaks off',
      method: 'POST',
      path: studies,
      options: json('{"study_code":'),
      status: 400,
      code: 'MALFORMED_JSON',
    },
    {
      title: 'bytes that are no UTF-8',
      method: 'POST',
      path: studies,
      options: json(new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x7d])),
      status: 400,
      code: 'MALFORMED_JSON',
    },
    {
      title: 'nesting without end',
      method: 'POST',
      path: studies,
      options: json('['.repeat(50_000)),
      status: 400,
      code: 'MALFORMED_JSON',
    },
    {
      title: 'a field for an action that takes none',
      method: 'POST',
      path: () => `${participants()}/${participant}/anchor-date/evaluate`,
      body: () => ({ colour: 1 }),
      status: 422,
      field: 'colour',
      rule: 'UNKNOWN_FIELD',
    },
    {
      title: 'JSON that breaks off for an action that takes no fields',
      method: 'POST',
      path: () => `/api/studies/${study}/datacapture/sync-events`,
      options: json('{'),
      status: 400,
      code: 'MALFORMED_JSON',
    },
    {
      title: 'another content type',
      method: 'POST',
      path: studies,
      options: { raw: { type: 'text/plain', content: '{}' } },
      status: 415,
      code: 'UNSUPPORTED_MEDIA_TYPE',
    },
    {
      title: 'a body compressed by another way than gzip and deflate',
      method: 'POST',
      path: studies,
      body: () => ({}),
      options: { headers: { 'Content-Encoding': 'br' } },
      status: 415,
    },
    {
      title: 'a body over 5 MiB',
      method: 'POST',
      path: studies,
      options: json(`{"study_code":"${'x'.repeat(5 * 1024 * 1024)}"}`),
      status: 413,
      code: 'TOO_LARGE',
    },
    { title: 'limit 0', method: 'GET', path: () => '/api/studies?limit=0', status: 422, field: 'query.limit' },
    { title: 'limit 501', method: 'GET', path: () => '/api/studies?limit=501', status: 422, field: 'query.limit' },
    {
      title: 'limit 0 of a participant’s override requests',
      method: 'GET',
      path: () => `${participants()}/${participant}/anchor-date/override-requests?limit=0`,
      status: 422,
      field: 'query.limit',
    },
    {
      title: 'limit 0 of the policy’s versions',
      method: 'GET',
      path: () => `/api/studies/${study}/config/enrollment-policy/versions?limit=0`,
      status: 422,
      field: 'query.limit',
    },
    {
      title: 'limit 0 of the categories',
      method: 'GET',
      path: () => '/api/templates/categories?limit=0',
      status: 422,
      field: 'query.limit',
    },
    {
      title: 'limit 501 of the tasks',
      method: 'GET',
      path: () => '/api/tasks?limit=501',
      status: 422,
      field: 'query.limit',
    },
    {
      title: 'a negative skip of one’s logins',
      method: 'GET',
      path: () => '/api/auth/sessions?skip=-1',
      status: 422,
      field: 'query.skip',
    },
    {
      title: 'limit 0 of a battery’s versions',
      method: 'GET',
      path: () => '/api/batteries/1/versions?limit=0',
      status: 422,
      field: 'query.limit',
    },
    {
      title: 'limit 0 of a session’s trials',
      method: 'GET',
      path: () => `/api/sessions/${study}/trials?limit=0`,
      status: 422,
      field: 'query.limit',
    },
    {
      title: 'limit that is no number',
      method: 'GET',
      path: () => '/api/studies?limit=ten',
      status: 422,
      field: 'query.limit',
    },
    {
      title: 'a negative skip',
      method: 'GET',
      path: () => '/api/participants?skip=-1',
      status: 422,
      field: 'query.skip',
    },
    {
      title: 'a sort that is not offered',
      method: 'GET',
      path: () => '/api/participants?sort=email',
      status: 422,
      field: 'query.sort',
    },
    {
      title: 'a query key twice',
      method: 'GET',
      path: () => '/api/participants?status=enrolled&status=withdrawn',
      status: 422,
      field: 'query.status',
    },
    {
      title: 'a null character in a search',
      method: 'GET',
      path: () => '/api/participants?search=%00',
      status: 422,
      field: 'query.search',
    },
    {
      title: 'X-Study-ID that is no uuid',
      method: 'GET',
      path: () => '/api/participants',
      options: { headers: { 'X-Study-ID': 'x' } },
      status: 422,
    },
    {
      title: 'X-Site-ID that is no uuid',
      method: 'GET',
      path: () => '/api/participants',
      options: { headers: { 'X-Site-ID': 'x' } },
      status: 422,
    },
    {
      title: 'a key of the query that the route does not know',
      method: 'GET',
      path: () => '/api/participants?stauts=active',
      status: 422,
      field: 'query.stauts',
      rule: 'UNKNOWN_PARAMETER',
    },
    {
      title: 'a key of the query where the route has none',
      method: 'GET',
      path: () => `/api/studies/${study}?verbose=1`,
      status: 422,
      field: 'query.verbose',
      rule: 'UNKNOWN_PARAMETER',
    },
    {
      title: 'a participant in the query of a list that takes none',
      method: 'GET',
      path: () => `/api/studies/${study}/approvals?participant_id=${participant}`,
      status: 422,
      field: 'query.participant_id',
      rule: 'UNKNOWN_PARAMETER',
    },
    { title: 'an id that is no uuid', method: 'GET', path: () => '/api/participants/seven', status: 404 },
    { title: 'a broken escape in the path', method: 'GET', path: () => '/api/participants/%E0%A4%A', status: 404 },
    {
      title: 'an id that nobody has',
      method: 'GET',
      path: () => '/api/participants/00000000-0000-4000-8000-000000000000',
      status: 404,
      code: 'NOT_FOUND',
    },
    { title: 'an unknown path', method: 'GET', path: () => '/api/nothing/here', status: 404 },
    {
      title: 'another method',
      method: 'PUT',
      path: () => `/api/participants/${participant}`,
      status: 405,
      code: 'METHOD_NOT_ALLOWED',
    },
    {
      title: 'a code that is taken',
      method: 'POST',
      path: participants,
      body: () => ({ participant_code: 'TWICE' }),
      status: 409,
      code: 'PARTICIPANT_CODE_TAKEN',
    },
  ];
  before(() => newParticipant(http, study, { participant_code: 'TWICE' }));

  for (const { title, method, path, body, options, status, code, field, rule } of cases) {
    it(`${title}: ${status}`, async () => {
      const answer = await http.send(method, path(), body?.(), options);
      expect(answer.status, answer.text).to.equal(status);
      expect(answer.body.detail).to.be.a('string').and.not.equal('');
      expect(answer.body.request_id).to.equal(answer.headers.get('x-request-id'));
      expect(answer.text).not.to.match(/select |insert |constraint|node_modules|at \w+ \(/i);
      if (code) expect(answer.body.code).to.equal(code);
      if (field) expect(answer.body.errors.map((e) => e.path)).to.include(field);
      if (rule) expect(answer.body.errors.find((e) => e.path === field)?.code).to.equal(rule);
    });
  }

  it('an instant may be written with any offset that the format knows, in query and body', async () => {
    const at = '2024-03-02T06:47:00.25+21:47',
      same = '2024-03-01T09:00:00.25Z';
    const anchor = `${participants()}/${participant}/anchor-date`;
    for (const past of ['0115-02-16T08:50:16.478324+21:47', '0115-02-16t08:50:16-23:59']) {
      expect((await http.get(`${anchor}?as_of=${encodeURIComponent(past)}`)).body.code, past).to.equal('NOT_FOUND');
      expect((await http.get(`/api/audit?from=${encodeURIComponent(past)}&limit=1`)).status, past).to.equal(200);
    }
    const consent = await http.expect(201, 'POST', `${participants()}/${participant}/consents`, {
      status: 'signed',
      signed_at: at,
    });
    expect(Date.parse(String(consent.signed_at))).to.equal(Date.parse(same));
    const form = await http.expect<Loose & { items: Loose }>(201, 'POST', `${participants()}/${participant}/forms`, {
      form_oid: 'AT',
      items: { at },
    });
    expect(form.items.at, 'what is no instant by its schema stays as it was given').to.equal(at);
  });

  it('an action that takes no fields takes no body, an empty one and an empty object', async () => {
    const evaluate = (options: Options) =>
      http.send('POST', `${participants()}/${participant}/anchor-date/evaluate`, undefined, options);
    for (const options of [
      {},
      json(''),
      json('{}'),
      { raw: { type: 'application/x-www-form-urlencoded', content: '' } },
    ])
      expect((await evaluate(options)).status).to.equal(200);
  });

  it('short lists are paged too', async () => {
    const all = await http.expect(200, 'GET', '/api/tasks');
    const page = await http.expect(200, 'GET', '/api/tasks?skip=2&limit=3');
    expect([page.total, page.items]).to.deep.equal([all.items.length, all.items.slice(2, 5)]);
  });

  it('names every fault of a body at once', async () => {
    const { body } = await http.post('/api/studies', { study_code: '', status: 'x', colour: 1, end_date: 'soon' });
    expect(body.errors.map((e) => e.path)).to.have.members([
      'study_name',
      'study_code',
      'status',
      'colour',
      'end_date',
    ]);
  });

  it('names the methods of a path with 405', async () => {
    const answer = await http.put(`/api/participants/${participant}`);
    expect(answer.headers.get('allow')?.split(', ')).to.include.members(['GET', 'PATCH', 'DELETE']);
  });

  it('takes search literally, also % and _ and \\', async () => {
    const one = unique('50%_off\\');
    await newParticipant(http, study, { participant_code: one });
    const found = async (search: string) =>
      (
        await http.expect(200, 'GET', `/api/studies/${study}/participants?search=${encodeURIComponent(search)}`)
      ).items.map((i) => i.participant_code);
    expect(await found('50%_OFF\\')).to.deep.equal([one]);
    expect(await found('50__off')).to.deep.equal([]);
    expect(await found('%%')).to.deep.equal([]);
  });

  it('pages without overlap and tells the total, also beyond the end', async () => {
    const own = (await newStudy(http)).id;
    for (let i = 0; i < 5; i++) await newParticipant(http, own, { participant_code: `C${i}` });
    const page = (skip: number) =>
      http.expect(200, 'GET', `/api/studies/${own}/participants?sort=-participant_code&limit=2&skip=${skip}`);
    const pages = await Promise.all([0, 2, 4, 6].map(page));
    expect(pages.map((p) => p.total)).to.deep.equal([5, 5, 5, 5]);
    expect(pages.flatMap((p) => p.items.map((i) => i.participant_code))).to.deep.equal(['C4', 'C3', 'C2', 'C1', 'C0']);
  });

  it('names the nearest known name beside an unknown one, in query and body', async () => {
    const query = await http.get('/api/participants?stauts=active&__proto__=1');
    expect(query.body.errors.map((e) => e.message)).to.deep.include(
      'query.stauts is not a parameter here; did you mean status?',
    );
    const sent = await http.post('/api/studies', { study_code: 'NEAR', studyname: 'Near' });
    expect(sent.status).to.equal(422);
    expect(sent.body.errors.map((e) => e.message)).to.include(
      'studyname is not a field here; did you mean study_name?',
    );
    // What is like nothing gets no advice.
    expect((await http.get('/api/participants?zzzzzz=1')).body.detail).to.equal('query.zzzzzz is not a parameter here');
  });

  it('takes the study from the path, else the header, else the query, and refuses nothing where they differ', async () => {
    const [second, third] = [await newStudy(http), await newStudy(http)];
    await newParticipant(http, second.id, { participant_code: 'SECOND' });
    await newParticipant(http, third.id, { participant_code: 'THIRD' });
    const codes = async (path: string, header?: Loose) => {
      const { items } = await http.expect<{ items: Loose[] }>(200, 'GET', path, undefined, {
        ...(header && { headers: { 'X-Study-ID': header.id } }),
      });
      return items.map(({ participant_code }) => participant_code);
    };
    const inPath = `/api/studies/${second.id}/participants`;
    expect(await codes(`${inPath}?study_id=${third.id}`)).to.deep.equal(['SECOND']);
    expect(await codes(inPath, third)).to.deep.equal(['SECOND']);
    expect(await codes(`/api/participants?study_id=${second.id}`, third)).to.deep.equal(['THIRD']);
    expect(await codes(`/api/participants?study_id=${second.id}`)).to.deep.equal(['SECOND']);
  });

  it('gives ids to every answer and reuses the client’s correlation id', async () => {
    const one = await http.get('/api/studies', { headers: { 'X-Correlation-ID': 'trace 42' } });
    const two = await http.get('/api/studies', { headers: { 'X-Correlation-ID': 'x'.repeat(201) } });
    expect(one.headers.get('x-correlation-id')).to.equal('trace 42');
    const long = await http.get('/api/studies', { headers: { 'X-Correlation-ID': 'x'.repeat(200) } });
    expect(long.headers.get('x-correlation-id')).to.equal('x'.repeat(200));
    expect(two.headers.get('x-correlation-id')).to.match(/^[0-9a-f-]{36}$/);
    expect(one.headers.get('x-request-id'))
      .to.match(/^[0-9a-f-]{36}$/)
      .and.not.equal(two.headers.get('x-request-id'));
    for (const name of ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset'])
      expect(Number(one.headers.get(name))).to.be.a('number').and.not.NaN;
  });

  it('says what is left of the rate for what no route answers as well', async () => {
    for (const [method, path, options] of [
      ['GET', '/api/nothing/here', {}],
      ['PUT', '/api/studies', {}],
      ['GET', '/api/studies', { headers: { Accept: 'image/png' } }],
    ] as const) {
      const answer = await http.send(method, path, undefined, options);
      expect(answer.status).to.be.oneOf([404, 405, 406]);
      for (const name of ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset'])
        expect(answer.headers.get(name), `${answer.status} ${name}`).to.match(/^\d+$/);
    }
  });

  it('answers HEAD as GET without a body, and OPTIONS with the methods', async () => {
    const head = await http.send('HEAD', `/api/participants/${participant}`);
    expect([head.status, head.text]).to.deep.equal([200, '']);
    const options = await http.send('OPTIONS', '/api/studies');
    expect([options.status, options.headers.get('allow')]).to.deep.equal([204, 'GET, POST, HEAD, OPTIONS']);
  });

  it('refuses a body that is announced too long before it is sent', async () => {
    const status = await new Promise<number>((resolve, reject) => {
      const sent = httpRequest(
        `${http.base}/api/studies`,
        {
          method: 'POST',
          headers: {
            Authorization: `Bearer ${http.token}`,
            'Content-Type': 'application/json',
            'Content-Length': String(6 * 1024 * 1024),
          },
        },
        (response) => {
          resolve(response.statusCode ?? 0);
          response.resume();
          sent.destroy();
        },
      );
      sent.on('error', reject);
      sent.flushHeaders();
    });
    expect(status).to.equal(413);
  });

  it('tells also who sends all of it before reading, on a connection that ends with the answer', async () => {
    const { hostname, port } = new URL(http.base);
    const rest = Buffer.alloc(6 * 1024 * 1024, 'a');
    const socket = connect(Number(port), hostname);
    const gone = new Promise<string>((resolve, reject) => {
      socket.once('error', reject).once('close', () => {
        resolve('closed');
      });
    });
    const write = (bytes: string | Buffer) =>
      Promise.race([
        gone,
        new Promise<string>((resolve) => {
          socket.write(bytes, () => {
            resolve('written');
          });
        }),
      ]);
    socket.pause();
    await write(
      `POST /api/studies HTTP/1.1\r\nHost: ${hostname}\r\nConnection: close\r\nAuthorization: Bearer ` +
        `${http.token}\r\nContent-Type: application/json\r\nContent-Length: ${rest.length}\r\n\r\n`,
    );
    for (let at = 0; at < rest.length; at += 65_536) {
      expect(await write(rest.subarray(at, at + 65_536))).to.equal('written');
      // Time enough for the service to have said all that it would say.
      if (at < 10 * 65_536) await pause(10);
    }
    const answered: Buffer[] = [];
    socket
      .on('data', (bytes: Buffer) => {
        answered.push(bytes);
      })
      .resume();
    await gone;
    expect(Buffer.concat(answered).toString()).to.match(/^HTTP\/1.1 413 /);
  });

  describe('ETag', () => {
    const read = async (): Promise<Answer<Loose>> => http.get(`/api/participants/${participant}`);
    it('answers 304 to If-None-Match', async () => {
      const tag = (await read()).headers.get('etag') ?? '';
      const again = await http.get(`/api/participants/${participant}`, {
        headers: { 'If-None-Match': `"other", W/${tag}` },
      });
      expect([again.status, again.text]).to.deep.equal([304, '']);
    });
    it('is there for what has no version of its own, and holds for its change', async () => {
      await http.expect(201, 'POST', `${participants()}/${participant}/randomization`, {
        arm: 'A',
        randomized_at: '2024-03-01T10:00:00Z',
      });
      const { id } = await http.expect(201, 'POST', `/api/studies/${study}/template`, {
        template_id: unique('design'),
        name: 'A design',
      });
      for (const path of [
        `/api/studies/${study}/config/enrollment-policy`,
        `/api/studies/${study}/config/enrollment-policy/versions/1`,
        `${participants()}/${participant}/randomization`,
        '/api/templates/longitudinal-cognition',
        `/api/templates/${id}`,
      ]) {
        const tag = (await http.get(path)).headers.get('etag') ?? '';
        expect(tag, path).to.match(/^"[\w-]+"$/);
        expect((await http.get(path, { headers: { 'If-None-Match': tag } })).status, path).to.equal(304);
      }
      const tag = (await http.get(`/api/templates/${id}`)).headers.get('etag')!;
      expect((await http.delete(`/api/templates/${id}`, { headers: { 'If-Match': '"other"' } })).status).to.equal(409);
      expect((await http.delete(`/api/templates/${id}`, { headers: { 'If-Match': tag } })).status).to.equal(204);
      const token = await http.expect(201, 'POST', '/api/v1/tokens', {
        name: 'T',
        scopes: ['studies:read'],
        study_ids: [study],
      });
      expect((await http.delete(`/api/v1/tokens/${token.id}`, { headers: { 'If-Match': '"other"' } })).status).to.equal(
        409,
      );
      const own = (await http.get(`/api/v1/tokens/${token.id}`)).headers.get('etag')!;
      expect((await http.delete(`/api/v1/tokens/${token.id}`, { headers: { 'If-Match': own } })).status).to.equal(204);
    });
    it('refuses an If-Match where there is nothing yet', async () => {
      const { id } = await newParticipant(http, study);
      const put = (match: string) =>
        http.put(`${participants()}/${id}/eligibility`, { status: 'pending' }, { headers: { 'If-Match': match } });
      expect([(await put('"other"')).status, (await put('*')).status]).to.deep.equal([409, 409]);
      const made = await http.put(`${participants()}/${id}/eligibility`, { status: 'pending' });
      expect([made.status, (await put(made.headers.get('etag')!)).status, (await put('"other"')).status]).to.deep.equal(
        [200, 200, 409],
      );
    });
    it('refuses an If-Match for what has no tag', async () => {
      const { id } = await newParticipant(http, study);
      const feeds = `/api/participants/${id}/calendar-feeds`;
      const feed = await http.expect(201, 'POST', feeds);
      const drop = (match: string) => http.delete(`${feeds}/${feed.id}`, { headers: { 'If-Match': match } });
      const refused = await drop('"other"');
      expect([refused.status, refused.body.code]).to.deep.equal([409, 'STALE']);
      expect((await http.expect<{ total: number }>(200, 'GET', feeds)).total).to.equal(1);
      expect((await drop('*')).status).to.equal(204);
    });
    it('refuses a PATCH and a DELETE under a stale If-Match and takes a fresh one', async () => {
      const tag = (await read()).headers.get('etag') ?? '';
      const change = (match: string, phone: string) =>
        http.patch(`/api/participants/${participant}`, { phone }, { headers: { 'If-Match': match } });
      const first = await change(tag, '+49 30 1234');
      expect(first.status).to.equal(200);
      const stale = await change(tag, '+49 30 9999');
      expect([stale.status, stale.body.code]).to.deep.equal([409, 'STALE']);
      expect((await http.delete(`/api/participants/${participant}`, { headers: { 'If-Match': tag } })).status).to.equal(
        409,
      );
      expect((await read()).body.phone).to.equal('+49 30 1234');
      expect((await change(first.headers.get('etag') ?? '', '+49 30 5678')).status).to.equal(200);
    });
  });
});
