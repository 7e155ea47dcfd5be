import { rmSync } from 'node:fs';
import { expect } from 'chai';
import { Stage } from '../anchor/stage.js';
import { trials } from '../assessment/stage.js';
import { dayIn } from '../notifications/stage.js';
import type { Cluster } from '../support/cluster.js';
import type { Loose } from '../support/http.js';
import { until } from '../support/until.js';
import { scheduleIds, studyReanchoringId } from '../../workflows/contract.js';
import { EVENT, Setting } from './setting.js';

/**
 * Tests of what goes on when Temporal has nothing any more.
 * @param of a cluster with the SETTINGS of `setting.ts`
 */
export function temporalIsLost(of: () => Cluster): void {
  let cluster: Cluster, setting: Setting, stage: Stage;
  before(async () => {
    cluster = of();
    [setting, stage] = [await Setting.make(cluster), await Stage.open(cluster.run)];
  });
  after(async () => {
    await stage?.close();
    await setting?.close();
  });

  it('everything that waited goes on from PostgreSQL, without a restart of worker or API', async () => {
    const { admin, researcher, studies } = setting;
    const person = async (study: string, code: string) => {
      const { id } = await admin.expect<Loose>(201, 'POST', `/api/studies/${study}/participants`, {
        participant_code: code,
        email: `${code}@example.org`,
      });
      return { id, path: `/api/studies/${study}/participants/${id}` };
    };
    const dated = async (who: { id: string; path: string }) => {
      await admin.expect(200, 'POST', `${who.path}/anchor-date`, {
        enrollment_date: '2024-03-10',
        reason: 'first visit',
      });
      return who;
    };
    const signed = (who: { path: string }) =>
      admin.expect(201, 'POST', `${who.path}/consents`, { status: 'signed', signed_at: '2024-03-01T09:00:00Z' });
    const is = (who: { path: string }, wanted: Record<string, unknown>) =>
      until(
        async () => {
          const anchor = await admin.expect<Loose>(200, 'GET', `${who.path}/anchor-date`);
          return Object.entries(wanted).every(([key, value]) => anchor[key] === value);
        },
        { timeout: 90_000, interval: 250, what: `${who.path} to be ${JSON.stringify(wanted)}` },
      );

    // One waits for a consent, one for an approval; the capture system is away: a trigger and a push wait for it.
    const waiting = await dated(await person(studies.hand, 'W-1')),
      asked = await dated(await person(studies.approved, 'A-1'));
    await signed(asked);
    await is(asked, { status: 'finalized' });
    const { override_request_id: request } = await researcher.expect<{ override_request_id: string }>(
      202,
      'POST',
      `${asked.path}/anchor-date/override`,
      { new_enrollment_date: '2024-03-12', reason: 'misread' },
    );
    const captured = await person(studies.capture, 'C-1'),
      day = dayIn('UTC');
    await admin.expect(200, 'PATCH', `/api/participants/${captured.id}`, { external_id: 'R-0' });
    // A push makes no record: it is there.
    await setting.saved('R-0', day);
    const visit = await admin.expect<Loose>(201, 'POST', '/api/schedules/visits', {
      participant_id: captured.id,
      name: 'Tested',
      target_date: day,
      window_open: day,
      window_close: day,
      datacapture_event: EVENT,
    });
    cluster.links.get('capture')!.cut();
    const { sessionId } = await admin.expect<{ sessionId: string }>(201, 'POST', '/api/session/start', {
      participant_id: captured.id,
      language: 'en',
      visit_id: visit.id,
    });
    const device = { headers: { 'X-Session-ID': sessionId } };
    await admin.expect(
      200,
      'POST',
      '/api/submit',
      {
        session_id: sessionId,
        task_summaries: { stroop: { mean_rt: 321, total_trials: 3 } },
        raw_trials: trials('stroop', 3),
      },
      device,
    );
    await admin.expect(200, 'POST', '/api/session/end', { session_id: sessionId }, device);
    const { body, headers } = await setting.saved('R-1', day);
    await admin.expect(200, 'POST', '/api/webhooks/datacapture/det', undefined, {
      raw: { type: 'application/x-www-form-urlencoded', content: body },
      headers,
    });
    await until(async () => (await stage.sql('select id from outbox')).length === 0, {
      what: 'everything to be with Temporal',
    });
    // These were begun and are known to Temporal alone from now on: an export, and a change of a study.
    const [file] = await stage.sql<{ id: string }>(
      `insert into exports (study_id, requested_by_id, dataset, format, status) values (?, ?, 'participants', 'csv', 'running') returning id`,
      [studies.hand, admin.userId!],
    );
    await stage.sql(`insert into open_study_changes (study_id, change_id, kind) values (?, 'lost-change', 'windows')`, [
      studies.hand,
    ]);

    await cluster.member('temporal').kill();
    for (const suffix of ['', '-wal', '-shm']) rmSync(`${cluster.temporalFile}${suffix}`, { force: true });
    await cluster.member('temporal').start();
    cluster.links.get('capture')!.heal();

    await until(async () => (await stage.handle(waiting.id).describe()).status.name === 'RUNNING', {
      timeout: 90_000,
      interval: 500,
      what: 'the workflow that waits to be there again',
    });
    await signed(waiting);
    await is(waiting, { status: 'finalized', version: 3 });
    await until(
      async () =>
        (await admin.post(`${asked.path}/anchor-date/override-requests/${request}/approve`, { reason: 'seen' }))
          .status === 200,
      { timeout: 60_000, interval: 500, what: 'the approval to be taken' },
    );
    await is(asked, { enrollment_date: '2024-03-12', is_override: true });
    await until(
      async () =>
        (await stage.sql<{ status: string }>(`select status from webhook_events where record = 'R-1'`))[0]?.status ===
        'processed',
      { timeout: 120_000, interval: 500, what: 'the trigger to be processed' },
    );
    await until(async () => (await admin.get(`/api/sessions/${sessionId}`)).body.sync_status === 'synced', {
      timeout: 120_000,
      interval: 500,
      what: 'the results to be pushed',
    });
    expect(
      setting.written().filter(({ record }) => record === 'R-0'),
      'once',
    ).to.have.length(1);
    await until(
      async () =>
        (await stage.sql<{ status: string }>('select status from exports where id = ?', [file!.id]))[0]?.status ===
        'completed',
      { timeout: 60_000, what: 'the export to be written' },
    );
    await until(async () => (await stage.sql('select 1 from open_study_changes')).length === 0, {
      timeout: 60_000,
      what: 'the change to be through',
    });
    // Its row goes with its last activity, before it ends itself.
    const change = stage.temporal.workflow.getHandle(studyReanchoringId(studies.hand, 'lost-change'));
    await until(async () => (await change.describe()).status.name === 'COMPLETED', { what: 'its workflow to end' });
    const jobs: string[] = [];
    for await (const { scheduleId } of stage.temporal.schedule.list()) jobs.push(scheduleId);
    expect(jobs).to.include.members(Object.values(scheduleIds));
    await until(async () => (await stage.sql('select id from outbox')).length === 0, {
      what: 'the outbox to be empty',
    });
  });
}
