import { expect } from 'chai';
import { largestBody } from '../../api/http/body/limit.js';
import { documentedRoutes as routes } from '../../api/routes.js';
import type { Route } from '../../api/http/route.js';
import { RequestBody } from '../../api/http/route.js';
import { Http, newParticipant, newStudy, user } from '../support/http.js';
import type { Loose } from '../support/http.js';
import { asMuchAs } from '../support/in-full.js';
import { usualMs } from '../support/processor-speed.js';
import { bodiesOf } from './costly/bodies.js';
import { headerLines, linesOf, shareOf } from './costly/lines.js';
import type { Line } from './costly/lines.js';
import { raw } from './costly/raw.js';
import { MOST_MS, WatchedApi } from './costly/watched-api.js';

/** What the process does beside a request comes and goes: so often it may be tried. */
const TRIES = 15;
/** Of bodies of one route after its first. */
const OTHERS_BYTES = asMuchAs(4, 20) * 1024 * 1024;
/** Where all routes read a body in the same way, it is as long as it may be for one in so many, and shorter for others. */
const LONG_ONE_IN = asMuchAs(4, 1),
  SHORTER_BYTES = 1024 * 1024;
const LIMITS = { MAX_BODY_BYTES: 5 * 1024 * 1024, MAX_UPLOAD_BYTES: 20 * 1024 * 1024 };

