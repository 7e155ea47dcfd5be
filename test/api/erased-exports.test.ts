import { existsSync } from 'node:fs';
import { expect } from 'chai';
import { exportFile } from '../../db/exports/files.js';
import { studyExportId } from '../../workflows/contract.js';
import { admin, newParticipant, newStudy } from '../support/http.js';
import { service } from '../support/service.js';
import { temporalOf } from '../support/temporal.js';
import { until } from '../support/until.js';

describe('The file of an export that names an erased participant', function () {
  this.timeout(120_000);

  it('is removed also where its workflow was terminated', async () => {
    const run = await service();
    const http = await admin();
    const study = await newStudy(http);
    const { id } = await newParticipant(http, study.id, { email: 'somebody@example.org' });
    const { export_id, status_url } = await http.expect<{ export_id: string; status_url: string }>(
      202,
      'POST',
      '/api/exports/csv',
      { study_id: study.id, dataset: 'participants', mode: 'background' },
    );
    await until(async () => (await http.expect(200, 'GET', status_url)).status === 'completed', {
      timeout: 60_000,
      what: 'the export to be written',
    });
    const file = exportFile(run.data_dir, export_id, 'csv');
    expect(existsSync(file)).to.equal(true);
    const { client, close } = await temporalOf(run);
    try {
      await client.workflow.getHandle(studyExportId(export_id)).terminate('lost');
    } finally {
      await close();
    }
    await http.expect(200, 'POST', `/api/participants/${id}/erase`, { reason: 'x' });
    await until(() => !existsSync(file), { timeout: 60_000, what: 'the file to be removed' });
  });
});
