/**
 * Verifies every audit chain of the database, and compares it with the checkpoints in the database and in the folder
 * outside; a fault is named by record and ends with exit code 1.
 */
import { CheckpointFolder } from '../db/audit/audit-folder.js';
import { isOfDatabase, keysBesideCheckpoints, trustedKeys } from '../db/audit/checkpoint-trust.js';
import type { TrustedCheckpoint } from '../db/audit/checkpoint-trust.js';
import { auditSigner } from '../db/audit/audit-signing.js';
import { allChains, verifyChain } from '../db/audit/audit-verify.js';
import type { CheckpointTrust } from '../db/audit/audit-verify.js';
import { openDatabase } from '../db/client/knex.js';
import { readInScope } from '../db/client/transaction.js';
import { checkpointFolder, settingDefinitions, readSettings } from '../settings.js';
import { databaseUrlOf, requireDatabase } from './runtime/postgres/database-url.js';
import { refuseUnknownArguments } from './runtime/program.js';
import type { Tx } from '../db/client/database.js';

refuseUnknownArguments('npm run audit:verify (DATABASE_URL, or DATA_DIR of a running service, names the database)');
const settings = readSettings(process.env, 'tool');
const url = databaseUrlOf(settings);
if (!url) {
  console.error(
    'No database: set DATABASE_URL, or DATA_DIR to the folder of a running service ' +
      `(${settings.DATA_DIR}/run.json is not there).`,
  );
  process.exit(1);
}
await requireDatabase(url, settings);
const folder = new CheckpointFolder(checkpointFolder(settings));
/** Read before the database: these checkpoints were committed there. */
const kept = await folder.readAll();
const own = settings.AUDIT_SIGNING_KEY === undefined ? undefined : auditSigner(settings.AUDIT_SIGNING_KEY);

/**
 * DATABASE_URL alone does not tell where its checkpoints are: the folder of the default DATA_DIR may belong to another
 * database, and is then skipped.
 */
async function belongs(tx: Tx): Promise<boolean> {
  if (settings.AUDIT_CHECKPOINT_DIR !== undefined || settings.DATABASE_URL === undefined) return true;
  return kept.size > 0 && (settings.DATA_DIR !== settingDefinitions.DATA_DIR.fallback || isOfDatabase(tx, kept));
}

async function outsideOf(tx: Tx): Promise<CheckpointTrust> {
  if (await belongs(tx)) return { checkpoints: kept, keys: await trustedKeys(folder, own) };
  console.log(
    `Nothing outside the database was compared: ${folder.path} holds no checkpoint of it. DATA_DIR or ` +
      'AUDIT_CHECKPOINT_DIR names the folder.',
  );
  const none: TrustedCheckpoint = new Map();
  return { checkpoints: none, keys: own ? new Map([[own.keyId, own.publicKey]]) : await keysBesideCheckpoints(tx) };
}

const database = openDatabase({ url, name: 'audit-verify', asOwner: true, poolMax: 1 });
let faults = 0,
  checkpoints = 0;
await readInScope(database, '*', async (tx) => {
  const outside = await outsideOf(tx);
  const chains = await allChains(tx, outside);
  for (const chain of chains) {
    const report = await verifyChain(tx, chain, outside);
    checkpoints += report.checkpoints;
    if (!report.valid) faults += 1;
    console.log(
      report.valid
        ? `ok    ${chain}  ${report.rows} records, ${report.checkpoints} checkpoints, head ${report.head ?? 'none'}`
        : `FAULT ${chain}  record ${report.first_bad_id}: ${report.fault}`,
    );
  }
  if (checkpoints === 0)
    console.log(
      `No checkpoint covers any of this (none in the database, none in ${folder.path}): a chain that was cut ` +
        'short at its end would not be known.',
    );
  console.log(faults === 0 ? `${chains.length} chains are valid.` : `${faults} of ${chains.length} chains are broken.`);
});
await database.destroy();
process.exit(faults === 0 ? 0 : 1);
