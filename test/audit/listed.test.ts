import { expect } from 'chai';
import { createHash, randomUUID } from 'node:crypto';
import { listAudit } from '../../db/audit/audit.queries.js';
import { canonicalJson } from '../../db/audit/canonical-json.js';
import { openDatabase } from '../../db/client/knex.js';
import type { Tx } from '../../db/client/database.js';
import { service } from '../support/service.js';
import { admin, newStudy } from '../support/http.js';
import type { Http, Loose } from '../support/http.js';

/** Of a time in microseconds one in ten ends with a nought. */
const ENOUGH = 100;

describe('Audit records as they are listed', () => {
  let root: Http;
  before(async () => {
    root = await admin();
  });

  it('have all that their hash is taken of, to the last digit of the time', async () => {
    const study = await newStudy(root);
    for (let n = 0; n < ENOUGH; n += 1)
      await root.expect(200, 'PATCH', `/api/studies/${study.id}`, { study_name: `Study ${n}` });
    const { items } = await root.expect<{ items: Loose[] }>(200, 'GET', `/api/audit?study_id=${study.id}&limit=200`);
    expect(items.length).to.be.at.least(ENOUGH);
    for (const { id: _id, prev_hash, hash, ...record } of items) {
      expect(record.created_at).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
      expect(
        createHash('sha256')
          .update(prev_hash + canonicalJson(record))
          .digest('hex'),
        `record ${record.seq}`,
      ).to.equal(hash);
    }
    expect(items.map(({ prev_hash }) => prev_hash).slice(0, -1), 'newest first, each after the next').to.deep.equal(
      items.slice(1).map(({ hash }) => hash),
    );
  });

  it('of several chains at one time stand on one page each', async () => {
    const owner = openDatabase({ url: (await service()).database_url, poolMax: 1, name: 'listed', asOwner: true });
    const at = '2900-01-01T00:00:00.000000Z';
    const chains = Array.from({ length: 40 }, () => randomUUID());
    // Nobody else ever sees them.
    const trial = await owner.transaction();
    try {
      await trial.raw(`select set_config('app.studies', '*', true)`);
      for (const seq of [1, 2])
        await trial('audit_log').insert(
          chains.map((chain) => ({
            seq,
            chain,
            action: 'tried',
            resource_type: 'study',
            created_at: at,
            prev_hash: String(seq).repeat(64),
            hash: 'a'.repeat(64),
          })),
        );
      const page = async (skip: number, limit: number) =>
        (await listAudit(trial as unknown as Tx, { from: at, to: at, action: 'tried', skip, limit })).items;
      const paged: string[] = [];
      for (let skip = 0; skip < 80; skip += 7) paged.push(...(await page(skip, 7)).map(({ id }) => id));
      expect(paged).to.deep.equal((await page(0, 500)).map(({ id }) => id));
      expect(new Set(paged).size).to.equal(80);
    } finally {
      await trial.rollback();
      await owner.destroy();
    }
  });
});
