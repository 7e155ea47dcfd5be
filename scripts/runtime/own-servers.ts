import { Redis } from 'ioredis';
import { createTransport } from 'nodemailer';
import pg from 'pg';
import type { Settings } from '../../settings.js';
import { ensureNamespace } from './temporal-setup.js';
import { StartError } from './start-error.js';

const PATIENCE = 5000;

/**
 * Servers of your own are looked at before anything is started. Without mail the service starts all the same, and in
 * development without Redis too: each process counts for itself meanwhile, and health says that it is away.
 * @returns warnings about those that it starts without
 * @throws StartError naming every one that does not answer, with its setting
 */
export async function checkOwnServers(settings: Settings): Promise<string[]> {
  const { DATABASE_URL, TEMPORAL_ADDRESS, REDIS_URL, SMTP_URL } = settings;
  const [database, temporal, redis, mail] = await Promise.all([
    DATABASE_URL === undefined ? undefined : faultOf('DATABASE_URL', 'PostgreSQL', withoutSecret(DATABASE_URL), () => askDatabase(DATABASE_URL)),
    TEMPORAL_ADDRESS === undefined ? undefined : faultOf('TEMPORAL_ADDRESS', 'The Temporal server', TEMPORAL_ADDRESS, () => ensureNamespace({ address: TEMPORAL_ADDRESS, namespace: settings.TEMPORAL_NAMESPACE, retentionDays: settings.TEMPORAL_RETENTION_DAYS })),
    REDIS_URL === undefined ? undefined : faultOf('REDIS_URL', 'Redis', withoutSecret(REDIS_URL), () => askRedis(REDIS_URL)),
    SMTP_URL === undefined ? undefined : faultOf('SMTP_URL', 'The mail server', withoutSecret(SMTP_URL), () => askMail(SMTP_URL)),
  ]);
  const faults = [database, temporal, settings.production ? redis : undefined].filter((fault) => fault !== undefined);
  const warnings = [redis, mail].filter((fault) => fault !== undefined && !faults.includes(fault));
  if (faults.length > 0) throw new StartError([...faults, ...warnings].join('\n'));
  return warnings as string[];
}

async function faultOf(setting: string, what: string, where: string, ask: () => Promise<void>): Promise<string | undefined> {
  try {
    await ask();
    return undefined;
  } catch (fault) {
    return `${what} at ${where} (${setting}) does not answer: ${reasonOf(fault)}.`;
  }
}

/** A refused connection to a name with several addresses comes as an AggregateError whose own message is empty. */
function reasonOf(fault: unknown): string {
  if (fault instanceof AggregateError && fault.errors.length > 0) return reasonOf(fault.errors[0]);
  return fault instanceof Error ? (fault.message || fault.name).replace(/\.$/, '') : String(fault);
}

async function askDatabase(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: PATIENCE, query_timeout: PATIENCE });
  try {
    await client.connect();
    await client.query('select 1');
  } finally {
    await client.end();
  }
}

async function askRedis(url: string): Promise<void> {
  const redis = new Redis(url, { lazyConnect: true, connectTimeout: PATIENCE, maxRetriesPerRequest: 0, retryStrategy: () => null });
  let reason: Error | undefined;
  // Why it failed comes as an event; the rejected call itself only says that the connection is closed.
  redis.on('error', (fault) => { reason = fault; });
  try {
    await redis.connect();
    await redis.ping();
  } catch (fault) {
    throw reason ?? fault;
  } finally {
    redis.disconnect();
  }
}

async function askMail(url: string): Promise<void> {
  const transport = createTransport(url, {});
  try {
    await Promise.race([
      transport.verify(),
      new Promise((_done, failed) => { setTimeout(() => failed(new Error('no greeting in time')), PATIENCE).unref(); }),
    ]);
  } finally {
    transport.close();
  }
}

function withoutSecret(text: string): string {
  try {
    const url = new URL(text);
    return url.host + url.pathname.replace(/\/$/, '');
  } catch (fault) {
    throw new StartError(`"${text}" is not a URL: ${(fault as Error).message}.`);
  }
}
