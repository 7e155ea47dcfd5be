import { expect } from 'chai';
import { HOUR, Site, instant, trials } from './stage.js';

/** People name their devices, and trials hold what was answered. */
describe('Devices of a participant who has left', () => {
  it('are named nowhere, and deliver nothing more', async () => {
    const site = await Site.open();
    const { id } = site.participant;
    const deviceId = 'Ada’s phone';
    const response = { id: 'r', sessionId: 's', deviceId, task: 'stroop', trials: trials('stroop', 2) };
    const own = { participantId: id, deviceId };
    const [made] = (await site.bulk({ sessions: [site.item('s', own)], responses: [response] })).results;
    const other = site.item('s', { ...own, startedAt: instant(-3 * HOUR), completedAt: instant(-HOUR) });
    expect((await site.bulk({ sessions: [other] })).conflicts).to.equal(1);
    expect(JSON.stringify(await site.conflicts())).to.contain(deviceId);
    await site.http.expect(200, 'POST', `/api/participants/${id}/withdraw`, { reason: 'asked for it' });
    await site.http.expect(200, 'POST', `/api/participants/${id}/erase`, { reason: 'asked for it' });

    const { results } = await site.bulk({
      sessions: [site.item('t', own)],
      responses: [
        { ...response, id: 'u', sessionId: made!.server_id, task: 'flanker', trials: trials('flanker', 2) },
        { ...response, id: 'v', sessionId: 't' },
      ],
    });
    expect(results.map(({ status, code }) => [status, code])).to.deep.equal([
      ['rejected', 'PARTICIPANT_ERASED'],
      ['rejected', 'PARTICIPANT_ERASED'],
      ['rejected', 'UNKNOWN_SESSION'],
    ]);
    const sessions = await site.http.expect(200, 'GET', `/api/sessions?participant_id=${id}`);
    expect(sessions.items.map(({ local_id, device_id }) => [local_id, device_id])).to.deep.equal([['s', null]]);
    expect(JSON.stringify(await site.conflicts())).not.to.contain(deviceId);
  });

  it('that has withdrawn deliver on line what was recorded before, as off line, and no more', async () => {
    const site = await Site.open();
    const session = await site.session();
    const withdrawn_at = instant(-HOUR / 2);
    await site.http.expect(200, 'POST', `/api/participants/${site.participant.id}/withdraw`, {
      reason: 'moved',
      withdrawn_at,
    });
    const of = (task: string, at: string) => ({ task_summaries: {}, raw_trials: trials(task, 2, { timestamp: at }) });
    const late = await site.submit(session, of('flanker', instant()));
    expect([late.status, late.body.code], late.text).to.deep.equal([409, 'PARTICIPANT_WITHDRAWN']);
    expect((await site.submit(session, of('stroop', instant(-HOUR)))).body.status).to.equal('accepted');
    expect(Object.keys((await site.see(session)).task_summaries as object)).to.deep.equal(['stroop']);
  });

  it('deliver nothing on line either: a session that is under way takes no more', async () => {
    const site = await Site.open();
    const { id } = site.participant;
    const session = await site.session();
    const first = { task_summaries: { stroop: { mean_rt: 1 } } };
    expect((await site.submit(session, first)).status).to.equal(200);
    await site.http.expect(200, 'POST', `/api/participants/${id}/erase`, { reason: 'asked for it' });

    for (const refused of [
      await site.submit(session, { task_summaries: { flanker: { mean_rt: 1 } } }),
      await site.end(session),
    ])
      expect([refused.status, refused.body.code], refused.text).to.deep.equal([409, 'PARTICIPANT_ERASED']);
    expect((await site.submit(session, first)).body.status).to.equal('duplicate');
    expect((await site.see(session)).task_summaries).to.deep.equal(first.task_summaries);
  });
});
