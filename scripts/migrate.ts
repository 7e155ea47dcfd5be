import { readSettings } from '../settings.js';
import { migrate } from '../db/migrate.js';

const settings = readSettings();
if (!settings.DATABASE_URL) {
  console.error('DATABASE_URL is not set: name the database to migrate (the embedded one is migrated by "npm start").');
  process.exit(1);
}
const { revision, applied } = await migrate(settings.DATABASE_URL, { appPassword: settings.DATABASE_APP_PASSWORD });
console.log(applied.length === 0 ? `Schema is at ${revision} already.` : `Schema is at ${revision}; applied ${applied.join(', ')}.`);
