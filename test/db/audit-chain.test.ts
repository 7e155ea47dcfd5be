import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { verifyChain } from '../../db/audit/audit-verify.js';
import { openDatabase } from '../../db/client/knex.js';
import { readInScope, withStudyScope } from '../../db/client/transaction.js';
import { service } from '../support/service.js';
import type { Database } from '../../db/client/database.js';
import type { Tx } from '../../db/client/database.js';

/**
 * A chain of ten records with everything that JSON and text can hold, then tampered with by the owner, who may drop
 * triggers.
 */
describe('the audit chain', () => {
  let owner: Database;
  let app: Database;
  before(async () => {
    const { database_url } = await service();
    owner = openDatabase({ url: database_url, name: 'audit-owner', asOwner: true, poolMax: 2 });
    app = openDatabase({ url: database_url, name: 'audit-app', poolMax: 10 });
  });
  after(() => Promise.all([owner.destroy(), app.destroy()]));

  const odd: Record<string, unknown>[] = [
    { text: 'quotes " \\ / and \u0001\u0008\t\n\r\u007f\u2028 日本 😀' },
    { numbers: [0, -0, 1e21, 1e-7, 0.1, -5, 123456789012] },
    { b: 1, a: { d: null, c: [true, false, {}] } },
    { é: 1, z: 2, Z: 3, '10': 4, '9': 5 },
    {},
    { deep: { a: { b: { c: ['x'] } } } },
    { empty: '' },
    { list: [] },
    { 'key "quoted"': true },
    { last: 10 },
  ];
  async function chain(): Promise<string> {
    const study = randomUUID();
    await withStudyScope(owner, '*', ({ tx }) =>
      tx('studies').insert({ id: study, study_code: study.slice(0, 13), study_name: 'chain' }),
    );
    for (const metadata of odd) {
      await withStudyScope(app, study, async ({ audit }) =>
        audit.record({
          study_id: study,
          user_id: randomUUID(),
          action: 'did "it"\n',
          resource_type: 'thing',
          resource_id: 'empty' in metadata ? 'a\u001eb\u001fc' : 'é\u0007',
          request_id: null,
          metadata,
        }),
      );
    }
    return study;
  }
  /** What the verifier says after `tamper`, which is undone. */
  async function after_(study: string, tamper: (tx: Tx) => Promise<unknown>) {
    let report: Awaited<ReturnType<typeof verifyChain>> | undefined;
    await owner
      .transaction(async (tx) => {
        await tx.raw(`select set_config('app.studies', '*', true)`);
        await tx.raw('alter table audit_log disable trigger user');
        await tamper(tx);
        report = await verifyChain(tx, study);
        throw new Error('undo');
      })
      .catch((fault: Error) => {
        if (fault.message !== 'undo') throw fault;
      });
    return report!;
  }

  it('holds many records of one transaction, long ones and those of one act among them', async () => {
    const study = await chain();
    const at = {
      study_id: study,
      user_id: null,
      action: 'thing_done',
      resource_type: 'thing',
      request_id: randomUUID(),
    };
    const long = Array.from({ length: 1_000 }, (_, n) => ({ n, id: randomUUID(), text: odd[0]!['text'] }));
    await withStudyScope(app, study, async ({ audit }) => {
      for (const metadata of odd) audit.record({ ...at, resource_id: null, metadata });
      audit.recordEach(at, [
        { resource_id: randomUUID(), metadata: { site: null } },
        { resource_id: randomUUID(), metadata: {} },
      ]);
      audit.record({ ...at, user_id: randomUUID().toUpperCase(), resource_id: 'x', metadata: { long } });
    });
    const report = await readInScope(app, study, (tx) => verifyChain(tx, study));
    expect(report).to.deep.include({ valid: true, rows: 2 * odd.length + 3 });
  });

  it('verifies what was sealed, whatever the text', async () => {
    const report = await verifyChainOf(await chain());
    expect(report).to.include({ valid: true, rows: 10 });
  });

  const verifyChainOf = (study: string) =>
    owner.transaction(async (tx) => {
      await tx.raw(`select set_config('app.studies', '*', true)`);
      return verifyChain(tx, study);
    });

  it('names the first record that does not hold', async () => {
    const study = await chain();
    const row = (n: number) => ({ chain: study, seq: n });
    const bad = (n: number) => ({ valid: false, first_bad_id: `${study}/${n}` });
    expect(
      await after_(study, (tx) => tx('audit_log').where(row(4)).update({ action: 'other' })),
      'a word edited',
    ).to.include(bad(4));
    expect(
      await after_(study, (tx) => tx('audit_log').where(row(5)).update({ audit_metadata: '{"x":1}' })),
      'metadata edited',
    ).to.include(bad(5));
    expect(
      await after_(study, (tx) =>
        tx.raw(`update audit_log set created_at = created_at + interval '1 microsecond' where chain = ? and seq = 6`, [
          study,
        ]),
      ),
      'a microsecond',
    ).to.include(bad(6));
    expect(
      await after_(study, (tx) => tx('audit_log').where(row(7)).update({ user_id: null })),
      'another user',
    ).to.include(bad(7));
    expect(await after_(study, (tx) => tx('audit_log').where(row(3)).delete()), 'a record removed').to.include(bad(3));
    expect(
      await after_(study, (tx) => tx('audit_log').where('chain', study).where('seq', '>', 8).delete()),
      'the tail cut',
    ).to.include(bad(9));
    expect(
      await after_(study, async (tx) => {
        await tx('audit_log').where(row(2)).update({ seq: 99 });
        await tx('audit_log').where(row(3)).update({ seq: 2 });
        await tx('audit_log').where(row(99)).update({ seq: 3 });
      }),
      'two swapped',
    ).to.include(bad(2));
  });

  it('finds whichever column was touched, and calls each fault by its name', async () => {
    const study = await chain();
    const content = 'its content is not what was sealed';
    const table: [column: string, value: unknown, fault: string][] = [
      ['study_id', null, content],
      ['user_id', randomUUID(), content],
      ['action', 'did', content],
      ['action', 'did \\"it\\"\n', content],
      ['resource_type', 'things', content],
      ['resource_id', null, content],
      ['resource_id', '', content],
      ['resource_id', 'é\u0007","resource_type":"thing', content],
      ['audit_metadata', '{"b":1,"a":{"d":null,"c":[true,false,[]]}}', content],
      ['audit_metadata', '{"b":"1","a":{"d":null,"c":[true,false,{}]}}', content],
      ['audit_metadata', '{}', content],
      ['request_id', 'null', content],
      ['request_id', '', content],
      ['created_at', new Date(0), content],
      ['created_at', 'infinity', content],
      ['hash_version', 2, content],
      ['hash', '0'.repeat(64), content],
      ['hash', '', content],
      ['prev_hash', '0'.repeat(63), 'it does not follow the record before it'],
      ['seq', 99, 'record 3 is missing'],
      ['chain', 'another', 'record 3 is missing'],
    ];
    for (const [column, value, fault] of table) {
      const report = await after_(study, (tx) =>
        tx('audit_log')
          .where({ chain: study, seq: 3 })
          .update({ [column]: value }),
      );
      expect(report, `${column} ${String(value)}`).to.deep.include({
        valid: false,
        rows: 2,
        first_bad_id: `${study}/3`,
        fault,
      });
    }
    // The same number, written differently: what was sealed.
    expect(
      await after_(study, (tx) =>
        tx('audit_log')
          .where({ chain: study, seq: 3 })
          .update({ audit_metadata: '{"b":1.0,"a":{"d":null,"c":[true,false,{}]}}' }),
      ),
    ).to.include({ valid: true, rows: 10 });
  });

  it('stays one line under many writers', async () => {
    const study = await chain();
    await Promise.all(
      Array.from({ length: 60 }, (_, i) =>
        withStudyScope(app, study, async ({ audit }) => {
          audit.record({
            study_id: study,
            user_id: null,
            action: 'at_once',
            resource_type: 'thing',
            resource_id: String(i),
          });
          audit.record({
            study_id: null,
            user_id: null,
            action: 'at_once',
            resource_type: 'thing',
            resource_id: String(i),
          });
        }),
      ),
    );
    expect(await verifyChainOf(study)).to.include({ valid: true, rows: 70 });
    expect(await verifyChainOf('service')).to.include({ valid: true });
  });
});
