import { expect } from 'chai';
import { Stage } from './support.js';

const COPIED = ' month_3_arm_1\n',
  NAME = 'month_3_arm_1';

describe('the name of an event that was copied with blanks', function () {
  let stage: Stage;
  before(async function () {
    this.timeout(240_000);
    stage = await Stage.set({ polls: false });
  });
  after(() => stage?.clear());

  it('is kept without them, wherever it is given; blanks alone are refused', async () => {
    const study = await stage.study();
    await study.enroll('R1', { enrolled: '2026-01-12' });
    await study.settled(1);
    const [person] = await study.participants();
    const day = '2026-03-01';
    const window = { study_id: study.id, code: 'W', name: 'Month 3', target_day: 90 };
    const visit = { participant_id: person!.id, name: 'Extra', target_date: day };
    const event = { event_oid: 'SE', name: 'Month 3', target_day: 90 };
    const made: Record<string, { id: string }> = {};
    for (const [path, body] of [
      ['/api/schedules/windows', window],
      ['/api/schedules/visits', visit],
      [`/api/studies/${study.id}/event-definitions`, event],
    ] as const) {
      const blank = await stage.call('POST', path, { ...body, datacapture_event: ' ' });
      expect(blank.status, path).to.equal(422);
      const { status, body: answer } = await stage.call<{ id: string; datacapture_event: string }>('POST', path, {
        ...body,
        datacapture_event: COPIED,
      });
      expect([status, answer.datacapture_event], path).to.deep.equal([201, NAME]);
      made[path] = answer;
    }
    for (const path of [
      `/api/schedules/windows/${made['/api/schedules/windows']!.id}`,
      `/api/visits/${made['/api/schedules/visits']!.id}`,
    ]) {
      const { body } = await stage.call('PATCH', path, { datacapture_event: ` baseline_arm_1` });
      expect(body.datacapture_event, path).to.equal('baseline_arm_1');
    }
  });
});
