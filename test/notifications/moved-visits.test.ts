import { expect } from 'chai';
import fc from 'fast-check';
import type { Person } from '../anchor/stage.js';
import { asMuchAs } from '../support/in-full.js';
import { Receiver } from '../support/receiver.js';
import { until } from '../support/until.js';
import { Desk, clockIn, dayIn, daytimeZone } from './stage.js';

const zone = daytimeZone();
const SENT_BEFORE = 'it was sent for this target date before';

describe('Reminders of a visit that moves', function moving() {
  this.timeout(240_000);
  let desk: Desk;
  before(async () => {
    desk = await Desk.open();
  });
  after(() => desk.close());

  /** Each reminder of the visit: how it ended, and for which target date. */
  const told = async (visitId: string) =>
    (await desk.explain(visitId)).map(({ status, target_date }) => `${status} ${target_date}`).sort();
  const sent = (visitId: string, date: string) =>
    desk.sweep(
      async () => ((await told(visitId)).includes(`sent ${date}`) ? true : undefined),
      'the reminder to be sent',
    );
  const [first, later, last] = [dayIn(zone, 1), dayIn(zone, 21), dayIn(zone, 41)];

  for (const [how, move] of [
    ['an override', (who: Person, _visit: string, days: number) => who.override(dayIn(zone, -9 + days))],
    [
      'a PATCH',
      (_who: Person, visit: string, days: number) => {
        const date = dayIn(zone, 1 + days);
        return desk.stage.admin.patch(`/api/visits/${visit}`, {
          target_date: date,
          window_open: date,
          window_close: date,
        });
      },
    ],
  ] as const) {
    it(`by ${how} after one was sent: one is pending for each new date, and none is sent twice for one date`, async () => {
      const study = await desk.study({ send_at: clockIn(zone, -10) }, { timezone: zone });
      await study.window(10);
      const who = await desk.person(study);
      expect((await who.set(dayIn(zone, -9))).status).to.equal(200);
      const current = async () => (await who.standing())[0]!.id;
      await sent(await current(), first);
      const go = async (days: number) => {
        const answer = await move(who, await current(), days);
        expect(answer.status, answer.text).to.equal(200);
      };
      await go(20);
      expect(await told(await current())).to.deep.equal([`pending ${later}`, `sent ${first}`]);
      const [pending] = (await desk.of(who)).filter(({ status }) => status === 'pending');
      expect(pending!.visit_id).to.equal(await current());
      const due = new Intl.DateTimeFormat('en-CA', { timeZone: zone }).format(new Date(pending!.due_at));
      expect(due).to.equal(dayIn(zone, 20));
      await go(40);
      expect(await told(await current())).to.deep.equal([`pending ${last}`, `sent ${first}`]);
      await go(0);
      expect(await told(await current()), 'moved back').to.deep.equal([`cancelled ${last}`, `sent ${first}`]);
      expect((await desk.explain(await current())).map(({ why }) => why)).to.include(`It is not sent: ${SENT_BEFORE}.`);
      await desk.sweep(() => Promise.resolve(true), 'a run');
      expect(await desk.mailsTo(await desk.addressOf(who))).to.have.length(1);
      await go(20);
      expect(await told(await current()), 'moved away again').to.deep.equal([`pending ${later}`, `sent ${first}`]);
      expect(await study.chainVerifies()).to.equal(true);
    });
  }

  it('while one is with its provider: what was sent names the old date, and one is pending for the new', () =>
    desk.alone(async () => {
      const gateway = await Receiver.open();
      try {
        const study = await desk.study({ channels: ['push'], send_at: clockIn(zone, -10) }, { timezone: zone });
        const who = await desk.person(study);
        await desk.stage.admin.expect(201, 'POST', '/api/notifications/register', {
          participant_id: who.id,
          platform: 'android',
          token: `device of ${who.id}`,
        });
        const visit = await desk.visit(who, first);
        let moved: { status: number; text: string } | undefined;
        gateway.answer = ({ body }, response) => {
          if (!body.includes(who.id)) return void response.writeHead(503).end();
          void desk.stage.admin
            .patch(`/api/visits/${visit.id}`, { target_date: later, window_open: later, window_close: later })
            .then((answer) => {
              moved = answer;
              response.writeHead(200).end();
            });
        };
        await desk.sweepHere({ pushUrl: `${gateway.url}/push`, pushPerMinute: 0 })();
        expect(moved?.status, moved?.text).to.equal(200);
        expect(await told(visit.id)).to.deep.equal([`pending ${later}`, `sent ${first}`]);
        const [message] = gateway.received.filter(({ body }) => body.includes(who.id));
        expect(message!.body).to.include(first);
        expect(String(message!.headers['idempotency-key'])).to.include(first);
      } finally {
        await gateway.close();
      }
    }));

  const LIVES = asMuchAs(8, 12),
    ROUNDS = asMuchAs(4, 6);
  it('over random moves and runs: at most one message for each rule and target date, and one pending for the present date', () =>
    desk.alone(async () => {
      const gateway = await Receiver.open();
      try {
        // The rule of so many days before is due now where the visit is so many days ahead.
        const rules = [0, 1, 2];
        const study = await desk.study(
          { channels: ['push'], days_before: rules, send_at: clockIn(zone, -10) },
          { timezone: zone },
        );
        const sweep = desk.sweepHere({ pushUrl: `${gateway.url}/push`, pushPerMinute: 0 });
        const taken: { to: string; date: string; key: string }[] = [];
        let way = 'takes';
        gateway.answer = ({ body, headers }, response) => {
          const { message } = JSON.parse(body) as { message: { token: string; notification: { body: string } } };
          if (way === 'is down') return void response.writeHead(503).end();
          const date = /\d{4}-\d\d-\d\d/.exec(message.notification.body)![0];
          taken.push({ to: message.token, date, key: String(headers['idempotency-key']) });
          if (way === 'loses its answer') response.destroy();
          else response.writeHead(200).end();
        };
        const round = fc.record({
          days: fc.array(fc.constantFrom(0, 1, 2, 3, 20), { minLength: LIVES, maxLength: LIVES }),
          way: fc.constantFrom('takes', 'takes', 'is down', 'loses its answer'),
        });
        await fc.assert(
          fc.asyncProperty(fc.array(round, { minLength: ROUNDS, maxLength: ROUNDS }), async (rounds) => {
            const people = await Promise.all(
              Array.from({ length: LIVES }, async () => {
                const who = await desk.person(study);
                const token = `device of ${who.id}`;
                await desk.stage.admin.expect(201, 'POST', '/api/notifications/register', {
                  participant_id: who.id,
                  platform: 'android',
                  token,
                });
                return { who, token, visit: await desk.visit(who, dayIn(zone, 1)) };
              }),
            );
            // At last three of four are due, and their messages arrive.
            const last = { days: Array.from({ length: LIVES }, (_, i) => i % 4), way: 'takes' };
            for (const one of [...rounds, { days: rounds.at(-1)!.days, way: 'takes' }, last]) {
              await Promise.all(
                people.map(({ visit }, i) => {
                  const date = dayIn(zone, one.days[i]!);
                  return desk.stage.admin.expect(200, 'PATCH', `/api/visits/${visit.id}`, {
                    target_date: date,
                    window_open: date,
                    window_close: date,
                  });
                }),
              );
              way = one.way;
              await desk.stage.sql(
                `update notifications set attempt_at = now() where study_id = ? and status = 'pending' and attempts > 0 and due_at <= now()`,
                [study.id],
              );
              await sweep();
              for (const [i, { visit, token }] of people.entries()) {
                const items = await desk.explain(visit.id);
                const story = JSON.stringify({
                  rounds,
                  i,
                  items: items.map(({ why: _why, rule: _rule, ...row }) => row),
                });
                const sentRows = items
                  .filter(({ status }) => status === 'sent')
                  .map(({ days_before, target_date }) => `${days_before} ${target_date}`);
                expect(new Set(sentRows).size, `sent once for each rule and date: ${story}`).to.equal(sentRows.length);
                const date = dayIn(zone, one.days[i]!);
                for (const rule of rules) {
                  const present = items.filter((row) => row.days_before === rule && row.target_date === date);
                  const pending = items.filter((row) => row.days_before === rule && row.status === 'pending');
                  expect(
                    present.filter(({ status }) => status === 'pending').length,
                    `what is pending is for the present date: ${story}`,
                  ).to.equal(pending.length);
                  const ends = new Set(present.map(({ status, reason }) => `${status} ${reason}`));
                  const tooLate = ends.has('suppressed too_late');
                  expect(pending.length, `one is pending unless it was sent or its time is over: ${story}`).to.equal(
                    ends.has('sent null') || tooLate ? 0 : 1,
                  );
                }
                // A gateway that knows a key already has delivered the message: each date is told once for each rule.
                const mine = taken.filter(({ to }) => to === token);
                for (const day of new Set(mine.map((of) => of.date)))
                  expect(
                    new Set(mine.filter((of) => of.date === day).map(({ key }) => key)).size,
                    `messages for ${day}: ${story}`,
                  ).to.be.at.most(rules.length);
              }
            }
          }),
          { numRuns: Number(process.env.PROPERTY_SERVICE_RUNS ?? 1), endOnFailure: true },
        );
        expect(taken.length).to.be.at.least((LIVES * 3) / 4);
        await until(async () => (await study.chainVerifies()) || undefined, { what: 'the chain to verify' });
      } finally {
        await gateway.close();
      }
    }));
});

