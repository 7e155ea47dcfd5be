import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { auditSigner } from '../../db/audit/audit-signing.js';
import { Ledger } from './ledger.js';
import type { Tx } from '../../db/client/database.js';

/** What the database's owner can do beside the log and what is signed of it. Each chain has 6 records, signed at 6. */
const table: { what: string; bad: number; fault: RegExp; tamper: (tx: Tx, chain: string) => Promise<unknown> }[] = [
  {
    what: 'subtrees of the next checkpoint that are none',
    bad: 6,
    fault: /the subtrees kept with the checkpoint of .* do not give the root that was signed/,
    tamper: (tx, chain) => tx('audit_checkpoints').where({ chain }).update({ peaks: 'none' }),
  },
  {
    what: 'subtrees of other records',
    bad: 6,
    fault: /the subtrees kept with the checkpoint of .* do not give the root that was signed/,
    tamper: (tx, chain) =>
      tx('audit_checkpoints')
        .where({ chain })
        .update({ peaks: [1, 2].map((n) => String(n).repeat(64)).join(',') }),
  },
  {
    what: 'another public key',
    bad: 6,
    fault: /the public key with the checkpoint of .* is not the one that it names/,
    tamper: (tx, chain) =>
      tx('audit_checkpoints')
        .where({ chain })
        .update({ public_key: auditSigner('a signing key of somebody else').publicKey }),
  },
  {
    what: 'a head without its study',
    bad: 1,
    fault: /its head names another study/,
    tamper: (tx, chain) => tx('audit_chains').where({ chain }).update({ study_id: null }),
  },
];

describe('What the database keeps beside the signed parts of the audit log', function () {
  this.timeout(120_000);
  let ledger: Ledger, output: string;
  const chains = table.map(() => randomUUID());
  before(async () => {
    ledger = await Ledger.make();
    await Promise.all([null, ...chains].map((chain) => ledger.append(chain, 6)));
    expect((await ledger.checkpoint()).made.length).to.equal(1 + chains.length);
    expect((await ledger.verify()).code).to.equal(0);
    for (const [i, { tamper }] of table.entries()) await ledger.tamper((tx) => tamper(tx, chains[i]!));
    ({ output } = await ledger.verify());
  });
  after(() => ledger?.clear());

  for (const [i, { what, bad, fault }] of table.entries())
    it(`is verified as well: ${what}`, () => {
      const begin = `FAULT ${chains[i]!}  record ${chains[i]!}/${bad}: `;
      const line = output.split('\n').find((one) => one.startsWith(begin));
      expect(line, output).to.match(fault);
    });

  it('and nothing else is at fault', () => {
    expect(output).to.match(/ok {4}service {2}6 records, 1 checkpoints/);
    expect(output).to.contain(`${chains.length} of ${1 + chains.length} chains are broken.`);
  });
});
