import { randomInt } from 'node:crypto';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { setImmediate as turn, setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { startApi } from '../support/api-process.js';
import type { ApiProcess } from '../support/api-process.js';
import { Http, admin } from '../support/http.js';
import { service } from '../support/service.js';
import { until } from '../support/until.js';

const MIB = 1024 * 1024,
  PIECE = Buffer.alloc(65_536, 'a');
const ARRIVAL = 6,
  RATE = 60;

describe('An answer that is given before the body is read', function suite() {
  this.timeout(120_000);
  /** The shared one gives a body far longer to arrive than anything here takes. */
  let shared: { url: string };
  let api: ApiProcess, strict: ApiProcess, token: string;
  before(async () => {
    shared = { url: (await service()).api };
    // Requests are counted in the database: a limit of its own is for who comes from an address of its own.
    [api, strict] = await Promise.all([
      startApi({ REQUEST_ARRIVAL_SECONDS: String(ARRIVAL) }),
      startApi({ RATE_LIMIT_PER_MINUTE: String(RATE), TRUST_PROXY: 'true' }),
    ]);
    token = (await admin()).token!;
  });
  after(() => Promise.all([api?.stop(), strict?.stop()]));

  /** A client on a connection of its own; `said`: all that came back, `over`: how the connection ended. */
  class Sender {
    said = '';
    over: string | undefined;
    readonly socket: Socket;
    constructor(request: string, headers: string[], to: { url: string } = shared) {
      const { hostname, port } = new URL(to.url);
      this.socket = connect({ port: Number(port), host: hostname, allowHalfOpen: true });
      this.socket.setEncoding('latin1').on('data', (text: string) => {
        this.said += text;
      });
      this.socket
        .once('error', (fault: NodeJS.ErrnoException) => {
          this.over ??= fault.code ?? fault.message;
        })
        .once('close', () => {
          this.over ??= 'closed';
        });
      this.socket.write(
        [`${request} HTTP/1.1`, `Host: ${hostname}`, 'Content-Type: application/json', ...headers, '', ''].join('\r\n'),
      );
    }

    /** Writes, as one who waits for what is sent to be taken. */
    async write(bytes: Buffer | string): Promise<void> {
      await new Promise<void>((resolve) => {
        if (this.over !== undefined) resolve();
        else
          this.socket.once('close', resolve).write(bytes, () => {
            this.socket.off('close', resolve);
            resolve();
          });
      });
    }

    /** All of a body before anything is read, slowly enough at first for the service to say all that it would say. */
    async all(length: number): Promise<this> {
      this.socket.pause();
      for (let at = 0; at < length && this.over === undefined; at += PIECE.length) {
        await this.write(PIECE);
        if (at < 10 * PIECE.length) await pause(10);
      }
      expect(this.over, 'while it sends').to.equal(undefined);
      this.socket
        .once('end', () => {
          this.socket.end();
        })
        .resume();
      return this.ended();
    }

    async ended(): Promise<this> {
      await until(() => this.over, { what: 'the connection to end' });
      return this;
    }
  }
  const last = 'Connection: close',
    long = (bytes: number) => `Content-Length: ${bytes}`,
    bearer = () => `Authorization: Bearer ${token}`;

  const cases: { title: string; request: string; headers?: () => string[]; status: number; length?: number }[] = [
    { title: 'no token', request: 'POST /api/studies', status: 401 },
    {
      title: 'no token for a file as large as may be',
      request: 'POST /api/studies/00000000-0000-4000-8000-000000000000/participants/import/csv',
      status: 401,
      length: 20 * MIB,
    },
    { title: 'an unknown path', request: 'POST /api/nothing/here', status: 404 },
    { title: 'an id that is none', request: 'PATCH /api/studies/seven', headers: () => [bearer()], status: 404 },
    { title: 'another method', request: 'PUT /api/studies', status: 405 },
    {
      title: 'nothing that would be accepted',
      request: 'POST /api/studies',
      headers: () => ['Accept: image/png'],
      status: 406,
    },
    { title: 'more than is taken', request: 'POST /api/studies', headers: () => [bearer()], status: 413 },
    {
      title: 'a body that is compressed by an unknown way',
      request: 'POST /api/studies',
      headers: () => [bearer(), 'Content-Encoding: br'],
      status: 415,
    },
    { title: 'a body where none is read', request: 'GET /api/tasks', headers: () => [bearer()], status: 200 },
  ];
  for (const { title, request, headers = () => [], status, length = 6 * MIB } of cases) {
    it(`${title}: who sends all of it before reading is told ${status}, on a connection that ends with the answer`, async () => {
      const { said, over } = await new Sender(request, [last, long(length), ...headers()]).all(length);
      expect([said.split('\r\n')[0]!.split(' ')[1], over]).to.deep.equal([String(status), 'closed']);
      expect(JSON.parse(said.slice(said.indexOf('\r\n\r\n') + 4))).to.be.an('object');
    });
  }

  it('comes at once, whether the body does or not', async () => {
    const sender = new Sender('POST /api/studies', [last, long(6 * MIB)]);
    // Nobody waits here for as long as the body might take.
    await until(() => sender.said.includes('request_id'), { what: 'the answer' });
    expect(sender.said).to.match(/^HTTP\/1\.1 401 /);
    sender.socket.destroy();
  });

  for (const connection of ['close', 'keep-alive']) {
    it(`who sends without end is cut off, on a connection to ${connection}: by bytes`, async () => {
      const sender = new Sender('POST /api/studies', [`Connection: ${connection}`, 'Transfer-Encoding: chunked']);
      const chunk = Buffer.concat([Buffer.from(`${PIECE.length.toString(16)}\r\n`), PIECE, Buffer.from('\r\n')]);
      let sent = 0;
      while (sender.over === undefined && sent < 100 * MIB) {
        await sender.write(chunk);
        sent += PIECE.length;
        // A service that takes all of it as fast as it comes would leave the client no turn to read in.
        await turn();
      }
      expect(sender.said).to.match(/^HTTP\/1\.1 401 /);
      // Four times what is taken, and what the two systems hold between them.
      expect(sent / MIB).to.be.within(20, 50);
    });
  }

  it('who sends a little for ever is cut off, on a connection to close or to keep-alive: by time', async () => {
    await Promise.all(
      ['close', 'keep-alive'].map(async (connection) => {
        const sender = new Sender('POST /api/studies', [`Connection: ${connection}`, long(6 * MIB)], api);
        const began = performance.now();
        const drip = setInterval(() => {
          sender.socket.write('a');
        }, 100);
        try {
          await sender.ended();
        } finally {
          clearInterval(drip);
        }
        expect(sender.said, connection).to.match(/^HTTP\/1\.1 401 /);
        expect((performance.now() - began) / 1000, connection).to.be.below(ARRIVAL + 20);
      }),
    );
  });

  it('too many requests: who sends all of it before reading is told 429', async () => {
    const nobody = new Http(strict.url),
      from = `10.79.${randomInt(256)}.${randomInt(256)}`;
    const { said, over } = await until(
      async () => {
        for (let n = 0; n <= RATE; n += 1) await nobody.get('/api/studies', { headers: { 'X-Forwarded-For': from } });
        const sender = await new Sender(
          'POST /api/studies',
          [last, long(6 * MIB), `X-Forwarded-For: ${from}`],
          strict,
        ).all(6 * MIB);
        // A minute may have begun between the two.
        return sender.said.startsWith('HTTP/1.1 429') ? sender : undefined;
      },
      { timeout: 60_000, what: 'the limit to be used up' },
    );
    expect(over).to.equal('closed');
    expect(said).to.match(/\r\nretry-after: /i);
  });

  it('what no request came of: 400 and 431 are told as well', async () => {
    for (const [headers, status] of [
      [['X y: z'], 400],
      [[`X-Long: ${'x'.repeat(100_000)}`], 431],
    ] as const) {
      const { said, over } = await new Sender('POST /api/studies', [last, long(6 * MIB), ...headers]).all(6 * MIB);
      expect([said.split(' ')[1], over]).to.deep.equal([String(status), 'closed']);
    }
  });
});
