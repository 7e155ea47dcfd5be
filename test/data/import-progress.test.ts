import { createHash, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import pg from 'pg';
import { seesEverything } from '../support/everything.js';
import { admin, newStudy, user } from '../support/http.js';
import type { Http, Loose } from '../support/http.js';
import { service } from '../support/service.js';
import { until } from '../support/until.js';
import { imported, neverStarted, sendFile } from './stage.js';

const HEADER = 'participant_code,external_id,site_code,preferred_language\n';

describe('An import of participants, watched', function () {
  this.timeout(180_000);
  let http: Http;
  let study: Loose;
  before(async () => {
    http = await admin();
  });
  beforeEach(async () => {
    study = await newStudy(http);
  });
  const seen = (id: string) => http.get(`/api/studies/${study.id}/participant-imports/${id}`);

  it('of the same file is known by its hash: everything is there, nothing is made twice, and a dry run tells so before', async () => {
    const text = `${HEADER}P-1,,,\nP-2,,,de\n`;
    expect((await imported(http, study.id, text)).warnings).to.deep.equal([]);
    const rehearsed = await imported(http, study.id, text, '?dry_run=true');
    expect(rehearsed.warnings.map(({ code }) => code)).to.deep.equal(['FILE_IMPORTED_BEFORE']);
    expect(await imported(http, study.id, text)).to.deep.include({
      success: true,
      imported_count: 0,
      skipped_count: 2,
      warnings: rehearsed.warnings,
    });
    expect((await imported(http, study.id, `${text}P-3,,,\n`)).warnings).to.deep.equal([]);
    expect((await imported(http, (await newStudy(http)).id, text)).warnings).to.deep.equal([]);
    const { items, total } = await http.expect(200, 'GET', `/api/studies/${study.id}/participant-imports`);
    expect(total).to.equal(3);
    expect(items[2]).to.include({
      status: 'completed',
      phase: 'done',
      progress: 1,
      format: 'csv',
      mode: 'insert',
      total_rows: 2,
      imported_count: 2,
      skipped_count: 0,
      error_count: 0,
      sha256: createHash('sha256').update(text).digest('hex'),
    });
  });

  it('says how far it is while it runs, to others too, and what became of it', async () => {
    const rows = 4_000,
      id = randomUUID();
    const manager = await user(http, 'data_manager', { study_ids: [study.id] });
    // Somebody else enrolls the last of them at the same moment: the import waits for that until it was seen to run.
    const database = await seesEverything();
    await database.query('begin');
    await database.query('insert into participants (study_id, participant_code) values ($1, $2)', [
      study.id,
      `L-${rows - 1}`,
    ]);
    const running = imported(
      manager,
      study.id,
      `${HEADER}${Array.from({ length: rows }, (_, i) => `L-${i},,,`).join('\n')}\n`,
      `?import_id=${id}`,
    );
    const looks: Loose[] = [];
    const isHalfway = ({ status, total_rows, progress }: Loose) =>
      status === 'running' && total_rows === rows && (progress as number) > 0 && (progress as number) < 1;
    let over = false;
    void running
      .finally(() => {
        over = true;
      })
      .catch(() => undefined);
    while (!over) {
      const look = await seen(id);
      if (look.status === 200) looks.push(look.body);
      else expect(look.status).to.equal(404);
      if (looks.at(-1) && isHalfway(looks.at(-1)!)) await database.query('rollback');
      // Asked without a pause, the answers would keep a processor from importing.
      await sleep(10);
    }
    expect(await running).to.include({ success: true, imported_count: rows });
    expect(looks.some(isHalfway), JSON.stringify(looks.slice(0, 3))).to.equal(true);
    const shares = looks.map(({ progress }) => progress as number);
    expect(shares).to.deep.equal([...shares].sort((a, b) => a - b));
    expect((await seen(id)).body).to.include({
      import_id: id,
      status: 'completed',
      progress: 1,
      total_rows: rows,
      imported_count: rows,
      requested_by_id: manager.userId,
    });
    await neverStarted(database, study.id);
    await database.end();
  });

  it('that is refused as a whole has failed; an id is taken once; strangers see none', async () => {
    const id = randomUUID();
    expect((await sendFile(http, study.id, `${HEADER}"never closed`, `?import_id=${id}`)).status).to.equal(400);
    expect((await seen(id)).body).to.include({ status: 'failed', imported_count: null });
    const again = await sendFile(http, study.id, `${HEADER}P-1,,,\n`, `?import_id=${id}`);
    expect([again.status, again.body.code]).to.deep.equal([409, 'CONFLICT']);
    expect((await sendFile(http, study.id, HEADER, '?import_id=no-uuid')).status).to.equal(422);
    expect((await seen(randomUUID())).status).to.equal(404);
    const stranger = await user(http, 'data_manager', { study_ids: [] });
    expect((await stranger.get(`/api/studies/${study.id}/participant-imports`)).status).to.equal(404);
    // In another study the id is nobody's.
    expect((await sendFile(http, (await newStudy(http)).id, `${HEADER}P-1,,,\n`, `?import_id=${id}`)).status).to.equal(
      200,
    );
  });

  it('whose process is gone has failed', async () => {
    const id = randomUUID();
    const database = new pg.Client({ connectionString: (await service()).database_url });
    await database.connect();
    try {
      await database.query(
        `insert into participant_imports (study_id, id, requested_by_id, format, sha256, dry_run, mode, updated_at)
         values ($1, $2, $3, 'csv', repeat('a', 64), false, 'insert', clock_timestamp() - interval '1 minute')`,
        [study.id, id, http.userId],
      );
    } finally {
      await database.end();
    }
    expect((await seen(id)).body).to.include({ status: 'failed' });
    const { items } = await http.expect<{ items: Loose[] }>(200, 'GET', `/api/studies/${study.id}/participant-imports`);
    expect(items.find(({ import_id }) => import_id === id)).to.include({ status: 'failed' });
  });

  it('that lost its connection to the database is sent once more under its id, and is one import', async () => {
    const id = randomUUID();
    const rows = 3;
    const text = `${HEADER}${Array.from({ length: rows }, (_, i) => `K-${i},,,`).join('\n')}\n`;
    const database = new pg.Client({ connectionString: (await service()).database_url });
    await database.connect();
    try {
      await database.query('select pg_advisory_lock(hashtextextended($1, 0))', [`participant-import ${study.id}`]);
      const lost = sendFile(http, study.id, text, `?import_id=${id}`);
      const importing = await until(
        async () =>
          (
            await database.query<{ pid: number }>(
              `select w.pid from pg_locks h join pg_locks w using (locktype, classid, objid, objsubid)
                where h.locktype = 'advisory' and h.pid = pg_backend_pid() and h.granted and not w.granted`,
            )
          ).rows[0]?.pid,
        { what: 'the import to write' },
      );
      await database.query(
        `update participant_imports set updated_at = updated_at - interval '1 hour' where study_id = $1 and id = $2`,
        [study.id, id],
      );
      expect((await seen(id)).body, 'a long silence is no end').to.include({ status: 'running' });
      await database.query('select pg_terminate_backend($1)', [importing]);
      expect((await lost).status).to.equal(503);
    } finally {
      await database.end();
    }
    expect(await imported(http, study.id, text, `?import_id=${id}`)).to.include({ imported_count: rows });
    expect((await seen(id)).body).to.include({ status: 'completed', imported_count: rows });
    const third = await sendFile(http, study.id, text, `?import_id=${id}`);
    expect([third.status, third.body.code], 'that was done').to.deep.equal([409, 'CONFLICT']);
  });
});