describe('What is yet to be sent', function () {
  this.timeout(120_000);
  let desk: Desk;
  before(async () => {
    desk = await Desk.open();
  });
  after(() => desk.close());

  /** An hour west of `zone`, where it is the same day. */
  const west = `Etc/GMT${((offset) => (offset > 0 ? `-${offset}` : `+${-offset}`))(11 - new Date().getUTCHours())}`;
  const patch = (path: string, fields: object) => desk.stage.admin.expect(200, 'PATCH', path, fields);
  const HOUR = 3_600_000;
  for (const [what, change, hours] of [
    [
      'the zone of the participant',
      (_: string, who: string) => patch(`/api/participants/${who}`, { timezone: west }),
      1,
    ],
    [
      'the zone of the site',
      (_: string, _who: string, site: string) => patch(`/api/sites/${site}`, { timezone: west }),
      1,
    ],
    ['the zone of the study', (study: string) => patch(`/api/studies/${study}`, { timezone: west }), 1],
    [
      'the hour of the study',
      (study: string) => patch(`/api/studies/${study}`, { config: { notifications: { send_at: '21:00' } } }),
      -2,
    ],
  ] as const) {
    it(`of a missed visit follows ${what}`, async () => {
      const study = await desk.study({ send_at: '23:00', channels: ['email', 'sms'] }, { timezone: zone });
      const site = await desk.stage.admin.expect<{ id: string }>(201, 'POST', `/api/studies/${study.id}/sites`, {
        site_code: 'S1',
        name: 'A site',
        ...(what.endsWith('site') && { timezone: zone }),
      });
      const who = await desk.person(study, {
        site_code: 'S1',
        phone: '+491700000000',
        ...(what.endsWith('participant') && { timezone: zone }),
      });
      await desk.visit(who, dayIn(zone, -1));
      const missed = async () =>
        (await desk.of(who)).flatMap(({ kind, channel, status, due_at }) =>
          kind === 'visit_missed' ? [[channel, status, Date.parse(due_at)] as const] : [],
        );
      const before = await missed();
      expect(before.map(([channel, status]) => `${channel} ${status}`)).to.have.members([
        'email pending',
        'sms pending',
      ]);
      await change(study.id, who.id, site.id);
      expect(await missed()).to.have.deep.members(
        before.map(([channel, status, due]) => [channel, status, due + hours * HOUR]),
      );
    });
  }

  it('of a visit that moves has not been tried for its new time', async () => {
    const who = await desk.person(await desk.study(undefined));
    const visit = await desk.visit(who, '2031-05-20');
    await desk.stage.sql(
      `update notifications set attempts = 3, last_error = 'ECONNREFUSED' where participant_id = ? returning id`,
      [who.id],
    );
    const move = (day: string) =>
      patch(`/api/visits/${visit.id}`, { target_date: day, window_open: day, window_close: day });
    await move('2031-05-20');
    expect((await desk.of(who))[0]).to.include({ attempts: 3 });
    await move('2031-06-20');
    expect(await desk.of(who)).to.have.length(1);
    expect((await desk.of(who))[0]).to.include({ status: 'pending', attempts: 0, last_error: null });
  });
});
