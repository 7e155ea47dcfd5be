import { join } from 'node:path';
import pg from 'pg';
import type { Settings } from '../../../settings.js';
import { readIfThere } from '../files.js';
import type { RunJson } from '../run-json.js';

/** The database for a tool: DATABASE_URL, else that of the service running on DATA_DIR. */
export function databaseUrlOf({
  DATABASE_URL,
  DATA_DIR,
}: Pick<Settings, 'DATABASE_URL' | 'DATA_DIR'>): string | undefined {
  return DATABASE_URL ?? runningOn(DATA_DIR)?.database_url;
}

/**
 * Connects once before a tool begins.
 * @throws Error in one sentence for the person at the terminal, if the tool's database cannot be used
 */
export async function requireDatabase(
  url: string,
  { DATABASE_URL, DATA_DIR }: Pick<Settings, 'DATABASE_URL' | 'DATA_DIR'>,
): Promise<void> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 10_000 });
  try {
    await client.connect();
  } catch (fault) {
    // A refused connection to a name with several addresses is an AggregateError with an empty message.
    const first = fault instanceof AggregateError ? (fault.errors[0] as unknown) : fault;
    const reason = first instanceof Error ? first.message : String(first);
    const remedy =
      DATABASE_URL === undefined
        ? `${DATA_DIR}/run.json names it; is that service still running? Start it with "npm start".`
        : 'DATABASE_URL names it.';
    throw new Error(`The database at ${new URL(url).host} cannot be used: ${reason}. ${remedy}`, { cause: fault });
  } finally {
    await client.end();
  }
}

/** run.json of the service running on a data folder; undefined: none. */
export function runningOn(dataDir: string): RunJson | undefined {
  const text = readIfThere(join(dataDir, 'run.json'));
  return text === undefined ? undefined : (JSON.parse(text) as RunJson);
}
