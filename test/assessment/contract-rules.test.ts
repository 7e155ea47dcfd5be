import { expect } from 'chai';
import { Http, newStudy, unique, user } from '../support/http.js';
import type { Loose } from '../support/http.js';
import { Site, day, trials } from './stage.js';

type Rule = [rule: string, check: (site: Site) => Promise<void>];
const keys = (record: object): string[] => Object.keys(record);
const UTC = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z$/;
const path = '/api/batteries';

const sessions: Rule[] = [
  [
    'start answers `sessionId` and `expiresAt` (ISO 8601 UTC), `visitId` and `batteryId` too, null where there is none',
    async (site) => {
      const { status, body } = await site.start({ site_id: null });
      expect([status, body.visitId, body.batteryId]).to.deep.equal([201, null, null]);
      expect(body.sessionId).to.match(/^[0-9a-f-]{36}$/);
      expect(body.expiresAt).to.match(UTC);
    },
  ],
  [
    'a visit that is named by `visit_id` is taken, whatever else is open',
    async (site) => {
      const [visit] = [await site.visit(), await site.visit()];
      expect((await site.start({ visit_id: visit.id, study_id: site.study.id })).body.visitId).to.equal(visit.id);
    },
  ],
  [
    'callers of start: staff who work with participants of the study; nobody without a token',
    async (site) => {
      const start = async (by: Http) =>
        (await by.post('/api/session/start', { participant_id: site.participant.id })).status;
      const of = (role: 'coordinator' | 'data_manager', study: Loose) =>
        user(site.http, role, { study_ids: [study.id] });
      expect(await start(new Http(site.http.base))).to.equal(401);
      expect(await start(await of('data_manager', site.study))).to.equal(403);
      expect(await start(await of('coordinator', await newStudy(site.http)))).to.equal(404);
      expect(await start(await of('coordinator', site.study))).to.equal(201);
    },
  ],
  [
    'a submission answers {session_id, status: "accepted", tasks, trials, checksum}; tasks and trials are counts',
    async (site) => {
      const id = await site.session();
      const { status, body } = await site.submit(id, {
        task_summaries: { stroop: { mean_rt: 500, median_rt: 480, accuracy: 0.9, total_trials: 3 }, flanker: {} },
        raw_trials: trials('stroop', 3),
      });
      expect(status).to.equal(200);
      expect(body).to.include({ session_id: id, status: 'accepted', tasks: 2, trials: 3 });
      expect(body.checksum).to.match(/^[0-9a-f]{64}$/);
    },
  ],
  [
    'a raw trial is {task, trial_index, rt, correct, timestamp}, given back as it was sent',
    async (site) => {
      const id = await site.session();
      const sent = [
        ...trials('flanker', 2, { rt: null, correct: null }),
        ...trials('stroop', 2, { data: { response: 'left' } }),
      ];
      await site.submit(id, { task_summaries: {}, raw_trials: sent });
      expect(await site.trials(id)).to.deep.equal(sent);
    },
  ],
  [
    'end answers {session_id, status: "completed", completed_at, visit_id}',
    async (site) => {
      const visit = await site.visit();
      const id = await site.session();
      const { status, body } = await site.end(id);
      expect([status, keys(body).sort()]).to.deep.equal([200, ['completed_at', 'session_id', 'status', 'visit_id']]);
      expect(body).to.include({ session_id: id, status: 'completed', visit_id: visit.id });
      expect(body.completed_at).to.match(UTC);
    },
  ],
  [
    'a session has every field that the contract names',
    async (site) => {
      expect(await site.see(await site.session())).to.include.all.keys(
        'id',
        'study_id',
        'site_id',
        'participant_id',
        'visit_id',
        'battery_id',
        'battery_version',
        'language',
        'status',
        'source',
        'local_id',
        'started_at',
        'expires_at',
        'completed_at',
        'timezone',
        'sync_status',
        'synced_at',
        'task_summaries',
        'trial_count',
      );
    },
  ],
];

