import { expect } from 'chai';
import { until } from '../support/until.js';
import type { Loose } from '../support/http.js';
import { Desk, clockIn, dayIn, daytimeZone } from './stage.js';
import type { NotificationView } from './stage.js';

const zone = daytimeZone();

describe('Reminders that are sent again', function () {
  this.timeout(120_000);
  let desk: Desk;
  before(async () => {
    desk = await Desk.open();
  });
  after(() => desk?.close());

  /** A reminder that was sent, of a visit tomorrow. */
  async function reminded() {
    const study = await desk.study({ send_at: clockIn(zone, -10) }, { timezone: zone });
    const who = await desk.person(study);
    const visit = await desk.visit(who, dayIn(zone, 1));
    const first = await desk.sweep(
      async () => (await desk.of(who)).find(({ status }) => status === 'sent'),
      'the reminder',
    );
    const resend = () => desk.stage.admin.post<Loose & NotificationView>(`/api/notifications/${first.id}/resend`);
    const status = (to: string) => desk.stage.admin.expect(200, 'PATCH', `/api/studies/${study.id}`, { status: to });
    return { who, visit, resend, status };
  }

  it('are told for the date that they named, also when the visit moves afterwards', async () => {
    const { who, visit, resend } = await reminded();
    const again = await resend();
    expect(again.status).to.equal(202);
    await until(async () => (await desk.of(who)).find(({ id }) => id === again.body.id)?.status === 'sent', {
      what: 'the second reminder',
    });
    const [named, later] = [dayIn(zone, 1), dayIn(zone, 21)];
    await desk.stage.admin.expect(200, 'PATCH', `/api/visits/${visit.id}`, {
      target_date: later,
      window_open: later,
      window_close: later,
    });
    const told = (await desk.explain(String(visit.id))).map(({ status, target_date }) => `${status} ${target_date}`);
    expect(told.sort()).to.deep.equal([`pending ${later}`, `sent ${named}`, `sent ${named}`]);
  });

  it('not of a study that has ended or is paused, nor of a visit that is done', async () => {
    const { who, visit, resend, status } = await reminded();
    for (const [to, why] of [
      ['paused', 'the study was paused at that time'],
      ['completed', 'the study is completed'],
      ['archived', 'the study is archived'],
    ] as const) {
      await status(to);
      const refused = await resend();
      expect([refused.status, refused.body.code], to).to.deep.equal([409, 'REMINDER_NOT_SENT']);
      expect(refused.body.detail).to.equal(`No reminder is sent: ${why}.`);
    }
    await status('active');
    const again = await resend();
    expect(again.status).to.equal(202);
    await until(async () => (await desk.of(who)).find(({ id }) => id === again.body.id)?.status === 'sent', {
      what: 'the second reminder',
    });
    await desk.stage.admin.expect(200, 'POST', `/api/visits/${visit.id}/complete`, {});
    expect((await resend()).body).to.include({
      code: 'REMINDER_NOT_SENT',
      detail: 'No reminder is sent: the visit is completed.',
    });
    expect(await desk.mailsTo(await desk.addressOf(who))).to.have.length(2);
  });
});
