import { expect } from 'chai';
import { HOUR, Site, instant, trials } from '../assessment/stage.js';
import { Http, unique } from '../support/http.js';
import type { Loose } from '../support/http.js';

/** Whom a record is about, in a list of hundreds: by the code that people know. */
describe('Lists of what belongs to participants', () => {
  let site: Site;
  let code: string;
  before(async () => {
    site = await Site.open();
    const at = await site.http.expect(201, 'POST', `/api/studies/${site.study.id}/sites`, {
      site_code: 'BER',
      name: 'Berlin',
    });
    await site.http.expect(200, 'PATCH', `/api/participants/${site.participant.id}`, {
      site_id: at.id,
      email: `${unique('p')}@example.org`,
    });
    code = site.participant.participant_code as string;
  });
  const list = async (path: string): Promise<Loose[]> =>
    (await site.http.expect<{ items: Loose[] }>(200, 'GET', `${path}${path.includes('?') ? '&' : '?'}limit=500`)).items;

  it('sessions bear the participant’s and the site’s code, and are found by them', async () => {
    const other = await site.newParticipant();
    const [mine, theirs] = [await site.session(), await site.session({ participant_id: other.id })];
    const sought = (query: string) => list(`/api/sessions?study_id=${site.study.id}${query}`);
    const seen = (await sought('')).map(({ id, participant_code, site_code }) => [id, participant_code, site_code]);
    expect(seen).to.have.deep.members([
      [mine, code, 'BER'],
      [theirs, other.participant_code, null],
    ]);
    expect((await sought(`&participant_code=${code}`)).map(({ id }) => id)).to.deep.equal([mine]);
    expect((await sought('&participant_code=nobody')).length).to.equal(0);
    const single = await site.see(mine);
    expect([single.participant_code, single.site_code]).to.deep.equal([code, 'BER']);
  });

  it('sync conflicts and messages bear the participant’s code', async () => {
    await site.bulk({ sessions: [site.item('s')] });
    const another = site.item('s', { startedAt: instant(-3 * HOUR), completedAt: instant(-2 * HOUR) });
    expect((await site.bulk({ sessions: [another] })).conflicts).to.equal(1);
    const path = `/api/studies/${site.study.id}/sync-conflicts`;
    const [conflict] = await list(path);
    expect(conflict!.participant_code).to.equal(code);
    expect((await site.http.expect(200, 'GET', `${path}/${conflict!.id}`)).participant_code).to.equal(code);
    await site.http.expect(202, 'POST', '/api/portal/magic-link', {
      participant_id: site.participant.id,
      channel: 'email',
    });
    const [message] = await list(`/api/notifications?study_id=${site.study.id}&kind=magic_link`);
    expect(message!.participant_code).to.equal(code);
  });

  it('sessions that programs read by /api/v1 have what was noticed, the device and its clock', async () => {
    const own = await Site.open();
    const recorded = trials('stroop', 4).map((trial, i) => ({ ...trial, rt: 50, trial_index: i * 2 }));
    const { results } = await own.http.expect<{ results: { status: string }[] }>(
      200,
      'POST',
      '/api/sync/bulk',
      {
        sessions: [own.item('s', { startedAt: instant(-HOUR), completedAt: instant(-2 * HOUR), deviceId: 'tablet 4' })],
        responses: [{ id: 'r', sessionId: 's', task: 'stroop', trials: recorded }],
      },
      { headers: { 'X-Device-Time': instant(HOUR) } },
    );
    expect(results.map(({ status }) => status)).to.deep.equal(['created', 'created']);
    const { token } = await own.http.expect<Loose & { token: string }>(201, 'POST', '/api/v1/tokens', {
      name: 'a pipeline',
      scopes: ['sessions:read', 'exports:read', 'snapshots:read'],
      study_ids: [own.study.id],
    });
    const program = new Http(own.http.base, token);
    for (const path of ['sessions', 'snapshot', 'export']) {
      const body = await program.expect<Record<string, Loose[]>>(200, 'GET', `/api/v1/studies/${own.study.id}/${path}`);
      const [session] = (path === 'sessions' ? body.items : body.sessions)!;
      const codes = (remarks: unknown) => (remarks as { code: string }[]).map((remark) => remark.code);
      expect(
        [session!.device_id, codes(session!.quality_flags), codes(session!.warnings)],
        `${path}: ${JSON.stringify(session)}`,
      ).to.deep.equal(['tablet 4', ['CLOCK_SET_BACK', 'RT_TOO_FAST'], ['TRIAL_GAP']]);
      expect(Number(session!.clock_skew_ms)).to.be.closeTo(HOUR, HOUR / 2);
    }
  });
});
