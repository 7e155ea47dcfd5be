import { createServer } from 'node:http';
import type { RequestListener, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { CaptureClient } from '../../activities/capture/client/client.js';
import { CaptureFailure } from '../../activities/capture/client/failure.js';

describe('capture client: nothing that the capture system says is trusted', function () {
  const token = 'ABCDEF0123456789ABCDEF0123456789';
  let server: Server, answer: RequestListener;
  before((done) => {
    server = createServer((request, response) => answer(request, response)).listen(0, '127.0.0.1', done);
  });
  after((done) => {
    server.closeAllConnections();
    server.close(done);
  });

  const url = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/`;
  const client = (more: { allowPrivate?: boolean; apiUrl?: string } = {}, limits = {}) =>
    new CaptureClient({ apiUrl: more.apiUrl ?? url(), token, allowPrivate: more.allowPrivate ?? true }, limits);
  const failure = async (using = client()) => {
    try {
      await using.exportRecords({ records: ['1'] });
    } catch (fault) {
      if (fault instanceof CaptureFailure) return fault;
      throw fault;
    }
    throw new Error('it was taken');
  };
  const json =
    (body: string, status = 200): RequestListener =>
    (_request, response) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(body);

  const table: [string, RequestListener, string, boolean, RegExp?][] = [
    [
      'a maintenance page',
      (_q, r) => r.writeHead(200, { 'content-type': 'text/html' }).end('<!DOCTYPE html><html>Back soon</html>'),
      'invalid_response',
      true,
      /web page/,
    ],
    [
      'XML',
      (_q, r) => r.writeHead(200, { 'content-type': 'text/xml' }).end('<?xml version="1.0"?><records/>'),
      'invalid_response',
      true,
      /XML/,
    ],
    ['JSON that breaks off', json('[{"id":"1"'), 'invalid_response', true],
    ['nothing', json(''), 'invalid_response', true],
    ['a fatal error before the answer', json('<b>Fatal error</b>: memory\n{"error":"x"}'), 'invalid_response', true],
    ['200 with an error', json('{"error":"out of memory"}'), 'invalid_response', true, /out of memory/],
    ['an object where rows were asked', json('{"records":[]}'), 'invalid_response', true],
    ['rows that are none', json('[1,2]'), 'invalid_response', true],
    [
      'a redirect',
      (_q, r) => r.writeHead(302, { location: 'http://169.254.169.254/' }).end(),
      'invalid_response',
      true,
      /redirects/,
    ],
    ['503', json('{}', 503), 'http_error', true, /503/],
    [
      'a page of the web server that says 404 for a while',
      (_q, r) => r.writeHead(404, { 'content-type': 'text/html' }).end('<html><h1>Not Found</h1></html>'),
      'invalid_response',
      true,
      /web page \(404\)/,
    ],
    [
      'a 404 in plain words, as of a proxy with nothing behind it',
      (_q, r) => r.writeHead(404, { 'content-type': 'text/plain' }).end('404 page not found\n'),
      'invalid_response',
      true,
      /\(404\)/,
    ],
    ['a 404 in JSON', json('{"error":"No such thing"}', 404), 'rejected', false, /No such thing/],
    ['a refusal in JSON', json('{"error":"The value is not valid"}', 400), 'rejected', false, /not valid/],
    [
      'a refusal in JSON that calls itself a page',
      (_q, r) => r.writeHead(400, { 'content-type': 'text/html' }).end('{"error":"The value is not valid"}'),
      'rejected',
      false,
      /not valid/,
    ],
    [
      'a bad token',
      json('{"error":"You do not have permissions to use the API"}', 403),
      'rejected',
      false,
      /permissions/,
    ],
    [
      'a ban',
      json('{"error":"Your IP address has been banned due to suspected abuse."}', 429),
      'rejected',
      false,
      /banned/,
    ],
    [
      'a ban in words of a web server',
      (_q, r) =>
        r
          .writeHead(429, { 'content-type': 'text/html' })
          .end('Your IP address (192.0.2.1) has been banned due to suspected abuse.'),
      'rejected',
      false,
      /\(429\).*banned/,
    ],
    [
      'a ban on a page',
      (_q, r) =>
        r
          .writeHead(429, { 'content-type': 'text/html' })
          .end('<!DOCTYPE html><html><body>Your IP address has been banned.</body></html>'),
      'rejected',
      false,
      /\(429\).*banned/,
    ],
    ['a broken connection', (request) => request.socket.destroy(), 'connection_error', true],
    [
      'a connection that breaks in the answer',
      (_q, r) => {
        r.writeHead(200, { 'content-length': 100 });
        r.write('[');
        setTimeout(() => r.destroy(), 20);
      },
      'connection_error',
      true,
    ],
  ];
  for (const [what, listener, type, retryable, words] of table) {
    it(`${what}: ${type}${retryable ? ', retried' : ', final'}`, async () => {
      answer = listener;
      const fault = await failure();
      expect([fault.errorType, fault.retryable]).to.deep.equal([type, retryable]);
      if (words) expect(fault.message).to.match(words);
    });
  }
  it('an answer that never comes, or never ends: timeout', async () => {
    answer = () => undefined;
    expect((await failure(client({}, { timeoutMs: 150 }))).errorType).to.equal('timeout');
    answer = (_q, response) => {
      response.writeHead(200);
      response.write('[');
    };
    expect((await failure(client({}, { timeoutMs: 150 }))).errorType).to.equal('timeout');
  });
  it('an answer that is too large is not read to its end', async () => {
    let sent = 0;
    answer = (_q, response) => {
      response.writeHead(200);
      const more = () => {
        while (!response.destroyed && response.write('x'.repeat(65_536))) sent += 65_536;
      };
      response.on('drain', more);
      more();
    };
    expect((await failure(client({}, { maxBytes: 1_000_000 }))).message).to.contain('larger');
    expect(sent).to.be.below(50_000_000);
  });
  it('nobody listens: connection_error without an address in it', async () => {
    const fault = await failure(client({ apiUrl: 'http://127.0.0.1:9/api/' }));
    expect(fault.errorType).to.equal('connection_error');
    expect(fault.message).not.to.contain('127.0.0.1');
  });
  it('a private address, spelled or looked up, is refused where it is not allowed', async () => {
    for (const apiUrl of [
      url(),
      url().replace('127.0.0.1', 'localhost'),
      url().replace('127.0.0.1', '[::ffff:127.0.0.1]'),
    ]) {
      const fault = await failure(client({ apiUrl, allowPrivate: false }));
      expect([fault.errorType, fault.retryable]).to.deep.equal(['configuration', false]);
    }
  });
  it('never tells the token', async () => {
    answer = json(`{"error":"token ${token} is bad, so is ${'a1'.repeat(32)}"}`, 403);
    expect((await failure()).message)
      .not.to.contain(token)
      .and.not.to.contain('a1a1');
  });
  it('sends record ids as text, as array parameters', async () => {
    let body = '';
    answer = (request, response) => {
      request
        .setEncoding('utf8')
        .on('data', (chunk: string) => {
          body += chunk;
        })
        .on('end', () => json('[]')(request, response));
    };
    await client().exportRecords({ records: ['007', 'A-01/β +&=%'], events: ['base_arm_1'] });
    const form = new URLSearchParams(body);
    expect([form.get('records[0]'), form.get('records[1]'), form.get('events[0]'), form.get('type')]).to.deep.equal([
      '007',
      'A-01/β +&=%',
      'base_arm_1',
      'flat',
    ]);
  });
});
