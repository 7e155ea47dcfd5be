import { once } from 'node:events';
import { request } from 'node:http';
import type { IncomingHttpHeaders } from 'node:http';
import { connect } from 'node:net';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { expect } from 'chai';
import { deprecation } from '../../api/http/conventions/deprecation.js';
import { startApi } from '../support/api-process.js';
import { whole } from '../support/contract.js';
import { Http, admin, unique } from '../support/http.js';

/** An answer as it comes over the wire: nothing is decompressed. */
async function wire(
  http: Http,
  path: string,
  headers: Record<string, string>,
  method = 'GET',
): Promise<{ status: number; headers: IncomingHttpHeaders; bytes: Buffer }> {
  const sent = request(`${http.base}${path}`, {
    method,
    headers: { ...(http.token && { Authorization: `Bearer ${http.token}` }), ...headers },
  }).end();
  const [answer] = (await once(sent, 'response')) as [import('node:http').IncomingMessage];
  const chunks: Buffer[] = [];
  for await (const chunk of answer) chunks.push(chunk as Buffer);
  return { status: answer.statusCode ?? 0, headers: answer.headers, bytes: Buffer.concat(chunks) };
}

/** What the service says to these very bytes. */
async function raw(base: string, text: string): Promise<string> {
  const { hostname, port } = new URL(base);
  const socket = connect(Number(port), hostname);
  socket.write(text);
  let said = '';
  socket.setEncoding('latin1').on('data', (chunk: string) => {
    said += chunk;
  });
  socket.on('error', () => undefined);
  await once(socket, 'close');
  return said;
}

