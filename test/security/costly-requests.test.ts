import { expect } from 'chai';
import { largestBody } from '../../api/http/body/limit.js';
import { described as routes } from '../../api/routes/index.js';
import type { Route } from '../../api/http/route.js';
import { RequestBody, bodySchema, requestBody } from '../../api/http/route.js';
import { login, newStudy, user } from '../support/http.js';
import type { Http, Loose } from '../support/http.js';
import { mainThreadMs } from '../support/main-thread.js';
import { startService } from '../support/service.js';
import type { Service } from '../support/service.js';

/**
 * The event loop is kept for 50 ms by one request at the most, on a machine of its own: twice that where others use the
 * same caches.
 */
const MOST_MS = 100;
const LIMITS = { MAX_BODY_BYTES: 5 * 1024 * 1024, MAX_UPLOAD_BYTES: 20 * 1024 * 1024 };

type Body = { type: string; content: string };
const json = (content: string): Body => ({ type: 'application/json', content });
/** Repeats a piece, with its number, as often as it fits. */
function filled(bytes: number, piece: (i: number) => string, [before, after] = ['', '']): string {
  const pieces: string[] = [];
  for (let size = before.length + after.length, i = 0; ; i += 1) {
    const next = piece(i);
    if ((size += next.length + 1) > bytes) break;
    pieces.push(next);
  }
  return `${before}${pieces.join(',')}${after}`;
}

/** Bodies as large as they may be, each of which costs another part of the service much. */
const jsonBodies: Record<string, (bytes: number) => Body> = {
  'unknown keys': (bytes) => json(filled(bytes, (i) => `"k${i}":0`, ['{', '}'])),
  'keys that are nearly known': (bytes) => json(filled(bytes, (i) => `"emial_passwrod_tokne${i}":0`, ['{', '}'])),
  'a list of lists': (bytes) => json(filled(bytes, () => '[[[[[[[[[[]]]]]]]]]]', ['{"items":[', ']}'])),
  'numbers of many digits': (bytes) => json(filled(bytes, () => '0.30000000000000004', ['{"items":[', ']}'])),
  escapes: (bytes) => json(`{"token":"${'\\u0041'.repeat((bytes - 20) / 6)}"}`),
  'a text of letters that mean something to patterns': (bytes) =>
    json(`{"email":"${'a@a.'.repeat((bytes - 60) / 4)}","password":"x","token":"y"}`),
};
const mails: Record<string, (bytes: number) => Body> = {
  'blank lines': (bytes) => ({ type: 'message/rfc822', content: '\r\n'.repeat(bytes / 2) }),
  'header lines': (bytes) => ({ type: 'message/rfc822', content: 'X-Delivery-Report: a.b\r\n'.repeat(bytes / 24) }),
  boundaries: (bytes) => ({
    type: 'message/rfc822',
    content: `Content-Type: multipart/report; boundary=b\r\n\r\n${'--b\r\n\r\n'.repeat((bytes - 100) / 7)}`,
  }),
  base64: (bytes) => ({ type: 'message/rfc822', content: `${'QUJD'.repeat(18)}\r\n`.repeat(bytes / 74) }),
};
const triggers: Record<string, (bytes: number) => Body> = {
  fields: (bytes) => ({
    type: 'application/x-www-form-urlencoded',
    content: filled(bytes, (i) => `f${i}=1`).replaceAll(',', '&'),
  }),
  parts: (bytes) => ({
    type: 'multipart/form-data; boundary=b',
    content: '--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n'.repeat(bytes / 53),
  }),
};

const mediaTypesOf = (route: Route) => requestBody(route)?.options.mediaTypes;
const carriesRawData = ({ body }: Route) => body instanceof RequestBody && body.kind === 'json';

const bodiesOf = (route: Route): Record<string, (bytes: number) => Body> =>
  requestBody(route)?.kind === 'bytes'
    ? mediaTypesOf(route)?.includes('message/rfc822')
      ? mails
      : mediaTypesOf(route)
        ? triggers
        : { ...mails, ...jsonBodies }
    : bodySchema(route)
      ? jsonBodies
      : {};

