import { expect } from 'chai';
import { enterPortal } from '../support/portal.js';
import type { Http } from '../support/http.js';
import { DAY_MS, HOUR, Site, instant, trials } from './stage.js';
import type { BulkView } from './stage.js';

/** By so much the device's clock is ahead. */
const AHEAD = 3 * DAY_MS;
/** What it shows so long from now. */
const shown = (offset: number): string => instant(offset + AHEAD);
const says = () => ({ headers: { 'X-Device-Time': shown(0) } });

describe('A device that says by how much its clock is ahead', () => {
  let site: Site;
  beforeEach(async () => {
    site = await Site.open();
  });
  const session = (id: string, start: number, fields: Record<string, unknown> = {}) =>
    site.item(id, { startedAt: shown(start), completedAt: shown(start + HOUR / 4), ...fields });
  const response = (sessionId: string, at: number) => ({
    id: `of ${sessionId}`,
    sessionId,
    task: 'stroop',
    summary: { accuracy: 1 },
    trials: trials('stroop', 2, { timestamp: shown(at) }),
  });
  const outcomes = ({ results }: BulkView) =>
    results.map(({ status, code, conflict_type: type }) => code ?? type ?? status);

  for (const [title, callers, later] of [
    ['the participant’s own token', (who: string) => enterPortal(site.http, who), 'PARTICIPANT_WITHDRAWN'],
    ['staff', async () => site.http, 'participant_withdrawn'],
  ] as [string, (who: string) => Promise<Http>, string][])
    it(`delivers by ${title} what it recorded before a withdrawal, and completes the visit`, async () => {
      const visit = await site.visit({}, [-1, 1]);
      const by = await callers(site.participant.id);
      await site.http.expect(200, 'POST', `/api/participants/${site.participant.id}/withdraw`, {
        reason: 'moved',
        withdrawn_at: instant(-HOUR),
      });
      const bulk = {
        sessions: [session('before', -3 * HOUR, { visitId: visit.id }), session('after', -HOUR / 2)],
        responses: [response('before', -3 * HOUR)],
      };
      const done = await by.expect<BulkView>(200, 'POST', '/api/sync/bulk', bulk, says());
      expect(outcomes(done)).to.deep.equal(['created', later, 'created']);
      expect((await site.seeVisit(visit.id)).status).to.equal('completed');
      expect(await site.trials(done.results[0]!.server_id!)).to.have.length(2);
    });

  it('delivers what began before the end of a session that was ended on line, and nothing later', async () => {
    const id = await site.session();
    expect((await site.end(id)).status).to.equal(200);
    const send = async (at: number, options = {}) =>
      await site.http.expect<{ code?: string; status: string }>(
        200,
        'POST',
        '/api/sync/responses',
        response(id, at),
        options,
      );
    expect((await send(-HOUR)).code, 'of the clock nothing is known').to.equal('SESSION_ENDED');
    expect((await send(HOUR, says())).code).to.equal('SESSION_ENDED');
    expect((await send(-HOUR, says())).status).to.equal('created');
  });
});
