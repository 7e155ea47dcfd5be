import { expect } from 'chai';
import { newStudy } from '../support/http.js';
import type { Loose } from '../support/http.js';
import { enterPortal } from '../support/portal.js';
import { Random } from '../support/random.js';
import { DAY_MS, HOUR, Site, instant } from './stage.js';
import type { BulkView, ItemView, TrialGiven } from './stage.js';

const KEEPS = ['server', 'local', 'both'] as const;

describe('Offline sync: several devices of one participant count alike', function suite() {
  this.timeout(240_000);
  let site: Site;
  beforeEach(async () => {
    site = await Site.open();
  });

  const response = (id: string, sessionId: string, mark: number, fields: Record<string, unknown> = {}) => ({
    id,
    sessionId,
    task: 'stroop',
    summary: { accuracy: 1 },
    trials: [{ trial_index: 0, rt: mark, correct: true, timestamp: instant(-60_000) }],
    ...fields,
  });
  const yesterday = (fields: Record<string, unknown> = {}) => site.item('1', fields);
  const today = (fields: Record<string, unknown> = {}) =>
    site.item('1', { startedAt: instant(-3 * HOUR), completedAt: instant(-2 * HOUR), ...fields });
  const outcomes = ({ results }: BulkView) =>
    results.map(({ local_id, status, conflict_type, code }) => [local_id, code ?? conflict_type ?? status]);
  const marks = async (id: string) => (await site.trials(id)).map(({ rt }) => rt);
  const resolve = (id: string, keep: string) =>
    site.http.expect<Loose>(200, 'POST', `/api/studies/${site.study.id}/sync-conflicts/${id}/resolve`, {
      keep,
      reason: 'the paper notes say so',
    });

  it('a session of each device under the same id is a session; responses are of the one they came with', async () => {
    const one = await site.bulk({ sessions: [yesterday({ deviceId: 'a' })], responses: [response('r', '1', 101)] });
    const two = await site.bulk({ sessions: [today({ deviceId: 'b' })], responses: [response('r', '1', 202)] });
    expect([outcomes(one), outcomes(two)]).to.deep.equal([
      [
        ['1', 'created'],
        ['r', 'created'],
      ],
      [
        ['1', 'created'],
        ['r', 'created'],
      ],
    ]);
    const ids = [one, two].map(({ results }) => results[0]!.server_id!);
    expect(await Promise.all(ids.map(marks))).to.deep.equal([[101], [202]]);
    expect((await site.conflicts()).total).to.equal(0);
    const portal = await enterPortal(site.http, site.participant.id);
    for (const http of [site.http, portal]) {
      const respond = (item: object) => http.expect<ItemView>(200, 'POST', '/api/sync/responses', item);
      const task = http === portal ? 'n_back' : 'flanker';
      expect(await respond(response('late', '1', 1, { task }))).to.include({ code: 'AMBIGUOUS_SESSION' });
      expect(await respond(response(`late ${task}`, '1', 1, { task, deviceId: 'b' }))).to.include({
        status: 'created',
        server_id: ids[1],
      });
      expect(await respond(response('late', '1', 1, { task, deviceId: 'c' }))).to.include({ code: 'UNKNOWN_SESSION' });
    }
  });

  it('a session under an id that is another participant’s session here keeps its results from that one', async () => {
    const other = await site.bulk({ sessions: [yesterday()], responses: [response('r', '1', 101)] });
    const theirs = other.results[0]!.server_id!;
    const somebody = await site.newParticipant();
    const own = { ...today({ participantId: somebody.id }), id: theirs };
    const sent = response('r2', theirs, 202, { task: 'flanker' });
    const bulk = await site.bulk({ sessions: [own], responses: [sent] });
    const [session, result] = bulk.results;
    expect([session!.status, result!.status]).to.deep.equal(['created', 'created']);
    expect(session!.server_id).to.not.equal(theirs);
    expect(result!.server_id).to.equal(session!.server_id);
    expect([await marks(theirs), await marks(session!.server_id!)]).to.deep.equal([[101], [202]]);
    const alone = (id: string, sessionId: string, task: string) =>
      site.http.expect<Loose>(200, 'POST', '/api/sync/responses', response(id, sessionId, 404, { task }));
    expect(await alone('r4', theirs, 'n_back'), 'alone, the id may mean either').to.include({
      code: 'AMBIGUOUS_SESSION',
      server_id: null,
    });
    const repeated = await site.http.expect<Loose>(200, 'POST', '/api/sync/responses', sent);
    expect(repeated).to.include({ status: 'duplicate', server_id: session!.server_id });
    expect([await marks(theirs), await marks(session!.server_id!)]).to.deep.equal([[101], [202]]);
    const invalid = { ...own, startedAt: 'yesterday' };
    const refused = await site.bulk({
      sessions: [invalid],
      responses: [response('r3', theirs, 303, { task: 'n_back' })],
    });
    expect(outcomes(refused)).to.deep.equal([
      [theirs, 'INVALID_ITEM'],
      ['r3', 'UNKNOWN_SESSION'],
    ]);
    expect(await marks(theirs)).to.deep.equal([101]);
  });

  it('a refused session’s response is refused with it, is told beforehand, and is in no other session', async () => {
    const first = await site.bulk({ sessions: [yesterday()], responses: [response('r', '1', 101)] });
    const bulk = { sessions: [today()], responses: [response('r2', '1', 202, { task: 'flanker' })] };
    const report = await site.http.expect<Loose & { response_conflicts: Loose[] }>(
      200,
      'POST',
      '/api/sync/check-conflicts',
      bulk,
    );
    expect(report.response_conflicts.map((one) => [one.local_id, one.conflict_type, one.server_id])).to.deep.equal([
      ['r2', 'duplicate_session', null],
    ]);
    for (let again = 0; again < 2; again++)
      expect(outcomes(await site.bulk(bulk))).to.deep.equal([
        ['1', 'duplicate_session'],
        ['r2', 'duplicate_session'],
      ]);
    const { items, total } = await site.conflicts();
    expect(total).to.equal(1);
    expect((items[0]!.local_content as Loose).responses).to.have.length(1);
    expect(await marks(first.results[0]!.server_id!)).to.deep.equal([101]);
    const later = response('r3', '1', 303, { task: 'n_back' });
    const alone = await site.http.expect<ItemView>(200, 'POST', '/api/sync/responses', later);
    expect(alone, 'by itself it may be of either').to.include({ code: 'AMBIGUOUS_SESSION' });
    expect(
      outcomes(
        await site.bulk({
          sessions: [today({ startedAt: bulk.sessions[0]!.startedAt, completedAt: bulk.sessions[0]!.completedAt })],
          responses: [later],
        }),
      )[1],
    ).to.deep.equal(['r3', 'duplicate_session']);
    const { server_content } = await resolve(items[0]!.id, 'both');
    const beside = String((server_content as Loose).beside_session_id);
    expect(await marks(first.results[0]!.server_id!)).to.deep.equal([101]);
    expect((await marks(beside)).sort()).to.deep.equal([202, 303]);
    const again = await site.bulk({ ...bulk, responses: [...bulk.responses, response('r4', '1', 404)] });
    expect(again.results.map(({ status, server_id }) => [status, server_id])).to.deep.equal([
      ['duplicate', beside],
      ['duplicate', beside],
      ['created', beside],
    ]);
  });

  it('resolved for the device, its session takes the place with its results; those of the server are in the conflict', async () => {
    const first = await site.bulk({ sessions: [yesterday()], responses: [response('r', '1', 101)] });
    await site.bulk({ sessions: [today()], responses: [response('r', '1', 202, { task: 'flanker' })] });
    const { items } = await site.conflicts();
    const { server_content } = await resolve(items[0]!.id, 'local');
    expect(await marks(first.results[0]!.server_id!)).to.deep.equal([202]);
    const [aside] = (server_content as { tasks: { task: string; trials: TrialGiven[] }[] }).tasks;
    expect([aside!.task, aside!.trials.map(({ rt }) => rt)]).to.deep.equal(['stroop', [101]]);
  });

  it('an erased participant’s two devices stay two, also in a copy of the study', async () => {
    await site.bulk({ sessions: [yesterday({ deviceId: 'a' }), today({ deviceId: 'b' })] });
    const at = `/api/participants/${site.participant.id}`;
    await site.http.expect(200, 'POST', `${at}/withdraw`, { reason: 'moved' });
    await site.http.expect(200, 'POST', `${at}/erase`, { reason: 'asked for it' });
    const { items } = await site.http.expect(200, 'GET', `/api/sessions?study_id=${site.study.id}`);
    expect(items.map(({ device_id, local_id }) => [device_id, local_id])).to.deep.equal([
      [null, '1'],
      [null, '1'],
    ]);
    const whole = await site.http.get(`/api/exports/studies/${site.study.id}/full`);
    const copy = await newStudy(site.http);
    await site.http.expect(201, 'POST', `/api/studies/import/full?study_id=${copy.id}`, undefined, {
      raw: { type: 'application/json', content: whole.text },
    });
    const there = await site.http.expect(200, 'GET', `/api/sessions?study_id=${copy.id}`);
    expect(there.items.map(({ device_id, local_id }) => [device_id, local_id])).to.deep.equal([
      [null, '1'],
      [null, '1'],
    ]);
  });

  it('is the same where an app has learned to name its device since; two devices have two all the same', async () => {
    const times = { startedAt: instant(-5 * HOUR), completedAt: instant(-4 * HOUR) };
    const send = (item: object) => site.http.expect<ItemView>(200, 'POST', '/api/sync/sessions', item);
    const made = await send(site.item('learned', times));
    expect(await send(site.item('learned', { ...times, deviceId: 'now named' }))).to.include({
      status: 'duplicate',
      server_id: made.server_id,
    });
    const other = await send(site.item('learned', { ...times, startedAt: instant(-6 * HOUR), deviceId: 'other' }));
    expect(other.status).to.equal('created');
    expect(other.server_id).not.to.equal(made.server_id);
  });

  it('is the same where a call with each of its states comes again: given up, and completed after all', async () => {
    const startedAt = instant(-3 * HOUR);
    const end = site.item('after all', { startedAt, completedAt: instant(-HOUR) });
    const bulk = { sessions: [{ ...end, status: 'abandoned', completedAt: null }, end] };
    expect(await site.bulk(bulk)).to.include({ created: 2 });
    expect(await site.bulk(bulk)).to.include({ duplicates: 2, conflicts: 0 });
    // Given up once it is completed: that is another content, whichever came first.
    const other = { sessions: [end, { ...end, status: 'abandoned', completedAt: null }] };
    expect(await site.bulk(other)).to.include({ duplicates: 1, conflicts: 1 });
  });

  it('goes on in another zone, language and on another device, and from given up to completed', async () => {
    const startedAt = instant(-3 * HOUR);
    const base = { startedAt, timezone: 'Europe/Berlin', language: 'de', deviceId: 'a' };
    const send = (item: object) => site.http.expect<ItemView>(200, 'POST', '/api/sync/sessions', item);
    const began = await send(site.item('1', { ...base, status: 'in_progress', completedAt: null }));
    expect(
      await send(site.item('1', { ...base, timezone: 'America/New_York', status: 'abandoned', completedAt: null })),
    ).to.include({ status: 'created', server_id: began.server_id });
    const end = { startedAt, timezone: 'America/New_York', language: 'en', deviceId: 'b', completedAt: instant(-HOUR) };
    expect(await send(site.item('1', end))).to.include({ status: 'created', server_id: began.server_id });
    expect(await site.see(began.server_id!)).to.include({
      status: 'completed',
      timezone: 'America/New_York',
      language: 'en',
      device_id: 'b',
    });
    const { completedAt, ...open } = { ...end, status: 'active' };
    for (const again of [
      end,
      open,
      { ...base, status: 'in_progress', completedAt: null },
      { ...open, timezone: 'UTC' },
    ])
      expect(await send(site.item('1', { completedAt: null, ...again })), JSON.stringify(again)).to.include({
        status: 'duplicate',
        server_id: began.server_id,
      });
    expect(Date.parse(completedAt)).to.be.below(Date.now());
    expect((await site.conflicts()).total).to.equal(0);
  });

  for (const seed of [1, 2, 3, 4, 5, 6]) {
    it(`each trial is in the session it was recorded in, or with its conflict (seed ${seed})`, async () => {
      const random = new Random(seed);
      const named = random.chance(0.5);
      // What each device recorded: sessions that count from 1, and trials that have a mark of their own.
      let mark = 0;
      const home = new Map<number, string>();
      const devices = Array.from({ length: random.whole(2, 3) }, (_, device) =>
        Array.from({ length: 2 }, (_, n) => {
          const startedAt = new Date(
            Date.now() - random.whole(1, 20) * DAY_MS - random.whole(0, 80_000_000),
          ).toISOString();
          const session = site.item(String(n + 1), {
            startedAt,
            completedAt: new Date(Date.parse(startedAt) + HOUR).toISOString(),
            ...(named && { deviceId: `device ${device}` }),
          });
          const responses = ['stroop', 'flanker', 'n_back'].map((task, r) => {
            home.set(++mark, startedAt);
            return response(`r${n}${r}`, String(n + 1), mark, { task });
          });
          return { session, responses };
        }),
      );
      const pieces = devices.flatMap((sessions) =>
        sessions.flatMap(({ session, responses }) => [
          { sessions: [session], responses: random.chance(0.5) ? responses : responses.slice(0, 1) },
          { sessions: [session], responses: responses.slice(1) },
          // Without its session: taken, or refused and sent again with it, as a device does.
          {
            sessions: [],
            responses: [{ ...responses[2]!, ...(named && { deviceId: session.deviceId }) }],
            after: { sessions: [session], responses: [responses[2]!] },
          },
        ]),
      );
      const shuffled = [...pieces, ...pieces]
        .map((piece) => ({ piece, at: random.next() }))
        .sort((a, b) => a.at - b.at)
        .map(({ piece }) => piece);
      for (const [step, piece] of shuffled.entries()) {
        if (!named && piece.sessions.length === 0) continue;
        const { results } = await site.bulk({ sessions: piece.sessions, responses: piece.responses });
        if ('after' in piece && results.some(({ status }) => status === 'rejected')) await site.bulk(piece.after!);
        if (step % 3 === 2 && random.chance(0.6)) {
          const { items } = await site.conflicts('?status=open');
          if (items.length > 0) await resolve(random.oneOf(items).id, random.oneOf(KEEPS));
        }
      }
      const found = new Map<number, string[]>();
      const note = (trials: readonly { rt: number | null }[], place: string) => {
        for (const { rt } of trials) found.set(rt!, [...(found.get(rt!) ?? []), place]);
      };
      const { items: sessions } = await site.http.expect(
        200,
        'GET',
        `/api/sessions?study_id=${site.study.id}&limit=500`,
      );
      for (const { id, started_at } of sessions) note(await site.trials(id), String(started_at));
      const { items: conflicts } = await site.conflicts('?limit=500');
      for (const conflict of conflicts) {
        const local = conflict.local_content as Loose & { responses?: { trials: TrialGiven[] }[] };
        for (const { trials } of local.responses ?? []) note(trials, String(local.startedAt));
        const server = conflict.server_content as (Loose & { tasks?: { trials: TrialGiven[] }[] }) | null;
        for (const { trials } of server?.tasks ?? []) note(trials, String(server!.startedAt));
      }
      const astray = [...home].filter(([one, startedAt]) => {
        const places = found.get(one) ?? [];
        return places.length === 0 || places.some((place) => Date.parse(place) !== Date.parse(startedAt));
      });
      expect(astray.map(([one, startedAt]) => [one, startedAt, found.get(one)])).to.deep.equal([]);
      expect([...found.keys()].sort((a, b) => a - b)).to.deep.equal([...home.keys()]);
    });
  }
});
