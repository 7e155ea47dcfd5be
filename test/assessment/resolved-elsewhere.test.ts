import { expect } from 'chai';
import type { Answer, Loose } from '../support/http.js';
import { HOUR, Site, day, instant, trials } from './stage.js';
import type { ItemView } from './stage.js';

describe('A sync conflict that is resolved after its visit was planned anew', () => {
  let site: Site;
  let anchor: string;
  beforeEach(async () => {
    site = await Site.open({
      consent_mode: 'external',
      config: {
        enrollment_date_policy: { sources: [{ type: 'manual_entry', priority: 1, is_active: true }] },
      },
    });
    await site.http.expect(201, 'POST', '/api/schedules/windows', {
      study_id: site.study.id,
      code: 'D0',
      name: 'D0',
      target_day: 0,
      window_before: 5,
      window_after: 5,
    });
    anchor = `/api/studies/${site.study.id}/participants/${site.participant.id}/anchor-date`;
    await site.http.expect(200, 'POST', anchor, { enrollment_date: day(0) });
  });
  const visits = async (): Promise<Loose[]> =>
    (await site.http.expect(200, 'GET', `/api/schedules/visits?participant_id=${site.participant.id}`)).items;
  const planAnew = async () => {
    await site.http.expect(200, 'POST', `${anchor}/override`, { new_enrollment_date: day(-1), reason: 'wrong' });
    return (await visits()).find(({ name, status }) => name === 'D0' && status !== 'superseded')!;
  };
  const resolve = async (keep: string): Promise<Answer<Loose>> => {
    const [conflict] = (await site.conflicts('?status=open')).items;
    const path = `/api/studies/${site.study.id}/sync-conflicts/${conflict!.id}/resolve`;
    return site.http.post(path, { keep, reason: 'the notes say so' });
  };
  /** What the device tells of a session that it numbers as another one. */
  const meets = async (former: Loose, first: Record<string, unknown>) => {
    const [made] = (await site.bulk({ sessions: [site.item('1', first)] })).results;
    expect(made!.status).to.equal('created');
    const other = site.item('1', {
      visitId: former.id,
      startedAt: instant(-3 * HOUR),
      completedAt: instant(-2 * HOUR),
    });
    const [met] = (await site.bulk({ sessions: [other] })).results;
    expect(met).to.include({ conflict_type: 'duplicate_session' });
    return made!.server_id!;
  };

  it('for the device: its session is of the visit as it is planned now', async () => {
    const [former] = await visits();
    const id = await meets(former!, { visitId: former!.id, status: 'active', completedAt: null });
    const live = await planAnew();
    expect(live.id).not.to.equal(former!.id);
    const answer = await resolve('local');
    expect(answer.status, answer.text).to.equal(200);
    expect(await site.seeVisit(live.id)).to.include({ status: 'completed', session_id: id });
    expect((await site.see(id)).visit_id).to.equal(live.id);
  });

  it('for both: the session beside is of the visit as it is planned now', async () => {
    const [former] = await visits();
    const elsewhere = await site.visit({ name: 'Another' }, [-9, 9]);
    await meets(former!, { visitId: elsewhere.id, startedAt: instant(-9 * HOUR), completedAt: instant(-8 * HOUR) });
    const live = await planAnew();
    const answer = await resolve('both');
    expect(answer.status, answer.text).to.equal(200);
    const { beside_session_id: beside } = answer.body.server_content as unknown as { beside_session_id: string };
    expect(await site.seeVisit(live.id)).to.include({ status: 'completed', session_id: beside });
    expect((await site.see(beside)).visit_id).to.equal(live.id);
  });
});

describe('A response whose id the session has for another task', () => {
  it('takes its place beside the other once its conflict is resolved for the device', async () => {
    const site = await Site.open();
    const timestamp = instant(-HOUR);
    const session = site.item('s');
    const response = (task: string) => ({
      id: '1',
      sessionId: 's',
      task,
      summary: { accuracy: 1 },
      trials: trials(task, 2, { timestamp }),
    });
    const send = async (task: string): Promise<ItemView> =>
      (await site.bulk({ sessions: [session], responses: [response(task)] })).results[1]!;
    const { server_id: id } = await send('stroop');
    expect(await send('n_back')).to.include({ conflict_type: 'duplicate_response' });
    const [conflict] = (await site.conflicts('?status=open')).items;
    const path = `/api/studies/${site.study.id}/sync-conflicts/${conflict!.id}/resolve`;
    const answer = await site.http.post(path, { keep: 'local', reason: 'both were done' });
    expect(answer.status, answer.text).to.equal(200);
    expect(((await site.see(id!)).tasks as Loose[]).map(({ task }) => task)).to.deep.equal(['n_back', 'stroop']);
    expect((await send('n_back')).status).to.equal('duplicate');
    expect((await send('stroop')).status).to.equal('duplicate');
  });
});

describe('An offline session without a visit, of a clock that is ahead', () => {
  const AHEAD = 20 * 24 * HOUR;
  const item = (site: Site) =>
    site.item('s', { startedAt: instant(AHEAD - 2 * HOUR), completedAt: instant(AHEAD - HOUR) });

  it('is of the visit of the day that it was, where the device says what its clock shows', async () => {
    const site = await Site.open();
    const [now, then] = [await site.visit({}, [-3, 3]), await site.visit({ name: 'Later' }, [15, 25])];
    await site.http.expect(
      200,
      'POST',
      '/api/sync/bulk',
      { sessions: [item(site)] },
      { headers: { 'X-Device-Time': instant(AHEAD) } },
    );
    expect((await site.seeVisit(then.id)).status).to.equal('scheduled');
    expect((await site.seeVisit(now.id)).status).to.equal('completed');
  });

  it('completes no visit that lies ahead, where nothing is known of the clock', async () => {
    const site = await Site.open();
    const then = await site.visit({ name: 'Later' }, [15, 25]);
    const { results } = await site.bulk({ sessions: [item(site)] });
    expect(results[0]!.code).to.equal('START_IN_FUTURE');
    expect((await site.seeVisit(then.id)).status).to.equal('scheduled');
  });
});
