import { expect } from 'chai';
import type { AnchorStudy, Person } from '../anchor/stage.js';
import { Desk, dayIn } from './stage.js';
import type { NotificationView } from './stage.js';

/** What is compared of a reminder. */
const brief = ({ kind, channel, days_before, status, due_at, reason }: NotificationView) => ({
  kind,
  channel,
  days_before,
  status,
  due_at: due_at.slice(0, 16),
  reason,
});

describe('Reminders are planned with their visits', function planning() {
  let desk: Desk;
  before(async () => {
    desk = await Desk.open();
  });
  after(() => desk.close());

  const pending = async (who: Person) => (await desk.of(who)).filter(({ status }) => status === 'pending');
  const moved = async (study: AnchorStudy, fields: Record<string, unknown>) =>
    desk.stage.admin.expect(200, 'PATCH', `/api/studies/${study.id}`, fields);

  it('one for each rule and channel, pending as soon as the visit is there; by email a day before at 09:00 unless the study says otherwise', async () => {
    const anna = await desk.person(await desk.study(undefined));
    const visit = await desk.visit(anna, '2031-05-20');
    expect((await desk.of(anna)).map(brief)).to.deep.equal([
      {
        kind: 'visit_reminder',
        channel: 'email',
        days_before: 1,
        status: 'pending',
        due_at: '2031-05-19T09:00',
        reason: null,
      },
    ]);
    expect((await desk.of(anna))[0]).to.include({
      visit_id: visit.id,
      participant_id: anna.id,
      attempts: 0,
      sent_at: null,
    });
    const ben = await desk.person(
      await desk.study({ channels: ['email', 'sms'], days_before: [0, 7], send_at: '18:30' }),
    );
    await desk.visit(ben, '2031-05-20');
    expect((await desk.of(ben)).map(({ channel, due_at }) => `${channel} ${due_at.slice(0, 16)}`).sort()).to.deep.equal(
      ['email 2031-05-13T18:30', 'email 2031-05-20T18:30', 'sms 2031-05-13T18:30', 'sms 2031-05-20T18:30'],
    );
  });

  for (const [what, fields, zone, date, due] of [
    ['the participant’s own zone', { timezone: 'Asia/Tokyo' }, 'Europe/Berlin', '2031-05-20', '2031-05-19T00:00'],
    ['the study’s zone where it has none, in winter', {}, 'Europe/Berlin', '2031-02-20', '2031-02-19T08:00'],
    ['the same in summer', {}, 'Europe/Berlin', '2031-07-20', '2031-07-19T07:00'],
  ] as const) {
    it(`at the local time of ${what}`, async () => {
      const who = await desk.person(await desk.study({}, { timezone: zone }), fields);
      await desk.visit(who, date);
      expect((await desk.of(who))[0]!.due_at.slice(0, 16)).to.equal(due);
    });
  }

  for (const [send_at, date, due] of [
    ['02:30', '2031-03-31', '2031-03-30T01:30'], // skipped by the clock: 03:30 CEST
    ['02:30', '2031-10-27', '2031-10-26T00:30'], // comes twice: the first, CEST
  ] as const) {
    it(`on a day of a clock change ${send_at} on ${date} is due at ${due} UTC`, async () => {
      const who = await desk.person(await desk.study({ send_at }, { timezone: 'Europe/Berlin' }));
      await desk.visit(who, date);
      expect((await desk.of(who))[0]!.due_at.slice(0, 16)).to.equal(due);
    });
  }

  for (const [send_at, from, to, due] of [
    ['06:00', '22:00', '08:00', '2031-05-19T08:00'],
    ['23:00', '22:00', '08:00', '2031-05-20T08:00'],
    ['12:30', '12:00', '13:00', '2031-05-19T13:00'],
    ['08:00', '22:00', '08:00', '2031-05-19T08:00'],
  ] as const) {
    it(`quiet from ${from} to ${to}: one for ${send_at} is due at ${due}`, async () => {
      const who = await desk.person(await desk.study({ send_at, quiet_hours: { from, to } }));
      await desk.visit(who, '2031-05-20');
      expect((await desk.of(who))[0]!.due_at.slice(0, 16)).to.equal(due);
    });
  }

  it('move with a visit that a new anchor date moves: one pending row for each rule, on the new date', async () => {
    const study = await desk.study({ days_before: [1, 3] });
    for (const day of [10, 40]) await study.window(day);
    const carl = await desk.person(study);
    expect((await carl.set('2031-01-01')).status).to.equal(200);
    const before = await pending(carl);
    expect(before.map(({ due_at }) => due_at.slice(0, 10))).to.deep.equal([
      '2031-01-08',
      '2031-01-10',
      '2031-02-07',
      '2031-02-09',
    ]);
    const answer = await carl.override('2031-01-05');
    expect(answer.status, answer.text).to.equal(200);
    const after = await pending(carl);
    expect(after.map(({ due_at }) => due_at.slice(0, 10))).to.deep.equal([
      '2031-01-12',
      '2031-01-14',
      '2031-02-11',
      '2031-02-13',
    ]);
    expect(after.map(({ id }) => id)).to.deep.equal(before.map(({ id }) => id));
    const live = (await carl.visits()).filter(({ status }) => status === 'scheduled');
    expect(new Set(after.map((row) => row.visit_id))).to.deep.equal(new Set(live.map(({ id }) => id)));
    expect(await desk.of(carl)).to.have.length(4);
  });

  it('end with a window that is taken away, and with a cancelled proposal, and say why', async () => {
    const study = await desk.study({});
    await study.window(10);
    const gone = await study.window(40);
    const dora = await desk.person(study);
    await dora.set('2031-01-01');
    await desk.stage.admin.expect(204, 'DELETE', `/api/schedules/windows/${gone.id}`);
    const { until } = await import('../support/until.js');
    const stopped = await until(async () => (await desk.of(dora)).find(({ status }) => status === 'cancelled'), {
      what: 'the reminder to end',
    });
    expect(stopped).to.include({ reason: 'superseded' });
    expect(stopped.due_at.slice(0, 10)).to.equal('2031-02-09');
    expect(await pending(dora)).to.have.length(1);
  });

  it('are cancelled with a reason when the visit is completed or cancelled or the participant withdraws, and come back when that is taken back', async () => {
    const study = await desk.study({});
    const emil = await desk.person(study);
    const [done, off, left] = [
      await desk.visit(emil, dayIn('UTC', 10)),
      await desk.visit(emil, dayIn('UTC', 11)),
      await desk.visit(emil, dayIn('UTC', 12)),
    ];
    const of = async (visit: { id: string }) =>
      (await desk.of(emil, `&visit_id=${visit.id}`)).map(({ status, reason }) => [status, reason]);
    await desk.stage.admin.expect(200, 'POST', `/api/visits/${done.id}/complete`, {});
    await desk.stage.admin.expect(200, 'POST', `/api/visits/${off.id}/cancel`, { reason: 'asked for it' });
    expect([await of(done), await of(off), await of(left)]).to.deep.equal([
      [['cancelled', 'completed']],
      [['cancelled', 'visit_cancelled']],
      [['pending', null]],
    ]);
    await desk.stage.admin.expect(200, 'POST', `/api/visits/${off.id}/reopen`, { reason: 'by mistake' });
    expect(await of(off)).to.deep.equal([['pending', null]]);
    await emil.withdraw();
    expect([await of(off), await of(left)]).to.deep.equal([[['cancelled', 'withdrawn']], [['cancelled', 'withdrawn']]]);
  });

  it('found too late are suppressed; of a visit that is over they are cancelled', async () => {
    const study = await desk.study({});
    const frida = await desk.person(study);
    const [late, over] = [
      await desk.visit(frida, dayIn('UTC', -3), { window_close: dayIn('UTC', 5) }),
      await desk.visit(frida, '2024-03-10'),
    ];
    const [of] = await desk.of(frida, `&visit_id=${late.id}`);
    expect([of!.status, of!.reason]).to.deep.equal(['suppressed', 'too_late']);
    expect(
      (await desk.of(frida, `&visit_id=${over.id}&kind=visit_reminder`)).map(({ status, reason }) => [status, reason]),
    ).to.deep.equal([['cancelled', 'visit_over']]);
    await desk.stage.admin.expect(200, 'PATCH', `/api/visits/${late.id}`, { target_date: dayIn('UTC', 4) });
    expect((await desk.of(frida, `&visit_id=${late.id}`)).map(({ status }) => status)).to.deep.equal(['pending']);
  });

  it('follow the study’s rules, the zone of participant, site and study', async () => {
    const study = await desk.study({});
    const site = await desk.stage.admin.expect(201, 'POST', `/api/studies/${study.id}/sites`, { site_code: 'A' });
    const gina = await desk.person(study, { site_id: site.id });
    await desk.visit(gina, '2031-05-20');
    const due = async () => (await pending(gina)).map(({ channel, due_at }) => `${channel} ${due_at.slice(0, 16)}`);
    await moved(study, { config: { notifications: { days_before: [2], send_at: '10:00', channels: ['sms'] } } });
    expect(await due()).to.deep.equal(['sms 2031-05-18T10:00']);
    expect((await desk.of(gina)).find(({ channel }) => channel === 'email')).to.include({
      status: 'cancelled',
      reason: 'rule_removed',
    });
    await moved(study, { timezone: 'Asia/Tokyo' });
    expect(await due()).to.deep.equal(['sms 2031-05-18T01:00']);
    await desk.stage.admin.expect(200, 'PATCH', `/api/sites/${site.id}`, { timezone: 'America/New_York' });
    expect(await due()).to.deep.equal(['sms 2031-05-18T14:00']);
    await desk.stage.admin.expect(200, 'PATCH', `/api/participants/${gina.id}`, { timezone: 'Europe/Berlin' });
    expect(await due()).to.deep.equal(['sms 2031-05-18T08:00']);
  });

  for (const [what, notifications, path, code] of [
    ['an unknown channel', { channels: ['pigeon'] }, 'config.notifications.channels.0', 'ENUM'],
    ['a time that is none', { send_at: '25:00' }, 'config.notifications.send_at', 'PATTERN'],
    [
      'quiet hours without an end',
      { quiet_hours: { from: '22:00' } },
      'config.notifications.quiet_hours.to',
      'REQUIRED',
    ],
    ['days that are no number', { days_before: ['one'] }, 'config.notifications.days_before.0', 'TYPE'],
    [
      'a variable that there is not',
      { languages: { de: { visit_reminder: { subject: 'Hallo', body: 'Am {{nonsense}} um {{visit_name}}' } } } },
      'config.notifications.languages.de.visit_reminder.body',
      'UNKNOWN_VARIABLE',
    ],
    [
      'a variable that its kind of message has not',
      { languages: { de: { magic_link: { subject: 'Hallo', body: 'Am {{target_date}}' } } } },
      'config.notifications.languages.de.magic_link.body',
      'UNKNOWN_VARIABLE',
    ],
    [
      'a kind of message that there is not',
      { languages: { de: { telegram: { subject: 'x', body: 'y' } } } },
      'config.notifications.languages.de.telegram',
      'UNKNOWN_FIELD',
    ],
    ['a field that there is not', { chanels: [] }, 'config.notifications.chanels', 'UNKNOWN_FIELD'],
  ] as const) {
    it(`settings with ${what} are refused with the path`, async () => {
      const study = await desk.study(undefined);
      for (const answer of [
        await desk.stage.admin.patch(`/api/studies/${study.id}`, { config: { notifications } }),
        await desk.stage.admin.post('/api/studies', { study_code: 'x', study_name: 'x', config: { notifications } }),
      ]) {
        expect(answer.status, answer.text).to.equal(422);
        expect(answer.body.errors[0]).to.include({ path, code });
      }
    });
  }
});
