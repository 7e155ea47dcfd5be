import { expect } from 'chai';
import { DAY_MS, HOUR, Site, instant } from './stage.js';

describe('the visit that an offline session means', function () {
  this.timeout(240_000);
  let site: Site;
  beforeEach(async () => {
    site = await Site.open();
  });

  it('is the one that is still to do, where a completed one holds the day as well', async () => {
    const done = await site.visit({}, [-3, 0]);
    const due = await site.visit({ name: 'The next one' }, [-1, 3]);
    await site.end(await site.session({ visit_id: done.id }));
    const { results } = await site.bulk({ sessions: [site.item('next')] });
    expect(results[0]).to.include({ status: 'created' });
    expect(results[0]).not.to.have.property('warnings');
    expect(await site.seeVisit(due.id)).to.include({ status: 'completed', session_id: results[0]!.server_id });
  });

  it('stays the one that it had when it began, whatever visits are planned meanwhile', async () => {
    const visit = await site.visit({}, [-3, 0]);
    const start = { startedAt: instant(-DAY_MS), status: 'in_progress', completedAt: null };
    const [begun] = (await site.bulk({ sessions: [site.item('long', start)] })).results;
    expect(begun!.status).to.equal('created');
    await site.visit({ name: 'One more' }, [-2, 1]);
    const [ended] = (
      await site.bulk({
        sessions: [site.item('long', { ...start, status: 'completed', completedAt: instant(-DAY_MS + HOUR) })],
      })
    ).results;
    expect(ended).to.include({ status: 'created', server_id: begun!.server_id });
    expect(await site.seeVisit(visit.id)).to.include({ status: 'completed', session_id: begun!.server_id });
  });

  it('is the one that an app names which was updated meanwhile, with its battery; the session is the same', async () => {
    const battery = await site.battery();
    await site.visit({}, [-3, 0]);
    const visit = await site.visit({ name: 'Its own', battery_id: battery.id }, [-3, 0]);
    const start = { startedAt: instant(-DAY_MS), status: 'in_progress', completedAt: null };
    const [begun] = (await site.bulk({ sessions: [site.item('updated', start)] })).results;
    const known = { visitId: visit.id, batteryId: battery.id, batteryVersion: 1 };
    const end = { ...start, ...known, status: 'completed', completedAt: instant(-DAY_MS + HOUR) };
    const sent = {
      sessions: [site.item('updated', end)],
      responses: [{ id: 'r', sessionId: 'updated', task: 'stroop', summary: { accuracy: 1 }, trials: [] }],
    };
    const { results } = await site.bulk(sent);
    expect(results.map(({ status, server_id }) => [status, server_id])).to.deep.equal([
      ['created', begun!.server_id],
      ['created', begun!.server_id],
    ]);
    expect(await site.seeVisit(visit.id)).to.include({ status: 'completed', session_id: begun!.server_id });
    expect(await site.see(begun!.server_id!)).to.include({ battery_id: battery.id, battery_version: 1 });
    expect((await site.bulk(sent)).duplicates).to.equal(2);
    const [late] = (await site.bulk({ sessions: [site.item('updated', start)] })).results;
    expect(late, 'an earlier state that comes late').to.include({ status: 'duplicate', server_id: begun!.server_id });
  });

  it('is not another one than its app named when it began: that is other content', async () => {
    const visit = await site.visit({}, [-3, 0]);
    const other = await site.visit({ name: 'Another one' }, [-3, 0]);
    const start = { startedAt: instant(-DAY_MS), status: 'in_progress', completedAt: null, visitId: visit.id };
    const [begun] = (await site.bulk({ sessions: [site.item('moved', start)] })).results;
    const end = { ...start, status: 'completed', completedAt: instant(-DAY_MS + HOUR) };
    const [moved] = (await site.bulk({ sessions: [site.item('moved', { ...end, visitId: other.id })] })).results;
    expect(moved).to.include({ status: 'conflict', conflict_type: 'duplicate_session', server_id: begun!.server_id });
    const [early] = (await site.bulk({ sessions: [site.item('moved', { ...start, visitId: other.id })] })).results;
    expect(early).to.include({ status: 'conflict', conflict_type: 'duplicate_session' });
    const [ended] = (await site.bulk({ sessions: [site.item('moved', end)] })).results;
    expect(ended).to.include({ status: 'created', server_id: begun!.server_id });
    expect(await site.seeVisit(visit.id)).to.include({ status: 'completed', session_id: begun!.server_id });
    expect((await site.seeVisit(other.id)).status).not.to.equal('completed');
  });
});
