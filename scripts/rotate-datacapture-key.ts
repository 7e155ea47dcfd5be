/**
 * Encrypts capture-system tokens, the secrets of webhooks and event subscriptions, and users' second factors under a
 * new key: all of them or none.
 *   DATACAPTURE_ENCRYPTION_KEY   the new key, that the service runs with from now on
 *   DATABASE_URL                 the database; without it, that of the service that runs on DATA_DIR
 *   --old-key-file PATH          a file that holds the key so far (an argument would be seen in the process list)
 */
import { readFileSync } from 'node:fs';
import { SecretBox, SecretUnreadable } from '../db/client/crypto.js';
import { openDatabase } from '../db/client/knex.js';
import { reencrypt, rotateSecrets } from '../db/capture/datacapture-configs.queries.js';
import { rotateFactors } from '../db/identity/mfa.queries.js';
import { rotateSubscriptionSecrets } from '../db/events/event-subscriptions.queries.js';
import { withStudyScope } from '../db/client/transaction.js';
import { databaseUrlOf, requireDatabase } from './runtime/postgres/database-url.js';
import { optionsOf } from './runtime/program.js';
import { encryptionKeyBytes, readSettings } from '../settings.js';

function fail(sentence: string): never {
  console.error(sentence);
  process.exit(1);
}

function oldKey(path: string | undefined): Buffer {
  if (!path) fail('Name the file that holds the key so far: --old-key-file PATH.');
  let text: string;
  try {
    text = readFileSync(path, 'utf8').trim();
  } catch (cause) {
    fail(`The file with the key so far cannot be read: ${(cause as Error).message}`);
  }
  return encryptionKeyBytes(text) ?? fail(`${path} does not hold 32 bytes as hex (64 characters) or base64.`);
}

const values = optionsOf('npm run rotate:datacapture-key -- --old-key-file PATH', {
  'old-key-file': { type: 'string' },
});
const settings = readSettings(process.env, 'tool');
const url = databaseUrlOf(settings);
if (!url)
  fail(
    'No database: set DATABASE_URL, or DATA_DIR to the folder of a running service ' +
      `(${settings.DATA_DIR}/run.json is not there).`,
  );
if (!settings.DATACAPTURE_ENCRYPTION_KEY) fail('DATACAPTURE_ENCRYPTION_KEY is not set: it holds the new key.');
const from = new SecretBox(oldKey(values['old-key-file']), 'the old key file');
const to = new SecretBox(encryptionKeyBytes(settings.DATACAPTURE_ENCRYPTION_KEY));

await requireDatabase(url, settings);
const database = openDatabase({
  url,
  appPassword: settings.DATABASE_APP_PASSWORD,
  name: 'rotate-datacapture-key',
  poolMax: 2,
});
try {
  const rotation = await withStudyScope(database, '*', async ({ tx, audit }) => {
    const done = await rotateSecrets(tx, from, to);
    for (const study of done.studies) {
      audit.record({
        study_id: study,
        user_id: null,
        action: 'datacapture_key_rotated',
        resource_type: 'datacapture_config',
        resource_id: study,
        metadata: { from_key: from.keyId, to_key: to.keyId },
      });
    }
    const factors = await rotateFactors(tx, (sealed, place) => reencrypt(sealed, place, from, to));
    if (factors > 0)
      audit.record({
        study_id: null,
        user_id: null,
        action: 'mfa_key_rotated',
        resource_type: 'user',
        resource_id: null,
        metadata: { users: factors, from_key: from.keyId, to_key: to.keyId },
      });
    const subscribed = await rotateSubscriptionSecrets(tx, (sealed, place) => reencrypt(sealed, place, from, to));
    for (const study of subscribed) {
      audit.record({
        study_id: study,
        user_id: null,
        action: 'event_subscription_key_rotated',
        resource_type: 'study',
        resource_id: study,
        metadata: { from_key: from.keyId, to_key: to.keyId },
      });
    }
    return { ...done, factors, subscribed: subscribed.length };
  });
  const more = [
    rotation.factors > 0 && ` Second factors: ${rotation.factors}.`,
    rotation.subscribed > 0 && ` Studies with event subscriptions: ${rotation.subscribed}.`,
  ]
    .filter(Boolean)
    .join('');
  console.log(
    `Configurations encrypted under key ${to.keyId}: ${rotation.rotated}; already under it: ` +
      `${rotation.already}.${more}`,
  );
} catch (fault) {
  if (!(fault instanceof SecretUnreadable)) throw fault;
  console.error(`Nothing was changed. ${fault.message}`);
  process.exitCode = 1;
} finally {
  await database.destroy();
}