describe('Nothing that one caller sends keeps the API from the others', function () {
  this.timeout(300_000);
  let service: Service, admin: Http, reader: Http, study: Loose;
  before(async function () {
    if (mainThreadMs(process.pid) === undefined) return this.skip();
    service = await startService({ RATE_LIMIT_PER_MINUTE: '1000000', AUTH_RATE_LIMIT_PER_MINUTE: '1000000' });
    const { run } = service;
    admin = (await login(run.api, run.admin_email, run.admin_password ?? '')).http;
    study = await newStudy(admin);
    reader = await user(admin, 'data_manager', { study_ids: [study.id] });
  });
  after(() => service?.stop());

  /** What one request costs the event loop at the least: what the process does beside it comes and goes. */
  async function cost(send: () => Promise<{ status: number }>): Promise<{ ms: number; status: number }> {
    let ms = Infinity,
      status = 0;
    for (let i = 0; i < 3; i += 1) {
      const before = mainThreadMs(service.current().pids.api!)!;
      ({ status } = await send());
      ms = Math.min(ms, mainThreadMs(service.current().pids.api!)! - before);
    }
    return { ms, status };
  }
  const pathOf = (route: Route) =>
    route.path
      .replaceAll('{study_id}', study.id)
      .replaceAll(/\{(\w+)\}/g, (_, name: string) =>
        name.endsWith('id') ? '00000000-0000-4000-8000-000000000000' : 'x',
      );

  async function costs(by: Http, list: readonly Route[]): Promise<string[]> {
    const dear: string[] = [];
    for (const route of list)
      for (const [what, body] of Object.entries(bodiesOf(route))) {
        const { ms, status } = await cost(() =>
          by.send(
            route.method,
            `${pathOf(route)}${route.query && 'token' in (route.query as { properties: object }).properties ? '?token=a.b' : ''}`,
            undefined,
            {
              raw: body(carriesRawData(route) ? LIMITS.MAX_BODY_BYTES : largestBody(route, LIMITS)),
              headers: { 'X-Session-ID': '00000000-0000-4000-8000-000000000000', 'X-Study-ID': study.id },
            },
          ),
        );
        if (process.env.SHOW_COSTS) console.log(ms.toFixed(1), status, route.method, route.path, what);
        if (ms > MOST_MS || status >= 500) dear.push(`${route.method} ${route.path}, ${what}: ${ms} ms, ${status}`);
      }
    return dear;
  }

  it('without a login', async () => {
    const open = routes.filter((route) => !route.access.token);
    expect(open.length).to.be.greaterThan(20);
    expect(await costs(admin, open)).to.deep.equal([]);
  });

  it('by the role that may least', async () => {
    const weakest = routes.filter(
      ({ access }) => access.token && access.roles.includes('data_manager') && access.roles.length >= 4,
    );
    expect(await costs(reader, weakest)).to.deep.equal([]);
  });

  it('a file of nothing but lines is read elsewhere, and refused by their number', async () => {
    const path = `/api/studies/${study.id}/participants/import/csv?dry_run=true`;
    const sent = (content: string) => {
      const form = [
        '--b\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\nContent-Type: text/csv\r\n\r\n',
        content,
        '\r\n--b--\r\n',
      ].join('');
      return admin.send('POST', path, undefined, {
        raw: { type: 'multipart/form-data; boundary=b', content: form },
      });
    };
    const blank = `participant_code\n${'\n'.repeat(2 * 1024 * 1024)}`;
    const refused = await sent(blank);
    expect([refused.status, refused.body.code]).to.deep.equal([413, 'TOO_LARGE']);
    const costs = { blank: await cost(() => sent(blank)), few: await cost(() => sent('participant_code\nA-1\n')) };
    expect(costs.blank.ms, JSON.stringify(costs)).to.be.below(costs.few.ms + MOST_MS);
    const spaced = await sent(`\n\nparticipant_code\n\n${'\n'.repeat(1000)}A-1\n,,\n`);
    expect([spaced.status, spaced.body.total_rows]).to.deep.equal([200, 1]);
    expect((spaced.body.imported_participants as { row: number }[])[0]!.row).to.equal(1005);
  });

  it('unknown keys are refused at the first hundred', async () => {
    const keys = (n: number) => Object.fromEntries(Array.from({ length: n }, (_, i) => [`k${i}`, 0]));
    const { status, body } = await admin.post('/api/auth/login', keys(5_500));
    expect([status, body.errors.length]).to.deep.equal([422, 100]);
    expect(body.errors.filter(({ code }) => code === 'UNKNOWN_FIELD').length).to.be.at.least(98);
    const signed = await admin.post('/api/studies', { study_code: 'X', ...keys(20_000) });
    expect([signed.status, signed.body.errors.length]).to.deep.equal([422, 100]);
    expect((await admin.post('/api/auth/login', keys(350_000))).status).to.equal(413);
    expect((await admin.post('/api/studies', { config: keys(60_000) })).body.code).to.equal('TOO_LARGE');
  });

  it('a mail that came back: 64 KiB; nobody’s is not taken apart', async () => {
    const sent = (content: string) =>
      admin.send('POST', '/api/notifications/bounces', undefined, { raw: { type: 'message/rfc822', content } });
    expect((await sent(`Subject: a\r\n\r\n${'line\r\n'.repeat(400_000)}`)).status).to.equal(413);
    expect((await sent(`X-Delivery-Report: ${'a'.repeat(60_000)}`)).body.code).to.equal('NO_DELIVERY_REPORT');
  });
});
