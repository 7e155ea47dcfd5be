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
 * @returns warnings: one sentence for the secrets that another key encrypted, beside those of this one
 * @throws SchemaError when it is newer than this program; StartError when the key matches none of its secrets
 */
export async function prepareDatabase(
  databaseUrl: string,
  given: {
    appPassword: string | undefined;
    encryptionKey: string | undefined;
    admin: { email: string; password: string };
  },
): Promise<{ applied: string[]; adminCreated: boolean; warnings: string[] }> {
  const { applied } = await migrate(databaseUrl, { appPassword: given.appPassword });
  const warnings = await demandFittingKey(databaseUrl, given.encryptionKey);
  const { created } = await ensureFirstAdmin(databaseUrl, given.admin);
  return { applied, adminCreated: created, warnings };
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

/**
 * A wrong key is one sentence now; later it would be an unreachable capture system, or logins that are refused. Secrets
 * under two keys are those of a rotation during which one was saved: the service starts, since the next rotation needs
 * its database.
 */
async function demandFittingKey(databaseUrl: string, key: string | undefined): Promise<string[]> {
  const owner = openDatabase({ url: databaseUrl, name: 'key-check', asOwner: true, poolMax: 1 });
  try {
    const { keyId } = new SecretBox(key === undefined ? undefined : encryptionKeyBytes(key));
    const { foreign, own } = await readInScope(owner, '*', async (tx) => {
      const counts: { what: string; count: number }[] = [];
      let fitting = 0;
      for (const { what, table, columns } of ENCRYPTED) {
        const rows = (await tx(table).select(...columns)) as Record<string, string | null>[];
        const keys = rows.map((row) => Object.values(row).flatMap((sealed) => sealed?.split(':')[1] ?? []));
        const { length: count } = keys.filter((ids) => ids.some((id) => id !== keyId));
        if (count > 0) counts.push({ what, count });
        fitting += keys.filter((ids) => ids.includes(keyId)).length;
      }
      return { foreign: counts, own: fitting };
    });
    if (foreign.length === 0) return [];
    const all = foreign.reduce((sum, { count }) => sum + count, 0);
    const named =
      `${foreign.map(({ what, count }) => `${count} ${what}${count === 1 ? '' : 's'}`).join(', ')} ` +
      `${all === 1 ? 'was' : 'were'} encrypted with another key`;
    if (own === 0)
      throw new StartError(
        `DATACAPTURE_ENCRYPTION_KEY does not decrypt what is stored: ${named}. Set that one again; to change keys ` +
          'run "npm run rotate:datacapture-key" first (docs/OPERATIONS.md, "Change a secret").',
      );
    return [
      `DATACAPTURE_ENCRYPTION_KEY does not decrypt all that is stored: ${named}. Run ` +
        '"npm run rotate:datacapture-key" with that one once more (docs/OPERATIONS.md, "Change a secret").',
    ];
  } finally {
    await owner.destroy();
  }
}

/**
 * The account's actual password of these: another start may have created it, or its owner has changed it since.
 * @returns password: undefined when none matches
 */
export async function workingPassword(
  databaseUrl: string,
  email: string,
  candidates: readonly string[],
): Promise<{ exists: boolean; password?: string }> {
  const owner = openDatabase({ url: databaseUrl, name: 'admin-check', asOwner: true, poolMax: 1 });
  try {
    const account = await readInScope(owner, '*', (tx) => tx('users').where({ email }).first('password_hash'));
    if (!account) return { exists: false };
    for (const password of new Set(candidates)) {
      if (await verifyPassword(account.password_hash, password)) return { exists: true, password };
    }
    return { exists: true };
  } finally {
    await owner.destroy();
  }
}
