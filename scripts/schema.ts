/** Writes db/schema.sql from the database that DATABASE_URL or DATA_DIR/run.json names. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openDatabase } from '../db/knex.js';
import { dumpSchema } from '../db/schema-dump.js';
import { readSettings } from '../settings.js';

const settings = readSettings();
const runFile = join(settings.DATA_DIR, 'run.json');
const url = settings.DATABASE_URL ?? (existsSync(runFile) ? (JSON.parse(readFileSync(runFile, 'utf8')) as { database_url: string }).database_url : undefined);
if (!url) {
  console.error(`No database: set DATABASE_URL to a migrated one, or start the service (${runFile} is not there).`);
  process.exit(1);
}
const database = openDatabase({ url, name: 'schema', asOwner: true, poolMax: 1 });
writeFileSync('db/schema.sql', await dumpSchema(database));
await database.destroy();
console.log('db/schema.sql is written.');
