/** Writes db/schema.sql from the database that DATABASE_URL or DATA_DIR/run.json names. */
import { writeFileSync } from 'node:fs';
import { openDatabase } from '../db/client/knex.js';
import { dumpSchema } from '../db/schema-dump.js';
import { readSettings } from '../settings.js';
import { databaseUrlOf } from './runtime/postgres/database-url.js';
import { refuseUnknownArguments } from './runtime/program.js';

refuseUnknownArguments('npm run schema');
const settings = readSettings();
const url = databaseUrlOf(settings);
if (!url) {
  console.error(
    `No database: set DATABASE_URL to a migrated one, or start the service (${settings.DATA_DIR}/run.json is ` +
      'not there).',
  );
  process.exit(1);
}
const database = openDatabase({ url, name: 'schema', asOwner: true, poolMax: 1 });
writeFileSync('db/schema.sql', await dumpSchema(database));
await database.destroy();
console.log('db/schema.sql is written.');
