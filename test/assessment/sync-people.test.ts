import { expect } from 'chai';
import { newStudy, unique, user } from '../support/http.js';
import type { Loose } from '../support/http.js';
import { enterPortal } from '../support/portal.js';
import { Site, instant, trials } from './stage.js';
import type { BulkView, ItemView } from './stage.js';

/** Local ids are a device's own count: those of two people are often the same. */
describe('Offline sync: local ids belong to the participant', () => {
  let site: Site, other: Loose;
  beforeEach(async () => {
    site = await Site.open();
    other = await site.newParticipant();
  });
  const own = (id: string, fields: Record<string, unknown> = {}) => site.item(id, fields);
  const theirs = (id: string, fields: Record<string, unknown> = {}) =>
    site.item(id, { participantId: other.id, ...fields });
  const response = (id: string, sessionId: string, fields: Record<string, unknown> = {}) => ({
    id,
    sessionId,
    task: 'stroop',
    summary: { accuracy: 1 },
    trials: trials('stroop', 3),
    ...fields,
  });
  const session = (item: object, by = site.http) => by.expect<ItemView>(200, 'POST', '/api/sync/sessions', item);
  const respond = (item: object, by = site.http) => by.expect<ItemView>(200, 'POST', '/api/sync/responses', item);
  const summaries = async (id: string) => (await site.see(id)).task_summaries;
  const outcomes = ({ results }: BulkView) => results.map(({ local_id, status, code }) => [local_id, code ?? status]);

  it('a participant has its own session under the id of another’s, and is told nothing of that one', async () => {
    const first = await session(theirs('1', { status: 'active', completedAt: null }));
    const portal = await enterPortal(site.http, site.participant.id);
    const report = await portal.post('/api/sync/check-conflicts', {
      sessions: [own('1'), { ...own('1'), status: 'nothing' }, { id: '1', studyId: site.study.id }, theirs('1')],
      responses: [response('r', '1')],
    });
    expect(report.body).to.deep.include({ has_conflicts: false, session_conflicts: [], response_conflicts: [] });
    expect(report.text).not.to.include(first.server_id!);
    const item = own('1');
    const made = await session(item, portal);
    expect(made).to.include({ status: 'created' });
    expect(made.server_id).not.to.equal(first.server_id);
    expect(await respond(response('r', '1'), portal)).to.include({ status: 'created', server_id: made.server_id });
    expect(await session(item, portal)).to.deep.equal({ ...made, status: 'duplicate' });
    expect(await session({ ...item, completedAt: instant(-1000) }, portal)).to.include({
      status: 'conflict',
      conflict_type: 'duplicate_session',
      server_id: made.server_id,
    });
    expect(await session(theirs('1'), portal)).to.include({
      status: 'rejected',
      code: 'UNKNOWN_PARTICIPANT',
      server_id: null,
    });
    expect(await site.see(first.server_id!)).to.deep.include({
      participant_id: other.id,
      status: 'active',
      task_summaries: {},
    });
  });

  it('a response of a participant is never of another’s session, also where it has none by that id', async () => {
    const { server_id } = await session(theirs('1'));
    const portal = await enterPortal(site.http, site.participant.id);
    for (const name of ['1', server_id!, server_id!.toUpperCase()])
      expect(await respond(response('r', name), portal)).to.include({
        status: 'rejected',
        code: 'UNKNOWN_SESSION',
        server_id: null,
      });
    expect(await summaries(server_id!)).to.deep.equal({});
  });

  it('a bulk of two participants by the same ids is two sessions; the whole of it again is duplicates', async () => {
    const sent = {
      responses: [response('r3', 'b'), response('r1', 'a')],
      sessions: [own('1', { deviceId: 'tablet' }), theirs('1', { deviceId: 'phone' }), own('a'), theirs('b')],
    };
    const first = await site.bulk(sent);
    expect(outcomes(first)).to.deep.equal([
      ['1', 'created'],
      ['1', 'created'],
      ['a', 'created'],
      ['b', 'created'],
      ['r3', 'created'],
      ['r1', 'created'],
    ]);
    const [mine, its] = first.results.map(({ server_id }) => server_id!);
    expect(await site.see(mine!)).to.include({
      participant_id: site.participant.id,
      local_id: '1',
      device_id: 'tablet',
    });
    expect(await site.see(its!)).to.include({ participant_id: other.id, local_id: '1', device_id: 'phone' });
    const again = await site.bulk(sent);
    expect(again.results).to.deep.equal(first.results.map((result) => ({ ...result, status: 'duplicate' })));
    expect((await site.conflicts()).total).to.equal(0);
  });

  it('a response that could be of two is rejected and says what to do; by the server id it is taken, and is known again', async () => {
    const sessions = [own('1'), theirs('1')];
    const [mine, its] = [response('r1', '1'), response('r2', '1', { summary: { accuracy: 0.5 } })];
    const {
      results: [one, two, ...rejected],
    } = await site.bulk({ sessions, responses: [its, mine] });
    expect([one!.status, two!.status]).to.deep.equal(['created', 'created']);
    for (const each of rejected) {
      expect(each).to.include({ status: 'rejected', code: 'AMBIGUOUS_SESSION', server_id: null });
      expect(each.message).to.match(/sessionId.*server id/);
    }
    expect(await respond(mine), 'by itself').to.include({ code: 'AMBIGUOUS_SESSION' });
    expect([await summaries(one!.server_id!), await summaries(two!.server_id!)]).to.deep.equal([{}, {}]);
    expect(await respond({ ...mine, sessionId: one!.server_id })).to.include({
      status: 'created',
      server_id: one!.server_id,
    });
    expect(await respond({ ...its, sessionId: two!.server_id })).to.include({
      status: 'created',
      server_id: two!.server_id,
    });
    const again = await site.bulk({ sessions, responses: [its, mine] });
    expect(again.results.map(({ server_id, status }) => [server_id, status])).to.deep.equal(
      [
        [one, 'duplicate'],
        [two, 'duplicate'],
        [two, 'duplicate'],
        [one, 'duplicate'],
      ].map(([about, status]) => [(about as ItemView).server_id, status]),
    );
    expect(await respond(mine)).to.include({ status: 'duplicate', server_id: one!.server_id });
    expect([await summaries(one!.server_id!), await summaries(two!.server_id!)]).to.deep.equal([
      { stroop: { accuracy: 1 } },
      { stroop: { accuracy: 0.5 } },
    ]);
  });

  it('a summary without trials that another has by the same ids is not taken for a repetition of it', async () => {
    const bare = response('r', '1', { trials: [] });
    const { server_id } = await session(own('1'));
    expect(await respond(bare)).to.include({ status: 'created', server_id });
    const { server_id: its } = await session(theirs('1'));
    expect(await respond(bare)).to.include({ code: 'AMBIGUOUS_SESSION' });
    expect(await respond({ ...bare, sessionId: its })).to.include({ status: 'created', server_id: its });
    expect((await respond(bare)).status, 'both have it now').to.equal('duplicate');
  });

  it('a response that comes with its session is of that one, however many others have the id', async () => {
    await session(theirs('1'));
    const {
      results: [mine, answer],
    } = await site.bulk({ sessions: [own('1')], responses: [response('r', '1')] });
    expect(answer).to.include({ status: 'created', server_id: mine!.server_id });
  });

  it('a response whose session was refused in the same call is given to nobody else', async () => {
    const { server_id } = await session(theirs('1'));
    const refused = [
      own('1', { completedAt: null }),
      own('1', { status: 'done' }),
      own('1', { participantId: 'nobody' }),
      own('1', { startedAt: '0000-01-01T00:00:00Z', completedAt: '0000-01-01T00:00:00Z' }),
    ];
    for (const item of refused) {
      const { results } = await site.bulk({ sessions: [item], responses: [response('r', '1')] });
      expect(results.map(({ status }) => status)).to.deep.equal(['rejected', 'rejected']);
      expect(results[1]!.code).to.equal('UNKNOWN_SESSION');
    }
    const { results } = await site.bulk({
      sessions: [refused[1], theirs('1', { status: 'expired', completedAt: null })],
      responses: [response('r', '1')],
    });
    expect(results[2]!.code).to.equal('AMBIGUOUS_SESSION');
    expect(await summaries(server_id!)).to.deep.equal({});
    const {
      results: [, taken],
    } = await site.bulk({ sessions: [theirs('1', { status: 'done' })], responses: [response('r', '1')] });
    expect(taken, 'of the same participant, whose session it may not be').to.include({ code: 'UNKNOWN_SESSION' });
  });

  it('where the caller synced one of them alone, it is that one', async () => {
    const colleague = await user(site.http, 'coordinator', { study_ids: [site.study.id] });
    await session(theirs('1'), colleague);
    const mine = await session(own('1'));
    expect(await respond(response('r', '1'))).to.include({ status: 'created', server_id: mine.server_id });
    const third = await user(site.http, 'coordinator', { study_ids: [site.study.id] });
    expect(await respond(response('q', '1', { task: 'flanker', trials: [] }), third)).to.include({
      code: 'AMBIGUOUS_SESSION',
    });
  });

  it('of two studies it is the one in which the caller synced last, if it is one alone there', async () => {
    const elsewhere = await Site.open({}, site.http);
    await session(elsewhere.item('1'));
    const mine = await session(own('1'));
    expect(await respond(response('r', '1'))).to.include({ status: 'created', server_id: mine.server_id });
    await session(theirs('1'));
    expect(await respond(response('q', '1', { task: 'flanker', trials: [] }))).to.include({
      code: 'AMBIGUOUS_SESSION',
    });
    const there = await user(site.http, 'coordinator', { study_ids: [elsewhere.study.id] });
    expect(await respond(response('r', '1'), there), 'what the caller does not see is no candidate').to.include({
      code: 'UNKNOWN_SESSION',
    });
  });

  it('a lone response of staff never goes into a session that a colleague synced; that one sent again is a duplicate', async () => {
    const id = unique('lone');
    const lone = response('r', id);
    const colleague = await user(site.http, 'coordinator', { study_ids: [site.study.id] });
    const { server_id } = await session(theirs(id), colleague);
    expect(await respond(lone)).to.include({ status: 'rejected', code: 'UNKNOWN_SESSION' });
    expect(await summaries(server_id!)).to.deep.equal({});
    expect(await respond(lone, colleague)).to.include({ status: 'created', server_id });
    expect(await respond(lone)).to.include({ status: 'duplicate', server_id });
  });

  it('the same id of both at once, many times over, is one session each', async () => {
    const portals = [await enterPortal(site.http, site.participant.id), await enterPortal(site.http, other.id)];
    const items = [own('1'), theirs('1')];
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, i) => session(items[i % 2]!, i % 3 === 0 ? site.http : portals[i % 2])),
    );
    for (const mine of [0, 1]) {
      const told = answers.filter((_, i) => i % 2 === mine);
      expect(new Set(told.map(({ server_id }) => server_id)).size).to.equal(1);
      expect(told.map(({ status }) => status).sort()).to.deep.equal([
        'created',
        ...Array.from({ length: 5 }, () => 'duplicate'),
      ]);
    }
    expect((await site.http.expect(200, 'GET', `/api/sessions?study_id=${site.study.id}`)).total).to.equal(2);
  });

  it('staff are told of the named participant’s session; of an item that names none, where one alone has the id', async () => {
    const check = (sessions: unknown[]) =>
      site.http.expect<Loose & { session_conflicts: Loose[] }>(200, 'POST', '/api/sync/check-conflicts', { sessions });
    const { participantId: _, ...nobody } = own('1');
    const its = await session(theirs('1'));
    expect(
      (await check([own('1'), own('1', { status: 'done' }), own('1', { participantId: 'nobody', status: 'done' })]))
        .session_conflicts,
    ).to.deep.equal([]);
    const of = async (sessions: unknown[]) =>
      (await check(sessions)).session_conflicts.map(({ local_id, server_id }) => [local_id, server_id]);
    expect(
      await of([
        theirs('1', { status: 'done' }),
        theirs('1', { participantId: other.participant_code, status: 'done' }),
        nobody,
      ]),
    ).to.deep.equal(Array.from({ length: 3 }, () => ['1', its.server_id]));
    await session(own('1'));
    expect(await of([nobody])).to.deep.equal([]);
  });

  it('conflicts of both under one id are resolved each for its own, and a whole study goes out and in again', async () => {
    const made = new Map<unknown, string>();
    for (const item of [own('1'), theirs('1')]) {
      made.set(item.participantId, (await session(item)).server_id!);
      expect((await session({ ...item, completedAt: instant(-1000) })).status).to.equal('conflict');
    }
    const { items } = await site.conflicts();
    expect(items.map((one) => [one.participant_id, one.session_id])).to.have.deep.members([...made]);
    const keeps = ['both', 'local'] as const;
    for (const [i, one] of items.entries())
      expect(
        (
          await site.http.post(`/api/studies/${site.study.id}/sync-conflicts/${one.id}/resolve`, {
            keep: keeps[i],
            reason: 'x',
          })
        ).status,
      ).to.equal(200);
    const sessions = await site.http.expect(200, 'GET', `/api/sessions?study_id=${site.study.id}`);
    expect(sessions.total).to.equal(3);
    const whole = await site.http.get(`/api/exports/studies/${site.study.id}/full`);
    const copy = await newStudy(site.http);
    expect(
      (
        await site.http.post(`/api/studies/import/full?study_id=${copy.id}`, undefined, {
          raw: { type: 'application/json', content: whole.text },
        })
      ).status,
    ).to.be.below(300);
    const local = (list: Loose) => list.items.map((one) => (one.local_id as string).split('#')[0]).sort();
    const there = await site.http.expect(200, 'GET', `/api/sessions?study_id=${copy.id}`);
    expect(local(there)).to.deep.equal(local(sessions));
    expect(new Set(there.items.map((one) => one.participant_id)).size).to.equal(2);
  });
});
