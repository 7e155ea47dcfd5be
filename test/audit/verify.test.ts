import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import pg from 'pg';
import { makeCheckpoints } from '../../db/audit/audit-checkpoints.js';
import { CheckpointFolder } from '../../db/audit/audit-folder.js';
import { admin, newStudy } from '../support/http.js';
import type { Http, Loose } from '../support/http.js';
import { asMuchAs } from '../support/in-full.js';
import { service, until } from '../support/service.js';
import { Ledger, signer } from './ledger.js';

interface Verdict {
  valid: boolean;
  rows: number;
  head: string | null;
  chains?: number;
  fault?: string;
}

describe('The verdict on the audit chains', function suite() {
  let root: Http;
  let study: Loose;
  let site: Loose;
  before(async () => {
    root = await admin();
    [study] = await Promise.all([newStudy(root), newStudy(root)]);
    site = await root.expect(201, 'POST', `/api/studies/${study.id}/sites`, { site_code: 'A' });
  });
  const verdict = (query = '', headers: Record<string, string> = {}) =>
    root.expect<Verdict>(200, 'GET', `/api/audit/verify${query}`, undefined, { headers });

  it('is about the study that the request names, by query or header, in whatever case', async () => {
    const own = await verdict(`?study_id=${study.id}`);
    expect(own).to.include({ valid: true, rows: 2 });
    expect(await verdict('', { 'X-Study-ID': study.id })).to.deep.equal(own);
    expect(await verdict(`?study_id=${study.id.toUpperCase()}`)).to.deep.equal(own);
    // The header comes before the query, and nothing is refused where they differ.
    expect(await verdict(`?study_id=${randomUUID()}`, { 'X-Study-ID': study.id })).to.deep.equal(own);
  });

  it('is about all chains, whole, also where a site is named', async () => {
    const all = await verdict('', { 'X-Site-ID': site.id });
    expect(all.fault).to.equal(undefined);
    expect(all.valid).to.equal(true);
    expect(all.chains).to.be.greaterThan(2);
  });

  it('holds while records are being sealed and checkpoints made', async () => {
    let open = true;
    const writers = [1, 2].map(async () => {
      while (open) await root.expect(201, 'POST', `/api/studies/${study.id}/caregivers`, { name: 'Somebody' });
    });
    const signing = (async () => {
      while (open) await root.expect(201, 'POST', '/api/audit/checkpoints', { study_id: study.id });
    })();
    try {
      for (let i = 0; i < asMuchAs(6, 16); i += 1)
        expect((await verdict(i % 2 === 0 ? `?study_id=${study.id}` : '')).fault).to.equal(undefined);
    } finally {
      open = false;
      await Promise.all([...writers, signing]);
    }
  });

  it('and the records of a deleted study stay; a study that never was is 404', async () => {
    const gone = await newStudy(root);
    await root.expect(204, 'DELETE', `/api/studies/${gone.id}`);
    const { items } = await root.expect(200, 'GET', `/api/audit?study_id=${gone.id}&action=study_deleted`);
    expect(items).to.have.length(1);
    expect(
      (await root.expect(200, 'GET', '/api/audit', undefined, { headers: { 'X-Study-ID': gone.id } })).total,
    ).to.equal(2);
    expect(await verdict(`?study_id=${gone.id}`)).to.include({ valid: true, rows: 2 });
    expect(
      (await root.expect(201, 'POST', '/api/audit/checkpoints', { study_id: gone.id.toUpperCase() })).total,
    ).to.equal(1);
    expect((await root.expect(200, 'GET', `/api/audit/checkpoints?study_id=${gone.id}`)).total).to.equal(1);
    expect((await root.get(`/api/audit/1/proof?study_id=${gone.id}`)).status).to.equal(200);
    expect((await root.get(`/api/audit/export?study_id=${gone.id}`)).text).to.contain('"action":"study_deleted"');
    const never = randomUUID();
    for (const path of ['', '/verify', '/checkpoints', '/export', '/1/proof'])
      expect((await root.get(`/api/audit${path}?study_id=${never}`)).status, path).to.equal(404);
    expect((await root.post('/api/audit/checkpoints', { study_id: never })).status).to.equal(404);
  });

  it('records are listed with all that they are hashed by', async () => {
    const {
      items: [record],
    } = await root.expect(200, 'GET', `/api/audit?study_id=${study.id}&limit=1`);
    expect(record!.hash_version).to.be.a('number');
  });

  it('records are found by day as by instant, the last day with all of it', async () => {
    const [today, yesterday] = [0, 1].map((days) =>
      new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10),
    );
    const total = async (query: string) =>
      (await root.expect(200, 'GET', `/api/audit?study_id=${study.id}&action=study_created&${query}`)).total;
    expect(await total(`from=${yesterday}&to=${today}`)).to.equal(1);
    expect(await total('to=2020-01-01')).to.equal(0);
    expect(await total('from=9999-12-31')).to.equal(0);
    const refused = await root.get('/api/audit?from=2024-02-30');
    expect([refused.status, refused.body.errors[0]!.path]).to.deep.equal([422, 'query.from']);
  });

  it('is worked out for three at a time, and others are served meanwhile', async () => {
    const sql = new pg.Client({ connectionString: (await service()).database_url });
    await sql.connect();
    try {
      await sql.query('begin');
      await sql.query('lock table audit_checkpoints in access exclusive mode');
      const asked = Array.from({ length: 25 }, () => verdict(`?study_id=${study.id}`));
      const waiting = async (): Promise<number> => {
        const { rows } = await sql.query<{ n: number }>(
          `select count(*)::int as n from pg_locks where relation = 'audit_checkpoints'::regclass and not granted`,
        );
        return rows[0]!.n;
      };
      await until(async () => (await waiting()) >= 3, { what: 'verifications that wait' });
      await root.expect(200, 'GET', `/api/studies/${study.id}`);
      expect(await waiting()).to.equal(3);
      await sql.query('rollback');
      for (const { valid } of await Promise.all(asked)) expect(valid).to.equal(true);
    } finally {
      await sql.end();
    }
  });

  describe('of the command that is told of the database alone', () => {
    let ledger: Ledger;
    const chain = randomUUID();
    before(async () => {
      ledger = await Ledger.make();
      await ledger.append(chain, 3);
      await ledger.append(null, 2);
      await ledger.checkpoint();
    });
    after(() => ledger.clear());

    it('is good, and says that nothing outside was compared', async () => {
      const { code, output } = await ledger.verify({});
      expect(code, output).to.equal(0);
      expect(output).to.contain('Nothing outside the database was compared').and.contain('3 records, 1 checkpoints');
    });

    it('goes by the folder where DATA_DIR or AUDIT_CHECKPOINT_DIR names it', async () => {
      const dataDir = mkdtempSync(join(tmpdir(), 'research-assessment-folder-'));
      try {
        const folder = new CheckpointFolder(join(dataDir, 'audit-checkpoints'));
        mkdirSync(folder.path);
        await ledger.append(chain, 1);
        await makeCheckpoints(ledger.app, { signer, folder });
        const { code, output } = await ledger.verify({ DATA_DIR: dataDir });
        expect(code, output).to.equal(0);
        expect(output).not.to.contain('Nothing outside');
        const elsewhere = await ledger.verify({ AUDIT_CHECKPOINT_DIR: join(dataDir, 'nothing-here') });
        expect([elsewhere.code, elsewhere.output]).to.satisfy(
          () => elsewhere.code === 1 && elsewhere.output.includes('is signed with a key that is not known here'),
        );
      } finally {
        await rm(dataDir, { recursive: true, force: true });
      }
    });

    it('still finds what was changed', async () => {
      await ledger.tamper((tx) => tx('audit_log').where({ chain, seq: 2 }).update({ action: 'did not' }));
      const { code, output } = await ledger.verify({});
      expect(code, output).to.equal(1);
      expect(output).to.contain(`FAULT ${chain}  record ${chain}/2`);
    });
  });
});
