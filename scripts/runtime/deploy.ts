/**
 * The job that runs once before API and worker of a deployment: the schema, the first admin, the Temporal namespace and
 * its search attributes. Existing ones stay.
 */
import { SchemaError } from '../../db/migrate.js';
import { SettingsError, temporalTls, type Settings } from '../../settings.js';
import { lookAtOwnServers } from './own-servers.js';
import { prepareDatabase } from './postgres/prepare-database.js';
import { StartError } from './start-error.js';
import { ensureNamespace } from './temporal/temporal-setup.js';
import { misspeltSettings, usableSettings } from './usable-settings.js';

async function deploy(settings: Settings): Promise<void> {
  const { DATABASE_URL, TEMPORAL_ADDRESS, ADMIN_PASSWORD } = settings;
  if (DATABASE_URL === undefined || TEMPORAL_ADDRESS === undefined || ADMIN_PASSWORD === undefined)
    throw new SettingsError(missing(settings));
  // Checks both before the first is changed.
  const { faults } = await lookAtOwnServers(worksOn(settings));
  if (faults.length > 0) throw new StartError(faults.join('\n'));
  const { applied, adminCreated, warnings } = await prepareDatabase(DATABASE_URL, {
    appPassword: settings.DATABASE_APP_PASSWORD,
    encryptionKey: settings.DATACAPTURE_ENCRYPTION_KEY,
    admin: { email: settings.ADMIN_EMAIL, password: ADMIN_PASSWORD },
  });
  console.log(applied.length > 0 ? `applied ${applied.join(', ')}` : 'the schema is the latest');
  for (const warning of warnings) console.log(`warning: ${warning}`);
  if (adminCreated) console.log(`made the first admin, ${settings.ADMIN_EMAIL}`);
  await ensureNamespace({
    address: TEMPORAL_ADDRESS,
    ...temporalTls(settings),
    namespace: settings.TEMPORAL_NAMESPACE,
    retentionDays: settings.TEMPORAL_RETENTION_DAYS,
  });
  console.log(`Temporal namespace ${settings.TEMPORAL_NAMESPACE} is ready`);
}

/** A separate job embeds and generates nothing. Production has its own sentence for the password. */
function missing(settings: Settings): string[] {
  const needed = [
    'DATABASE_URL',
    'TEMPORAL_ADDRESS',
    ...(settings.production ? [] : ['ADMIN_PASSWORD' as const]),
  ] as const;
  return needed.filter((name) => settings[name] === undefined).map((name) => `${name} is not set`);
}

/** Redis and mail are for API and worker, which may start later than this job. */
const worksOn = (settings: Settings): Settings => ({ ...settings, REDIS_URL: undefined, SMTP_URL: undefined });

try {
  for (const warning of misspeltSettings()) console.log(`warning: ${warning}`);
  await deploy(await usableSettings({ further: missing, servers: worksOn }));
} catch (fault) {
  const meantForPeople = fault instanceof SettingsError || fault instanceof SchemaError || fault instanceof StartError;
  console.error(meantForPeople ? fault.message : fault);
  process.exitCode = 1;
}
