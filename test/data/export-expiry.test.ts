import { existsSync } from 'node:fs';
import { expect } from 'chai';
import { exportFile } from '../../db/exports/files.js';
import { studyExportId } from '../../workflows/contract.js';
import { login, newStudy } from '../support/http.js';
import type { Http, Loose } from '../support/http.js';
import { startService, until } from '../support/service.js';
import type { Service } from '../support/service.js';
import { temporalOf } from '../support/temporal.js';
import type { TemporalAccess } from '../support/temporal.js';

/** Eight seconds stand for the three days. */
const HOURS = 8 / 3600;

describe('The file of an export in the background', function () {
  this.timeout(120_000);
  let own: Service;
  let http: Http;
  let temporal: TemporalAccess;
  before(async () => {
    own = await startService({ EXPORT_RETENTION_HOURS: String(HOURS) });
    ({ http } = await login(own.run.api, own.run.admin_email, own.run.admin_password!));
    temporal = await temporalOf(own.run);
  });
  after(async () => {
    await temporal?.close();
    await own?.stop();
  });

  it('is there until it expires, also when the worker was killed meanwhile; then it is removed, and its record says so', async () => {
    const study = await newStudy(http);
    const { export_id, status_url } = await http.expect<{ export_id: string; status_url: string }>(
      202,
      'POST',
      '/api/exports/csv',
      { study_id: study.id, dataset: 'participants', mode: 'background' },
    );
    const status = (wanted: string) =>
      until(
        async () => {
          const seen = await http.expect<Loose>(200, 'GET', status_url);
          return seen.status === wanted ? seen : undefined;
        },
        { timeout: 60_000, what: `the export to be ${wanted}` },
      );
    const done = await status('completed');
    const [completed, expires] = [done.completed_at, done.expires_at].map((moment) => Date.parse(moment as string));
    expect(expires! - completed!).to.be.closeTo(HOURS * 3_600_000, 50);
    const file = exportFile(own.dataDir, export_id, 'csv');
    expect(existsSync(file)).to.equal(true);
    // Killed before Temporal knows that the file is written, the worker writes it once more after the 60 seconds of a
    // missing heartbeat, and keeps it from then on.
    await until(
      async () => {
        const { events } = await temporal.client.workflow.getHandle(studyExportId(export_id)).fetchHistory();
        return events?.some(({ timerStartedEventAttributes }) => timerStartedEventAttributes) === true;
      },
      { what: 'the workflow to wait for the expiry' },
    );
    process.kill(own.current().pids.worker!, 'SIGKILL');
    const whole = await http.get(done.download_url as string);
    expect([whole.status, whole.text.split(',')[0]]).to.deep.equal([200, 'id']);

    const expired = await status('expired');
    expect(Date.now(), 'not before its time').to.be.at.least(expires!);
    // The record stays: what the file was can be proved.
    expect(expired).to.deep.include({
      export_id,
      dataset: 'participants',
      rows: 0,
      sha256: done.sha256,
      size: done.size,
      expires_at: done.expires_at,
      download_url: null,
    });
    const gone = await http.get<{ code: string; detail: string }>(done.download_url as string);
    expect([gone.status, gone.body.code]).to.deep.equal([404, 'NOT_FOUND']);
    expect(gone.body.detail).to.match(/has expired: ask for it again/);
    await until(() => !existsSync(file), { what: 'the file to be removed' });
  });

  it('goes at its time also where the study was deleted meanwhile', async () => {
    const study = await newStudy(http);
    const { export_id, status_url } = await http.expect<{ export_id: string; status_url: string }>(
      202,
      'POST',
      '/api/exports/ndjson',
      { study_id: study.id, dataset: 'participants', mode: 'background' },
    );
    await until(async () => (await http.expect(200, 'GET', status_url)).status === 'completed', {
      timeout: 60_000,
      what: 'the export to be completed',
    });
    const file = exportFile(own.dataDir, export_id, 'ndjson');
    expect(existsSync(file)).to.equal(true);
    await http.expect(204, 'DELETE', `/api/studies/${study.id}`);
    await until(() => !existsSync(file), { timeout: 60_000, what: 'the file to be removed' });
  });
});
