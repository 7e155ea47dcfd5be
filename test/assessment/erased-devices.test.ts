import { expect } from 'chai';
import { HOUR, Site, instant, trials } from './stage.js';

/** People name their devices, and trials hold what was answered. */
describe('Devices of a participant whose identity was erased', () => {
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
});
