import { createHash } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import type { WorkflowHandle } from '@temporalio/client';
import { expect } from 'chai';
import type pg from 'pg';
import { exportFile, exportsFolder } from '../../db/exports/files.js';
import { studyExportId, workflowTypes } from '../../workflows/contract.js';
import { seesEverything } from '../support/everything.js';
import { admin, newParticipant, newStudy } from '../support/http.js';
import type { Http, Loose } from '../support/http.js';
import { service } from '../support/service.js';
import type { RunJson } from '../support/service.js';
import { temporalOf } from '../support/temporal.js';
import type { TemporalAccess } from '../support/temporal.js';
import { until } from '../support/until.js';

describe('An export in the background that the database keeps waiting', function () {
  this.timeout(120_000);
  let run: RunJson;
  let http: Http;
  let study: Loose;
  let other: pg.Client;
  let temporal: TemporalAccess;
  before(async () => {
    run = await service();
    http = await admin();
    study = await newStudy(http);
    const { id } = await newParticipant(http, study.id);
    await http.expect(201, 'POST', `/api/studies/${study.id}/participants/${id}/randomization`, {
      arm: 'A',
      randomized_at: '2026-01-12T10:00:00Z',
    });
    other = await seesEverything();
    temporal = await temporalOf(run);
  });
  after(async () => {
    await other?.end();
    await temporal?.close();
  });

  /** Asks for an export while nobody reads its rows. */
  async function begun(): Promise<{ export_id: string; status_url: string }> {
    await other.query('begin');
    await other.query('lock table randomizations in access exclusive mode');
    const asked = await http.expect<{ export_id: string; status_url: string }>(202, 'POST', '/api/exports/json', {
      study_id: study.id,
      dataset: 'randomization',
      mode: 'background',
    });
    await waiting(1);
    return asked;
  }
  /** Once so many statements wait for the lock. */
  const waiting = (count: number) =>
    until(
      async () =>
        (await other.query('select from pg_locks where not granted and pg_backend_pid() = any (pg_blocking_pids(pid))'))
          .rowCount! >= count,
      { timeout: 60_000, what: `${count} attempts to wait` },
    );
  const completed = (statusUrl: string) =>
    until(
      async () => {
        const seen = await http.expect<Loose>(200, 'GET', statusUrl);
        return seen.status === 'completed' ? seen : undefined;
      },
      { timeout: 60_000, what: 'the export to be completed' },
    );
  const activities = async (handle: WorkflowHandle) => (await handle.describe()).raw.pendingActivities ?? [];

  it('shows that it is alive', async () => {
    const { export_id, status_url } = await begun();
    try {
      const handle = temporal.client.workflow.getHandle(studyExportId(export_id));
      const beat = await until(async () => (await activities(handle))[0]?.lastHeartbeatTime, {
        timeout: 60_000,
        what: 'a heartbeat',
      });
      expect(beat).to.be.an('object');
    } finally {
      await other.query('rollback');
    }
    await completed(status_url);
  });

  it('has the file that its record describes and no other, also where several attempts write it', async () => {
    const { export_id, status_url } = await begun();
    const again: WorkflowHandle[] = [];
    try {
      for (const n of [1, 2, 3]) {
        again.push(
          await temporal.client.workflow.start(workflowTypes.studyExport, {
            workflowId: `${studyExportId(export_id)}/again-${n}`,
            taskQueue: run.temporal_task_queue,
            args: [{ export_id, study_id: study.id }],
          }),
        );
        await waiting(1 + n);
      }
    } finally {
      await other.query('rollback');
    }
    const record = await completed(status_url);
    const all = [temporal.client.workflow.getHandle(studyExportId(export_id)), ...again];
    for (const handle of all)
      await until(async () => (await activities(handle)).length === 0, {
        timeout: 60_000,
        what: 'each attempt to end',
      });
    const file = await fetch(new URL(String(record.download_url), http.base), {
      headers: { Authorization: `Bearer ${http.token!}` },
    });
    const bytes = Buffer.from(await file.arrayBuffer());
    expect(file.status).to.equal(200);
    expect([bytes.length, createHash('sha256').update(bytes).digest('hex')]).to.deep.equal([
      record.size,
      record.sha256,
    ]);
    expect((JSON.parse(bytes.toString('utf8')) as { rows: Loose[] }).rows).to.have.length(1);
    const own = () => readdirSync(exportsFolder(run.data_dir)).filter((name) => name.includes(export_id));
    expect(own()).to.deep.equal([`${export_id}.json`]);
    expect(existsSync(exportFile(run.data_dir, export_id, 'json'))).to.equal(true);
    for (const handle of again) await handle.terminate('the test is over');
  });
});
