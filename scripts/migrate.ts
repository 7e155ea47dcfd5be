import { readSettings } from '../settings.js';
import { migrate } from '../db/migrate.js';
import { databaseUrlOf, requireDatabase } from './runtime/postgres/database-url.js';
import { refuseUnknownArguments } from './runtime/program.js';

refuseUnknownArguments('npm run migrate (DATABASE_URL, or DATA_DIR of a running service, names the database)');
const settings = readSettings(process.env, 'tool');
const url = databaseUrlOf(settings);
if (!url) {
  console.error(
    'No database: set DATABASE_URL, or DATA_DIR to the folder of a running service ' +
      `(${settings.DATA_DIR}/run.json is not there). "npm start" migrates automatically.`,
  );
  process.exit(1);
}
await requireDatabase(url, settings);
const { revision, applied } = await migrate(url, { appPassword: settings.DATABASE_APP_PASSWORD });
console.log(
  applied.length === 0
    ? `Schema is at ${revision} already.`
    : `Schema is at ${revision}; applied ${applied.join(', ')}.`,
);
