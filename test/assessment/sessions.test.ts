import { expect } from 'chai';
import { Http, newStudy, user } from '../support/http.js';
import type { Loose } from '../support/http.js';
import { Site, day, endTimeOf, trials } from './stage.js';

const NOBODY = '00000000-0000-4000-8000-000000000000';

describe('Assessment sessions', () => {
  let site: Site;
  beforeEach(async () => {
    site = await Site.open();
  });

  describe('start', () => {
    it('takes the participant’s one open visit, with its battery as it is published', async () => {
      const battery = await site.battery();
      const visit = await site.visit({ battery_id: battery.id });
      const { status, body } = await site.start();
      expect([status, body.visitId, body.batteryId, body.batteryVersion]).to.deep.equal([201, visit.id, battery.id, 1]);
      expect(Date.parse(body.expiresAt) - Date.now()).to.be.within(119 * 60_000, 120 * 60_000);
      expect(await site.see(body.sessionId)).to.include({
        status: 'active',
        source: 'online',
        language: 'en',
        study_id: site.study.id,
        visit_id: visit.id,
        trial_count: 0,
        sync_status: null,
      });
    });

    it('takes none where there are two, or none', async () => {
      expect((await site.start()).body.visitId).to.equal(null);
      await site.visit();
      await site.visit();
      expect((await site.start()).body).to.include({ visitId: null, batteryId: null });
    });

    it('takes participant and site by code, which needs the study', async () => {
      const place = await site.http.expect(201, 'POST', `/api/studies/${site.study.id}/sites`, {
        site_code: 'North',
        name: 'North',
      });
      const by = { participant_id: site.participant.participant_code, site_id: 'North' };
      const without = await site.start(by);
      expect([without.status, without.body.errors[0]?.path]).to.deep.equal([422, 'study_id']);
      const { body } = await site.start({ ...by, study_id: site.study.id });
      expect((await site.see(body.sessionId)).site_id).to.equal(place.id);
      expect(
        (await site.http.post('/api/session/start', by, { headers: { 'X-Study-ID': site.study.id } })).status,
      ).to.equal(201);
    });

    it('warns staff outside the window, and refuses a completed or cancelled visit', async () => {
      const visit = await site.visit({}, [3, 5]);
      const { body } = await site.start({ visit_id: visit.id });
      expect(body.warnings.map((w) => w.code)).to.deep.equal(['OUTSIDE_WINDOW']);
      expect((await site.end(body.sessionId)).body.visit_id).to.equal(visit.id);
      const again = await site.start({ visit_id: visit.id });
      expect([again.status, again.body.code]).to.deep.equal([409, 'VISIT_COMPLETED']);
      const cancelled = await site.visit();
      await site.http.expect(200, 'POST', `/api/visits/${cancelled.id}/cancel`, { reason: 'moved away' });
      expect((await site.start({ visit_id: cancelled.id })).body.code).to.equal('VISIT_CLOSED');
    });

    for (const [title, fields, status] of [
      ['an unknown participant', { participant_id: NOBODY }, 404],
      ['an unknown visit', { visit_id: NOBODY }, 404],
      ['an unknown site', { site_id: NOBODY }, 400],
      ['an unknown battery', { battery_id: 2_000_000_000 }, 400],
      ['no participant', { participant_id: undefined }, 422],
      ['a wrong language', { language: 'no language' }, 422],
      ['a zone that is none', { timezone: 'Mars/Base' }, 422],
      ['an unknown field', { colour: 1 }, 422],
    ] as const) {
      it(`refuses ${title}: ${status}`, async () => expect((await site.start(fields)).status).to.equal(status));
    }

    it('refuses a battery and a visit of another study or participant, and a withdrawn participant', async () => {
      const other = await Site.open();
      expect((await site.start({ battery_id: (await other.battery()).id })).status).to.equal(400);
      expect((await site.start({ visit_id: (await other.visit()).id })).status).to.equal(404);
      expect(
        (await site.start({ participant_id: other.participant.participant_code, study_id: site.study.id })).status,
      ).to.equal(404);
      await site.http.expect(200, 'POST', `/api/participants/${site.participant.id}/withdraw`, { reason: 'x' });
      expect((await site.start()).body.code).to.equal('PARTICIPANT_WITHDRAWN');
    });

    it('repeated under its Idempotency-Key is one session', async () => {
      const send = () =>
        site.http.post(
          '/api/session/start',
          { participant_id: site.participant.id },
          { headers: { 'Idempotency-Key': `k-${site.study.id}` } },
        );
      const [one, two] = [await send(), await send()];
      expect(two.body).to.deep.equal(one.body);
      expect(
        (await site.http.expect(200, 'GET', `/api/sessions?participant_id=${site.participant.id}`)).total,
      ).to.equal(1);
    });
  });

  describe('submit', () => {
    it('takes tasks in several submissions, each once; the same again is a duplicate', async () => {
      const id = await site.session();
      const first = { task_summaries: { stroop: { mean_rt: 301.5, accuracy: 0.75 } }, raw_trials: trials('stroop', 4) };
      const one = await site.submit(id, first);
      expect([one.status, one.body.status, one.body.tasks, one.body.trials]).to.deep.equal([200, 'accepted', 1, 4]);
      const again = await site.submit(id, first);
      expect([again.body.status, again.body.checksum]).to.deep.equal(['duplicate', one.body.checksum]);
      const beside = await site.submit(id, {
        task_summaries: { ...first.task_summaries, flanker: { accuracy: 1 } },
        raw_trials: first.raw_trials,
      });
      expect([beside.body.status, beside.body.tasks]).to.deep.equal(['accepted', 2]);
      const session = await site.see(id);
      expect(session).to.deep.include({
        task_summaries: { ...first.task_summaries, flanker: { accuracy: 1 } },
        trial_count: 4,
      });
      expect(await site.trials(id)).to.deep.equal(first.raw_trials);
    });

    it('changes the session’s ETag', async () => {
      const id = await site.session();
      const look = (headers: Record<string, string> = {}) => site.http.get(`/api/sessions/${id}`, { headers });
      const before = (await look()).headers.get('etag')!;
      expect((await look({ 'If-None-Match': before })).status).to.equal(304);
      await site.submit(id, { task_summaries: { stroop: { accuracy: 1 } }, raw_trials: trials('stroop', 5) });
      const after = await look({ 'If-None-Match': before });
      expect([after.status, after.body.trial_count]).to.deep.equal([200, 5]);
    });

    it('its trials can be read by pages, over the pieces that they are stored in', async () => {
      const id = await site.session();
      const [stroop, flanker] = [trials('stroop', 1200), trials('flanker', 30)];
      await site.submit(id, {
        task_summaries: { stroop: { accuracy: 1 }, flanker: { accuracy: 1 } },
        raw_trials: [...stroop, ...flanker],
      });
      const all = await site.trials(id);
      const read = (query: string) => site.http.expect(200, 'GET', `/api/sessions/${id}/trials${query}`);
      for (const [skip, limit] of [
        [0, 1],
        [20, 20],
        [1000, 100],
        [1200, 500],
        [1230, 10],
        [2000, 1],
      ] as const) {
        const page = await read(`?skip=${skip}&limit=${limit}`);
        expect([page.total, page.items], `${skip}, ${limit}`).to.deep.equal([1230, all.slice(skip, skip + limit)]);
      }
      expect((await read('?skip=1228')).items).to.deep.equal(all.slice(1228));
    });

    it('other data for a task is TASK_CONFLICT, and nothing of that submission is taken', async () => {
      const id = await site.session();
      await site.submit(id, { task_summaries: { stroop: { accuracy: 1 } } });
      const other = await site.submit(id, { task_summaries: { stroop: { accuracy: 0.5 }, flanker: { accuracy: 1 } } });
      expect([other.status, other.body.code, other.body.errors[0]?.path]).to.deep.equal([
        409,
        'TASK_CONFLICT',
        'task_summaries.stroop',
      ]);
      expect((await site.see(id)).task_summaries).to.deep.equal({ stroop: { accuracy: 1 } });
    });

    it('of twenty at once, one is accepted and the others are duplicates', async () => {
      const id = await site.session();
      const body = { task_summaries: { stroop: { accuracy: 1 } }, raw_trials: trials('stroop', 50) };
      const answers = await Promise.all(Array.from({ length: 20 }, () => site.submit(id, body)));
      expect(answers.map((a) => a.body.status).sort()).to.deep.equal([
        'accepted',
        ...Array.from({ length: 19 }, () => 'duplicate'),
      ]);
      expect(await site.trials(id)).to.have.length(50);
    });

    it('the credential is looked at before the body', async () => {
      const { http } = site;
      for (const path of ['/api/submit', '/api/session/end']) {
        for (const [header, code] of [
          ['', 'SESSION_UNKNOWN'],
          ['x', 'SESSION_UNKNOWN'],
          [NOBODY, 'SESSION_UNKNOWN'],
        ] as const) {
          const { status, body } = await new Http(http.base).post(
            path,
            { colour: 1 },
            { headers: header === '' ? {} : { 'X-Session-ID': header } },
          );
          expect([path, header, status, body.code]).to.deep.equal([path, header, 401, code]);
        }
        expect(
          (await new Http(http.base).post(path, { colour: 1 }, { headers: { 'X-Session-ID': await site.session() } }))
            .status,
        ).to.equal(422);
      }
    });

    it('an Idempotency-Key is the session’s own: the answer is repeated, another body is 409', async () => {
      const [one, two] = [await site.session(), await site.session()];
      const send = (id: string, path: string, body: object) =>
        new Http(site.http.base).post(
          path,
          { session_id: id, ...body },
          { headers: { 'X-Session-ID': id, 'Idempotency-Key': 'k' } },
        );
      const results = { task_summaries: { stroop: { accuracy: 1 } } };
      const [first, again] = [await send(one, '/api/submit', results), await send(one, '/api/submit', results)];
      expect([first.body.status, again.body.status, again.text]).to.deep.equal(['accepted', 'accepted', first.text]);
      const other = await send(one, '/api/submit', { task_summaries: { flanker: { accuracy: 1 } } });
      expect([other.status, other.body.code]).to.deep.equal([409, 'IDEMPOTENCY_KEY_REUSED']);
      expect((await send(two, '/api/submit', { task_summaries: { flanker: { accuracy: 1 } } })).body.status).to.equal(
        'accepted',
      );
      const [ended, repeated] = [await send(one, '/api/session/end', {}), await send(one, '/api/session/end', {})];
      expect([ended.status, repeated.text, repeated.headers.get('idempotent-replay')]).to.deep.equal([
        200,
        ended.text,
        'true',
      ]);
    });

    it('the session id is the credential: missing or unknown 401, other than the body’s 400', async () => {
      const id = await site.session();
      const body = { task_summaries: { stroop: { accuracy: 1 } } };
      expect((await site.submit(id, body, '')).status).to.equal(401);
      expect((await site.submit(id, body, NOBODY)).status).to.equal(401);
      expect((await site.submit(id, body, 'seven')).status).to.equal(401);
      const other = await site.session();
      expect((await site.submit(id, body, other)).body.code).to.equal('SESSION_MISMATCH');
      expect((await site.end(id, '')).status).to.equal(401);
      expect((await site.end(id, other)).status).to.equal(400);
      expect((await site.see(id)).task_summaries).to.deep.equal({});
    });

    it('after the end the same again is a duplicate, anything new 409', async () => {
      const id = await site.session();
      const body = { task_summaries: { stroop: { accuracy: 1 } } };
      await site.submit(id, body);
      await site.end(id);
      expect((await site.submit(id, body)).body.status).to.equal('duplicate');
      expect((await site.submit(id, { task_summaries: { flanker: { accuracy: 1 } } })).body.code).to.equal(
        'SESSION_ENDED',
      );
    });

    const bad: [string, Record<string, unknown>, number, string?][] = [
      ['an unknown task', { task_summaries: { telepathy: { accuracy: 1 } } }, 422, 'task_summaries.telepathy'],
      ['a negative rt', { task_summaries: {}, raw_trials: trials('stroop', 1, { rt: -1 }) }, 422, 'raw_trials.0.rt'],
      ['NaN for a number', { task_summaries: { stroop: { accuracy: 'NaN' } } }, 422, 'task_summaries.stroop.accuracy'],
      [
        'a trial index that is no integer',
        { task_summaries: {}, raw_trials: trials('stroop', 1, { trial_index: 0.5 }) },
        422,
        'raw_trials.0.trial_index',
      ],
      [
        'a timestamp that is none',
        { task_summaries: {}, raw_trials: trials('stroop', 1, { timestamp: 'yesterday' }) },
        422,
        'raw_trials.0.timestamp',
      ],
      ['no summaries', {}, 422, 'task_summaries'],
    ];
    for (const [title, body, status, field] of bad) {
      it(`refuses ${title} whole: ${status}`, async () => {
        const id = await site.session();
        const answer = await site.submit(id, {
          ...body,
          task_summaries: body.task_summaries && { flanker: { accuracy: 1 }, ...(body.task_summaries as object) },
        });
        expect(answer.status, answer.text).to.equal(status);
        if (field) expect(answer.body.errors.map((e) => e.path)).to.include(field);
        expect((await site.see(id)).task_summaries).to.deep.equal({});
      });
    }

    it('takes 50,000 trials and refuses 50,001 with 413; they are read back as a stream, in order', async function () {
      const id = await site.session();
      const many = Array.from({ length: 50_001 }, (_, i) => ({
        task: 'stroop',
        trial_index: i,
        rt: 300 + (i % 1000) + 0.123456,
        correct: i % 2 === 0,
        timestamp: '2026-01-05T10:00:00.000Z',
      }));
      // Larger than any other body may be: trials are counted, not weighed.
      expect(JSON.stringify(many).length).to.be.greaterThan(5 * 1024 * 1024);
      expect((await site.submit(id, { task_summaries: {}, raw_trials: many })).status).to.equal(413);
      const taken = await site.submit(id, { task_summaries: {}, raw_trials: many.slice(0, 50_000) });
      expect([taken.status, taken.body.trials]).to.deep.equal([200, 50_000]);
      const lines = (await site.http.get(`/api/sessions/${id}/trials?format=ndjson`)).text.trim().split('\n');
      expect(lines).to.have.length(50_000);
      expect(lines.every((line, i) => (JSON.parse(line) as { trial_index: number }).trial_index === i)).to.equal(true);
      expect((await site.http.expect(200, 'GET', `/api/sessions/${id}/trials?task=flanker`)).items).to.deep.equal([]);
    });
  });

  describe('checks', () => {
    it('recompute the summary beside the client’s, with the difference', async () => {
      const id = await site.session();
      const raw = trials('stroop', 4).map((trial, i) => ({
        ...trial,
        rt: [200, 300, 400, null][i]!,
        correct: i !== 3,
      }));
      await site.submit(id, {
        task_summaries: { stroop: { mean_rt: 310, accuracy: 0.75, interference: 12 } },
        raw_trials: raw,
      });
      const [task] = (await site.see(id)).tasks as {
        computed_summary: object;
        summary_difference: object;
        summary: object;
      }[];
      expect(task).to.deep.include({
        summary: { mean_rt: 310, accuracy: 0.75, interference: 12 },
        computed_summary: { total_trials: 4, mean_rt: 300, median_rt: 300, sd_rt: 100, accuracy: 0.75 },
        summary_difference: { mean_rt: 10 },
      });
    });

    it('report gaps, doubles and disorder as warnings and keep every trial as sent', async () => {
      const id = await site.session();
      const raw = [0, 1, 1, 5, 3].map((trial_index) => trials('stroop', 1, { trial_index })[0]!);
      const { body } = await site.submit(id, { task_summaries: {}, raw_trials: raw });
      expect((body.warnings as { code: string; count: number }[]).map((w) => [w.code, w.count])).to.deep.equal([
        ['TRIAL_DOUBLE', 1],
        ['TRIAL_GAP', 2],
        ['TRIAL_ORDER', 1],
      ]);
      expect((await site.trials(id)).map((t) => t.trial_index)).to.deep.equal([0, 1, 1, 5, 3]);
    });

    it('flag what is not plausible and keep it', async () => {
      const id = await site.session();
      const at = Date.now() - 86_400_000;
      const raw = Array.from({ length: 12 }, (_, i) => ({
        task: 'stroop',
        trial_index: i,
        rt: i < 3 ? 50 : 90_000,
        correct: false,
        timestamp: new Date(at + (i === 5 ? -60_000 : i > 8 ? 7_200_000 : i * 10)).toISOString(),
        data: { response: 'left', colour: 'red' },
      }));
      const { body } = await site.submit(id, { task_summaries: {}, raw_trials: raw });
      expect((body.quality_flags as { code: string; count: number }[]).map((f) => [f.code, f.count])).to.deep.equal([
        ['RT_TOO_FAST', 3],
        ['RT_TOO_SLOW', 9],
        ['ONE_ANSWER', 12],
        ['ALL_WRONG', 12],
        ['CLOCK_BACKWARDS', 1],
        ['CLOCK_JUMP', 1],
      ]);
      expect(await site.trials(id)).to.deep.equal(raw);
    });

    it('flag metrics that no trials could have given, in either way of sending, and keep them', async () => {
      const impossible = { mean_rt: -5, accuracy: 1.5, total_trials: 2.5, d_prime: -1, median_rt: 300 };
      const id = await site.session();
      const flags = [
        {
          code: 'SUMMARY_IMPLAUSIBLE',
          task: 'n_back',
          count: 3,
          message: 'metrics that cannot be: accuracy, mean_rt, total_trials',
        },
      ];
      const { status, body } = await site.submit(id, {
        task_summaries: { n_back: impossible, stroop: { accuracy: 1, mean_rt: 0, total_trials: 0 } },
      });
      expect([status, body.status, body.quality_flags]).to.deep.equal([200, 'accepted', flags]);
      const {
        results: [made],
      } = await site.bulk({
        sessions: [site.item('implausible')],
        responses: [{ id: 'r', sessionId: 'implausible', task: 'n_back', summary: impossible, trials: [] }],
      });
      for (const session of [id, made!.server_id!]) {
        const task = ((await site.see(session)).tasks as Loose[]).find((one) => one.task === 'n_back');
        expect(task).to.deep.include({ summary: impossible, quality_flags: flags });
      }
    });

    it('tell of a task that the battery does not have, and know a study’s own by its name', async () => {
      const battery = await site.battery([{ task: 'stroop' }, { task: 'custom', name: 'Maze' }]);
      const id = await site.session({ battery_id: battery.id });
      const { body } = await site.submit(id, {
        task_summaries: { stroop: { accuracy: 1 }, Maze: { turns: 7 }, flanker: { accuracy: 1 } },
      });
      expect((body.warnings as { code: string; task: string }[]).map((w) => [w.code, w.task])).to.deep.equal([
        ['TASK_NOT_IN_BATTERY', 'flanker'],
      ]);
    });
  });

  describe('end', () => {
    it('completes the session and its visit; twice answers the same', async () => {
      const visit = await site.visit();
      const id = await site.session();
      const [one, two] = [await site.end(id), await site.end(id)];
      expect(one.body).to.deep.include({ session_id: id, status: 'completed', visit_id: visit.id });
      expect(two.body).to.deep.equal(one.body);
      expect(await site.seeVisit(visit.id)).to.include({
        status: 'completed',
        session_id: id,
        completed_at: one.body.completed_at,
        adherence: 'in_window',
        days_off_target: 0,
      });
    });

    it('of a session whose visit was done by another leaves that visit alone', async () => {
      const visit = await site.visit();
      const [one, two] = [await site.session(), await site.session()];
      await site.end(one);
      expect((await site.end(two)).body).to.include({ status: 'completed', visit_id: visit.id });
      expect((await site.seeVisit(visit.id)).session_id).to.equal(one);
    });

    it('completes the live visit where a re-anchoring has put it meanwhile', async () => {
      const study = await Site.open({
        consent_mode: 'external',
        config: {
          enrollment_date_policy: {
            validation: { cannot_be_future: false },
            sources: [{ type: 'manual_entry', priority: 1, is_active: true }],
          },
        },
      });
      await study.http.expect(201, 'POST', '/api/schedules/windows', {
        study_id: study.study.id,
        code: 'D0',
        name: 'Day 0',
        target_day: 0,
        window_before: 2,
        window_after: 2,
        is_baseline: true,
      });
      const anchor = `/api/studies/${study.study.id}/participants/${study.participant.id}/anchor-date`;
      await study.http.expect(200, 'POST', anchor, { enrollment_date: day(0) });
      const visits = () =>
        study.http.expect(200, 'GET', `/api/schedules/visits?participant_id=${study.participant.id}`);
      const [first] = (await visits()).items;
      const id = await study.session();
      expect((await study.see(id)).visit_id).to.equal(first!.id);
      await study.http.expect(200, 'POST', `${anchor}/override`, { new_enrollment_date: day(-1), reason: 'wrong day' });
      const live = (await visits()).items.find((v) => v.status !== 'superseded')!;
      expect([live.visit_key, live.id === first!.id]).to.deep.equal([first!.visit_key, false]);
      expect((await study.end(id)).body.visit_id).to.equal(live.id);
      expect(await study.seeVisit(live.id)).to.include({ status: 'completed', session_id: id });
      expect((await study.seeVisit(first!.id)).status).to.equal('superseded');
      expect((await study.see(id)).visit_id).to.equal(live.id);
    });

    it('is told in the audit log, with the hash of every result', async () => {
      await site.visit();
      const id = await site.session();
      await site.submit(id, { task_summaries: { stroop: { accuracy: 1 } } });
      await site.end(id);
      const audit = await site.http.expect(200, 'GET', `/api/audit?study_id=${site.study.id}&limit=100`);
      const own = audit.items.map((r) => r.action as string);
      expect(own).to.include.members(['session_started', 'results_submitted', 'session_completed', 'visit_completed']);
      const submitted = audit.items.find((r) => r.action === 'results_submitted')!.audit_metadata as {
        tasks: Record<string, { sha256: string }>;
      };
      const [task] = (await site.see(id)).tasks as { content_hash: string }[];
      expect(submitted.tasks.stroop!.sha256).to.equal(task!.content_hash);
    });
  });

  it('are sorted by the status that they show, also before the sweep', async () => {
    const [over, done] = [await site.session(), await site.session()];
    expect((await site.end(done)).status).to.equal(200);
    await endTimeOf(over);
    const list = `/api/sessions?study_id=${site.study.id}&sort=status`;
    const { items } = await site.http.expect<{ items: Loose[] }>(200, 'GET', list);
    expect(items.map(({ status }) => status)).to.deep.equal(['completed', 'expired']);
  });

  it('are listed with filters, and seen in their study only', async () => {
    const battery = await site.battery();
    const [one, two] = [
      await site.session({ battery_id: battery.id }),
      await site.session({ participant_id: (await site.newParticipant()).id }),
    ];
    await site.end(two);
    const ids = async (query: string) =>
      (await site.http.expect(200, 'GET', `/api/sessions?study_id=${site.study.id}&${query}`)).items.map((s) => s.id);
    expect(await ids('sort=started_at')).to.deep.equal([one, two]);
    expect(await ids(`participant_id=${site.participant.id}`)).to.deep.equal([one]);
    expect(await ids('status=completed')).to.deep.equal([two]);
    expect(await ids(`battery_id=${battery.id}`)).to.deep.equal([one]);
    expect(await ids(`from=${day()}&to=${day()}`)).to.have.length(2);
    expect(await ids(`from=${day(1)}`)).to.deep.equal([]);
    const stranger = await user(site.http, 'coordinator', { study_ids: [(await newStudy(site.http)).id] });
    expect((await stranger.get(`/api/sessions/${one}`)).status).to.equal(404);
    expect((await stranger.get(`/api/sessions/${one}/trials`)).status).to.equal(404);
    expect((await stranger.get('/api/sessions')).body.total).to.equal(0);
    expect((await stranger.post('/api/session/start', { participant_id: site.participant.id })).status).to.equal(404);
    const manager = await user(site.http, 'data_manager', { study_ids: [site.study.id] });
    expect((await manager.get(`/api/sessions/${one}`)).status).to.equal(200);
    expect((await manager.post('/api/session/start', { participant_id: site.participant.id })).status).to.equal(403);
    expect((await site.http.delete(`/api/participants/${site.participant.id}`)).body.code).to.equal(
      'PARTICIPANT_HAS_DATA',
    );
  });
});
