import { dirname, join } from 'node:path';
import { expect } from 'chai';
import jwt from 'jsonwebtoken';
import { keep } from '../../scripts/runtime/keys.js';
import { Stage } from '../anchor/stage.js';
import { Cluster } from '../support/cluster.js';
import { temporaryDataDir } from '../support/service.js';
import { Http, login, newParticipant, newStudy, user } from '../support/http.js';
import type { Loose } from '../support/http.js';
import { until } from '../support/until.js';
import { WrongClock, faketime } from '../support/wrong-clock.js';
import { faultsOf } from './checker.js';
import { emptyLedger } from './ledger.js';
import type { Ledger } from './ledger.js';
import { Lives } from './lives.js';
import { observe, waiting } from './observe.js';
import { SETTINGS, Setting } from './setting.js';

const DAY = 86_400,
  HOUR = 3_600,
  MINUTE = 60;
/** How far from the database's time something may be that was just done, ms. */
const NEAR = 10_000;
const LIVES = 6,
  CLIENTS = 3;
const TOKEN_MINUTES = 30;

describe('The clocks of an API process and of the worker jump, while those of PostgreSQL, Temporal and another API process go on', function () {
  this.timeout(240_000);
  let clock: WrongClock,
    cluster: Cluster,
    setting: Setting,
    stage: Stage,
    ledger: Ledger,
    lives: Lives,
    wrong: string,
    right: string;
  before(async function () {
    const library = faketime();
    // Its clocks jump from the time that is: with a moved one, Temporal's alone would be far from all the others.
    if (library === undefined || process.env.FAKETIME !== undefined) return this.skip();
    clock = new WrongClock(library, join(dirname(temporaryDataDir()), 'clock'));
    cluster = await Cluster.start({
      apis: 2,
      settings: { ...SETTINGS, ACCESS_TOKEN_MINUTES: String(TOKEN_MINUTES) },
      own: (name) => (name === 'api2' ? {} : clock.environment),
    });
    [setting, stage] = [await Setting.make(cluster), await Stage.open(cluster.run)];
    ledger = emptyLedger(setting.studies);
    lives = new Lives(setting, ledger, 1);
    [wrong, right] = cluster.apiUrls as [string, string];
  });
  after(async () => {
    await stage?.close();
    await setting?.close();
    await cluster?.stop();
  });

  const near = (instant: string | number) => Math.abs(new Date(instant).getTime() - Date.now());
  /** Sets it, and waits until the API's process has it. */
  async function jump(seconds: number): Promise<void> {
    clock.set(seconds);
    await until(
      async () => near(Date.parse((await fetch(`${wrong}/api/health`)).headers.get('date')!) - seconds * 1000) < NEAR,
      { what: 'the clock to have jumped' },
    );
  }

  /** @param early a token that the process with the right clock gave */
  async function deadlinesStand(early: string): Promise<void> {
    const { admin_email: email, admin_password: password } = cluster.run;
    // Tokens: each process takes those of the other, and they live for as long as they are to.
    const late = (await login(wrong, email, password ?? '')).tokens.access_token;
    const { iat, exp } = jwt.decode(late) as jwt.JwtPayload;
    expect(near(iat! * 1000), 'made now').to.be.below(NEAR);
    expect(exp! - iat!).to.equal(TOKEN_MINUTES * MINUTE);
    for (const token of [early, late])
      for (const at of [wrong, right])
        expect(
          (await new Http(at, token).get('/api/auth/me')).status,
          `a token at ${at === wrong ? 'the wrong' : 'the right'} clock`,
        ).to.equal(200);
    const { iss, aud, sub, role, sid, epoch, jti } = jwt.decode(late) as jwt.JwtPayload;
    const old = Math.floor(Date.now() / 1000) - TOKEN_MINUTES * MINUTE;
    const over = jwt.sign(
      { iss, aud, sub, role, sid, epoch, jti, iat: old - MINUTE, exp: old },
      keep(cluster.dir.keys, 'JWT_SECRET'),
    );
    for (const at of [wrong, right])
      expect((await new Http(at, over).get('/api/auth/me')).status, 'a token that is over').to.equal(401);

    // The minute of a caller is a minute for all processes, whichever counted first.
    const caller = await user(new Http(right, early), 'coordinator', { study_ids: [setting.studies.hand] });
    for (const at of [wrong, right]) {
      const { headers } = await new Http(at, caller.token).get('/api/auth/me');
      expect(Number(headers.get('x-ratelimit-reset')) * 1000 - Date.now(), 'a minute').to.be.below(
        MINUTE * 1000 + NEAR,
      );
    }
    const rows = await stage.sql<{ left: number }>(
      'select max(expire) - extract(epoch from clock_timestamp())::float8 * 1000 as left from rate_limits',
    );
    expect(Number(rows[0]!.left), 'no minute ends later than in a minute').to.be.below(MINUTE * 1000 + NEAR);

    // What is noted is noted by the time that is; what is to come is not over.
    const here = new Http(wrong, late),
      study = await newStudy(here),
      person = await newParticipant(here, study.id);
    const path = `/api/studies/${study.id}/participants/${person.id}`;
    expect(
      near(
        (await here.expect<Loose & { signed_at: string }>(201, 'POST', `${path}/consents`, { status: 'signed' }))
          .signed_at,
      ),
      'signed now',
    ).to.be.below(NEAR);
    const soon = (sign: number) => new Date(Date.now() + sign * 2 * MINUTE * 1000).toISOString();
    expect(
      (await here.post(`/api/participants/${person.id}/withdraw`, { reason: 'moved', withdrawn_at: soon(1) })).body
        .errors[0]?.code,
      'in two minutes',
    ).to.equal('IN_FUTURE');
    expect(
      (await here.post(`/api/participants/${person.id}/withdraw`, { reason: 'moved', withdrawn_at: soon(-1) })).status,
      'two minutes ago',
    ).to.equal(200);
    const { status, dependencies } = await here.expect<Loose>(200, 'GET', '/api/health/detailed');
    expect(status, JSON.stringify(dependencies)).to.equal('ok');
  }

  for (const [what, { seconds, first }] of Object.entries({
    'a day forwards': { seconds: DAY, first: 0 },
    'an hour backwards': { seconds: -HOUR, first: 12 },
  })) {
    it(`${what}: what is acknowledged is done, once, and no deadline is moved by it`, async () => {
      const early = (await login(right, cluster.run.admin_email, cluster.run.admin_password ?? '')).tokens.access_token;
      let next = first;
      const led = Promise.all(
        Array.from({ length: CLIENTS }, async () => {
          for (let n = next++; n < first + LIVES; n = next++) await lives.lead(n);
        }),
      );
      try {
        await jump(seconds);
        await deadlinesStand(early);
      } finally {
        await Promise.allSettled([led]);
      }
      await led;
      await until(async () => (await waiting(stage, Object.values(ledger.studies))).length === 0, {
        timeout: 120_000,
        interval: 500,
        what: 'everything to be done',
      });
      await until(
        async () => {
          const faults = faultsOf(ledger, await observe(stage, setting, ledger));
          if (faults.length > 0) throw new Error(faults.join('\n'));
          return true;
        },
        { timeout: 90_000, interval: 500, what: 'everything to be as acknowledged' },
      );
      const earlier = await stage.sql(
        `select chain, seq from (select chain, seq, created_at < lag(created_at) over (partition by chain order by seq) as earlier from audit_log) r where earlier`,
      );
      expect(earlier, 'records older than the one before them').to.deep.equal([]);
      await jump(0);
    });
  }
});
