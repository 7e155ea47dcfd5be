/**
 * The job that runs once before the API and the worker of a deployment: the schema, the first admin, the Temporal
 * namespace and its search attributes. What is there already is left as it is.
 */
import { SchemaError } from '../../db/migrate.js';
import { readSettings, SettingsError, type Settings } from '../../settings.js';
import { prepareDatabase } from './prepare-database.js';
import { StartError } from './start-error.js';
import { ensureNamespace } from './temporal-setup.js';

async function deploy(settings: Settings): Promise<void> {
  const { DATABASE_URL, TEMPORAL_ADDRESS, ADMIN_PASSWORD } = settings;
  const missing = Object.entries({ DATABASE_URL, TEMPORAL_ADDRESS, ADMIN_PASSWORD }).filter(([, value]) => value === undefined).map(([name]) => `${name} is not set`);
  if (DATABASE_URL === undefined || TEMPORAL_ADDRESS === undefined || ADMIN_PASSWORD === undefined) throw new SettingsError(missing);
  const { applied, adminCreated } = await prepareDatabase(DATABASE_URL, {
    appPassword: settings.DATABASE_APP_PASSWORD, encryptionKey: settings.DATACAPTURE_ENCRYPTION_KEY, admin: { email: settings.ADMIN_EMAIL, password: ADMIN_PASSWORD },
  });
  console.log(applied.length > 0 ? `applied ${applied.join(', ')}` : 'the schema is the latest');
  if (adminCreated) console.log(`made the first admin, ${settings.ADMIN_EMAIL}`);
  await ensureNamespace({ address: TEMPORAL_ADDRESS, namespace: settings.TEMPORAL_NAMESPACE, retentionDays: settings.TEMPORAL_RETENTION_DAYS });
  console.log(`Temporal namespace ${settings.TEMPORAL_NAMESPACE} is ready`);
}

try {
  await deploy(readSettings());
} catch (fault) {
  const meantForPeople = fault instanceof SettingsError || fault instanceof SchemaError || fault instanceof StartError;
  console.error(meantForPeople ? fault.message : fault);
  process.exitCode = 1;
}
