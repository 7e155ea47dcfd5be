import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { recordHash } from '../../db/audit/audit-records.js';
import type { AuditRow } from '../../db/audit/audit-records.js';
import { Ledger } from './ledger.js';
import type { Tx } from '../../db/client/database.js';

const ROW = `seq, chain, study_id, user_id, action, resource_type, resource_id, audit_metadata, request_id,
  to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as created_at, prev_hash, hash, hash_version`;

/** Gives every record from `from` on its hash again, and the head: a chain that holds in itself. */
async function rehash(tx: Tx, chain: string, from: number): Promise<void> {
  const { rows } = (await tx.raw(`select ${ROW} from audit_log where chain = ? order by seq`, [chain])) as {
    rows: AuditRow[];
  };
  let head = rows.find((row) => row.seq === from - 1)?.hash ?? '0'.repeat(64);
  for (const row of rows.filter(({ seq }) => seq >= from)) {
    const hash = recordHash({ ...row, prev_hash: head });
    await tx('audit_log').where({ chain, seq: row.seq }).update({ prev_hash: head, hash });
    head = hash;
  }
  await tx('audit_chains').where({ chain }).update({ seq: rows.length, head });
}

/**
 * What the database's owner can do to the log. Each chain has 20 records, signed at 12 and at 17. `bad`: the record
 * that both verifiers must name.
 */
const table: { what: string; bad: number; tamper: (tx: Tx, chain: string, other: string) => Promise<unknown> }[] = [
  {
    what: 'a word of a record edited',
    bad: 4,
    tamper: (tx, chain) => tx('audit_log').where({ chain, seq: 4 }).update({ action: 'did not' }),
  },
  { what: 'a record deleted', bad: 7, tamper: (tx, chain) => tx('audit_log').where({ chain, seq: 7 }).delete() },
  {
    what: 'the tail cut, its head with it',
    bad: 15,
    tamper: async (tx, chain) => {
      await tx('audit_log').where({ chain }).where('seq', '>', 14).delete();
      await tx('audit_chains')
        .where({ chain })
        .update({ seq: 14, head: tx('audit_log').where({ chain, seq: 14 }).select('hash') });
    },
  },
  {
    what: 'the tail cut with the checkpoint that covered it',
    bad: 13,
    tamper: async (tx, chain) => {
      await tx('audit_log').where({ chain }).where('seq', '>', 12).delete();
      await tx('audit_chains')
        .where({ chain })
        .update({ seq: 12, head: tx('audit_log').where({ chain, seq: 12 }).select('hash') });
      await tx('audit_checkpoints').where({ chain, seq: 17 }).delete();
    },
  },
  {
    what: 'two records swapped and hashed again',
    bad: 5,
    tamper: async (tx, chain) => {
      for (const [from, to] of [
        [5, 99],
        [6, 5],
        [99, 6],
      ] as const)
        await tx('audit_log').where({ chain, seq: from }).update({ seq: to });
      await tx('audit_log')
        .where({ chain })
        .whereIn('seq', [5, 6])
        .update({ prev_hash: tx.raw(`lpad(seq::text, 64, 'f')`) });
      await rehash(tx, chain, 5);
    },
  },
  {
    what: 'the chain swapped with another',
    bad: 1,
    tamper: async (tx, chain, other) => {
      for (const [from, to] of [
        [chain, 'aside'],
        [other, chain],
        ['aside', other],
      ] as const) {
        await tx('audit_log')
          .where({ chain: from })
          .update({ chain: to, study_id: to === 'aside' ? null : to });
        await tx('audit_chains')
          .where({ chain: from })
          .update({ chain: to, study_id: to === 'aside' ? null : to });
      }
      await rehash(tx, chain, 1);
      await rehash(tx, other, 1);
    },
  },
  {
    what: 'everything from record 9 on rewritten',
    bad: 9,
    tamper: async (tx, chain) => {
      await tx('audit_log').where({ chain, seq: 9 }).update({ user_id: randomUUID() });
      await rehash(tx, chain, 9);
    },
  },
  {
    what: 'everything from record 14 on rewritten, and its checkpoint deleted',
    bad: 14,
    tamper: async (tx, chain) => {
      await tx('audit_log').where({ chain, seq: 14 }).update({ audit_metadata: '{"forged":true}' });
      await rehash(tx, chain, 14);
      await tx('audit_checkpoints').where({ chain, seq: 17 }).delete();
    },
  },
  {
    what: 'a checkpoint deleted',
    bad: 12,
    tamper: (tx, chain) => tx('audit_checkpoints').where({ chain, seq: 12 }).delete(),
  },
  {
    what: 'a checkpoint made to say something else',
    bad: 17,
    tamper: (tx, chain) =>
      tx('audit_checkpoints')
        .where({ chain, seq: 17 })
        .update({ created_at: new Date(0) }),
  },
  {
    what: 'the whole chain removed',
    bad: 1,
    tamper: async (tx, chain) => {
      await tx('audit_log').where({ chain }).delete();
      await tx('audit_chains').where({ chain }).delete();
      await tx('audit_checkpoints').where({ chain }).delete();
    },
  },
];

