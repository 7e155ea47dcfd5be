import { expect } from 'chai';
import { openDatabase } from '../../db/client/knex.js';
import type { Database } from '../../db/client/database.js';
import { atItsCommit, whileHeld } from '../support/held-row.js';
import type { Answer, Loose } from '../support/http.js';
import { service } from '../support/service.js';
import { Site, day } from './stage.js';

describe('A session of a visit that is planned again', () => {
  let site: Site, owner: Database, anchor: string;
  before(async () => {
    owner = openDatabase({ url: (await service()).database_url, poolMax: 2, name: 'replaced-visits', asOwner: true });
    const policy = { sources: [{ type: 'manual_entry', priority: 1, is_active: true }] };
    site = await Site.open({ consent_mode: 'external', config: { enrollment_date_policy: policy } });
    await site.http.expect(201, 'POST', '/api/schedules/windows', {
      study_id: site.study.id,
      code: 'D0',
      name: 'D0',
      target_day: 0,
      window_before: 7,
      window_after: 7,
    });
    anchor = `/api/studies/${site.study.id}/participants/${site.participant.id}/anchor-date`;
    await site.http.expect(200, 'POST', anchor, { enrollment_date: day(-4) });
  });
  after(() => owner.destroy());

  const live = async (): Promise<Loose> => {
    const { items } = await site.http.expect(200, 'GET', `/api/schedules/visits?participant_id=${site.participant.id}`);
    return items.find(({ status }) => status !== 'superseded')!;
  };
  const override = (date: string) =>
    site.http.send('POST', `${anchor}/override`, { new_enrollment_date: date, reason: 'wrong' });

  it('completes it, also where it ends while the visit is planned for the third time', async () => {
    const session = await site.session();
    expect((await site.submit(session, { task_summaries: { stroop: { accuracy: 1 } } })).status).to.equal(200);
    expect((await override(day(-3))).status).to.equal(200);
    const [moved, ended] = await whileHeld<Answer<Loose>>(
      owner,
      atItsCommit(site.study.id),
      () => override(day(-2)),
      () => site.end(session),
    );
    expect([moved!.status, ended!.status]).to.deep.equal([200, 200]);
    const visit = await live();
    expect(visit).to.include({ target_date: day(-2), status: 'completed', session_id: session });
    expect(ended!.body.visit_id).to.equal(visit.id);
  });
});
