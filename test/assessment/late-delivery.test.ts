import { expect } from 'chai';
import jwt from 'jsonwebtoken';
import { startApi } from '../support/api-process.js';
import type { ApiProcess } from '../support/api-process.js';
import { Http } from '../support/http.js';
import { enterPortal } from '../support/portal.js';
import { DAY_MS, Site } from './stage.js';
import type { BulkView } from './stage.js';

/** A withdrawal ends a device's login: its last token cannot be renewed. */
describe('A withdrawn participant’s device whose token has expired', () => {
  const secret = 'a signing secret that this test knows';
  let site: Site;
  let api: ApiProcess;
  before(async () => {
    site = await Site.open();
    api = await startApi({ JWT_SECRET: secret });
  });
  after(() => api.stop());

  /** A participant's device with a token that expired so many days ago. */
  async function device(days: number): Promise<{ id: string; bearer: Http; live: Http }> {
    const { id } = await site.newParticipant();
    const live = await enterPortal(site.http, id);
    const { iss, aud, sub, role, sid, jti } = jwt.decode(live.token!) as jwt.JwtPayload;
    const exp = Math.floor((Date.now() - days * DAY_MS) / 1000) - 60;
    return { id, live, bearer: new Http(api.url, jwt.sign({ iss, aud, sub, role, sid, jti, exp }, secret)) };
  }
  const bulk = (participantId: string) => ({
    sessions: [site.item('s', { participantId })],
    responses: [{ id: 'r', sessionId: 's', task: 'stroop', summary: { accuracy: 1 } }],
  });
  const withdraw = (id: string, fields: Record<string, unknown> = {}) =>
    site.http.expect(200, 'POST', `/api/participants/${id}/withdraw`, { reason: 'moved', ...fields });
  const code = async (by: Http, path: string, body: unknown) => {
    const answer = await by.post(path, body);
    return [answer.status, answer.body.code];
  };
  const REFUSED = [401, 'INVALID_TOKEN'];

  it('delivers what was recorded before, and does nothing else', async () => {
    const { id, bearer } = await device(20);
    expect(await code(bearer, '/api/sync/bulk', bulk(id)), 'an enrolled one logs in anew').to.deep.equal(REFUSED);
    await withdraw(id);
    const { results } = await bearer.expect<BulkView>(200, 'POST', '/api/sync/bulk', bulk(id));
    expect(results.map(({ status }) => status)).to.deep.equal(['created', 'created']);
    expect(await code(bearer, '/api/session/start', { participant_id: id, language: 'en' })).to.deep.equal(REFUSED);
    expect((await bearer.get('/api/portal/visits')).status).to.equal(401);
  });

  it('is refused after the 30 days, or after a login that somebody ended', async () => {
    const late = await device(31);
    await withdraw(late.id, { withdrawn_at: new Date(Date.now() - 31 * DAY_MS).toISOString() });
    expect(await code(late.bearer, '/api/sync/bulk', bulk(late.id))).to.deep.equal([403, 'PARTICIPANT_WITHDRAWN']);
    const out = await device(1);
    await out.live.expect(204, 'POST', '/api/portal/logout');
    await withdraw(out.id);
    expect(await code(out.bearer, '/api/sync/bulk', bulk(out.id))).to.deep.equal(REFUSED);
    const erased = await device(1);
    await withdraw(erased.id);
    await site.http.expect(200, 'POST', `/api/participants/${erased.id}/erase`, { reason: 'asked for it' });
    for (const path of ['/api/sync/bulk', '/api/sync/check-conflicts'])
      expect(await code(erased.bearer, path, bulk(erased.id))).to.deep.equal(REFUSED);
    const old = await device(61);
    await withdraw(old.id);
    expect(await code(old.bearer, '/api/sync/bulk', bulk(old.id))).to.deep.equal(REFUSED);
  });
});