describe('What client and service agree on', () => {
  let http: Http;
  before(async () => {
    http = await admin();
  });

  describe('compression', () => {
    for (const [encoding, unpack] of [
      ['gzip', gunzipSync],
      ['br', brotliDecompressSync],
    ] as const) {
      it(`${encoding} for a text of more than a kilobyte`, async () => {
        const plain = await wire(http, '/openapi.json', { 'Accept-Encoding': 'identity' });
        const packed = await wire(http, '/openapi.json', { 'Accept-Encoding': encoding });
        expect([plain.headers['content-encoding'], packed.headers['content-encoding']]).to.deep.equal([
          undefined,
          encoding,
        ]);
        expect(packed.headers['content-type']).to.equal('application/json; charset=utf-8');
        expect(packed.headers.vary).to.include('Accept-Encoding');
        expect(packed.bytes.length).to.be.lessThan(plain.bytes.length / 4);
        expect(unpack(packed.bytes).equals(plain.bytes)).to.equal(true);
        expect(Number(packed.headers['content-length'])).to.equal(packed.bytes.length);
        const head = await wire(http, '/openapi.json', { 'Accept-Encoding': encoding }, 'HEAD');
        for (const name of ['content-length', 'content-encoding', 'content-type', 'etag', 'vary'])
          expect(head.headers[name], `${name} of a HEAD`).to.equal(packed.headers[name]);
        expect(head.bytes.length).to.equal(0);
      });
    }
    it('none for a small text, a record with an ETag, or who does not take it', async () => {
      const me = await wire(http, '/api/auth/me', { 'Accept-Encoding': 'gzip' });
      expect([me.status, me.headers['content-encoding']]).to.deep.equal([200, undefined]);
      const refused = await wire(http, '/openapi.json', { 'Accept-Encoding': 'gzip;q=0, br;q=0' });
      expect([refused.status, refused.headers['content-encoding']]).to.deep.equal([200, undefined]);
    });
  });

  describe('Accept', () => {
    for (const accept of ['application/xml', 'image/png, text/plain;q=0.5', 'application/json;q=0']) {
      it(`${accept} is 406 before anything is done`, async () => {
        const never = unique('never');
        const answer = await http.send(
          'POST',
          '/api/studies',
          { study_code: never, study_name: never },
          { headers: { Accept: accept } },
        );
        expect([answer.status, answer.body.code]).to.deep.equal([406, 'NOT_ACCEPTABLE']);
        expect((await http.expect(200, 'GET', `/api/studies?search=${never}`)).total).to.equal(0);
      });
    }
    for (const accept of ['*/*', 'application/*', 'application/json, text/html;q=0.9', 'text/html, */*;q=0.1']) {
      it(`${accept} is answered`, async () =>
        expect((await http.get('/api/studies', { headers: { Accept: accept } })).status).to.equal(200));
    }
  });

  describe('addresses of pages', () => {
    const browser = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';

    for (const [asked, page] of [
      ['/portal/?token=abc', '/portal?token=abc'],
      ['/docs/', '/docs'],
      ['/redoc//', '/redoc'],
      ['/console/studies/', '/console/studies'],
    ] as const)
      it(`${asked} leads to ${page}`, async () => {
        for (const [method, accept] of [
          ['GET', browser],
          ['HEAD', '*/*'],
        ] as const) {
          const { status, headers } = await wire(http, asked, { Accept: accept }, method);
          expect([status, headers.location]).to.deep.equal([308, page]);
        }
      });

    it('one that is none is a page in words for a browser, and JSON for a program', async () => {
      const shown = await wire(http, '/protal', { Accept: browser, 'Accept-Language': 'de-AT,de;q=0.9' });
      expect([shown.status, shown.headers['content-type'], shown.headers.vary]).to.deep.equal([
        404,
        'text/html; charset=utf-8',
        'Accept',
      ]);
      expect(shown.bytes.toString()).to.include('<html lang="de"').and.include('gibt es keine Seite');
      expect(shown.headers['content-security-policy']).to.include("default-src 'none'");
      const without: [string, Record<string, string>][] = [
        ['/protal', { Accept: '*/*' }],
        ['/api/protal', { Accept: browser }],
        ['/api', { Accept: browser }],
        ['/other.json', { Accept: browser }],
        ['//evil.example/docs/', { Accept: '*/*' }],
        ['/protal/', { Accept: '*/*' }],
      ];
      for (const [path, headers] of without) {
        const { status, headers: answered, bytes } = await wire(http, path, headers);
        expect([status, answered['content-type'], answered.location], path).to.deep.equal([
          404,
          'application/json; charset=utf-8',
          undefined,
        ]);
        expect(JSON.parse(bytes.toString()), path).to.include({ code: 'NOT_FOUND' });
      }
    });
  });

  describe('pages of other origins', () => {
    it('get no leave where none is named', async () => {
      const { headers } = await wire(http, '/api/studies', { Origin: 'https://evil.example' });
      expect(Object.keys(headers).filter((name) => name.startsWith('access-control'))).to.deep.equal([]);
    });

    it('the shell of an app has a scheme of its own, a page of a file no origin: they are named as they are sent', async function shells() {
      this.timeout(180_000);
      const api = await startApi({ CORS_ORIGINS: 'capacitor://localhost,null' });
      try {
        for (const origin of ['capacitor://localhost', 'null'])
          expect(
            (await wire(new Http(api.url), '/api/sync/status', { Origin: origin })).headers[
              'access-control-allow-origin'
            ],
          ).to.equal(origin);
      } finally {
        await api.stop();
      }
    });

    it('those of CORS_ORIGINS may call with a bearer token, without cookies, and ask before', async function cors() {
      this.timeout(180_000);
      const api = await startApi({ CORS_ORIGINS: 'https://app.example.org,http://localhost:3000' });
      try {
        const nobody = new Http(api.url);
        const asked = await wire(
          nobody,
          '/api/studies',
          { Origin: 'https://app.example.org', 'Access-Control-Request-Method': 'POST' },
          'OPTIONS',
        );
        expect(asked.status).to.equal(204);
        expect(asked.headers).to.include({
          'access-control-allow-origin': 'https://app.example.org',
          'access-control-max-age': '600',
        });
        expect(asked.headers['access-control-allow-methods']).to.include('POST');
        expect(asked.headers['access-control-allow-headers'])
          .to.include('Authorization')
          .and.include('Idempotency-Key');
        // Whatever the contract has for a header of a request may be sent by such a page.
        const document = whole((await nobody.get('/openapi.json')).body);
        const contract = Object.values(document.paths)
          .flatMap((path) => Object.values(path).flatMap(({ parameters = [] }) => parameters))
          .flatMap(({ name, in: where }) => (where === 'header' ? [name.toLowerCase()] : []));
        const allowed = asked.headers['access-control-allow-headers']!.toLowerCase().split(', ');
        expect(allowed)
          .to.include.members([...new Set(contract)])
          .and.include.members(['x-device-time', 'last-event-id', 'range', 'if-range', 'content-encoding'])
          .and.include.members(['traceparent', 'tracestate']);
        const answer = await wire(nobody, '/api/studies', { Origin: 'http://localhost:3000' });
        expect([
          answer.status,
          answer.headers['access-control-allow-origin'],
          answer.headers['access-control-allow-credentials'],
        ]).to.deep.equal([401, 'http://localhost:3000', undefined]);
        expect(answer.headers.vary).to.include('Origin');
        // A page that may ask for a part of a file, or repeat a request, can see that the answer is one.
        expect(answer.headers['access-control-expose-headers']!.split(', ')).to.include.members([
          'Content-Range',
          'Accept-Ranges',
          'Idempotent-Replay',
          'WWW-Authenticate',
          'ETag',
          'Retry-After',
        ]);
        for (const origin of ['https://evil.example', 'https://app.example.org.evil.example', 'null']) {
          expect(
            (await wire(nobody, '/api/studies', { Origin: origin })).headers['access-control-allow-origin'],
            origin,
          ).to.equal(undefined);
        }
      } finally {
        await api.stop();
      }
    });
  });

  it('every answer has the headers that keep browsers from misreading it', async () => {
    for (const path of ['/api/studies', '/api/nothing', '/api/health']) {
      expect((await wire(http, path, {})).headers, path).to.include({
        'x-content-type-options': 'nosniff',
        'x-frame-options': 'DENY',
        'referrer-policy': 'no-referrer',
        'cache-control': 'no-store',
      });
    }
  });

  describe('what is not a request that makes sense is a 4xx', () => {
    const cases: [title: string, text: (host: string) => string][] = [
      [
        'headers of 24 KB',
        (host) => `GET /api/health HTTP/1.1\r\nHost: ${host}\r\nX-Long: ${'x'.repeat(24_576)}\r\n\r\n`,
      ],
      [
        'a header with a line break folded in',
        (host) => `GET /api/health HTTP/1.1\r\nHost: ${host}\r\nX-A: b\r\n c: d\r\n\r\n`,
      ],
      [
        'two lengths',
        (host) => `POST /api/auth/login HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}`,
      ],
      [
        'a length and chunks',
        (host) =>
          `POST /api/auth/login HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json\r\nContent-Length: ` +
          `2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      ],
      ['no host', () => 'GET /api/health HTTP/1.1\r\n\r\n'],
      ['a method that is none', (host) => `BREW /api/health HTTP/1.1\r\nHost: ${host}\r\n\r\n`],
      ['TRACE', (host) => `TRACE /api/health HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`],
      ['a way up', (host) => `GET /api/../../etc/passwd HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`],
      [
        'a way up in disguise',
        (host) => `GET /docs/%2e%2e/%2e%2e/package.json HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`,
      ],
      ['two slashes', (host) => `GET //api/health HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`],
      ['a backslash', (host) => `GET /docs\\..\\package.json HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`],
      ['a null character', (host) => `GET /api/studies/%00 HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`],
    ];
    for (const [title, text] of cases) {
      it(title, async () => {
        const said = await raw(http.base, text(new URL(http.base).host));
        expect(said.slice(0, 80)).to.match(/^HTTP\/1\.1 4\d\d /);
        expect(said).not.to.match(/root:|"name": "research/);
      });
    }
    it('a JSON body 10,000 deep, and keys of the prototype', async () => {
      for (const content of [
        `{"study_code":${'['.repeat(10_000)}${']'.repeat(10_000)}}`,
        '{"__proto__":{"admin":true}}',
        '{"constructor":{"prototype":{}},"study_code":"x","study_name":"x"}',
      ]) {
        const { status } = await http.send('POST', '/api/studies', undefined, {
          raw: { type: 'application/json', content },
        });
        expect(status, content.slice(0, 40)).to.be.oneOf([400, 422]);
      }
    });
  });

  it('a route that goes away says since when, until when, and where one reads of it', () => {
    const headers = deprecation({ since: '2026-01-31', sunset: '2026-07-31', link: '/docs#changes' });
    // RFC 9745: an instant of structured fields; RFC 8594: a date of HTTP.
    expect(new Date(Number(/^@(\d+)$/.exec(headers.Deprecation!)![1]) * 1000).toISOString()).to.equal(
      '2026-01-31T00:00:00.000Z',
    );
    expect(headers.Sunset).to.equal('Fri, 31 Jul 2026 00:00:00 GMT');
    expect(headers.Link).to.equal('</docs#changes>; rel="deprecation"');
    expect(Object.keys(deprecation({ since: '2026-01-31' }))).to.deep.equal(['Deprecation']);
  });
});
