import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import type { AnchorStudy, Person } from '../anchor/stage.js';
import { checkoutFiles } from '../support/sources.js';
import { until } from '../support/until.js';
import { Desk, clockIn, dayIn } from './stage.js';

/**
 * Each reason that a reminder may have, or that would stop it if it were time: how it comes about, and what a person is
 * told.
 */
interface Case {
  does: (of: AnchorStudy, who: Person, visit: { id: string }) => Promise<unknown>;
  why: string;
  fields?: Record<string, unknown>;
  rules?: Record<string, unknown>;
  day?: string;
}
const FAR = '2031-05-20';
const IS = 'It is not sent: ',
  WILL = 'As things are it will not be sent: ';

describe('Explaining a reminder', function explaining() {
  this.timeout(120_000);
  let desk: Desk;
  before(async () => {
    desk = await Desk.open();
  });
  after(() => desk.close());

  const patch = (path: string, body: object) => desk.stage.admin.expect(200, 'PATCH', path, body);
  const status = (of: AnchorStudy, next: string) => patch(`/api/studies/${of.id}`, { status: next });
  /** What only a provider, or the hourly job, makes of a reminder. */
  const stored = (visit: { id: string }, sql: string) =>
    desk.stage.sql(`update notifications set ${sql} where visit_id = ?`, [visit.id]);

  const cases: Record<string, Case> = {
    withdrawn: { does: (_of, who) => who.withdraw(), why: `${IS}the participant has withdrawn.` },
    completed: { does: (_of, who, visit) => who.complete(visit.id), why: `${IS}the visit is completed.` },
    visit_cancelled: {
      does: (_of, _who, visit) =>
        desk.stage.admin.expect(200, 'POST', `/api/visits/${visit.id}/cancel`, { reason: 'x' }),
      why: `${IS}the visit was cancelled.`,
    },
    superseded: {
      does: (_of, _who, visit) => stored(visit, `status = 'cancelled', reason = 'superseded'`),
      why: `${IS}the visit is not part of the current schedule.`,
    },
    visit_over: { does: () => Promise.resolve(), day: '2024-03-10', why: `${IS}the visit is over.` },
    not_missed: {
      does: (_of, _who, visit) => stored(visit, `status = 'cancelled', reason = 'not_missed'`),
      why: `${IS}the visit is not missed any more.`,
    },
    rule_removed: {
      does: (of) => patch(`/api/studies/${of.id}`, { config: { notifications: { days_before: [3] } } }),
      why: `${IS}the study has no such rule any more.`,
    },
    cancelled_by_staff: {
      does: async (_of, who) => {
        for (const { id } of await desk.of(who))
          await desk.stage.admin.expect(200, 'POST', `/api/notifications/${id}/cancel`);
      },
      why: `${IS}it was cancelled by hand.`,
    },
    erased: {
      does: (_of, _who, visit) => stored(visit, `status = 'cancelled', reason = 'erased'`),
      why: `${IS}what was known of the participant has been erased.`,
    },
    too_late: {
      does: (_of, _who, visit) =>
        patch(`/api/visits/${visit.id}`, {
          target_date: dayIn('UTC', -3),
          window_open: dayIn('UTC', -3),
          window_close: dayIn('UTC', 5),
        }),
      why: `${IS}its time was over for more than 12 hours when it was planned or found.`,
    },
    opted_out: {
      does: (of, who) =>
        desk.stage.sql(
          `insert into notification_opt_outs (study_id, participant_id, channel, source) values (?, ?, 'email', 'link')`,
          [of.id, who.id],
        ),
      why: `${WILL}the participant does not want messages on this channel.`,
    },
    no_address: {
      does: () => Promise.resolve(),
      fields: { email: null },
      why: `${WILL}the participant has no address for this channel.`,
    },
    address_dead: {
      does: async (of, who) => {
        const [{ id } = { id: '' }] = await desk.of(who);
        await desk.stage.sql(
          `insert into dead_addresses (participant_id, channel, study_id, notification_id) values (?, 'email', ?, ?)`,
          [who.id, of.id, id],
        );
      },
      why: `${WILL}messages to this address came back: it is to be corrected.`,
    },
    study_completed: { does: (of) => status(of, 'completed'), why: `${WILL}the study is completed.` },
    study_archived: { does: (of) => status(of, 'archived'), why: `${WILL}the study is archived.` },
    study_paused: { does: (of) => status(of, 'paused'), why: `${WILL}the study was paused at that time.` },
    study_draft: { does: (of) => status(of, 'draft'), why: `${WILL}the study was not active yet at that time.` },
    refused: {
      does: (_of, _who, visit) =>
        stored(
          visit,
          `status = 'failed', reason = 'refused', attempts = 1, last_error = 'the mail server refused the ` +
            `message (550)'`,
        ),
      why: 'It was not sent: the mail server refused the message (550).',
    },
    quiet_hours: {
      does: () => Promise.resolve(),
      day: dayIn('UTC', 1),
      rules: { send_at: clockIn('UTC', -2), quiet_hours: { from: clockIn('UTC', -5), to: clockIn('UTC', 60) } },
      why: 'It waits for its time.',
    },
    not_due: { does: () => Promise.resolve(), why: 'It waits for its time.' },
  };

  for (const [reason, { does, why, fields = {}, rules = {}, day = FAR }] of Object.entries(cases)) {
    it(`${reason}: in words`, async () => {
      const of = await desk.study(rules);
      const who = await desk.person(of, fields);
      const visit = await desk.visit(who, day);
      await does(of, who, visit);
      const told = await until(
        async () => {
          const items = await desk.explain(visit.id);
          return (
            items.find((item) => item.reason === reason) ??
            items.find((item) => item.kind === 'visit_reminder' && item.reason === null && !why.startsWith(IS))
          );
        },
        { what: 'the reminder' },
      );
      expect(told.why).to.equal(why);
      expect(told.rule).to.match(/ at \d\d:\d\d in UTC.*, by email$/);
      if (why.startsWith(IS)) expect(told).to.include({ reason, outcome: 'will_not_be_sent' });
    });
  }

  it('no reason that the code gives is missing above', () => {
    const found = new Set<string>();
    const files = [
      ...checkoutFiles('activities/notifications/reminders'),
      ...checkoutFiles('workflows/domain/notifications'),
      'activities/notifications/send.ts',
      'db/schema.sql',
      'db/notifications/notifications.queries.ts',
      'db/notifications/reminders.queries.ts',
    ];
    for (const file of files) {
      const text = readFileSync(file, 'utf8');
      for (const pattern of [
        /stop\('\w+', '(\w+)'\)/g,
        /stopped: '\w+', reason: '(\w+)'/g,
        /update notifications[^;]*?reason = '(\w+)'/g,
        /stop_reminders\([\s\S]*?\), '(\w+)'\)/g,
        /then '(\w+)' end as stopped/g,
        /when w\.late then '(too_late)'/g,
        /status: 'failed', attempted: true, reason: '(\w+)'/g,
        /status: 'cancelled', reason: '(\w+)'/g,
      ]) {
        for (const [, reason] of text.matchAll(pattern)) found.add(reason!);
      }
    }
    // Of the message with a link, which no visit has.
    found.delete('used');
    expect(found.size).to.be.greaterThan(12);
    expect([...found].filter((reason) => !Object.hasOwn(cases, reason))).to.deep.equal([]);
  });

  it('what was taken and did not arrive is told with what the provider said of it', async () => {
    const who = await desk.person(await desk.study({}));
    const visit = await desk.visit(who, FAR);
    for (const [sql, why] of [
      [`delivery_status = null`, 'It was accepted by the email provider on attempt 1.'],
      [`delivery_status = 'delivered'`, 'It was accepted by the email provider on attempt 1, and has arrived.'],
      [
        `delivery_status = 'undelivered', last_error = 'the mail came back (5.2.2)'`,
        'It was accepted by the email provider on attempt 1, and did not arrive: the mail came back (5.2.2).',
      ],
    ]) {
      await stored(visit, `status = 'sent', sent_at = now(), attempts = 1, ${sql!}`);
      expect((await desk.explain(visit.id)).map((one) => one.why)).to.deep.equal([why]);
    }
  });

  it('where there is none at all, it says why', async () => {
    for (const [rules, why] of [
      [{ channels: [] }, 'names no channel'],
      [{ days_before: [] }, 'names no days before the visit'],
    ] as const) {
      const visit = await desk.visit(await desk.person(await desk.study(rules)), FAR);
      const told = await desk.stage.admin.expect<{ items: object[]; why_none: string | null }>(
        200,
        'GET',
        `/api/visits/${visit.id}/notifications/explain`,
      );
      expect(told.items).to.deep.equal([]);
      expect(told.why_none).to.include(why);
    }
    const visit = await desk.visit(await desk.person(await desk.study({})), FAR);
    expect(
      (
        await desk.stage.admin.expect<{ why_none: string | null }>(
          200,
          'GET',
          `/api/visits/${visit.id}/notifications/explain`,
        )
      ).why_none,
    ).to.equal(null);
  });

  it('is listed by pages', async () => {
    const visit = await desk.visit(await desk.person(await desk.study({ days_before: [1, 3] })), FAR);
    const path = `/api/visits/${visit.id}/notifications/explain`;
    const all = await desk.explain(visit.id);
    expect(all).to.have.length(2);
    const page = await desk.stage.admin.expect<{ items: object[]; total: number }>(
      200,
      'GET',
      `${path}?skip=1&limit=1`,
    );
    expect(page).to.deep.include({ items: all.slice(1), total: 2 });
    expect((await desk.stage.admin.get(`${path}?limit=0`)).status).to.equal(422);
  });
});
