import { spawn, execFile, type ChildProcess } from 'node:child_process';
import {
  chownSync,
  lstatSync,
  mkdirSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { plainEnvironment } from '../environments.js';
import type { PartPlan } from '../part.js';
import type { PostgresPlace } from './postgres-place.js';
import { CONNECTION_ERROR } from '../../../db/client/connection/driver-faults.js';
import { connectableHost } from '../../../settings.js';
import { StartError } from '../start-error.js';
import { hasCluster, noteMade } from './postgres-found.js';
import { stopLeftovers } from './postgres-leftovers.js';

const run = promisify(execFile);
export const SUPERUSER = 'postgres';
export const DATABASE = 'research';
const ARCHIVE_SECONDS = 60;

const environment = (): NodeJS.ProcessEnv => ({ ...plainEnvironment(), LC_ALL: 'C' });

export const postgresUrl = (host: string, port: number, password: string, database = DATABASE): string =>
  `postgres://${SUPERUSER}:${encodeURIComponent(password)}@${connectableHost(host)}:${port}/${database}`;

/** The URL of the application role, for programs that change no schema. */
export function applicationUrl(ownerUrl: string, appPassword: string | undefined): string {
  if (appPassword === undefined) return ownerUrl;
  const url = new URL(ownerUrl);
  url.username = 'research_app';
  url.password = encodeURIComponent(appPassword);
  return url.toString();
}

/**
 * Creates the database cluster if there is none. It is created under another name: an incomplete one is not mistaken
 * for a complete one.
 * @param keysDir where it is noted that there is one
 * @throws StartError when the one that is there cannot be used, one that was there is gone, or initdb fails
 */
export async function prepareCluster(
  place: PostgresPlace,
  password: string,
  cancelled: AbortSignal,
  keysDir?: string,
): Promise<void> {
  if (!(await hasCluster(place, keysDir))) await makeCluster(place, password, cancelled);
  if (keysDir !== undefined) noteMade(keysDir);
}

async function makeCluster(place: PostgresPlace, password: string, cancelled: AbortSignal): Promise<void> {
  // The name may be a link to a folder that the database's user can access.
  const data = realTarget(place.data);
  const draft = `${data}.new`;
  rmSync(draft, { recursive: true, force: true });
  mkdirSync(draft, { mode: 0o700 });
  const passwordFile = `${draft}.password`;
  writeFileSync(passwordFile, password, { mode: 0o600 });
  if (place.user) for (const path of [draft, passwordFile]) chownSync(path, place.user.uid, place.user.gid);
  try {
    await run(
      place.initdb,
      [
        '-D',
        draft,
        '-U',
        SUPERUSER,
        `--pwfile=${passwordFile}`,
        '--auth=scram-sha-256',
        '--encoding=UTF8',
        '--locale=C',
      ],
      { ...place.user, cwd: '/', signal: cancelled, env: environment() },
    );
  } catch (fault) {
    rmSync(draft, { recursive: true, force: true });
    throw new StartError(`The database could not be made in ${place.data}: ${(fault as Error).message.trim()}`);
  } finally {
    rmSync(passwordFile, { force: true });
  }
  renameSync(draft, data);
}

/** The target of a link that need not exist. */
export function realTarget(path: string): string {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ? readlinkSync(path) : path;
}

/** The embedded PostgreSQL, spawned without a wrapper: its pid is the postmaster's. */
export function postgresPart(
  place: PostgresPlace,
  at: {
    host: string;
    port: number;
    password: string;
    log: string;
    archive: string | undefined;
    release: () => Promise<void>;
  },
): PartPlan {
  const set = (settings: Record<string, string | number>) =>
    Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  return {
    name: 'postgres',
    log: at.log,
    before: async () => {
      await stopLeftovers(place.data);
      await at.release();
    },
    spawn: (output) =>
      spawn(
        place.postgres,
        [
          '-D',
          realpathSync(place.data),
          ...set({
            listen_addresses: at.host,
            port: at.port,
            // Only TCP: a socket's path is limited to about 100 characters, which a deep checkout exceeds.
            unix_socket_directories: '',
            max_connections: 200,
            // A study's change writes some hundred MB within a minute: they should stay in memory, without full page
            // writes in the log.
            shared_buffers: '768MB',
            effective_cache_size: '1GB',
            max_wal_size: '2GB',
            checkpoint_timeout: '15min',
            // Vacuum has lower priority than requests, on a machine of two processors.
            autovacuum_vacuum_cost_delay: '10ms',
            wal_compression: 'on',
            // Acknowledged writes must survive a power cut: these two stay on.
            fsync: 'on',
            synchronous_commit: 'on',
            // Short statements on a small machine: JIT compilation costs more than it gains.
            jit: 'off',
            random_page_cost: 1.1,
            timezone: 'UTC',
            log_timezone: 'UTC',
            log_line_prefix: '%m [%p] ',
            // A statement's error message may quote its values, including personal data: the program that sent it logs
            // its code.
            log_min_messages: 'log',
            log_min_error_statement: 'panic',
            log_error_verbosity: 'terse',
            // Each log file as soon as it is full, and at least once a minute: the most that a restore may lose.
            ...(at.archive !== undefined && {
              archive_mode: 'on',
              archive_library: 'basic_archive',
              'basic_archive.archive_directory': at.archive,
              archive_timeout: ARCHIVE_SECONDS,
            }),
          }),
        ],
        {
          ...place.user,
          cwd: dirname(realpathSync(place.data)),
          detached: true,
          env: environment(),
          stdio: ['ignore', output, output],
        },
      ),
    ready: (_child: ChildProcess, cancelled) =>
      accepts(postgresUrl(at.host, at.port, at.password, 'postgres'), place.data, cancelled),
    // After a crash it replays its log, which takes minutes on a slow disk. Ended meanwhile, it would begin again.
    readyWithinSeconds: 30 * 60,
    // Fast shutdown: sessions are ended, committed data are written, no recovery is needed.
    stopSignal: 'SIGINT',
    graceSeconds: 15,
  };
}

/** A server that starts says so to everybody who connects: one that says nothing for so long hangs. */
const SILENT_MS = 60_000;

/** Polls until a session is accepted, and creates our database in a new cluster. */
async function accepts(url: string, data: string, cancelled: AbortSignal): Promise<void> {
  for (let heard = performance.now(); ;) {
    const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2000 });
    client.on('error', ignoreBroken);
    try {
      await client.connect();
      const { rowCount } = await client.query('select 1 from pg_database where datname = $1', [DATABASE]);
      if (!rowCount) await client.query(`create database ${DATABASE}`);
      return;
    } catch (fault) {
      cancelled.throwIfAborted();
      const code = fault instanceof Error && 'code' in fault ? fault.code : undefined;
      if (code === '28P01')
        throw new StartError(
          `The database in ${data} does not know the password in DATA_DIR/keys/POSTGRES_PASSWORD: put the ` +
            'right one back, or start on an empty DATA_DIR.',
        );
      // A busy machine may need longer for a connection than it is waited for.
      const isLate = code === undefined && CONNECTION_ERROR.test((fault as Error).message);
      if (!isLate && code !== 'ECONNREFUSED' && code !== '57P03' && code !== 'ECONNRESET') throw fault;
      if (code === '57P03') heard = performance.now();
      else if (performance.now() - heard > SILENT_MS)
        throw new StartError(`PostgreSQL did not answer within ${SILENT_MS / 1000} s.`);
      await sleep(50);
    } finally {
      await client.end();
    }
  }
}

/** A failing connection attempt reports its error twice: here, and to the awaiting query. */
function ignoreBroken(fault: Error): void {
  if (!(fault instanceof Error)) throw fault;
}
