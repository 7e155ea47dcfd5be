import { readFileSync, readdirSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import type { Patience } from '../../scripts/examples/device-client/call.js';
import { Unreachable } from '../../scripts/examples/device-client/call.js';
import { DeviceClock } from '../../scripts/examples/device-client/clock.js';
import { DeviceClient } from '../../scripts/examples/device-client/device-client.js';
import type { DeviceOptions, Trial } from '../../scripts/examples/device-client/device-client.js';
import { LoginNeeded, PortalTokens } from '../../scripts/examples/device-client/portal-tokens.js';
import { FolderStore } from '../../scripts/examples/device-client/store.js';
import { Site } from '../assessment/stage.js';
import { root } from '../support/environment.js';
import { startApi } from '../support/api-process.js';
import { login } from '../support/http.js';
import type { Loose } from '../support/http.js';
import { sendLink } from '../support/portal.js';
import { Random } from '../support/random.js';
import { service } from '../support/service.js';
import { FAULTS, FaultyProxy } from './faulty-proxy.js';
import type { Fault } from './faulty-proxy.js';

const QUICK: Patience = { attempts: 4, firstWaitMs: 5 };
const ONCE: Patience = { ...QUICK, attempts: 1 };

describe('The reference client of a device', function () {
  this.timeout(180_000);
  let site: Site;
  let api: string;
  let folder: string;
  let proxy: FaultyProxy | undefined;
  beforeEach(async () => {
    site = await Site.open();
    ({ api } = await service());
    folder = await mkdtemp(join(tmpdir(), 'device-'));
  });
  afterEach(async () => {
    await proxy?.close();
    proxy = undefined;
    await rm(folder, { recursive: true });
  });

  const through = async (fault: (path: string) => Fault | undefined): Promise<FaultyProxy> =>
    (proxy = await FaultyProxy.open(api, fault));
  const device = (fields: Partial<DeviceOptions> = {}) =>
    new DeviceClient({
      api,
      studyId: site.study.id,
      participantId: site.participant.id,
      deviceId: 'tablet',
      store: new FolderStore(join(folder, fields.deviceId ?? 'tablet')),
      token: async () => site.http.token!,
      patience: QUICK,
      ...fields,
    });
  const held = async (name = 'tablet') =>
    (await readdir(join(folder, name)).catch(() => [])).filter((file) => file !== 'tokens.json');
  /** Trials that are like no others. */
  const recorded = (client: DeviceClient, mark: string): Trial[] =>
    Array.from({ length: 3 }, (_, n) => ({
      trial_index: n,
      rt: 300 + n,
      correct: n !== 1,
      timestamp: client.now(),
      data: { mark },
    }));
  const sessions = async () =>
    (await site.http.expect<{ items: Loose[] }>(200, 'GET', `/api/sessions?study_id=${site.study.id}&limit=500`)).items;

  it('imports nothing of the product: it can be taken out and used', () => {
    const place = join(root, 'scripts', 'examples', 'device-client');
    const imports = readdirSync(place)
      .filter((file) => file.endsWith('.ts'))
      .flatMap((file) => [...readFileSync(join(place, file), 'utf8').matchAll(/from '([^']+)'/g)].map(([, of]) => of!));
    expect(imports).to.have.length.greaterThan(10);
    expect(imports.filter((of) => !/^(node:|\.\/[\w-]+\.js$)/.test(of))).to.deep.equal([]);
  });

  it('every trial arrives exactly once in its session, whatever the connection does', async () => {
    const random = new Random(20_261);
    const way = await through(() => (random.chance(0.5) ? random.oneOf(FAULTS) : undefined));
    const sent = new Map<string, string[]>();
    const names = ['phone', 'tablet', 'kiosk'];
    await Promise.all(
      names.map(async (deviceId) => {
        for (const nth of [1, 2, 3, 4]) {
          // Each session is with a client of its own, as after the app was ended and begun again.
          // It gives up soon: much is left to be delivered afterwards.
          const client = device({ api: way.url, deviceId, patience: ONCE });
          const id = await client.begin({ language: 'en', timezone: 'Europe/Berlin' });
          const marks: string[] = [];
          for (const task of ['stroop', 'flanker']) {
            const mark = `${deviceId} ${nth} ${task}`;
            marks.push(mark, mark, mark);
            await client.record(id, { task, trials: recorded(client, mark), summary: { accuracy: nth / 10 } });
          }
          await client.finish(id);
          sent.set(`${deviceId} ${nth}`, marks);
        }
      }),
    );
    for (const deviceId of names)
      for (;;) {
        const { conflicts, rejected } = await device({ api: way.url, deviceId })
          .deliver()
          .catch((fault: unknown) => {
            if (fault instanceof Unreachable) return { conflicts: [], rejected: [] };
            throw fault;
          });
        expect([conflicts, rejected]).to.deep.equal([[], []]);
        if ((await held(deviceId)).length === 0) break;
      }
    await way.settled();
    expect([...way.done.keys()].sort()).to.deep.equal([...FAULTS].sort());

    const arrived = new Map<string, string[]>();
    for (const session of await sessions()) {
      const marks = (await site.trials(session.id)).map(({ data }) => (data as { mark: string }).mark);
      if (marks.length === 0) continue;
      expect(session.status).to.equal('completed');
      const owner = marks[0]!.split(' ').slice(0, 2).join(' ');
      expect(arrived.has(owner), `${owner} has one session`).to.equal(false);
      arrived.set(owner, marks.sort());
    }
    expect([...arrived].sort()).to.deep.equal([...sent].map(([owner, marks]) => [owner, marks.sort()]).sort());
    expect((await site.conflicts()).total).to.equal(0);
  });

  it('a session that begins on line and ends off line is one session, with its visit', async () => {
    const way = await through(() => undefined);
    const visit = await site.visit();
    const client = device({ api: way.url, patience: ONCE });
    const id = await client.begin({ visitId: visit.id });
    await client.record(id, { task: 'stroop', trials: recorded(client, 'on'), summary: {} });
    way.offline = true;
    await client.record(id, { task: 'flanker', trials: recorded(client, 'off'), summary: {} });
    await client.finish(id);
    const failed = await client.deliver().catch((fault: unknown) => fault);
    expect(failed).to.be.instanceOf(Unreachable);
    expect(await held()).to.have.length(2);
    way.offline = false;
    // The app was ended meanwhile: what it held is on the disk.
    expect(await device({ api: way.url }).deliver()).to.deep.equal({ delivered: 2, conflicts: [], rejected: [] });
    const [session, ...others] = await sessions();
    expect(others).to.deep.equal([]);
    expect(session).to.include({ status: 'completed', trial_count: 6, visit_id: visit.id });
    expect((await site.seeVisit(visit.id)).status).to.equal('completed');
    expect(await held()).to.deep.equal([]);
  });

  it('conflicts are reported, and kept by the service with both sides', async () => {
    const visit = await site.visit();
    const way = await through(() => undefined);
    way.offline = true;
    for (const deviceId of ['phone', 'tablet']) {
      const client = device({ api: way.url, deviceId, patience: ONCE });
      const id = await client.begin({ visitId: visit.id });
      await client.record(id, { task: 'stroop', trials: recorded(client, deviceId), summary: {} });
      await client.finish(id);
    }
    way.offline = false;
    expect((await device({ deviceId: 'phone' }).deliver()).conflicts).to.deep.equal([]);
    const { delivered, conflicts } = await device({ deviceId: 'tablet' }).deliver();
    expect([delivered, conflicts.map((one) => [one.conflict_type, one.resolution])]).to.deep.equal([
      2,
      [['visit_already_completed', 'both_kept']],
    ]);
    expect((await sessions()).map(({ trial_count }) => trial_count)).to.deep.equal([3, 3]);
    expect((await site.conflicts()).total).to.equal(1);
  });

  it('what is rejected is set aside with its reason and stops nothing else', async () => {
    const client = device();
    const good = await client.begin();
    await client.record(good, { task: 'stroop', trials: recorded(client, 'good'), summary: {} });
    await client.finish(good);
    const way = await through(() => undefined);
    way.offline = true;
    const off = device({ api: way.url, patience: ONCE });
    const bad = await off.begin({ batteryId: 2_000_000_000 });
    await off.record(bad, { task: 'stroop', trials: recorded(off, 'bad'), summary: {} });
    await off.finish(bad);
    const { rejected } = await device().deliver();
    expect(rejected.map(({ code }) => code).sort()).to.deep.equal(['UNKNOWN_BATTERY', 'UNKNOWN_SESSION']);
    expect((await held()).map((file) => file.split('.').slice(0, 2).join('.'))).to.deep.equal([
      'rejected.result',
      'rejected.session',
    ]);
    expect(await device().deliver()).to.deep.equal({ delivered: 0, conflicts: [], rejected: [] });
    expect((await sessions()).map(({ trial_count }) => trial_count)).to.deep.equal([3]);
  });

  it('what is too much for one call goes in several; a result too large by itself is set aside and stops nothing', async () => {
    const small = await startApi({ MAX_UPLOAD_BYTES: '6000' });
    try {
      const { admin_email, admin_password } = await service();
      const { http } = await login(small.url, admin_email, admin_password!);
      const client = device({
        api: small.url,
        // Until everything is recorded nobody is logged in.
        token: () => Promise.reject(new LoginNeeded('not yet')),
      });
      const id = await client.begin();
      const tasks = ['stroop', 'flanker', 'n_back', 'digit_span', 'symbol_search'];
      for (const task of tasks)
        await client.record(id, {
          task,
          trials: recorded(client, 'x'.repeat(task === 'n_back' ? 9_000 : 900)),
          summary: {},
        });
      await client.finish(id);
      const { delivered, conflicts, rejected } = await device({
        api: small.url,
        token: async () => http.token!,
      }).deliver();
      expect([delivered, conflicts, rejected.map(({ code }) => code)]).to.deep.equal([5, [], ['TOO_LARGE']]);
      const [session, ...others] = await sessions();
      expect(others).to.deep.equal([]);
      expect(session).to.include({ status: 'completed', trial_count: 12 });
      expect((await held()).map((file) => file.split('.').slice(0, 2).join('.'))).to.deep.equal(['rejected.result']);
    } finally {
      await small.stop();
    }
  });

  it('a clock that is wrong by days is put right by the service’s, and goes on evenly', async () => {
    const clock = new DeviceClock(Date.parse('2001-02-03T04:05:06Z'));
    const client = device({ clock });
    const id = await client.begin();
    await client.record(id, { task: 'stroop', trials: recorded(client, 'clock'), summary: {} });
    await client.finish(id);
    const [session] = await sessions();
    const trials = await site.trials(session!.id);
    const { server_time } = await site.http.expect<{ server_time: string }>(200, 'GET', '/api/sync/status');
    for (const { timestamp } of trials)
      expect(Math.abs(Date.parse(server_time) - Date.parse(timestamp))).to.be.lessThan(60_000);
    const details = await site.see(session!.id);
    expect((details.tasks as { quality_flags: { code: string }[] }[])[0]!.quality_flags).to.deep.equal([]);
  });

  it('a participant’s own login: tokens are renewed and kept before they are used; without one, results wait', async () => {
    const store = new FolderStore(join(folder, 'tablet'));
    const tokens = new PortalTokens(api, store);
    let refusals = 0;
    const client = device({
      token: (refused) => {
        if (refused !== undefined) refusals += 1;
        return tokens.token(refused);
      },
    });
    // Nobody has logged in on this device yet: the session is held all the same.
    const early = await client.begin();
    await client.record(early, { task: 'stroop', trials: recorded(client, 'early'), summary: {} });
    await client.finish(early);
    expect(await client.deliver().catch((fault: unknown) => fault)).to.be.instanceOf(LoginNeeded);
    expect(await held()).to.have.length(2);
    await tokens.open(await sendLink(site.http, site.participant.id));
    const before = (await store.get<{ refresh_token: string }>('tokens'))!;
    // As it is after half an hour: the token is not taken any more.
    await store.put('tokens', { ...before, portal_token: 'x.y.z' });
    expect((await client.deliver()).delivered).to.equal(2);
    expect(refusals).to.equal(1);
    const after = (await store.get<{ refresh_token: string; portal_token: string }>('tokens'))!;
    expect(after.refresh_token).not.to.equal(before.refresh_token);
    const [one, two] = await Promise.all([tokens.token(after.portal_token), tokens.token(after.portal_token)]);
    expect(one).to.equal(two);
    // A second use of a token that was used ends the login: then a new link is needed, and nothing is lost.
    await store.put('tokens', { portal_token: 'x.y.z', refresh_token: before.refresh_token });
    expect(await tokens.token('x.y.z').catch((fault: unknown) => fault)).to.be.instanceOf(LoginNeeded);
  });

  it('two that meet a refused token renew it once, also where one reads it from a slow disk', async () => {
    let slow: Promise<void> | undefined;
    class SlowStore extends FolderStore {
      override async get<T>(key: string): Promise<T | undefined> {
        const value = await super.get<T>(key);
        await slow;
        return value;
      }
    }
    const store = new SlowStore(join(folder, 'tablet'));
    const tokens = new PortalTokens(api, store);
    await tokens.open(await sendLink(site.http, site.participant.id));
    const old = await tokens.token();
    let release = (): void => undefined;
    slow = new Promise((resolve) => (release = resolve));
    const late = tokens.token(old);
    slow = undefined;
    const quick = tokens.token(old);
    // It may wait for the other; if it does not, it has renewed the token by then.
    await Promise.race([quick, sleep(1_000)]);
    release();
    expect(await late).to.equal(await quick);
    expect(await quick).not.to.equal(old);
  });
});