describe('the audit log in the hands of the database’s owner', function () {
  this.timeout(120_000);
  let ledger: Ledger;
  const chains = table.map(() => randomUUID());
  const others = table.map(() => randomUUID());
  let found: { code: number; output: string };
  let offline: { code: number; output: string };

  before(async () => {
    ledger = await Ledger.make();
    const all = [null, ...chains, ...others];
    for (const count of [12, 5]) {
      await Promise.all(all.map((chain) => ledger.append(chain, count)));
      const { made, faults } = await ledger.checkpoint();
      expect([made.length, faults]).to.deep.equal([all.length, []]);
    }
    await Promise.all(all.map((chain) => ledger.append(chain, 3)));
  });
  after(() => ledger.clear());

  it('holds as long as nobody touches it', async () => {
    const verdict = await ledger.verify();
    expect(verdict.code, verdict.output).to.equal(0);
    expect(verdict.output)
      .to.match(/ok {4}service {2}20 records, 2 checkpoints/)
      .and.contain(`${1 + chains.length + others.length} chains are valid.`);
    const exported = await ledger.verifyOffline();
    expect(exported.code, exported.output).to.equal(0);
    expect(exported.output)
      .to.match(/ok {4}service {2}20 records, 2 checkpoints/)
      .and.contain('Everything holds.');
  });

  describe('is found out', () => {
    before(async () => {
      for (const [i, { tamper }] of table.entries()) await ledger.tamper((tx) => tamper(tx, chains[i]!, others[i]!));
      found = await ledger.verify();
      offline = await ledger.verifyOffline('--checkpoints', ledger.folder.path);
    });

    for (const [i, { what, bad }] of table.entries()) {
      it(`${what}: record ${bad} is named`, () => {
        expect(found.code).to.equal(1);
        expect(found.output).to.contain(`FAULT ${chains[i]!}  record ${chains[i]!}/${bad}: `);
        expect(offline.code).to.equal(1);
        expect(offline.output).to.contain(`FAULT record ${chains[i]!}/${bad}: `);
      });
    }

    it('what was not touched holds', () => {
      const touched = [...chains, others[5]!];
      expect(found.output.split('\n').filter((line) => line.startsWith('ok')).length).to.equal(
        1 + chains.length + others.length - touched.length,
      );
      expect(offline.output).to.match(/ok {4}service {2}20 records/);
    });

    it('nothing that was tampered with is signed again', async () => {
      await ledger.append(chains[6]!, 1);
      const { made, faults } = await ledger.checkpoint();
      expect(made.map(({ chain }) => chain))
        .to.include('service')
        .and.not.to.include(chains[6]!);
      expect(faults.find(({ chain }) => chain === chains[6])?.fault).to.match(/does not follow/);
    });
  });
});
