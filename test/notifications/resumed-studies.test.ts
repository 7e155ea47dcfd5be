import { expect } from 'chai';
import { Desk, clockIn, dayIn, daytimeZone } from './stage.js';

describe('Reminders of a study that is active again', function () {
  this.timeout(120_000);
  let desk: Desk;
  before(async () => {
    desk = await Desk.open();
  });
  after(() => desk.close());

  const zone = daytimeZone();
  const reasons = {
    paused: ['suppressed', 'study_paused'],
    completed: ['cancelled', 'study_completed'],
  } as const;

  for (const [status, stopped] of Object.entries(reasons))
    it(`that came due while it was ${status} are sent, unless they are too late by now`, async () => {
      const study = await desk.study({ send_at: clockIn(zone, -10) }, { timezone: zone });
      const become = (to: string) => desk.stage.admin.expect(200, 'PATCH', `/api/studies/${study.id}`, { status: to });
      const [soon, late, done] = await Promise.all([1, 2, 3].map(() => desk.person(study)));
      await become(status);
      const visits = await Promise.all([soon, late, done].map((who) => desk.visit(who!, dayIn(zone, 1))));
      const of = async (who: { id: string }) =>
        (await desk.of(who)).map((message) => [message.status, message.reason as string]);
      await desk.sweep(async () => {
        const all = await Promise.all([soon, late, done].map((who) => of(who!)));
        return all.flat().every(([is]) => is !== 'pending') ? all : undefined;
      }, 'the reminders to be stopped');
      for (const who of [soon, late, done]) expect(await of(who!)).to.deep.equal([stopped]);
      await desk.stage.sql(`update notifications set due_at = due_at - interval '12 hours' where participant_id = ?`, [
        late!.id,
      ]);
      await desk.stage.admin.expect(200, 'POST', `/api/visits/${visits[2]!.id}/complete`, {});
      await become('active');
      await desk.sweep(async () => {
        const all = await Promise.all([soon, done].map((who) => of(who!)));
        return all.flat().every(([is]) => is !== 'pending') ? all : undefined;
      }, 'the reminders to be decided again');
      expect(await of(soon!)).to.deep.equal([['sent', null]]);
      expect(await desk.mailsTo(await desk.addressOf(soon!))).to.have.length(1);
      expect(await of(done!)).to.deep.equal([['cancelled', 'completed']]);
      expect(await of(late!), 'too late').to.deep.equal([stopped]);
    });
});
