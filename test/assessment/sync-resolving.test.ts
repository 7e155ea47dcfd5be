import { expect } from 'chai';
import type { Answer, Loose } from '../support/http.js';
import { HOUR, Site, instant } from './stage.js';
import type { ItemView } from './stage.js';

describe('A resolved sync conflict and the visit of its session', () => {
  let site: Site;
  beforeEach(async () => {
    site = await Site.open();
  });
  const session = (item: Record<string, unknown>, headers: Record<string, string> = {}) =>
    site.http.expect<ItemView>(200, 'POST', '/api/sync/sessions', item, { headers });
  const resolve = async (keep: string): Promise<Answer<Loose>> => {
    const {
      items: [conflict],
    } = await site.conflicts('?status=open');
    const path = `/api/studies/${site.study.id}/sync-conflicts/${(conflict as Loose).id}`;
    expect(await site.http.expect(200, 'GET', path)).to.deep.equal(conflict);
    return site.http.post(`${path}/resolve`, {
      keep,
      reason: 'the paper notes say so',
    });
  };
  /** A session that completed a visit, and what its device says of it now. */
  const meets = async (
    now: Record<string, unknown>,
    first: Record<string, unknown> = {},
  ): Promise<{ visit: Loose; made: ItemView }> => {
    const visit = await site.visit({}, [-2, 0]);
    const item = site.item('resolved', { visitId: visit.id, ...first });
    const made = await session(item);
    expect(await site.seeVisit(visit.id)).to.include({ status: 'completed', session_id: made.server_id });
    expect(await session({ ...item, ...now })).to.include({ conflict_type: 'duplicate_session' });
    return { visit, made };
  };
  const audited = async (action: string) =>
    (await site.http.expect(200, 'GET', `/api/audit?study_id=${site.study.id}&limit=100`)).items.filter(
      (r) => r.action === action,
    );
  const OPEN = { status: 'open', session_id: null, completed_at: null, adherence: 'pending' };

  it('for the device, which ended it at another time: the visit was completed then', async () => {
    const end = instant(-HOUR);
    const { visit, made } = await meets({ completedAt: end });
    expect((await resolve('local')).status).to.equal(200);
    expect(await site.seeVisit(visit.id)).to.include({
      status: 'completed',
      session_id: made.server_id,
      completed_at: end,
    });
    expect((await audited('visit_completed'))[0]!.audit_metadata).to.include({
      completed_at: end,
      status_before: 'completed',
    });
  });

  it('for the device, which gave it up: the visit is to do again', async () => {
    const { visit, made } = await meets({ status: 'abandoned', completedAt: null });
    await resolve('local');
    expect(await site.see(made.server_id!)).to.include({ status: 'abandoned', completed_at: null });
    expect(await site.seeVisit(visit.id)).to.include(OPEN);
    expect((await audited('visit_reopened'))[0]!.audit_metadata).to.include({
      status_before: 'completed',
      status: 'open',
      session_id_before: made.server_id,
    });
  });

  it('for the device, which names another visit: that one is completed, the other is to do again', async () => {
    const named = await site.visit({}, [-3, 0]);
    const { visit, made } = await meets({ visitId: named.id });
    await resolve('local');
    expect((await site.see(made.server_id!)).visit_id).to.equal(named.id);
    expect(await site.seeVisit(named.id)).to.include({ status: 'completed', session_id: made.server_id });
    expect(await site.seeVisit(visit.id)).to.include(OPEN);
  });

  it('for both, of which each names a visit: each completes its own', async () => {
    const named = await site.visit({}, [-3, 0]);
    const { visit, made } = await meets({ visitId: named.id });
    const { beside_session_id } = (await resolve('both')).body.server_content as Loose;
    expect(await site.seeVisit(named.id)).to.include({ status: 'completed', session_id: beside_session_id });
    expect(await site.seeVisit(visit.id)).to.include({ status: 'completed', session_id: made.server_id });
  });

  it('for the device, which names a visit that the participant does not have: 400, and nothing is resolved', async () => {
    const { visit, made } = await meets({ visitId: '00000000-0000-4000-8000-000000000000' });
    const { status, body } = await resolve('local');
    expect([status, body.errors![0]!.code]).to.deep.equal([400, 'UNKNOWN_VISIT']);
    expect((await site.conflicts('?status=open')).total).to.equal(1);
    expect(await site.seeVisit(visit.id)).to.include({ status: 'completed', session_id: made.server_id });
  });

  it('for the device, which names a battery of no study or of another: 400', async () => {
    await meets({ batteryId: (await (await Site.open()).battery()).id });
    expect((await resolve('local')).body.errors![0]!.code).to.equal('UNKNOWN_BATTERY');
  });

  it('a session that is set aside completes its visit no more', async () => {
    const battery = await site.battery();
    const visit = await site.visit({ battery_id: battery.id }, [-2, 0]);
    expect(await session(site.item('resolved', { batteryVersion: 7 }))).to.include({
      conflict_type: 'battery_version_mismatch',
    });
    expect((await site.seeVisit(visit.id)).status).to.equal('completed');
    await resolve('server');
    expect(await site.seeVisit(visit.id)).to.include(OPEN);
  });

  it('the results of a session that is set aside count in no figure of their tasks; those of the other do', async () => {
    const visit = await site.visit({}, [-2, 0]);
    for (const [id, accuracy] of [
      ['counts', 0.9],
      ['set aside', 0.1],
    ] as const) {
      await session(site.item(id, { visitId: visit.id }));
      await site.bulk({ responses: [{ id, sessionId: id, task: 'stroop', summary: { accuracy }, trials: [] }] });
    }
    const stroop = async () => {
      const path = `/api/reports/studies/${site.study.id}/modules`;
      const { by_task } = await site.http.expect<{ by_task: Loose[] }>(200, 'GET', path);
      const { sessions, metrics } = by_task.find(({ task }) => task === 'stroop')!;
      return [sessions, (metrics as Record<string, { mean: number }>).accuracy!.mean];
    };
    expect(await stroop()).to.deep.equal([2, 0.5]);
    expect((await resolve('server')).status).to.equal(200);
    expect(await stroop()).to.deep.equal([1, 0.9]);
  });

  it('a session of two conflicts that one resolution sets aside is not taken by the other without a word', async () => {
    const battery = await site.battery();
    const visit = await site.visit({ battery_id: battery.id }, [-2, 0]);
    await session(site.item('first', { visitId: visit.id }));
    const both = await session(site.item('resolved', { visitId: visit.id, batteryVersion: 7 }));
    expect((await site.conflicts('?status=open')).items.map((one) => one.conflict_type)).to.have.members([
      'visit_already_completed',
      'battery_version_mismatch',
    ]);
    expect((await resolve('server')).status).to.equal(200);
    for (const keep of ['local', 'both']) {
      const { status, body } = await resolve(keep);
      expect([status, body.code, body.errors[0]!.code], keep).to.deep.equal([409, 'CONFLICT', 'SESSION_SET_ASIDE']);
    }
    expect((await site.conflicts('?status=open')).total).to.equal(1);
    expect((await resolve('server')).status).to.equal(200);
    expect(await site.see(both.server_id!)).to.include({ status: 'abandoned', completed_at: null });
  });

  it('another completed session of the visit tells it where the first one does not count', async () => {
    const { visit } = await meets({ status: 'abandoned', completedAt: null });
    const other = await session(site.item('resolved too', { visitId: visit.id }));
    expect(other.conflict_type).to.equal('visit_already_completed');
    await resolve('both');
    await resolve('local');
    expect(await site.seeVisit(visit.id)).to.include({ status: 'completed', session_id: other.server_id });
  });

  for (const year of ['1970', '2199'])
    it(`for the device, whose clock was in ${year}: the visit was done when the session arrived`, async () => {
      const ago = Date.now();
      const times = { startedAt: `${year}-01-01T00:00:00Z`, completedAt: `${year}-01-01T00:20:00Z` };
      const arrived = (visit: Loose) =>
        expect(Date.parse(visit.completed_at as string)).to.be.within(ago - 60_000, Date.now());
      const { visit, made } = await meets(times);
      await resolve('local');
      expect(await site.see(made.server_id!)).to.include({ status: 'completed' });
      arrived(await site.seeVisit(visit.id));
      arrived((await audited('visit_completed'))[0]!.audit_metadata as Loose);

      const taken = await site.visit({}, [-2, 0]);
      await session(site.item('first', { visitId: taken.id }));
      const late = await session(site.item('late', { visitId: taken.id, ...times }), {
        'X-Device-Time': times.completedAt,
      });
      expect(late.conflict_type).to.equal('visit_already_completed');
      await resolve('local');
      expect(await site.seeVisit(taken.id)).to.include({ session_id: late.server_id });
      arrived(await site.seeVisit(taken.id));
    });

  it('of a withdrawn participant: the schedule is frozen, and the visit stays as it was', async () => {
    const { visit, made } = await meets({ status: 'abandoned', completedAt: null });
    await site.http.expect(200, 'POST', `/api/participants/${site.participant.id}/withdraw`, { reason: 'moved' });
    expect((await resolve('local')).status).to.equal(200);
    expect(await site.seeVisit(visit.id)).to.include({ status: 'completed', session_id: made.server_id });
  });
});
