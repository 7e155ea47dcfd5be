import { Redis } from 'ioredis';
import { createTransport } from 'nodemailer';
import pg from 'pg';
import { SchemaError, refuseUnknown } from '../../db/migrate.js';
import { temporalTls } from '../../settings.js';
import type { Settings } from '../../settings.js';
import { askTemporal, ensureNamespace } from './temporal/temporal-setup.js';
import type { TemporalPlace } from './temporal/temporal-setup.js';
import { StartError } from './start-error.js';

const PATIENCE = 5000;

/** The faults of external servers: `faults` prevent the start, `warnings` are only printed. */
export interface Found {
  faults: string[];
  warnings: string[];
}

/**
 * External servers are checked before anything is started. The service also starts without mail, and in development
 * without Redis: each process then counts alone, and health reports it as unavailable.
 * @returns warnings about missing optional servers
 * @throws StartError naming every server that does not answer, with its setting, and a schema that this program cannot
 * migrate
 */
export async function checkOwnServers(settings: Settings): Promise<string[]> {
  const { faults, warnings } = await lookAtOwnServers(settings, (place) =>
    ensureNamespace({
      ...place,
      namespace: settings.TEMPORAL_NAMESPACE,
      retentionDays: settings.TEMPORAL_RETENTION_DAYS,
    }),
  );
  if (faults.length > 0) throw new StartError([...faults, ...warnings].join('\n'));
  return warnings;
}

/** As above, every fault as it is found. @param temporal checks its server; by default nothing is created there */
export async function lookAtOwnServers(
  settings: Settings,
  temporal: (place: TemporalPlace) => Promise<void> = askTemporal,
): Promise<Found> {
  const { DATABASE_URL, TEMPORAL_ADDRESS, REDIS_URL, SMTP_URL } = settings;
  const [databaseFault, temporalFault, redisFault, mailFault] = await Promise.all([
    DATABASE_URL === undefined
      ? undefined
      : faultOf('DATABASE_URL', 'PostgreSQL', place(DATABASE_URL), () => askDatabase(DATABASE_URL)),
    TEMPORAL_ADDRESS === undefined
      ? undefined
      : faultOf('TEMPORAL_ADDRESS', 'The Temporal server', TEMPORAL_ADDRESS, () =>
          temporal({ address: TEMPORAL_ADDRESS, ...temporalTls(settings) }),
        ),
    REDIS_URL === undefined ? undefined : faultOf('REDIS_URL', 'Redis', place(REDIS_URL), () => askRedis(REDIS_URL)),
    SMTP_URL === undefined
      ? undefined
      : faultOf('SMTP_URL', 'The mail server', place(SMTP_URL), () => askMail(SMTP_URL)),
  ]);
  const told = (...sentences: (string | undefined)[]) => sentences.filter((sentence) => sentence !== undefined);
  return settings.production
    ? { faults: told(databaseFault, temporalFault, redisFault), warnings: told(mailFault) }
    : { faults: told(databaseFault, temporalFault), warnings: told(redisFault, mailFault) };
}

async function faultOf(
  setting: string,
  what: string,
  where: string,
  ask: () => Promise<void>,
): Promise<string | undefined> {
  try {
    await ask();
    return undefined;
  } catch (fault) {
    if (fault instanceof SchemaError) return fault.message;
    return `${what} at ${where} (${setting}) does not answer: ${reasonOf(fault)}.`;
  }
}

/** A refused connection to a name with several addresses is an AggregateError with an empty message. */
function reasonOf(fault: unknown): string {
  if (fault instanceof AggregateError && fault.errors.length > 0) return reasonOf(fault.errors[0]);
  return fault instanceof Error ? (fault.message || fault.name).replace(/\.$/, '') : String(fault);
}

async function askDatabase(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: PATIENCE, query_timeout: PATIENCE });
  try {
    await client.connect();
    const {
      rows: [found],
    } = await client.query<{ there: boolean }>(`select to_regclass('knex_migrations') is not null as there`);
    // A starting service migrates an older schema; that of a newer release must not be changed.
    if (found?.there)
      refuseUnknown(
        (await client.query<{ name: string }>('select name from knex_migrations order by id')).rows.map(
          ({ name }) => name,
        ),
      );
  } finally {
    await client.end();
  }
}

async function askRedis(url: string): Promise<void> {
  const redis = new Redis(url, {
    lazyConnect: true,
    connectTimeout: PATIENCE,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
  });
  let reason: Error | undefined;
  // The event has the reason; the rejected call only says that the connection is closed.
  redis.on('error', (fault) => {
    reason = fault;
  });
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
      new Promise((_done, failed) => {
        setTimeout(() => failed(new Error('no greeting in time')), PATIENCE).unref();
      }),
    ]);
  } finally {
    transport.close();
  }
}

/** The address of a URL, without its login. */
function place(text: string): string {
  const url = new URL(text);
  return url.host + url.pathname.replace(/\/$/, '');
}