const batteries: Rule[] = [
  [
    'the list takes `study_id` as a filter',
    async (site) => {
      const battery = await site.battery();
      const other = await Site.open();
      await other.battery();
      const { items } = await site.http.expect(200, 'GET', `${path}?study_id=${site.study.id}`);
      expect(items.map(({ id }) => id)).to.deep.equal([battery.id]);
    },
  ],
  [
    'a module is added with {id, position, task, name, settings, required, estimated_minutes}',
    async (site) => {
      const battery = await site.battery([]);
      const module = await site.http.expect(201, 'POST', `${path}/${battery.id}/modules`, {
        task: 'n_back',
        name: 'Two back',
        settings: { n: 2 },
        required: false,
        estimated_minutes: 3,
      });
      expect(module).to.include.all.keys('id', 'position', 'task', 'name', 'settings', 'required', 'estimated_minutes');
      expect(module).to.include({
        position: 1,
        task: 'n_back',
        name: 'Two back',
        required: false,
        estimated_minutes: 3,
      });
    },
  ],
  [
    'compile gives {battery_id, version, checksum, language, modules, estimated_minutes}, and the draft where ' +
      'nothing was published yet',
    async (site) => {
      const battery = await site.battery([{ task: 'stroop' }]);
      const compiled = async () => site.http.expect(200, 'GET', `${path}/${battery.id}/compile`);
      const draft = await compiled();
      expect(keys(draft)).to.have.members([
        'battery_id',
        'version',
        'checksum',
        'language',
        'modules',
        'estimated_minutes',
      ]);
      await site.http.expect(201, 'POST', `${path}/${battery.id}/modules`, { task: 'flanker' });
      expect([draft.modules, (await compiled()).modules].map((modules) => (modules as unknown[]).length)).to.deep.equal(
        [1, 2],
      );
    },
  ],
];

const offline: Rule[] = [
  [
    'bulk wraps the items’ answers as {results, created, duplicates, conflicts, rejected}',
    async (site) => {
      const item = site.item('a');
      const bulk = await site.bulk({ sessions: [item, item, { ...item, language: 'de' }, {}] });
      expect(bulk).to.include({ created: 1, duplicates: 1, conflicts: 1, rejected: 1 });
      for (const result of bulk.results) expect(result).to.include.all.keys('kind', 'local_id', 'server_id', 'status');
    },
  ],
  [
    'the same id with other content is a conflict also within one bulk, of sessions and of responses',
    async (site) => {
      const answer = { id: 'r', sessionId: 'a', task: 'stroop', summary: { accuracy: 1 }, trials: [] };
      const { results } = await site.bulk({
        sessions: [site.item('a'), site.item('a', { language: 'de' })],
        responses: [
          answer,
          { ...answer, summary: { accuracy: 0 } },
          { ...answer, id: 'q', summary: { accuracy: 0.5 } },
        ],
      });
      expect(results.map((one) => one.conflict_type ?? one.status)).to.deep.equal([
        'created',
        'duplicate_session',
        'created',
        'duplicate_response',
        'duplicate_response',
      ]);
    },
  ],
  [
    'a session item may carry visitId, batteryId, batteryVersion, language, timezone, deviceId',
    async (site) => {
      const battery = await site.battery();
      await site.http.expect(200, 'PATCH', `${path}/${battery.id}`, { status: 'published' });
      const visit = await site.visit({}, [-2, 0]);
      const {
        results: [made],
      } = await site.bulk({
        sessions: [
          site.item('a', {
            visitId: visit.id,
            batteryId: battery.id,
            batteryVersion: 1,
            language: 'de',
            timezone: 'Europe/Berlin',
            deviceId: 't-1',
          }),
        ],
      });
      expect(await site.see(made!.server_id!)).to.include({
        visit_id: visit.id,
        battery_id: battery.id,
        battery_version: 1,
        language: 'de',
        timezone: 'Europe/Berlin',
        device_id: 't-1',
        local_id: 'a',
      });
    },
  ],
  [
    'a conflict check answers {has_conflicts, session_conflicts: [{conflict_type, local_id, server_id, ' +
      'resolution, message}], response_conflicts}',
    async (site) => {
      const {
        results: [made],
      } = await site.bulk({ sessions: [site.item('a')] });
      const report = await site.http.expect<{ session_conflicts: object[] }>(200, 'POST', '/api/sync/check-conflicts', {
        sessions: [site.item('a', { language: 'de' })],
        responses: [],
      });
      expect(report).to.deep.include({ has_conflicts: true, response_conflicts: [] });
      const { message, ...conflict } = report.session_conflicts[0] as Record<string, unknown>;
      expect(conflict).to.deep.equal({
        conflict_type: 'duplicate_session',
        local_id: 'a',
        server_id: made!.server_id,
        resolution: 'server_wins',
      });
      expect(message).to.be.a('string').and.not.equal('');
    },
  ],
];

