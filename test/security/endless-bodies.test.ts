import { once } from 'node:events';
import { connect } from 'node:net';
import { expect } from 'chai';
import { startApi } from '../support/api-process.js';
import type { ApiProcess } from '../support/api-process.js';
import { admin as adminAt, newStudy } from '../support/http.js';
import type { Http, Loose } from '../support/http.js';

const MEGABYTE = 1024 * 1024;
/** How long an answer may take while its request goes on: far less than a body may take to arrive. */
const PATIENCE_MS = 30_000;

describe('A body without a length is refused as soon as it is too long', () => {
  let api: ApiProcess, admin: Http, study: Loose;
  before(async () => {
    api = await startApi({ MAX_UPLOAD_BYTES: String(MEGABYTE), MAX_BODY_BYTES: String(MEGABYTE) });
    admin = await adminAt(api.url);
    study = await newStudy(admin);
  });
  after(() => api?.stop());

  /** Sends chunks until there is an answer, and never the last one. Answers the status, and whether the server hung up. */
  async function endless(
    path: string,
    { type, first = '', token }: { type: string; first?: string; token?: string },
  ): Promise<{ status: number; closed: boolean }> {
    const { hostname, port } = new URL(api.url);
    const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
    await once(socket, 'connect');
    let answer = '';
    socket.setEncoding('latin1').on('data', (piece: string) => {
      answer += piece;
    });
    socket.on('error', () => undefined);
    const ended = new Promise<true>((resolve) => {
      for (const event of ['end', 'close']) socket.once(event, () => resolve(true));
    });
    const chunk = (text: string) => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
    socket.write(
      [
        `POST ${path} HTTP/1.1`,
        'Host: localhost',
        'Transfer-Encoding: chunked',
        `Content-Type: ${type}`,
        'X-Session-ID: 00000000-0000-4000-8000-000000000000',
        ...(token ? [`Authorization: Bearer ${token}`] : []),
        '',
        '',
      ].join('\r\n'),
    );
    if (first) socket.write(chunk(first));
    const piece = chunk('a'.repeat(64 * 1024));
    for (let sent = 0; sent < 2 * MEGABYTE && answer === ''; sent += 64 * 1024) {
      socket.write(piece);
      // As fast as it is read: a client that sends more than four times as much is cut off.
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    const late = new Promise<false>((resolve) => setTimeout(() => resolve(false), PATIENCE_MS).unref());
    const closed = await Promise.race([ended, late]);
    socket.destroy();
    return { status: Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1]), closed };
  }

  const FORM = 'application/x-www-form-urlencoded';
  const file = '--b\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\n';
  const bodies: [string, Parameters<typeof endless>[1] & { signed?: true; status?: number }][] = [
    ['/console/login', { type: FORM, first: 'email=' }],
    ['/console/forgot', { type: FORM, first: 'email=' }],
    ['/console/participants', { type: FORM, first: 'email=' }],
    ['/api/auth/login', { type: 'application/json', first: '{"email":"' }],
    ['/api/notifications/bounces', { type: 'message/rfc822' }],
    // Nobody has this session: its body is not even read.
    ['/api/submit', { type: 'application/json', first: '{"session_id":"', status: 401 }],
    ['/api/studies', { type: 'application/json', first: '{"study_code":"', signed: true }],
    ['/api/sync/bulk', { type: 'application/json', first: '{"sessions":["', signed: true }],
    ['/api/studies/import/full', { type: 'application/json', first: '{"a":"', signed: true }],
    [
      '/api/studies/STUDY/participants/import/csv',
      { type: 'multipart/form-data; boundary=b', first: file, signed: true },
    ],
    [
      '/api/studies/STUDY/participants/import/csv',
      { type: 'multipart/form-data; boundary=b', first: '--b\r\nX-Endless: ', signed: true },
    ],
  ];
  bodies.forEach(([path, { signed, status = 413, ...body }], i) =>
    it(`POST ${path} (${i + 1})`, async () => {
      const sent = await endless(path.replace('STUDY', study.id), { ...body, ...(signed && { token: admin.token! }) });
      expect(sent).to.deep.equal({ status, closed: true });
    }),
  );
});
