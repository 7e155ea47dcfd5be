import { expect } from 'chai';
import { HOUR, Site, endTimeOf, instant, trials } from './stage.js';

/** A session that began on line and ended while its device was off line. */
describe('Offline sync of a session that the server began', () => {
  const expired = async () => {
    const site = await Site.open();
    const visit = await site.visit();
    const id = await site.session();
    const sent = { task_summaries: { flanker: { accuracy: 1 } }, raw_trials: trials('flanker', 2) };
    expect((await site.submit(id, sent)).status).to.equal(200);
    await endTimeOf(id);
    expect((await site.see(id)).status).to.equal('expired');
    const item = (fields: Record<string, unknown> = {}) => site.item(id, { startedAt: instant(-60_000), ...fields });
    return { site, visit, id, sent, item };
  };

  it('completes that session, with its end, its late results and its visit; the same again changes nothing', async () => {
    const { site, visit, id, item } = await expired();
    const completedAt = instant(HOUR);
    const bulk = {
      sessions: [item({ completedAt, deviceId: 'tablet' })],
      responses: [{ id: 'r', sessionId: id, task: 'stroop', trials: trials('stroop', 3) }],
    };
    const first = await site.bulk(bulk);
    expect(first.results.map(({ status, server_id }) => [status, server_id])).to.deep.equal([
      ['created', id],
      ['created', id],
    ]);
    const seen = await site.see(id);
    expect([seen.status, Date.parse(seen.completed_at as string), seen.visit_id, seen.trial_count]).to.deep.equal([
      'completed',
      Date.parse(completedAt),
      visit.id,
      5,
    ]);
    expect(await site.seeVisit(visit.id)).to.include({ status: 'completed', session_id: id });
    expect((await site.bulk(bulk)).duplicates).to.equal(2);
    const { total } = await site.http.expect(200, 'GET', `/api/sessions?participant_id=${site.participant.id}`);
    expect(total).to.equal(1);
    expect((await site.end(id)).body.status).to.equal('completed');
    const other = await site.bulk({ sessions: [item({ completedAt: instant(2 * HOUR) })] });
    expect(other.results[0]).to.include({ status: 'conflict', conflict_type: 'duplicate_session', server_id: id });
  });

  it('one that goes on, or was ended on line, is a duplicate; of another participant it is no such session', async () => {
    const { site, id, item } = await expired();
    const going = item({ status: 'in_progress', completedAt: null });
    expect((await site.bulk({ sessions: [going] })).results[0]).to.include({ status: 'duplicate', server_id: id });
    const ended = await site.session();
    await site.end(ended);
    const again = await site.bulk({ sessions: [site.item(ended)] });
    expect(again.results[0]).to.include({ status: 'duplicate', server_id: ended });
    const other = await site.newParticipant();
    const theirs = await site.bulk({ sessions: [item({ participantId: other.id })] });
    expect(theirs.results[0]!.server_id).not.to.equal(id);
    expect((await site.see(id)).status).to.equal('expired');
  });

  it('one that staff have set aside stays set aside when its device sends its end again', async () => {
    const { site, visit, id, item } = await expired();
    await site.http.expect(200, 'POST', `/api/visits/${visit.id}/complete`, {});
    const bulk = { sessions: [item({ completedAt: instant(-30_000) })] };
    expect((await site.bulk(bulk)).results[0]).to.include({
      status: 'conflict',
      conflict_type: 'visit_already_completed',
      server_id: id,
    });
    const conflicts = `/api/studies/${site.study.id}/sync-conflicts`;
    const [conflict] = (await site.http.expect(200, 'GET', conflicts)).items;
    await site.http.expect(200, 'POST', `${conflicts}/${conflict!.id}/resolve`, { keep: 'server', reason: 'on paper' });
    expect((await site.see(id)).status).to.equal('abandoned');
    expect((await site.bulk(bulk)).results[0]).to.include({ status: 'duplicate', server_id: id });
    expect(await site.see(id)).to.include({ status: 'abandoned', completed_at: null });
  });

  for (const begun of ['on line', 'off line'])
    it(`one that began ${begun} stays set aside when its app has learned to name its device`, async () => {
      const { site, visit, id, item } = await expired();
      await site.http.expect(200, 'POST', `/api/visits/${visit.id}/complete`, {});
      const ended =
        begun === 'on line' ? item({ completedAt: instant(-30_000) }) : site.item('1', { visitId: visit.id });
      const made = (await site.bulk({ sessions: [ended] })).results[0]!;
      expect(made).to.include({ status: 'conflict', conflict_type: 'visit_already_completed' });
      if (begun === 'on line') expect(made.server_id).to.equal(id);
      const conflicts = `/api/studies/${site.study.id}/sync-conflicts`;
      const [conflict] = (await site.http.expect(200, 'GET', conflicts)).items;
      await site.http.expect(200, 'POST', `${conflicts}/${conflict!.id}/resolve`, { keep: 'server', reason: 'twice' });
      const again = await site.bulk({ sessions: [{ ...ended, deviceId: 'tablet' }] });
      expect(again.results[0]).to.include({ status: 'duplicate', server_id: made.server_id });
      expect(await site.see(made.server_id!)).to.include({ status: 'abandoned', completed_at: null });
    });

  it('a submission that was acknowledged is known after the expiry; anything else is refused as expired', async () => {
    const { site, id, sent } = await expired();
    const again = await site.submit(id, sent);
    expect([again.status, again.body.status]).to.deep.equal([200, 'duplicate']);
    for (const other of [
      { task_summaries: { stroop: { accuracy: 1 } } },
      { task_summaries: { flanker: { accuracy: 0.5 } } },
      { task_summaries: {} },
      { task_summaries: { telepathy: { accuracy: 1 } } },
    ]) {
      const answer = await site.submit(id, other);
      expect([answer.status, answer.body.code]).to.deep.equal([401, 'SESSION_EXPIRED']);
    }
    expect((await site.end(id)).body.code).to.equal('SESSION_EXPIRED');
  });
});
