import { expect } from 'chai';
import { Http, newStudy, unique, user } from '../support/http.js';
import type { Loose } from '../support/http.js';
import { refusing } from '../support/refusing.js';
import { DAY_MS, HOUR, Site, day, instant, trials } from './stage.js';
import type { ItemView } from './stage.js';

const response = (id: string, sessionId: string, fields: Record<string, unknown> = {}) => ({
  id,
  sessionId,
  task: 'stroop',
  summary: { accuracy: 1 },
  trials: trials('stroop', 3),
  ...fields,
});

describe('Offline sync', () => {
  let site: Site;
  beforeEach(async () => {
    site = await Site.open();
  });
  const session = async (item: Record<string, unknown>) =>
    site.http.expect<ItemView>(200, 'POST', '/api/sync/sessions', item);
  const respond = async (item: Record<string, unknown>) =>
    site.http.expect<ItemView>(200, 'POST', '/api/sync/responses', item);

  it('says without a token that it is there', async () => {
    const { body } = await new Http(site.http.base).get('/api/sync/status');
    expect(body).to.include({ status: 'ok', max_items: 1000 });
    expect(Math.abs(Date.parse(body.server_time as string) - Date.now())).to.be.below(60_000);
  });

  it('takes one session and one response, and the same again as duplicates; syncStatus and syncAttempts are not content', async () => {
    const item = site.item('s1', { timezone: 'Europe/Berlin', deviceId: 'tablet 4', language: 'de' });
    const made = await session(item);
    expect(made).to.include({ kind: 'session', local_id: 's1', status: 'created' });
    expect(await session({ ...item, syncStatus: 'failed', syncAttempts: 7 })).to.deep.equal({
      ...made,
      status: 'duplicate',
    });
    const answer = response('r1', 's1');
    expect(await respond(answer)).to.deep.equal({
      kind: 'response',
      local_id: 'r1',
      server_id: made.server_id,
      status: 'created',
    });
    expect((await respond({ ...answer, sessionId: made.server_id, syncAttempts: 2 })).status).to.equal('duplicate');
    const seen = await site.see(made.server_id!);
    expect(seen).to.deep.include({
      source: 'offline',
      local_id: 's1',
      status: 'completed',
      timezone: 'Europe/Berlin',
      device_id: 'tablet 4',
      language: 'de',
      task_summaries: { stroop: { accuracy: 1 } },
      trial_count: 3,
    });
    expect(Date.parse(seen.started_at as string)).to.equal(Date.parse(item.startedAt as string));
    expect(await site.trials(made.server_id!)).to.deep.equal(answer.trials);
  });

  it('answers every item in the order sent, whatever they refer to; one bad item stops none of the others', async () => {
    const { results, ...counts } = await site.bulk({
      responses: [
        response('r1', 's2'),
        response('r2', 'nobody'),
        response('r3', 's1', { task: 'telepathy', trials: [] }),
        response('r4', 's1', { trials: [{ trial_index: 0, rt: -1, correct: true, timestamp: instant() }] }),
      ],
      sessions: [
        site.item('s1'),
        'no object',
        { id: 'half' },
        site.item('s3', { participantId: '00000000-0000-4000-8000-000000000000' }),
        site.item('s4', { startedAt: '0000-01-01T00:00:00Z', completedAt: '0000-01-01T00:00:00Z' }),
        site.item('s2', { participantId: site.participant.participant_code }),
      ],
    });
    expect(results.map((r) => [r.kind, r.local_id, r.status, r.code])).to.deep.equal([
      ['session', 's1', 'created', undefined],
      ['session', null, 'rejected', 'INVALID_ITEM'],
      ['session', 'half', 'rejected', 'INVALID_ITEM'],
      ['session', 's3', 'rejected', 'UNKNOWN_PARTICIPANT'],
      ['session', 's4', 'rejected', 'INVALID_ITEM'],
      ['session', 's2', 'created', undefined],
      ['response', 'r1', 'created', undefined],
      ['response', 'r2', 'rejected', 'UNKNOWN_SESSION'],
      ['response', 'r3', 'rejected', 'UNKNOWN_TASK'],
      ['response', 'r4', 'rejected', 'INVALID_ITEM'],
    ]);
    expect(counts).to.deep.equal({ created: 3, duplicates: 0, conflicts: 0, rejected: 7 });
    for (const rejected of results.filter((r) => r.status === 'rejected'))
      expect(rejected.message).to.be.a('string').and.not.equal('');
  });

  it('keeps trials as they were said: quotes, brackets and line breaks in what a client adds, and an instant over two lines', async () => {
    const at = instant(-DAY_MS);
    const said = ['"', '\\', '\\"', '{['.repeat(100), 'a\nb\tc', "it's"];
    const own = said.map((response, n) => ({
      task: 'stroop',
      trial_index: n,
      rt: n === 0 ? null : n + 0.5,
      correct: n % 2 === 0,
      timestamp: n === 1 ? at.replace('T', '\n') : at,
      data: { response },
    }));
    const { results } = await site.bulk({
      sessions: [site.item('s1')],
      responses: [
        response('r1', 's1', { trials: own }),
        response('r2', 's1', { task: 'flanker', trials: [] }),
        response('r3', 's1', { task: 'n_back', trials: trials('n_back', 3) }),
      ],
    });
    expect(results.map((r) => r.status)).to.deep.equal(['created', 'created', 'created', 'created']);
    const stored = await site.trials(results[0]!.server_id!);
    expect(stored.filter((trial) => trial.task === 'stroop')).to.deep.equal(
      own.map((trial) => ({ ...trial, timestamp: at })),
    );
    expect(stored.filter((trial) => trial.task === 'n_back').map((trial) => 'data' in trial)).to.deep.equal([
      false,
      false,
      false,
    ]);
  });

  it('keeps instants to the microsecond, and what is missing, beside many that are whole milliseconds', async () => {
    const many = (task: string) =>
      trials(task, 1_003, { timestamp: '2026-03-04T05:06:07.890Z' }).map((trial) => ({
        ...trial,
        rt: trial.trial_index % 3 === 0 ? null : trial.trial_index / 8,
        correct: [true, false, null][trial.trial_index % 3]!,
      }));
    const strange = [
      '1999-12-31T23:59:59.999Z',
      '1969-07-20T20:17:40Z',
      '2026-03-04T05:06:07.123456Z',
      '2026-03-04T05:06:07.5+02:00',
      '2000-02-29t00:00:00.1z',
    ];
    const fine = strange.map((timestamp, n) => ({
      task: 'flanker',
      trial_index: n,
      rt: 0.1 + n,
      correct: null,
      timestamp,
    }));
    const early = strange
      .slice(0, 2)
      .map((timestamp, n) => ({ task: 'n_back', trial_index: n, rt: 86_400_000, correct: true, timestamp }));
    for (const [id, others] of [
      ['whole', []],
      ['fine', [response('r2', 'fine', { task: 'flanker', trials: fine })]],
    ] as const) {
      const { results } = await site.bulk({
        sessions: [site.item(id)],
        responses: [
          response('r1', id, { trials: many('stroop') }),
          ...others,
          response('r3', id, { task: 'n_back', trials: early }),
        ],
      });
      expect(results.map((r) => r.status)).to.deep.equal(results.map(() => 'created'));
      const stored = await site.trials(results[0]!.server_id!);
      const of = (task: string) => stored.filter((trial) => trial.task === task);
      expect(of('stroop')).to.deep.equal(many('stroop'));
      expect(of('n_back').map(({ rt, timestamp }) => [rt, timestamp])).to.deep.equal([
        [86_400_000, strange[0]],
        [86_400_000, '1969-07-20T20:17:40.000Z'],
      ]);
      if (others.length === 0) continue;
      expect(of('flanker').map(({ rt, correct, timestamp }) => [rt, correct, timestamp])).to.deep.equal(
        [
          strange[0],
          '1969-07-20T20:17:40.000Z',
          strange[2],
          '2026-03-04T03:06:07.500Z',
          '2000-02-29T00:00:00.100Z',
        ].map((timestamp, n) => [0.1 + n, null, timestamp]),
      );
    }
  });

  it('takes hundreds of responses as it takes a few: a bad one and one that meets another far before it are told apart, and the visit is recorded once', async () => {
    const visit = await site.visit({}, [-2, 0]);
    const sessions = Array.from({ length: 60 }, (_, i) => site.item(`s${i}`));
    const responses = sessions.flatMap((_, i) =>
      ['stroop', 'flanker', 'n_back'].map((task) =>
        response(`r${i} ${task}`, `s${i}`, { task, trials: trials(task, 3) }),
      ),
    );
    const bad = response('bad', 's59', { task: 'digit_span', trials: trials('digit_span', 1) });
    const bulk = {
      sessions,
      responses: [...responses, bad, response('other', 's0', { summary: { accuracy: 0 } }), { ...responses[1]! }],
    };
    const { results, ...counts } = await refusing('session_tasks', `local_id <> 'bad'`, () => site.bulk(bulk));
    expect(
      results
        .filter((r) => r.status !== 'created')
        .map((r) => [r.local_id, r.status === 'rejected' ? r.code : (r.conflict_type ?? r.status)]),
    ).to.deep.equal([
      ...sessions.slice(1).map(({ id }) => [id, 'visit_already_completed']),
      ['bad', 'INVALID_VALUE'],
      ['other', 'duplicate_response'],
      ['r0 flanker', 'duplicate'],
    ]);
    expect(counts).to.deep.equal({ created: 181, duplicates: 1, conflicts: 60, rejected: 1 });
    const seen = await site.see(results[59]!.server_id!);
    expect(Object.keys(seen.task_summaries as object).sort()).to.deep.equal(['flanker', 'n_back', 'stroop']);
    expect(seen.trial_count).to.equal(9);
    const audit = await site.http.expect(200, 'GET', `/api/audit?study_id=${site.study.id}&limit=100`);
    expect(audit.items.filter((r) => r.action === 'visit_completed').map((r) => r.resource_id)).to.deep.equal([
      visit.id,
    ]);
    const told = audit.items
      .filter((r) => r.action === 'offline_sync')
      .flatMap((r) => (r.audit_metadata as { items: unknown[] }).items);
    expect(told).to.have.length(241);
    expect(
      (await site.http.expect<{ valid: boolean }>(200, 'GET', `/api/audit/verify?study_id=${site.study.id}`)).valid,
    ).to.equal(true);
  });

  it('the same bulk again changes nothing', async () => {
    await site.visit({}, [-2, 0]);
    const bulk = {
      sessions: [site.item('a'), site.item('b'), site.item('a', { completedAt: instant(-1000) })],
      responses: [response('r', 'a'), response('q', 'a', { summary: { accuracy: 0 } })],
    };
    const state = async () => {
      const [sessions, conflicts, visits, audit] = await Promise.all([
        site.http.get(`/api/sessions?study_id=${site.study.id}`),
        site.conflicts(),
        site.http.get(`/api/schedules/visits?study_id=${site.study.id}`),
        site.http.get(`/api/audit?study_id=${site.study.id}&limit=100`),
      ]);
      return [sessions.text, JSON.stringify(conflicts), visits.text, audit.text];
    };
    const first = await site.bulk(bulk);
    expect(first.results.map((r) => r.status)).to.deep.equal([
      'created',
      'conflict',
      'conflict',
      'created',
      'conflict',
    ]);
    const before = await state();
    const again = await site.bulk(bulk);
    expect(again.results.map((r) => r.status)).to.deep.equal([
      'duplicate',
      'duplicate',
      'conflict',
      'duplicate',
      'conflict',
    ]);
    expect(again.results.map((r) => r.server_id)).to.deep.equal(first.results.map((r) => r.server_id));
    expect(await state()).to.deep.equal(before);
  });

  it('of the same bulk sent eight times at once every item is there once', async () => {
    const bulk = {
      sessions: Array.from({ length: 20 }, (_, i) => site.item(`s${i}`)),
      responses: Array.from({ length: 20 }, (_, i) => response(`r${i}`, `s${i}`)),
    };
    const answers = await Promise.all(Array.from({ length: 8 }, () => site.bulk(bulk)));
    expect(answers.reduce((sum, a) => sum + a.created, 0)).to.equal(40);
    expect(answers.reduce((sum, a) => sum + a.duplicates, 0)).to.equal(280);
    expect((await site.http.expect(200, 'GET', `/api/sessions?study_id=${site.study.id}`)).total).to.equal(20);
  });

  it('a response whose session is not known is rejected, and taken when sent again after it', async () => {
    // An admin's call reaches the sessions of other tests as well.
    const local = unique('s');
    expect((await respond(response('r', local))).code).to.equal('UNKNOWN_SESSION');
    await session(site.item(local));
    expect((await respond(response('r', local))).status).to.equal('created');
  });

  it('an unfinished session goes on as its device ends it; its earlier state is a duplicate', async () => {
    const unfinished = site.item('s', { status: 'active', completedAt: null });
    const visit = await site.visit({}, [-2, 0]);
    const made = await session(unfinished);
    expect((await session(site.item('s', { startedAt: unfinished.startedAt }))).server_id).to.equal(made.server_id);
    expect(await site.see(made.server_id!)).to.include({ status: 'completed' });
    expect((await site.seeVisit(visit.id)).session_id).to.equal(made.server_id);
    expect((await session(unfinished)).status).to.equal('duplicate');
  });

  it('data that were submitted online are the same data when they come by sync', async () => {
    const id = await site.session();
    const raw = trials('stroop', 3);
    await site.submit(id, { task_summaries: { stroop: { accuracy: 1 } }, raw_trials: raw });
    expect((await respond(response('r', id, { trials: raw }))).status).to.equal('duplicate');
  });

  describe('start', () => {
    it('more than 24 hours ahead is rejected; before the participant’s creation is fine', async () => {
      expect(
        (await session(site.item('ahead', { status: 'active', startedAt: instant(25 * HOUR), completedAt: null })))
          .code,
      ).to.equal('START_IN_FUTURE');
      expect(
        (
          await session(
            site.item('little ahead', { status: 'active', startedAt: instant(23 * HOUR), completedAt: null }),
          )
        ).status,
      ).to.equal('created');
      expect(
        (await session(site.item('old', { startedAt: '2020-01-01T10:00:00Z', completedAt: '2020-01-01T10:30:00Z' })))
          .status,
      ).to.equal('created');
    });

    for (const [title, fields, code] of [
      ['no end of a completed session', { completedAt: null }, 'COMPLETED_AT_REQUIRED'],
      ['an end of a session that has none', { status: 'abandoned' }, 'NOT_COMPLETED'],
      ['a visit that is not the participant’s', { visitId: '00000000-0000-4000-8000-000000000000' }, 'UNKNOWN_VISIT'],
      ['a battery that the study has not', { batteryId: 2_000_000_000 }, 'UNKNOWN_BATTERY'],
      ['an unknown field', { colour: 1 }, 'INVALID_ITEM'],
      ['a leap second', { startedAt: '2016-12-31T23:59:60Z' }, 'INVALID_ITEM'],
    ] as const) {
      it(`with ${title}: ${code}`, async () => expect((await session(site.item('x', fields))).code).to.equal(code));
    }

    it('keeps how far the device’s clock was off', async () => {
      const before = performance.now();
      const { server_id } = await site.http.expect<ItemView>(200, 'POST', '/api/sync/sessions', site.item('s'), {
        headers: { 'X-Device-Time': instant(HOUR) },
      });
      // How long the request took cannot be told from how far the clock is off.
      const tookMs = performance.now() - before;
      expect((await site.see(server_id!)).clock_skew_ms).to.be.within(HOUR - tookMs - 100, HOUR + 100);
    });
  });

  describe('visits', () => {
    it('takes the one visit whose window holds the local start date, and completes it', async () => {
      const berlin = await Site.open({ timezone: 'Europe/Berlin' });
      // 23:30 UTC is tomorrow in Berlin.
      const start = `${day(-3)}T23:30:00Z`;
      const [before, own] = [await berlin.visit({}, [-4, -3]), await berlin.visit({}, [-2, -2])];
      const {
        results: [made],
      } = await berlin.bulk({
        sessions: [berlin.item('s', { startedAt: start, completedAt: `${day(-2)}T00:10:00Z` })],
      });
      expect(made!.status).to.equal('created');
      expect(await berlin.seeVisit(own.id)).to.include({
        status: 'completed',
        session_id: made!.server_id,
        completed_at: `${day(-2)}T00:10:00.000Z`,
        adherence: 'in_window',
      });
      expect((await berlin.seeVisit(before.id)).status).not.to.equal('completed');
      // The device's own zone counts before the study's.
      const {
        results: [other],
      } = await berlin.bulk({
        sessions: [berlin.item('t', { startedAt: start, completedAt: `${day(-2)}T00:10:00Z`, timezone: 'UTC' })],
      });
      expect((await berlin.seeVisit(before.id)).session_id).to.equal(other!.server_id);
    });

    it('takes none where two windows hold it, unless one is named', async () => {
      const [one] = [await site.visit({}, [-2, 0]), await site.visit({}, [-3, 0])];
      expect((await site.see((await session(site.item('s'))).server_id!)).visit_id).to.equal(null);
      expect((await site.see((await session(site.item('t', { visitId: one.id }))).server_id!)).visit_id).to.equal(
        one.id,
      );
      expect((await site.seeVisit(one.id)).status).to.equal('completed');
    });
  });

  describe('conflicts', () => {
    const only = async (): Promise<Loose> => {
      const { items, total } = await site.conflicts();
      expect(total).to.equal(1);
      return items[0]!;
    };
    const resolve = (id: string, keep: string) =>
      site.http.post(`/api/studies/${site.study.id}/sync-conflicts/${id}/resolve`, {
        keep,
        reason: 'the tablet was right',
      });
    const audited = async () =>
      (await site.http.expect(200, 'GET', `/api/audit?study_id=${site.study.id}&limit=100`)).items.find(
        (r) => r.action === 'sync_conflict_resolved',
      );

    it('duplicate_session: the same id with other content; the server wins, the other is kept', async () => {
      const item = site.item('s');
      const made = await session(item);
      const other = { ...item, completedAt: instant(-HOUR) };
      expect(await session(other)).to.include({
        status: 'conflict',
        conflict_type: 'duplicate_session',
        resolution: 'server_wins',
        server_id: made.server_id,
      });
      expect((await site.see(made.server_id!)).completed_at).to.equal(
        new Date(item.completedAt as string).toISOString(),
      );
      const conflict = await only();
      expect(conflict.local_content).to.deep.include({ id: 's', completedAt: other.completedAt });
      expect(conflict.server_content).to.deep.include({
        id: 's',
        completedAt: new Date(item.completedAt as string).toISOString(),
      });
      await resolve(conflict.id, 'local');
      expect((await site.see(made.server_id!)).completed_at).to.equal(other.completedAt);
      expect((await session(other)).status, 'now it is what the server has').to.equal('duplicate');
      expect((await audited())!.audit_metadata).to.include({
        keep: 'local',
        reason: 'the tablet was right',
        conflict_type: 'duplicate_session',
      });
      expect((await resolve(conflict.id, 'server')).body.code).to.equal('CONFLICT_RESOLVED');
    });

    it('duplicate_session kept on both sides is two sessions', async () => {
      const item = site.item('s');
      await session(item);
      await session({ ...item, completedAt: instant(-HOUR) });
      expect((await resolve((await only()).id, 'both')).status).to.equal(200);
      const { items } = await site.http.expect(200, 'GET', `/api/sessions?participant_id=${site.participant.id}`);
      expect(items.map(({ local_id }) => (local_id as string).split('#')[0])).to.deep.equal(['s', 's']);
    });

    for (const keep of ['server', 'local', 'both'] as const) {
      it(`duplicate_response: other values for a session's task, whatever the response's id; resolved for ${keep}`, async () => {
        const { server_id } = await session(site.item('s'));
        await respond(response('r1', 's'));
        const local = response('r2', 's', { summary: { accuracy: 0.25 }, trials: trials('stroop', 5) });
        expect(await respond(local)).to.include({
          status: 'conflict',
          conflict_type: 'duplicate_response',
          resolution: 'server_wins',
          server_id,
        });
        const conflict = await only();
        expect(conflict.local_content).to.deep.include({
          id: 'r2',
          task: 'stroop',
          summary: { accuracy: 0.25 },
          trials: local.trials,
        });
        expect((await resolve(conflict.id, keep)).body).to.include({ status: 'resolved', keep });
        const held = { server: { accuracy: 1 }, local: { accuracy: 0.25 }, both: { accuracy: 1 } }[keep];
        expect((await site.see(server_id!)).task_summaries).to.deep.equal({ stroop: held });
        expect(await site.trials(server_id!)).to.have.length(keep === 'local' ? 5 : 3);
        const { items } = await site.http.expect(200, 'GET', `/api/sessions?study_id=${site.study.id}&sort=created_at`);
        expect(items.map((s) => s.trial_count)).to.deep.equal({ server: [3], local: [5], both: [3, 5] }[keep]);
        if (keep === 'local')
          expect((await only()).server_content as object, 'what gave way is kept').to.deep.include({
            summary: { accuracy: 1 },
          });
      });
    }

    it('visit_already_completed: both are kept, the visit stays; resolved for the device it is told by its session', async () => {
      const visit = await site.visit({}, [-2, 0]);
      const online = await site.session({ visit_id: visit.id });
      await site.end(online);
      const made = await session(site.item('s'));
      expect(made).to.include({
        status: 'conflict',
        conflict_type: 'visit_already_completed',
        resolution: 'both_kept',
      });
      expect(await site.see(made.server_id!)).to.include({ status: 'completed', visit_id: visit.id });
      expect((await site.seeVisit(visit.id)).session_id).to.equal(online);
      await resolve((await only()).id, 'local');
      expect((await site.seeVisit(visit.id)).session_id).to.equal(made.server_id);
    });

    it('participant_withdrawn: a start after the withdrawal is kept and completes nothing; one before is an ordinary one', async () => {
      const visit = await site.visit({}, [-2, 0]);
      await site.http.expect(200, 'POST', `/api/participants/${site.participant.id}/withdraw`, {
        reason: 'x',
        withdrawn_at: instant(-DAY_MS - HOUR),
      });
      expect(await session(site.item('after'))).to.include({
        status: 'conflict',
        conflict_type: 'participant_withdrawn',
        resolution: 'both_kept',
      });
      expect((await site.seeVisit(visit.id)).status).not.to.equal('completed');
      expect(
        (
          await session(
            site.item('before', { startedAt: instant(-2 * DAY_MS), completedAt: instant(-2 * DAY_MS + 1000) }),
          )
        ).status,
      ).to.equal('created');
    });

    it('battery_version_mismatch: a session of another version is kept', async () => {
      const battery = await site.battery();
      await site.http.expect(200, 'PATCH', `/api/batteries/${battery.id}`, { status: 'published' });
      expect((await session(site.item('v1', { batteryId: battery.id, batteryVersion: 1 }))).status).to.equal('created');
      await site.http.expect(200, 'PATCH', `/api/batteries/${battery.id}`, { name: 'Next', status: 'published' });
      const made = await session(site.item('still v1', { batteryId: battery.id, batteryVersion: 1 }));
      expect(made).to.include({
        status: 'conflict',
        conflict_type: 'battery_version_mismatch',
        resolution: 'both_kept',
      });
      expect(await site.see(made.server_id!)).to.include({ battery_id: battery.id, battery_version: 1 });
      await resolve((await only()).id, 'server');
      expect((await site.see(made.server_id!)).status, 'set aside, not deleted').to.equal('abandoned');
    });

    it('are told beforehand by check-conflicts, which changes nothing', async () => {
      // Made once: an item made a second later would be another.
      const item = site.item('s');
      await session(item);
      await respond(response('r', 's'));
      const report = await site.http.expect(200, 'POST', '/api/sync/check-conflicts', {
        sessions: [item, { ...item, completedAt: instant() }, site.item('new')],
        responses: [response('r', 's', { summary: { accuracy: 0 } }), response('n', 'new')],
      });
      expect(report).to.deep.include({ has_conflicts: true });
      expect(
        (report.session_conflicts as Loose[]).map((c) => [c.conflict_type, c.local_id, c.resolution]),
      ).to.deep.equal([['duplicate_session', 's', 'server_wins']]);
      expect((report.response_conflicts as Loose[]).map((c) => [c.conflict_type, c.local_id])).to.deep.equal([
        ['duplicate_response', 'r'],
      ]);
      expect((await site.conflicts()).total).to.equal(0);
      expect((await site.http.expect(200, 'GET', `/api/sessions?study_id=${site.study.id}`)).total).to.equal(1);
      expect(
        await site.http.expect(200, 'POST', '/api/sync/check-conflicts', { sessions: [site.item('new')] }),
      ).to.deep.equal({ has_conflicts: false, session_conflicts: [], response_conflicts: [], rejected: [] });
    });

    it('are told of what cannot be read as well, and what a sync would reject is named', async () => {
      const { server_id } = await session(site.item('s'));
      const { status: _status, ...bare } = site.item('s');
      const check = (sessions: unknown[], by = site.http) =>
        by.expect<Loose & { session_conflicts: Loose[]; rejected: ItemView[] }>(
          200,
          'POST',
          '/api/sync/check-conflicts',
          { sessions, responses: [{ id: 'r' }] },
        );
      const sessions = [bare, { ...bare, id: 'new' }, null, site.item('no end', { completedAt: null })];
      const report = await check(sessions);
      expect(report.has_conflicts).to.equal(true);
      expect(
        report.session_conflicts.map((c) => [c.conflict_type, c.local_id, c.server_id, c.resolution]),
      ).to.deep.equal([['duplicate_session', 's', server_id, 'server_wins']]);
      const { results } = await site.bulk({ sessions, responses: [{ id: 'r' }] });
      expect(report.rejected)
        .to.deep.equal(results.filter(({ status }) => status === 'rejected'))
        .and.have.length(5);
      const stranger = await user(site.http, 'coordinator', { study_ids: [(await newStudy(site.http)).id] });
      expect(await check([bare], stranger)).to.include({ has_conflicts: false });
    });
  });

  it('takes 1,000 items and refuses 1,001 with 413', async () => {
    const items = Array.from({ length: 1000 }, (_, i) => site.item(`s${i}`));
    expect((await site.bulk({ sessions: items })).created).to.equal(1000);
    expect(
      (await site.http.post('/api/sync/bulk', { sessions: items, responses: [response('r', 's1')] })).status,
    ).to.equal(413);
  });

  it('is for those who work with participants, in their studies', async () => {
    const stranger = await user(site.http, 'coordinator', { study_ids: [(await newStudy(site.http)).id] });
    expect((await stranger.expect<ItemView>(200, 'POST', '/api/sync/sessions', site.item('s'))).code).to.equal(
      'UNKNOWN_PARTICIPANT',
    );
    const { server_id } = await session(site.item('s'));
    expect(
      (await stranger.expect<ItemView>(200, 'POST', '/api/sync/responses', response('r', server_id!))).code,
    ).to.equal('UNKNOWN_SESSION');
    const manager = await user(site.http, 'data_manager', { study_ids: [site.study.id] });
    expect((await manager.post('/api/sync/sessions', site.item('t'))).status).to.equal(403);
    expect((await new Http(site.http.base).post('/api/sync/bulk', { sessions: [] })).status).to.equal(401);
  });
});
