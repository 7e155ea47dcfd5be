import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import fc from 'fast-check';
import { portalSession } from '../../api/http/security/portal.js';
import type { Settings } from '../../settings.js';
import type { AnchorStudy, Person } from '../anchor/stage.js';
import { clockIn, dayIn } from '../notifications/stage.js';
import type { Desk } from '../notifications/stage.js';
import { Http } from '../support/http.js';
import { asMuchAs } from '../support/in-full.js';
import type { Receiver } from '../support/receiver.js';
import { until } from '../support/service.js';
import type { Service } from '../support/service.js';

/** Messages that the gateway has taken when the worker dies. */
const KILLED_AFTER = 5;
const LIVES = asMuchAs(16, 30),
  RUNS = Number(process.env.PROPERTY_SERVICE_RUNS ?? 1);
/** Days from an anchor date to its visit. */
const TARGET_DAY = 10;

/** A zone, by its hours ahead of UTC, in which all of the test is of one day; those of the lives count from it. */
const BASE = [0, 1].includes(new Date().getUTCHours()) ? 4 : [22, 23].includes(new Date().getUTCHours()) ? -4 : 0;
/** Mostly a visit of tomorrow, whose reminder is due today. */
const days = fc.constantFrom(0, 0, 0, 1, 3);
/** Mostly ahead of the base: due some hours ago. */
const hours = fc.integer({ min: -3, max: 10 });

type Step =
  | { kind: 'move'; days: number }
  | { kind: 'zone'; hours: number }
  | { kind: 'opt'; out: boolean }
  | { kind: 'complete' }
  | { kind: 'withdraw' };
/** Where the visit is tomorrow and the zone the base, its reminder has been due for some minutes. */
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('move' as const), days }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('zone' as const), hours }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('opt' as const), out: fc.boolean() }) },
  { weight: 1, arbitrary: fc.constantFrom({ kind: 'complete' as const }, { kind: 'withdraw' as const }) },
);
const life = fc.record({ zone: hours, days, steps: fc.array(step, { maxLength: 3 }) });
/** Whose reminder has been due for some minutes, and stays so: some messages there are in any run. */
const QUIET: { zone: number; days: number; steps: Step[] } = { zone: 0, days: 0, steps: [] };
const QUIETS = KILLED_AFTER + 1;
/**
 * What the gateway does with a message; once in each run the worker dies after it was taken and before that is noted.
 */
const ways = fc.array(fc.constantFrom('takes', 'takes', 'is down', 'loses its answer'), {
  minLength: 10,
  maxLength: 10,
});
/** Whole hours ahead of UTC; the names count the other way. */
const zoneOf = (hours: number): string => (hours === 0 ? 'UTC' : `Etc/GMT${hours > 0 ? '-' : '+'}${Math.abs(hours)}`);
const base = zoneOf(BASE);

interface Setting {
  /** Whose gateway for text messages is the one beside it. */
  service: Service;
  gateway: Receiver;
  desk: Desk;
}

/**
 * Properties of reminders over random lives, with a worker that is killed. They have the gateway for themselves.
 * @param of a service that sweeps every few seconds
 */
