import { expect } from 'chai';
import type { Loose } from '../support/http.js';
import { Site } from './stage.js';

describe('Two sessions on line for one visit', () => {
  let site: Site;
  let visit: Loose;
  let one: string;
  let two: string;
  beforeEach(async () => {
    site = await Site.open();
    visit = await site.visit();
    one = await site.session();
    two = await site.session();
    for (const [id, accuracy] of [
      [one, 1],
      [two, 0.5],
    ] as const)
      expect((await site.submit(id, { task_summaries: { stroop: { accuracy } } })).status).to.equal(200);
    expect((await site.end(one)).body).to.not.have.property('warnings');
  });
  const conflicts = async () => (await site.conflicts('?status=open')).items as Loose[];
  const resolve = async (keep: string) => {
    const [conflict] = await conflicts();
    await site.http.expect(
      200,
      'POST',
      `/api/studies/${site.study.id}/sync-conflicts/${String(conflict!.id)}/resolve`,
      { keep, reason: 'the paper notes say so' },
    );
  };

  it('the second is told that the visit is the first one’s, and staff of a conflict', async () => {
    const ended = await site.end(two);
    expect(ended.status).to.equal(200);
    expect(ended.body).to.include({ status: 'completed', visit_id: visit.id });
    expect((ended.body.warnings as Loose[]).map(({ code }) => code)).to.deep.equal(['VISIT_COMPLETED']);
    expect((await site.end(two)).body, 'ending twice answers the same').to.deep.equal(ended.body);
    expect((await site.end(one)).body).to.not.have.property('warnings');
    expect((await site.seeVisit(visit.id)).session_id).to.equal(one);
    const found = await conflicts();
    expect(
      found.map(({ conflict_type, resolution, session_id, kind }) => [conflict_type, resolution, session_id, kind]),
    ).to.deep.equal([['visit_already_completed', 'both_kept', two, 'session']]);
    expect(found[0]!.local_content).to.include({ id: two, visitId: visit.id, completedAt: ended.body.completed_at });
  });

  it('staff make the visit the second one’s', async () => {
    const { completed_at } = (await site.end(two)).body;
    await resolve('local');
    expect(await site.seeVisit(visit.id)).to.include({ session_id: two, completed_at });
    expect(await conflicts()).to.deep.equal([]);
  });

  it('staff set the second aside', async () => {
    await site.end(two);
    await resolve('server');
    expect((await site.seeVisit(visit.id)).session_id).to.equal(one);
    expect((await site.see(two)).status).to.equal('abandoned');
  });

  it('a visit that staff have completed by hand is no conflict', async () => {
    const other = await site.visit({ participant_id: (await site.newParticipant()).id });
    const id = await site.session({ participant_id: other.participant_id, visit_id: other.id });
    await site.http.expect(200, 'POST', `/api/visits/${String(other.id)}/complete`, {});
    expect((await site.end(id)).body).to.not.have.property('warnings');
    expect(await conflicts()).to.deep.equal([]);
  });
});
