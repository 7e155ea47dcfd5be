import { existsSync } from 'node:fs';
import { expect } from 'chai';
import pg from 'pg';
import { exportFile } from '../../db/exports/files.js';
import { studyExportId } from '../../workflows/contract.js';
import { formOf } from '../data/stage.js';
import { admin, newParticipant, newStudy, unique } from '../support/http.js';
import { placesOf } from '../support/places-of.js';
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

describe('Answers that are stored for repeated requests', () => {
  it('tell nothing of an erased participant, also those that name it by other things than its id', async () => {
    const owner = new pg.Client({ connectionString: (await service()).database_url });
    await owner.connect();
    try {
      const http = await admin();
      const study = await newStudy(http, { consent_mode: 'external' });
      const { id, participant_code } = await newParticipant(http, study.id);
      const word = unique('zora').replace('-', '');
      const repeated = () => ({ headers: { 'Idempotency-Key': unique('key') } });
      const { id: visit_id } = await http.expect(201, 'POST', '/api/schedules/visits', {
        participant_id: id,
        name: `At ${word}'s`,
        target_date: '2031-05-20',
        window_open: '2031-05-20',
        window_close: '2031-05-20',
      });
      const asked = { visit_id, kind: 'visit_reminder' };
      await http.expect(200, 'POST', '/api/notifications/preview', asked, repeated());
      // The person is enrolled already: the file with the failed row comes back.
      const failed = await http.post(
        `/api/studies/${study.id.toUpperCase()}/participants/import/csv?answer=failed_rows&skip_duplicates=false`,
        undefined,
        {
          raw: await formOf(`participant_code,email\n${String(participant_code)},${word}@example.org\n`),
          ...repeated(),
        },
      );
      expect([failed.status, failed.text.includes(word)], failed.text).to.deep.equal([200, true]);
      const other = repeated();
      const kept = () => http.expect(201, 'POST', `/api/studies/${study.id}/sites`, { site_code: 'KEPT' }, other);
      const site = await kept();
      expect(await placesOf(owner, word)).to.include('idempotency_keys');

      const erasing = [`/api/participants/${id}/erase`, { reason: 'x' }, repeated()] as const;
      const erased = await http.expect(200, 'POST', ...erasing);
      expect(await placesOf(owner, word)).to.deep.equal([]);
      expect(await http.expect(200, 'POST', ...erasing), 'the erasure itself can be repeated').to.deep.equal(erased);
      expect((await kept()).id, 'so can what tells of nobody').to.equal(site.id);
    } finally {
      await owner.end();
    }
  });
});
