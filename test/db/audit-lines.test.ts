import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import fc from 'fast-check';
import { CanonicalJsonBytes } from '../../db/audit/canonical-json-bytes.js';
import type { Sealed } from '../../db/audit/audit-lines.js';
import { streamRecords, streamRecordsInPages } from '../../db/audit/record-stream.js';
import { canonicalJson } from '../../db/audit/canonical-json.js';
import { openDatabase } from '../../db/client/knex.js';
import { withStudyScope, readInScope } from '../../db/client/transaction.js';
import { service } from '../support/service.js';
import type { Database } from '../../db/client/database.js';
import type { Tx } from '../../db/client/database.js';

const RUNS = 400;
const json = fc
  .dictionary(
    fc.oneof(fc.string({ unit: 'grapheme' }), fc.constantFrom('a', 'ab', 'a b', 'a!', 'B', 'visit_id', 'status', '')),
    fc.jsonValue({ maxDepth: 4, stringUnit: 'grapheme' }),
    { maxKeys: 8 },
  )
  // What no text of the database can hold, and no record is asked to.
  .filter((value) => !JSON.stringify(value).includes('\\u0000'));

describe('Audit records read as lines', () => {
  let owner: Database, app: Database;
  before(async () => {
    const { database_url } = await service();
    owner = openDatabase({ url: database_url, name: 'audit-lines-owner', asOwner: true, poolMax: 2 });
    app = openDatabase({ url: database_url, name: 'audit-lines', poolMax: 2 });
  });
  after(() => Promise.all([owner.destroy(), app.destroy()]));

  const written = (text: string): string | undefined => {
    const page = { bytes: Buffer.alloc(64 * 1024), at: 0 };
    const line = Buffer.from(`${text}\t`);
    const end = new CanonicalJsonBytes(page).write(line, 0);
    return end === line.length - 1 ? page.bytes.toString('utf8', 0, page.at) : undefined;
  };
  const asStored = async (values: readonly unknown[]): Promise<string[]> => {
    const { rows } = (await owner.raw(
      'select value::jsonb::text as text from unnest(?::text[]) with ordinality as each(value, n) order by n',
      [values.map((value) => JSON.stringify(value))],
    )) as { rows: { text: string }[] };
    return rows.map(({ text }) => text);
  };

  it('what is plain comes out in canonical form, whatever it is; the rest is given up', async () => {
    const values = fc.sample(json, { numRuns: RUNS, seed: 8 });
    const texts = await asStored(values);
    const found = texts.map(written);
    expect(found.filter((text) => text !== undefined).length).to.be.greaterThan(RUNS / 8);
    for (const [i, text] of found.entries())
      if (text !== undefined) expect(text).to.equal(canonicalJson(JSON.parse(texts[i]!)));
  });

  it('ids, words, dates, numbers and lists of these are plain, in whatever order the database keeps their names', async () => {
    const values = [
      {},
      { a: null },
      { z: 1, a: 2, bb: 'é 日本 😀', 'a b': [], 'a!': {} },
      { fields: ['b, c', 'a: "b'.replace('"', '')], version: 3, reason: 'x' },
      { n: [0, -1, 1.5, -0.25, 123456789012345, 10, 100.125], t: [true, false, null] },
      {
        participant_id: randomUUID(),
        at: '2026-01-05T10:00:00Z',
        nested: { to: 'b', from: 'a', deep: [{ zz: 1, y: [[]] }] },
      },
    ];
    expect((await asStored(values)).map(written)).to.deep.equal(values.map(canonicalJson));
  });

  it('escapes, names beyond ASCII and numbers that ECMAScript writes differently are given up', () => {
    for (const text of [
      '{"a": "\\\\n"}',
      '{"é": 1}',
      '{"a": 1.50}',
      '{"a": 0.0000001}',
      '{"a": 1000000000000000000000}',
      '[["]\\\\"], 1]',
      `${'['.repeat(100)}${']'.repeat(100)}`,
      '{"a": 1',
      '[1, 2',
      '"a',
      '-',
      '',
    ])
      expect(written(text), text).to.equal(undefined);
  });

  const told = async (read: typeof streamRecords, tx: Tx, chain: string): Promise<Sealed[]> => {
    const records: Sealed[] = [];
    await read(tx, chain, 0, Number.MAX_SAFE_INTEGER, (record) => records.push(record) > 0);
    return records;
  };

  it('are what they are read as rows, with the same content', async () => {
    const chain = randomUUID();
    const values = fc.sample(json, { numRuns: RUNS, seed: 9 });
    const words = fc.sample(
      fc.string({ unit: 'grapheme', maxLength: 30 }).filter((word) => !word.includes('\0')),
      { numRuns: RUNS, seed: 10 },
    );
    await withStudyScope(app, '*', async ({ audit }) => {
      for (const [i, metadata] of values.entries()) {
        audit.record({
          study_id: chain,
          user_id: i % 3 === 0 ? null : randomUUID(),
          action: words[i]!,
          resource_type: `thing ${i}`,
          resource_id: i % 5 === 0 ? null : words.at(-i)!,
          request_id: i % 7 === 0 ? '\\N' : null,
          metadata,
        });
      }
      audit.record({
        study_id: chain,
        user_id: null,
        action: 'long',
        resource_type: 'thing',
        resource_id: '',
        metadata: { long: 'x'.repeat(70_000) },
      });
    });
    // Undone: the other tests' chains lie in the same log.
    const tx = await owner.transaction();
    try {
      await tx.raw(`select set_config('app.studies', '*', true)`);
      await tx.raw('alter table audit_log disable trigger user');
      await tx.raw(
        `update audit_log set created_at = date_trunc('second', created_at) + (seq % 4) * interval '0.1 second' where chain = ? and seq % 2 = 0`,
        [chain],
      );
      const [lines, rows] = [await told(streamRecords, tx, chain), await told(streamRecordsInPages, tx, chain)];
      expect(lines)
        .to.have.length(RUNS + 1)
        .and.to.deep.equal(rows);
      expect(
        lines.filter(({ hash, content }) => hash !== content).map(({ seq }) => seq % 2),
        'those that were changed, and no other',
      ).to.deep.equal(Array.from({ length: RUNS / 2 }, () => 0));
    } finally {
      await tx.rollback();
    }
  });

  it('leave the connection as good as it was: where no more are wanted, and where the taker or the database fails', async () => {
    const chain = randomUUID();
    await withStudyScope(app, '*', async ({ audit }) => {
      for (let i = 0; i < 500; i += 1)
        audit.record({ study_id: chain, user_id: null, action: 'did', resource_type: 'thing', resource_id: String(i) });
    });
    const seen: number[] = [];
    await readInScope(app, '*', async (tx) => {
      await streamRecords(tx, chain, 0, 400, ({ seq }) => seen.push(seq) < 3);
      expect(seen).to.deep.equal([1, 2, 3]);
      const fault: unknown = await streamRecords(tx, chain, 0, 400, () => {
        throw new Error('not today');
      }).catch((fault_: unknown) => fault_);
      expect(fault).to.have.property('message', 'not today');
      expect((await told(streamRecords, tx, chain)).map(({ seq }) => seq)).to.deep.equal(
        Array.from({ length: 500 }, (_, i) => i + 1),
      );
    });
    const fault: unknown = await readInScope(app, '*', async (tx) => {
      await tx.raw('select 1 / 0').catch((fault_: unknown) => expect(fault_).to.have.property('code', '22012'));
      await told(streamRecords, tx, chain);
    }).catch((fault_: unknown) => fault_);
    expect(fault).to.have.property('code', '25P02');
    expect(await readInScope(app, '*', (tx) => told(streamRecords, tx, chain))).to.have.length(500);
  });
});
