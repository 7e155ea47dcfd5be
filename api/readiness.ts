import { setTimeout as sleep } from 'node:timers/promises';
import { SchemaError, assertLatestRevision } from '../db/migrate.js';
import { SettingsError } from '../settings.js';
import { checkDatabase, checkRedis } from './operations/health.service.js';
import type { Dependencies } from './dependencies.js';

/**
 * Production starts only completely: every configured server must answer, and the schema must be the latest.
 * @throws SettingsError naming every fault at once, each with its setting
 */
export async function assertDependencies(services: Dependencies): Promise<void> {
  let faults: string[] = [];
  // Servers that start at the same time get a moment; faults that an operator must fix do not wait longer.
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    if (attempt > 0) await sleep(PAUSE_MS);
    faults = await found(services);
    if (faults.length === 0) return;
  }
  throw new SettingsError(faults);
}

const ATTEMPTS = 3;
/** Longer than a failed check of Temporal is cached. */
const PAUSE_MS = 1_500;

async function found(services: Dependencies): Promise<string[]> {
  const [database, redis, temporal] = await Promise.all([
    databaseFault(services),
    checkRedis(services),
    services.temporal.probeServer(),
  ]);
  return [
    ...(database ? [database] : []),
    ...(redis.status === 'down' ? [`REDIS_URL: Redis is not reached${because(redis.detail)}`] : []),
    ...(temporal.up ? [] : [`TEMPORAL_ADDRESS: the Temporal server is not reached${because(temporal.detail)}`]),
  ];
}

async function databaseFault(services: Dependencies): Promise<string | undefined> {
  const { status, detail } = await checkDatabase(services);
  if (status === 'down') return `DATABASE_URL: the database is not reached${because(detail)}`;
  try {
    await assertLatestRevision(services.database);
    return undefined;
  } catch (fault) {
    if (fault instanceof SchemaError) return fault.message;
    throw fault;
  }
}

const because = (detail: string | undefined): string => (detail ? ` (${detail})` : '');
