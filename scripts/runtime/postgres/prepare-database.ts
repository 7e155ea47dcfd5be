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

/** A wrong key is one sentence now; later it would be an unreachable capture system. */
async function demandFittingKey(databaseUrl: string, key: string | undefined): Promise<void> {
  const owner = openDatabase({ url: databaseUrl, name: 'key-check', asOwner: true, poolMax: 1 });
  try {
    const { keyId } = new SecretBox(key === undefined ? undefined : encryptionKeyBytes(key));
    const stored = await readInScope(owner, '*', (tx) =>
      tx('datacapture_configs').select('api_token_encrypted', 'webhook_secret_encrypted'),
    );
    const foreign = stored.filter((row: { api_token_encrypted: string; webhook_secret_encrypted: string | null }) =>
      [row.api_token_encrypted, row.webhook_secret_encrypted].some(
        (sealed) => sealed !== null && sealed.split(':')[1] !== keyId,
      ),
    );
    if (foreign.length > 0) {
      throw new StartError(
        `DATACAPTURE_ENCRYPTION_KEY does not decrypt what is stored: ${foreign.length} capture-system ` +
          `${foreign.length === 1 ? 'configuration was' : 'configurations were'} encrypted with another key. Set ` +
          'that one again; to change keys run scripts/rotate-datacapture-key first.',
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