describe('Nothing that one caller sends keeps the API from the others', function () {
  this.timeout(300_000);
  let watched: WatchedApi | undefined, admin: Http, reader: Http, study: Loose;
  /** Of what is there, so that a body is read by what would carry it out. */
  let known: Record<string, string>;
  before(async function () {
    watched = await WatchedApi.start();
    if (!watched) return this.skip();
    ({ admin } = watched);
    study = await newStudy(admin);
    reader = await user(admin, 'data_manager', { study_ids: [study.id] });
    const participant = await newParticipant(admin, study.id);
    const window = { study_id: study.id, code: 'W', name: 'W', target_day: 1 };
    const visit = { participant_id: participant.id, name: 'V', target_date: '2026-01-01' };
    known = {
      study_id: study.id,
      participant_id: participant.id,
      window_id: (await admin.expect(201, 'POST', '/api/schedules/windows', window)).id,
      visit_id: (await admin.expect(201, 'POST', '/api/schedules/visits', visit)).id,
    };
  });
  after(() => watched?.stop());

  /**
   * What one request costs the event loop at the least, in milliseconds of a usual processor: what the process does
   * beside it comes and goes, and so does the speed of a core that others share, which is measured with each try. The
   * tries end with the first that is below `enough`.
   */
  async function cost(send: () => Promise<{ status: number }>, enough = 0): Promise<{ ms: number; status: number }> {
    let ms = Infinity,
      status = 0;
    for (let i = 0; i < TRIES && ms >= enough; i += 1) {
      const before = watched!.usedMs();
      ({ status } = await send());
      ms = Math.min(ms, usualMs(watched!.usedMs() - before));
    }
    return { ms, status };
  }
  /**
   * How long it holds the event loop at once, in the same measure. A request that costs less than that altogether need
   * not be looked at.
   */
  async function hold(send: () => Promise<{ status: number }>): Promise<{ ms: number; status: number }> {
    const before = watched!.usedMs();
    let { status } = await send();
    let ms = watched!.usedMs() - before;
    for (let i = 0; i < TRIES && ms > MOST_MS; i += 1) {
      const { longest } = await watched!.turnsDuring(async () => {
        ({ status } = await send());
      });
      ms = Math.min(ms, usualMs(longest));
    }
    return { ms, status };
  }
  const pathOf = (route: Route) =>
    route.path.replaceAll(
      /\{(\w+)\}/g,
      (_, name: string) => known[name] ?? (name.endsWith('id') ? '00000000-0000-4000-8000-000000000000' : 'x'),
    );

  /** @param longOneIn for one in so many of them a body is as long as it may be */
  async function costs(by: Http, list: readonly Route[], bodies = bodiesOf, longOneIn = 1): Promise<string[]> {
    const dear: string[] = [];
    let turn = 0;
    for (const route of list) {
      const kinds = Object.entries(bodies(route));
      if (kinds.length === 0) continue;
      const most = largestBody(route, LIMITS);
      const isLong = turn++ % longOneIn === 0;
      for (const [place, [what, body]] of kinds.entries()) {
        // As long as it may be once: what costs more the longer it is shows itself in megabytes.
        const bytes = isLong && place === 0 ? most : Math.min(most, isLong ? OTHERS_BYTES : SHORTER_BYTES);
        const { ms, status } = await hold(() =>
          by.send(
            route.method,
            `${pathOf(route)}${route.query && 'token' in (route.query as { properties: object }).properties ? '?token=a.b' : ''}`,
            undefined,
            {
              raw: body(bytes),
              headers: { 'X-Session-ID': '00000000-0000-4000-8000-000000000000', 'X-Study-ID': study.id },
            },
          ),
        );
        if (process.env.SHOW_COSTS) console.log(ms.toFixed(1), status, route.method, route.path, what);
        if (ms > MOST_MS || status >= 500) dear.push(`${route.method} ${route.path}, ${what}: ${ms} ms, ${status}`);
      }
    }
    return dear;
  }

  const open = routes.filter((route) => !route.access.token);
  const weakest = routes.filter(
    ({ access }) => access.token && access.roles.includes('data_manager') && access.roles.length >= 4,
  );

  /** Those that read a body in a way of their own; those that all read it in the same way. */
  const byReading = (list: readonly Route[]) =>
    [true, false].map((is) => list.filter(({ body }) => body instanceof RequestBody === is)) as [Route[], Route[]];

  it('in a body: without a login', async () => {
    expect(open.length).to.be.greaterThan(20);
    expect(await costs(new Http(admin.base), open)).to.deep.equal([]);
  });

  it('in a body: by the role that may least', async () => {
    const [special, plain] = byReading(weakest);
    expect(await costs(reader, special)).to.deep.equal([]);
    expect(await costs(reader, plain, bodiesOf, LONG_ONE_IN)).to.deep.equal([]);
  });

  const stronger = routes.filter((route) => !open.includes(route) && !weakest.includes(route));

  it('in a body: by the roles that may more', async () => {
    const [special, plain] = byReading(stronger);
    expect(special.length).to.be.at.least(5);
    expect(await costs(admin, special)).to.deep.equal([]);
    // They are all read in the same way, of which this body is the dearest.
    const bodies = (route: Route) => {
      const { ['unknown keys']: keys } = bodiesOf(route);
      return keys ? { 'unknown keys': keys } : ({} as ReturnType<typeof bodiesOf>);
    };
    expect(await costs(admin, plain, bodies, LONG_ONE_IN)).to.deep.equal([]);
  });

  it('in a body of what a study, a form, a battery and a mapping may hold, or nearly', async () => {
    const many = (n: number, value: (i: number) => unknown) =>
      Object.fromEntries(Array.from({ length: n }, (_, i) => [`k${i}`, value(i)]));
    const battery = await admin.expect(201, 'POST', '/api/batteries', { study_id: study.id, code: 'B', name: 'B' });
    const days = (i: number) => ({ battery_id: battery.id, target_day: i % 1000, window_before: 1, window_after: 1 });
    const config = `/api/datacapture/config/${study.id}`;
    const made = await admin.send('PATCH', config, { api_url: 'http://127.0.0.1:9/api/', api_token: 'A'.repeat(32) });
    expect(made.status, made.text).to.be.oneOf([200, 201]);
    const of = `/api/studies/${study.id}/participants/${known.participant_id}`;
    const sent: [string, string, object][] = [
      ['PATCH', `/api/studies/${study.id}`, { config: { notes: many(9_000, (i) => ['a text', i, { at: i }]) } }],
      ['POST', `${of}/forms`, { form_oid: 'F', status: 'complete', items: many(9_000, (i) => i) }],
      ['POST', `/api/batteries/${battery.id}/modules`, { task: 'stroop', settings: many(9_000, (i) => [i, i]) }],
      ['PATCH', config, { event_battery_mapping: many(5_000, days) }],
      ['PATCH', config, { participant_field_mapping: many(9_000, (i) => `f${i}`) }],
    ];
    for (const [method, path, body] of sent) {
      const { ms, status } = await hold(() => admin.send(method, path, body));
      if (process.env.SHOW_COSTS) console.log(ms.toFixed(1), status, method, path);
      expect(ms, `${method} ${path}: ${status}`).to.be.below(MOST_MS);
      expect(status, `${method} ${path}`).to.be.below(500);
    }
  });

  /** The same of what stands before a body. */
  async function costsOfLines(
    by: Http,
    list: readonly Route[],
    lines: (route: Route) => Record<string, Line>,
  ): Promise<string[]> {
    const dear: string[] = [];
    for (const route of list)
      for (const [what, { query = '', headers = {}, parameter }] of Object.entries(lines(route))) {
        const path =
          parameter === undefined
            ? pathOf(route)
            : route.path.replaceAll(/\{\w+\}/g, (_, i: number) => (i === route.path.indexOf('{') ? parameter : 'x'));
        const { ms, status } = await hold(() => raw(by, route.method, `${path}?${query}`, headers));
        if (process.env.SHOW_COSTS) console.log(ms.toFixed(1), status, route.method, route.path, what);
        if (ms > MOST_MS || status >= 500) dear.push(`${route.method} ${route.path}, ${what}: ${ms} ms, ${status}`);
      }
    return dear;
  }

  it('in a query or a path: without a login', async () => {
    expect(await costsOfLines(new Http(admin.base), open, linesOf)).to.deep.equal([]);
  });

  it('in a query or a path: by the role that may least', async () => {
    expect(
      await costsOfLines(
        reader,
        weakest.filter(({ method }) => method === 'GET'),
        linesOf,
      ),
    ).to.deep.equal([]);
  });

  it('in a header, of a read, a change, a page, a file and a stream', async () => {
    const some = [
      '/api/health',
      '/portal',
      '/api/studies',
      '/api/exports/{export_id}/download',
      '/api/studies/{study_id}/events',
      '/api/auth/login',
      '/api/sync/sessions',
      '/api/session/state',
      '/api/studies/{study_id}/participants/{participant_id}/timeline',
    ];
    const list = routes.filter(({ path }) => some.includes(path));
    expect(list.length).to.be.at.least(some.length);
    // Each caller sends each of them to every second route.
    for (const [turn, by] of [new Http(admin.base), reader].entries())
      expect(await costsOfLines(by, list, (route) => shareOf(headerLines, turn + list.indexOf(route)))).to.deep.equal(
        [],
      );
  });

  /** Sends a form with a CSV file. Its boundary is `b`. */
  const sent = (content: string) => {
    const form = [
      '--b\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\nContent-Type: text/csv\r\n\r\n',
      content,
      '\r\n--b--\r\n',
    ].join('');
    return admin.send('POST', `/api/studies/${study.id}/participants/import/csv?dry_run=true`, undefined, {
      raw: { type: 'multipart/form-data; boundary=b', content: form },
    });
  };

  for (const sign of ['\r', '\r\n', '\r\n--', '\r\n--b\r\n', '\r\n--b\r\n\r\n', '\r\n--b\r\nX: y\r\n\r\n'])
    it(`a file of nothing but ${JSON.stringify(sign)}, of which boundaries are made, is taken in short turns`, async () => {
      const content = `participant_code\n${sign.repeat((2 * 1024 * 1024) / sign.length)}`;
      const { ms, status } = await hold(() => sent(content));
      expect(status).to.be.oneOf([400, 413]);
      expect(ms).to.be.below(MOST_MS);
    });

  it('a file of nothing but lines is read elsewhere, and refused by their number', async () => {
    const lines = `participant_code\n${'\n'.repeat(2 * 1024 * 1024)}`;
    expect(await sent(lines)).to.nested.include({ status: 413, 'body.code': 'TOO_LARGE' });
    const few = await cost(() => sent('participant_code\nA-1\n'));
    const costs = { lines: await cost(() => sent(lines), few.ms + MOST_MS), few };
    expect(costs.lines.ms, JSON.stringify(costs)).to.be.below(costs.few.ms + MOST_MS);
    expect((await hold(() => sent(lines))).ms).to.be.below(MOST_MS);
    const spaced = await sent(`\n\nparticipant_code\n\n${'\n'.repeat(1000)}A-1\n,,\n`);
    expect([spaced.status, spaced.body.total_rows]).to.deep.equal([200, 1]);
    expect((spaced.body.imported_participants as { row: number }[])[0]!.row).to.equal(1005);
  });

  it('raw data with more fields in an object, or more parts, than any measurement has are too large', async () => {
    const fields = (n: number) => `{${Array.from({ length: n }, (_, i) => `"k${i}":0`).join(',')}}`;
    const send = (content: string) =>
      admin.send('POST', '/api/sync/bulk', undefined, { raw: { type: 'application/json', content } });
    const session = (content: string) => send(`{"sessions":[${content}]}`);
    expect((await session(fields(10_000))).status).to.equal(200);
    expect((await session(fields(10_001))).body.code).to.equal('TOO_LARGE');
    // Fields of several objects, and names within texts, are not counted together.
    expect((await session(`{"a":${fields(9_000)},"b":${fields(9_000)}}`)).status).to.equal(200);
    expect((await session(`{"a":"${'{,'.repeat(50_000)}","b":[${'0,'.repeat(50_000)}0]}`)).status).to.equal(200);
    expect((await session(`{"a":[${'[],'.repeat(1_100_000)}[]]}`)).body.code).to.equal('TOO_LARGE');
    expect((await session(`{"a":[${'"a",'.repeat(1_100_000)}0]}`)).body.code).to.equal('TOO_LARGE');
  });

  it('unknown keys are refused at the first hundred', async () => {
    const keys = (n: number) => Object.fromEntries(Array.from({ length: n }, (_, i) => [`k${i}`, 0]));
    expect((await admin.post('/api/auth/login', keys(200))).body.errors.length).to.equal(100);
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
    // Mails are taken apart one after another, and so many may wait: none of these gets as far.
    const many = await Promise.all(Array.from({ length: 60 }, () => sent(`X-Delivery-Report: ${'a'.repeat(60_000)}`)));
    expect([...new Set(many.map(({ body }) => body.code))]).to.deep.equal(['NO_DELIVERY_REPORT']);
  });
});