export function remindersOverRandomLives(of: () => Setting): void {
  let gateway: Receiver;
  let service: Service;
  let desk: Desk;
  before(() => {
    ({ gateway, service, desk } = of());
  });

  const keys = (name: string) => readFileSync(join(service.dataDir, 'keys', name), 'utf8').trim();
  const asPortal = (id: string) =>
    new Http(
      service.run.api,
      portalSession(
        {
          JWT_SECRET: keys('JWT_SECRET'),
          SESSION_SECRET: keys('SESSION_SECRET'),
          ACCESS_TOKEN_MINUTES: 30,
          PUBLIC_URL: undefined,
        } as unknown as Settings,
        { kind: 'participant', id },
      ).token,
    );
  const dateFor = (days: number) => dayIn(base, 1 + days - TARGET_DAY);

  /**
   * While the worker is away an anchor’s messages answer 503 and change nothing; anyone who sent them sends them again.
   */
  const answered = (ask: () => Promise<{ status: number }>): Promise<number> =>
    until(
      async () => {
        const { status } = await ask();
        return status === 503 ? undefined : status;
      },
      { interval: 500, what: 'the service to be whole again' },
    );

  async function take(person: Person, one: Step): Promise<void> {
    const { admin } = desk.stage;
    switch (one.kind) {
      case 'move':
        expect([200, 400, 409]).to.include(await answered(() => person.override(dateFor(one.days))));
        return;
      case 'zone':
        await admin.expect(200, 'PATCH', `/api/participants/${person.id}`, { timezone: zoneOf(BASE + one.hours) });
        return;
      // Who has withdrawn has no portal.
      case 'opt':
        expect([200, 403]).to.include(
          (await asPortal(person.id).patch('/api/portal/preferences', { sms: !one.out })).status,
        );
        return;
      case 'complete': {
        const [visit] = await person.standing();
        if (visit) expect([200, 409]).to.include((await admin.post(`/api/visits/${visit.id}/complete`, {})).status);
        return;
      }
      case 'withdraw':
        expect([200, 409]).to.include(
          (await admin.post(`/api/participants/${person.id}/withdraw`, { reason: 'left' })).status,
        );
    }
  }

  interface Taken {
    id: string;
    key: string;
  }
  async function run(lives: { zone: number; days: number; steps: Step[] }[], behaviour: string[]): Promise<void> {
    const taken: Taken[] = [];
    const victim = service.current().pids.worker!;
    let killed = false,
      ready = false;
    gateway.answer = ({ body, headers }, response, count) => {
      const way = behaviour[count % behaviour.length]!;
      if (way === 'is down' || !ready) return void response.writeHead(503).end();
      taken.push({ id: (JSON.parse(body) as { id: string }).id, key: String(headers['idempotency-key']) });
      if (!killed && taken.length === KILLED_AFTER) {
        killed = true;
        process.kill(victim, 'SIGKILL');
      } else if (way === 'loses its answer') response.destroy();
      else response.writeHead(200).end();
    };
    const study: AnchorStudy = await desk.study({ channels: ['sms'], send_at: clockIn(base, -10) });
    await study.window(TARGET_DAY);
    const people = await Promise.all(
      lives.map(async (of, i) => {
        const person = await study.person({ phone: `+49${Date.now()}${i}`, timezone: zoneOf(BASE + of.zone) });
        expect((await person.set(dateFor(of.days))).status).to.equal(200);
        return person;
      }),
    );
    ready = true;
    // Moves meet the sweeps, which go on all the while.
    await Promise.all(
      people.map(async (person, i) => {
        for (const one of lives[i]!.steps) await take(person, one);
      }),
    );
    await until(() => killed, { what: 'the worker to be killed between a message and the note of it' });
    behaviour.fill('takes');
    // Its leases are over: the worker that replaces it continues what it held.
    await until(() => service.current().pids.worker !== victim, { what: 'a worker in its place' });
    await desk.stage.sql(
      `update notifications set claimed_until = now(), attempt_at = now() where study_id = ? and status = 'pending' and claimed_until > now()`,
      [study.id],
    );
    const rows = await until(
      async () => {
        const found = await desk.stage.sql<{
          id: string;
          participant_id: string;
          status: string;
          reason: string | null;
          is_due: boolean;
          attempts: number;
          target_date: string | null;
          is_present: boolean;
        }>(
          `select id, participant_id, status, reason, attempts, target_date, visit_key is not null as is_present, due_at <= now() as is_due from notifications where study_id = ? and kind = 'visit_reminder'`,
          [study.id],
        );
        return found.every(({ status, is_due }) => status !== 'pending' || !is_due) ? found : undefined;
      },
      { timeout: 90_000, what: 'nothing that is due to be left' },
    );
    expect(rows.filter(({ status }) => status === 'pending').length).to.be.at.most(lives.length);
    const sent = rows.filter(({ status }) => status === 'sent');
    expect(new Set(sent.map((row) => `${row.participant_id} ${row.target_date}`)).size, 'one for each date').to.equal(
      sent.length,
    );
    for (const row of rows) {
      const times = taken.filter(({ id, key }) => id === row.id && key.endsWith(`.${row.target_date}`));
      const story = JSON.stringify({
        row,
        times,
        life: lives[people.findIndex(({ id }) => id === row.participant_id)],
      });
      expect(new Set(times.map(({ key }) => key)).size, `at most once, as the gateway counts: ${story}`).to.be.at.most(
        1,
      );
      if (row.status === 'sent') expect(times.length, `what is called sent was: ${story}`).to.be.greaterThan(0);
      const person = people.find(({ id }) => id === row.participant_id)!;
      const { status } = await desk.stage.admin.expect<{ status: string }>(
        200,
        'GET',
        `/api/participants/${person.id}`,
      );
      const [visit] = await person.standing();
      const wanted =
        status === 'enrolled' &&
        visit?.status !== 'completed' &&
        (await desk.stage.sql('select 1 from notification_opt_outs where participant_id = ?', [person.id])).length ===
          0;
      // It stayed true, or it was not true when its time came and is suppressed for that.
      if (wanted && row.is_due && row.is_present && !['opted_out', 'already_sent'].includes(row.reason ?? ''))
        expect([row.status, times.length > 0], `exactly once: ${story}`).to.deep.equal(['sent', true]);
    }
    expect(rows.filter(({ status }) => status === 'sent').length, 'lives that end with a message').to.be.at.least(
      QUIETS,
    );
    expect(await study.chainVerifies()).to.equal(true);
  }

  it('each visit’s reminder is sent at most once for each target date, and exactly once where it stayed true', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(life, { minLength: LIVES, maxLength: LIVES }), ways, (lives, behaviour) =>
        run([...Array<typeof QUIET>(QUIETS).fill(QUIET), ...lives], [...behaviour]),
      ),
      { numRuns: RUNS, endOnFailure: true },
    );
  });
}
