import { SecretBox } from '../../../db/client/crypto.js';
import { ensureFirstAdmin } from '../../../db/identity/first-admin.js';
import { openDatabase } from '../../../db/client/knex.js';
import { verifyPassword } from '../../../db/identity/passwords.js';
import { migrate } from '../../../db/migrate.js';
import { readInScope } from '../../../db/client/transaction.js';
import { encryptionKeyBytes } from '../../../settings.js';
import { StartError } from '../start-error.js';

/**
 * Prepares a database for the service: latest schema, matching encryption key, first admin.
 * @throws SchemaError when it is newer than this program; StartError when the key does not match its secrets
 */
export async function prepareDatabase(
  databaseUrl: string,
  given: {
    appPassword: string | undefined;
    encryptionKey: string | undefined;
    admin: { email: string; password: string };
  },
): Promise<{ applied: string[]; adminCreated: boolean }> {
  const { applied } = await migrate(databaseUrl, { appPassword: given.appPassword });
  await demandFittingKey(databaseUrl, given.encryptionKey);
  const { created } = await ensureFirstAdmin(databaseUrl, given.admin);
  return { applied, adminCreated: created };
}

/** What is encrypted with the key: columns that hold it, by table. */
const ENCRYPTED = [
  {
    what: 'capture-system configuration',
    table: 'datacapture_configs',
    columns: ['api_token_encrypted', 'webhook_secret_encrypted'],
  },
  { what: 'second factor', table: 'user_mfa', columns: ['secret_sealed'] },
  { what: 'event subscription', table: 'event_subscriptions', columns: ['secret_encrypted'] },
] as const;

/** A wrong key is one sentence now; later it would be an unreachable capture system, or logins that are refused. */
async function demandFittingKey(databaseUrl: string, key: string | undefined): Promise<void> {
  const owner = openDatabase({ url: databaseUrl, name: 'key-check', asOwner: true, poolMax: 1 });
  try {
    const { keyId } = new SecretBox(key === undefined ? undefined : encryptionKeyBytes(key));
    const foreign = await readInScope(owner, '*', async (tx) => {
      const counts: { what: string; count: number }[] = [];
      for (const { what, table, columns } of ENCRYPTED) {
        const rows = (await tx(table).select(...columns)) as Record<string, string | null>[];
        const isForeign = (sealed: string | null) => sealed !== null && sealed.split(':')[1] !== keyId;
        const { length: count } = rows.filter((row) => Object.values(row).some(isForeign));
        if (count > 0) counts.push({ what, count });
      }
      return counts;
    });
    if (foreign.length > 0) {
      const all = foreign.reduce((sum, { count }) => sum + count, 0);
      throw new StartError(
        'DATACAPTURE_ENCRYPTION_KEY does not decrypt what is stored: ' +
          `${foreign.map(({ what, count }) => `${count} ${what}${count === 1 ? '' : 's'}`).join(', ')} ` +
          `${all === 1 ? 'was' : 'were'} encrypted with another key. Set that one again; to change keys run ` +
          '"npm run rotate:datacapture-key" first (docs/OPERATIONS.md, "Change a secret").',
      );
    }
  } finally {
    await owner.destroy();
  }
}

/**
 * The account's actual password of these: another start may have created it, or its owner has changed it since.
 * @returns undefined when none matches
 */
export async function workingPassword(
  databaseUrl: string,
  email: string,
  candidates: readonly string[],
): Promise<string | undefined> {
  const owner = openDatabase({ url: databaseUrl, name: 'admin-check', asOwner: true, poolMax: 1 });
  try {
    const account = await readInScope(owner, '*', (tx) => tx('users').where({ email }).first('password_hash'));
    for (const candidate of new Set(candidates)) {
      if (account && (await verifyPassword(account.password_hash, candidate))) return candidate;
    }
    return undefined;
  } finally {
    await owner.destroy();
  }
}
