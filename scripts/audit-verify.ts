/**
 * Verifies every audit chain of the database, and holds it against the checkpoints in the database and in the folder
 * outside; a fault is named by record and ends with exit code 1.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CheckpointFolder } from '../db/audit-folder.js';
import { allChains, verifyChain } from '../db/audit-verify.js';
import { openDatabase } from '../db/knex.js';
import { checkpointFolder, readSettings } from '../settings.js';
import { auditSigner } from '../db/audit-signing.js';

const settings = readSettings();
const runFile = join(settings.DATA_DIR, 'run.json');
const url = settings.DATABASE_URL ?? (existsSync(runFile) ? (JSON.parse(readFileSync(runFile, 'utf8')) as { database_url: string }).database_url : undefined);
if (!url) {
  console.error(`No database: set DATABASE_URL, or DATA_DIR to the folder of a running service (${runFile} is not there).`);
  process.exit(1);
}
const folder = new CheckpointFolder(checkpointFolder(settings));
const keys = await folder.keys();
if (settings.AUDIT_SIGNING_KEY !== undefined) {
  const { keyId, publicKey } = auditSigner(settings.AUDIT_SIGNING_KEY);
  keys.set(keyId, publicKey);
}
const outside = { folder, keys };
const database = openDatabase({ url, name: 'audit-verify', asOwner: true, poolMax: 1 });
let faults = 0, checkpoints = 0;
await database.transaction(async (tx) => {
  await tx.raw(`select set_config('app.studies', '*', true)`);
  const chains = await allChains(tx, outside);
  for (const chain of chains) {
    const report = await verifyChain(tx, chain, outside);
    checkpoints += report.checkpoints;
    if (!report.valid) faults += 1;
    console.log(report.valid
      ? `ok    ${chain}  ${report.rows} records, ${report.checkpoints} checkpoints, head ${report.head ?? 'none'}`
      : `FAULT ${chain}  record ${report.first_bad_id}: ${report.fault}`);
  }
  if (checkpoints === 0) console.log(`No checkpoint covers any of this (none in the database, none in ${folder.path}): a chain that was cut short at its end would not be known.`);
  console.log(faults === 0 ? `${chains.length} chains are valid.` : `${faults} of ${chains.length} chains are broken.`);
}, { isolationLevel: 'repeatable read', readOnly: true });
await database.destroy();
process.exit(faults === 0 ? 0 : 1);
