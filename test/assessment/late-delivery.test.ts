import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import jwt from 'jsonwebtoken';
import { Http } from '../support/http.js';
import { enterAsCaregiver, enterPortal } from '../support/portal.js';
import { service } from '../support/service.js';
import { DAY_MS, Site, trials } from './stage.js';
import type { BulkView } from './stage.js';

/** A withdrawal ends a device's login: its last token cannot be renewed. */
describe('A withdrawn participant’s device whose token has expired', () => {
  let site: Site, secret: string;
  before(async () => {
    site = await Site.open();
    secret = readFileSync(join((await service()).data_dir, 'keys', 'JWT_SECRET'), 'utf8').trim();
  });

  /** A participant's device with a token that expired so many days ago. */
  async function device(days: number): Promise<{ id: string; bearer: Http; live: Http }> {
    const { id } = await site.newParticipant();
    const live = await enterPortal(site.http, id);
    const { iss, aud, sub, role, sid, jti } = jwt.decode(live.token!) as jwt.JwtPayload;
    const exp = Math.floor((Date.now() - days * DAY_MS) / 1000) - 60;
    return { id, live, bearer: new Http(site.http.base, jwt.sign({ iss, aud, sub, role, sid, jti, exp }, secret)) };
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

  it('delivers what a session has from before the withdrawal during which it was', async () => {
    const { id, live } = await device(1);
    const at = (hours: number) => new Date(Date.now() - hours * 3_600_000).toISOString();
    await withdraw(id, { withdrawn_at: at(2) });
    const response = (task: string, hours: number) => ({
      id: task,
      sessionId: 's',
      task,
      trials: trials(task, 2, { timestamp: at(hours) }),
    });
    const sent = {
      sessions: [site.item('s', { participantId: id, startedAt: at(3), completedAt: at(1) })],
      responses: [response('stroop', 2.5), response('n_back', 1.5)],
    };
    const { results } = await live.expect<BulkView>(200, 'POST', '/api/sync/bulk', sent);
    expect(results.map(({ status, code }) => code ?? status)).to.deep.equal([
      'created',
      'created',
      'PARTICIPANT_WITHDRAWN',
    ]);
    expect((await site.trials(results[0]!.server_id!)).map(({ task }) => task)).to.deep.equal(['stroop', 'stroop']);
    expect((await live.expect<BulkView>(200, 'POST', '/api/sync/bulk', sent)).duplicates).to.equal(2);
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

  it('delivers nothing by a login that was ended before, whether its token has expired or not', async () => {
    const { id, live } = await device(1);
    await live.expect(204, 'POST', '/api/portal/logout');
    expect(await code(live, '/api/sync/bulk', bulk(id)), 'while it takes part').to.deep.equal(REFUSED);
    await withdraw(id);
    for (const path of ['/api/sync/bulk', '/api/sync/check-conflicts'])
      expect(await code(live, path, bulk(id)), path).to.deep.equal(REFUSED);
  });

  describe('of a caregiver', () => {
    const at = () => `/api/studies/${site.study.id}/caregivers`;
    /** Who cares for these, by a token of now and by one that expired so many days ago. */
    async function carer(people: { id: string }[], days = 1) {
      const { id } = await site.http.expect<{ id: string }>(201, 'POST', at(), { name: 'Ada' });
      for (const person of people)
        await site.http.expect(200, 'PUT', `${at()}/${id}/participants/${person.id}`, { relationship: 'mother' });
      const live = await enterAsCaregiver(site.http, site.study.id, id);
      const claims = jwt.decode(live.token!) as jwt.JwtPayload;
      const { iat: _iat, ...kept } = { ...claims, exp: Math.floor((Date.now() - days * DAY_MS) / 1000) - 60 };
      return { id, live, expired: new Http(site.http.base, jwt.sign(kept, secret, { noTimestamp: true })) };
    }
    const about = (id: string) => ({ headers: { 'X-Participant-ID': id } });
    const outcomes = async (by: Http, body: object, options = {}) =>
      (await by.expect<BulkView>(200, 'POST', '/api/sync/bulk', body, options)).results.map(({ status }) => status);

    it('delivers what was recorded before the only one whom it cares for withdrew, and does nothing else', async () => {
      const child = await site.newParticipant();
      const { live, expired } = await carer([child], 20);
      expect(await code(expired, '/api/sync/bulk', bulk(child.id)), 'while it takes part').to.deep.equal(REFUSED);
      await withdraw(child.id);
      const recorded = bulk(child.id);
      expect(await outcomes(live, recorded)).to.deep.equal(['created', 'created']);
      expect(await outcomes(expired, recorded, about(child.id))).to.deep.equal(['duplicate', 'duplicate']);
      const later = { ...site.item('later', { participantId: child.id }), startedAt: new Date().toISOString() };
      const { results } = await live.expect<BulkView>(200, 'POST', '/api/sync/bulk', {
        sessions: [{ ...later, status: 'active', completedAt: null }],
      });
      expect(results[0]!.code).to.equal('PARTICIPANT_WITHDRAWN');
      expect((await live.get('/api/portal/visits')).status).to.equal(401);
      expect((await live.post('/api/session/start', { participant_id: child.id })).status).to.equal(401);
    });

    it('of several names the one who withdrew; what ended its login or its care ends this, too', async () => {
      const [child, twin, stranger] = [
        await site.newParticipant(),
        await site.newParticipant(),
        await site.newParticipant(),
      ];
      const [one, out, left] = [await carer([child, twin]), await carer([child]), await carer([child])];
      for (const { id } of [child, stranger]) await withdraw(id);
      expect(await outcomes(one.live, bulk(child.id), about(child.id))).to.deep.equal(['created', 'created']);
      for (const { id } of [stranger, child]) {
        const answer = await one.live.post('/api/sync/bulk', bulk(id), id === child.id ? {} : about(id));
        // Without a name the one who takes part is meant: another's session is of nobody.
        expect([answer.status, answer.body.rejected]).to.deep.equal(id === child.id ? [200, 2] : [404, undefined]);
      }
      await out.live.expect(204, 'POST', '/api/portal/logout');
      await site.http.expect(204, 'DELETE', `${at()}/${left.id}/participants/${child.id}`);
      for (const by of [out.live, out.expired, left.live, left.expired])
        expect(await code(by, '/api/sync/bulk', bulk(child.id))).to.deep.equal(REFUSED);
    });

    it('is refused 30 days after the withdrawal', async () => {
      const child = await site.newParticipant();
      const { live } = await carer([child]);
      await withdraw(child.id, { withdrawn_at: new Date(Date.now() - 31 * DAY_MS).toISOString() });
      expect(await code(live, '/api/sync/bulk', bulk(child.id))).to.deep.equal([403, 'PARTICIPANT_WITHDRAWN']);
    });
  });
});
