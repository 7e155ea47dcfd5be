import { expect } from 'chai';
import { until } from '../support/until.js';
import type { Loose } from '../support/http.js';
import { Desk, dayIn } from './stage.js';
import type { NotificationView } from './stage.js';

// The two are 25 hours apart: it is never the same day there.
const WEST = 'Pacific/Niue',
  EAST = 'Pacific/Kiritimati';

describe('Reminders to participants far from their site', function () {
  this.timeout(120_000);
  let desk: Desk;
  before(async () => {
    desk = await Desk.open();
  });
  after(() => desk?.close());

  /** A reminder that was sent, of a visit that can be done on this day of the study alone; `again` sends it again. */
  async function reminded(studyZone: string, ownZone: string, day: string) {
    const study = await desk.study({}, { timezone: studyZone });
    const who = await desk.person(study, { timezone: ownZone });
    const visit = await desk.visit(who, day);
    const [row] = await desk.stage.sql<{ id: string }>(
      `update notifications set status = 'sent', reason = null, sent_at = clock_timestamp()
       where participant_id = ? and kind = 'visit_reminder' returning id`,
      [who.id],
    );
    const again = () => desk.stage.admin.post<Loose & NotificationView>(`/api/notifications/${row!.id}/resend`);
    return { who, visit, again };
  }

  it('are sent while the visit can be done there, although the participant’s own day is another', async () => {
    const { who, visit, again } = await reminded(WEST, EAST, dayIn(WEST));
    expect(await desk.stage.admin.expect(200, 'GET', `/api/visits/${visit.id}`)).to.include({ status: 'open' });
    const answer = await again();
    expect(answer.status, answer.text).to.equal(202);
    const settled = await until(
      async () => (await desk.of(who)).find(({ id, status }) => id === answer.body.id && status !== 'pending'),
      { what: 'the message to be settled' },
    );
    expect(settled).to.include({ kind: 'visit_reminder', status: 'sent' });
  });

  it('are not sent once it can’t, although the participant’s own day is not over', async () => {
    const { visit, again } = await reminded(EAST, WEST, dayIn(EAST));
    // As it is stored until the hourly job runs.
    await desk.stage.sql(
      `update scheduled_visits set status = 'open', target_date = :day, window_open = :day, window_close = :day where id = :id`,
      { day: dayIn(EAST, -1), id: visit.id },
    );
    expect(await desk.stage.admin.expect(200, 'GET', `/api/visits/${visit.id}`)).to.include({ status: 'missed' });
    const answer = await again();
    expect([answer.status, answer.body.detail]).to.deep.equal([409, 'No reminder is sent: the visit is over.']);
  });

  it('are planned while the visit can be done there: at the participant’s hour, though that is on a later day', async () => {
    // The hours that are not quiet are a minute, on the day after: a day or less from now there, or two hours ago.
    const notifications = { days_before: [0], send_at: '23:30', quiet_hours: { from: '23:00', to: '22:59' } };
    const study = await desk.study(notifications, { timezone: WEST });
    const who = await desk.person(study, { timezone: EAST });
    const visit = await desk.visit(who, dayIn(WEST));
    const [planned] = await desk.of(who, `&visit_id=${visit.id}`);
    expect(planned!.status, String(planned!.reason)).to.be.oneOf(['pending', 'sent']);
  });
});