const schedules: Rule[] = [
  [
    'a window has every field that the contract names; its battery may be null',
    async (site) => {
      const given = {
        study_id: site.study.id,
        code: unique('W'),
        name: 'Week 4',
        battery_id: null,
        target_day: 28,
        window_before: 3,
        window_after: 7,
        is_baseline: false,
        datacapture_event: null,
        sort_order: 4,
      };
      expect(await site.http.expect(201, 'POST', '/api/schedules/windows', given)).to.deep.include(given);
      const { items } = await site.http.expect(200, 'GET', `/api/schedules/windows?study_id=${site.study.id}`);
      expect(items[0]).to.deep.include(given);
    },
  ],
  [
    'a visit has every field that the contract names; one without a window names everything itself',
    async (site) => {
      const visit = await site.visit({ name: 'Extra' }, [1, 3]);
      expect(visit).to.include.all.keys(
        'id',
        'visit_key',
        'study_id',
        'participant_id',
        'visit_window_id',
        'schedule_version_id',
        'name',
        'battery_id',
        'target_date',
        'window_open',
        'window_close',
        'datacapture_event',
        'status',
        'completed_at',
        'session_id',
        'data_sync_status',
        'synced_at',
        'anchor_reconciled',
        'anchor_reconciled_at',
        'needs_review',
        'reporting_target_date',
      );
      expect(visit).to.include({
        name: 'Extra',
        visit_window_id: null,
        schedule_version_id: null,
        window_open: day(1),
        window_close: day(3),
        status: 'scheduled',
      });
      const nameless = await site.http.post('/api/schedules/visits', {
        participant_id: site.participant.id,
        target_date: day(1),
      });
      expect([nameless.status, nameless.body.errors[0]?.path]).to.deep.equal([422, 'name']);
    },
  ],
  [
    'visits are filtered by participant, status, from, to and site',
    async (site) => {
      await site.http.expect(201, 'POST', `/api/studies/${site.study.id}/sites`, { site_code: 'North', name: 'North' });
      const elsewhere = await site.newParticipant({ site_code: 'North' });
      const [early, late, north] = [
        await site.visit({}, [-5, -4]),
        await site.visit({}, [5, 6]),
        await site.visit({ participant_id: elsewhere.id }, [5, 6]),
      ];
      for (const [query, found] of [
        [`participant_id=${site.participant.id}`, [early, late]],
        ['status=missed', [early]],
        [`from=${day(5)}`, [late, north]],
        [`to=${day(-5)}`, [early]],
        [`from=${day(-4)}&to=${day(4)}`, []],
        ['site_code=North', [north]],
      ] as const) {
        const { items, total } = await site.http.expect(
          200,
          'GET',
          `/api/schedules/visits?study_id=${site.study.id}&${query}`,
        );
        expect([items.map(({ id }) => id).sort(), total], query).to.deep.equal([
          found.map(({ id }) => id).sort(),
          found.length,
        ]);
      }
    },
  ],
  [
    'complete takes a scheduled, open or missed visit, answers a completed one again, refuses a cancelled one',
    async (site) => {
      const complete = async (visit: Loose) => site.http.post(`/api/visits/${visit.id}/complete`, {});
      for (const window of [
        [2, 4],
        [0, 1],
        [-4, -2],
      ]) {
        const visit = await site.visit({}, window as [number, number]);
        const [first, again] = [await complete(visit), await complete(visit)];
        expect([first.status, first.body.status, again.status, again.text]).to.deep.equal([
          200,
          'completed',
          200,
          first.text,
        ]);
      }
      const cancelled = await site.visit();
      await site.http.expect(200, 'POST', `/api/visits/${cancelled.id}/cancel`, { reason: 'x' });
      expect((await complete(cancelled)).status).to.equal(409);
    },
  ],
  [
    'a visit is corrected by PATCH, never to a target outside its window',
    async (site) => {
      const visit = await site.visit({}, [1, 3]);
      expect(
        await site.http.expect(200, 'PATCH', `/api/visits/${visit.id}`, { target_date: day(2), name: 'Moved' }),
      ).to.include({ target_date: day(2), name: 'Moved' });
      const outside = await site.http.patch(`/api/visits/${visit.id}`, { target_date: day(9) });
      expect([outside.status, outside.body.errors[0]?.path]).to.deep.equal([400, 'target_date']);
      expect((await site.seeVisit(visit.id)).target_date).to.equal(day(2));
    },
  ],
];

describe('The contract’s rules of assessments', () => {
  for (const [section, rules] of Object.entries({
    'sessions and submission': sessions,
    batteries,
    'offline sync': offline,
    schedules,
  })) {
    describe(section, () => {
      for (const [rule, check] of rules) it(rule, async () => check(await Site.open()));
    });
  }
});
