import { expect } from 'chai';
import type { Loose } from '../support/http.js';
import { Site, day, instant } from './stage.js';

describe('A completed visit that is to do again', () => {
  let site: Site;
  let anchor: string;
  /** A participant with visits on two days, of which the later one is completed too early. */
  beforeEach(async () => {
    site = await Site.open({
      consent_mode: 'external',
      config: {
        enrollment_date_policy: {
          sources: [{ type: 'manual_entry', priority: 1, is_active: true }],
          re_anchoring: { completed_visit_handling: 'recalculate_reporting' },
        },
      },
    });
    for (const [code, target_day] of [
      ['D0', 0],
      ['D10', 10],
    ] as const)
      await site.http.expect(201, 'POST', '/api/schedules/windows', {
        study_id: site.study.id,
        code,
        name: code,
        target_day,
        window_before: 2,
        window_after: 2,
      });
    anchor = `/api/studies/${site.study.id}/participants/${site.participant.id}/anchor-date`;
    await site.http.expect(200, 'POST', anchor, { enrollment_date: day(-10) });
  });
  const visits = async (name: string): Promise<Loose[]> =>
    (await site.http.expect(200, 'GET', `/api/schedules/visits?participant_id=${site.participant.id}`)).items.filter(
      (visit) => visit.name === name,
    );
  const override = (date: string) =>
    site.http.expect(200, 'POST', `${anchor}/override`, { new_enrollment_date: date, reason: 'wrong' });
  const moved = () => ({ target_date: day(5), window_open: day(3), window_close: day(7) });

  it('is on the days that the schedule has for it now, without what was compared with its completion', async () => {
    const [visit] = await visits('D10');
    await site.http.expect(200, 'POST', `/api/visits/${visit!.id}/complete`, {});
    await override(day(-5));
    expect(await site.seeVisit(visit!.id)).to.include({
      status: 'completed',
      target_date: day(0),
      reporting_target_date: day(5),
    });
    const again = await site.http.expect(200, 'POST', `/api/visits/${visit!.id}/reopen`, { reason: 'another person' });
    expect(again).to.include({ ...moved(), status: 'scheduled', completed_at: null, reporting_target_date: null });
    expect(
      (await visits('D10')).map(({ id }) => id),
      'it stays the one row that it is',
    ).to.deep.equal([visit!.id]);
    const reminders = await site.http.expect<{ items: { status: string; visit_id: string; target_date?: string }[] }>(
      200,
      'GET',
      `/api/notifications?participant_id=${site.participant.id}&limit=500`,
    );
    expect(reminders.items.filter((one) => one.visit_id === visit!.id && one.status === 'pending')).to.have.length(1);
  });

  it('is so too when a device takes its completion back', async () => {
    const [visit] = await visits('D10');
    const item = site.item('taken-back', {
      visitId: visit!.id,
      startedAt: instant(-7_200_000),
      completedAt: instant(-3_600_000),
    });
    const [made] = (await site.bulk({ sessions: [item] })).results;
    expect(await site.seeVisit(visit!.id)).to.include({ status: 'completed', session_id: made!.server_id });
    await override(day(-5));
    const given = { ...item, status: 'abandoned', completedAt: null };
    const [conflict] = (await site.bulk({ sessions: [given] })).results;
    expect(conflict).to.include({ conflict_type: 'duplicate_session' });
    const {
      items: [kept],
    } = await site.conflicts('?status=open');
    const path = `/api/studies/${site.study.id}/sync-conflicts/${(kept as Loose).id}/resolve`;
    const resolved = await site.http.post(path, { keep: 'local', reason: 'the paper notes say so' });
    expect(resolved.status, resolved.text).to.equal(200);
    expect(await site.seeVisit(visit!.id)).to.include({ ...moved(), status: 'scheduled', completed_at: null });
  });
});
