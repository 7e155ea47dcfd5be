import { createHash } from 'node:crypto';
import { expect } from 'chai';
import { canonicalJson } from '../../db/audit/canonical-json.js';
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
});
