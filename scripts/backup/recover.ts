import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { PostgresPlace } from '../runtime/postgres/postgres-place.js';
import { postgresUrl } from '../runtime/postgres/postgres.js';
import { forShell } from './for-shell.js';

const HOST = '127.0.0.1';

/**
 * Lets PostgreSQL replay its log on a copied cluster, up to a moment or to the log's end, runs `work` on the result,
 * and stops the server again. The cluster is an ordinary one from then on.
 * @throws Error with the server's message if the moment is not reached
 */
export async function recover<T>(
  place: PostgresPlace,
  of: { log: string; to: Date | undefined; password: string; port: number },
  work: (url: string) => Promise<T>,
): Promise<T> {
  const { user } = place;
  const data = realpathSync(place.data);
  writeFileSync(join(data, 'recovery.signal'), '', { mode: 0o600 });
  const said = join(dirname(data), 'restore.log');
  const output = openSync(said, 'w', 0o600);
  const settings: Record<string, string> = {
    listen_addresses: HOST,
    port: String(of.port),
    unix_socket_directories: '',
    // The restored server writes nothing into the log that it is restored from; nobody can read before the end.
    archive_mode: 'off',
    hot_standby: 'off',
    // To the server a sign of per cent begins a name of its own.
    restore_command: `cp ${forShell(of.log.replaceAll('%', '%%'))}/%f "%p"`,
    recovery_target_action: 'promote',
    max_connections: '200',
    timezone: 'UTC',
    log_timezone: 'UTC',
    // A starting server knows no time zone names, including Z.
    ...(of.to && { recovery_target_time: of.to.toISOString().replace('T', ' ').replace('Z', '+00') }),
  };
  const server = spawn(
    place.postgres,
    ['-D', data, ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])],
    { ...user, cwd: dirname(data), env: { PATH: process.env.PATH, LC_ALL: 'C' }, stdio: ['ignore', output, output] },
  );
  closeSync(output);
  const ended = once(server, 'exit');
  try {
    const url = postgresUrl(HOST, of.port, of.password);
    await promoted(server, url, said);
    return await work(url);
  } finally {
    if (server.exitCode === null) server.kill('SIGINT');
    await ended;
    rmSync(said, { force: true });
  }
}

/** Errors of a connection while the server starts or ends. */
const NOT_YET = new Set(['ECONNREFUSED', 'ECONNRESET', 'EPIPE', '57P01', '57P02', '57P03']);

/** Waits as long as the server replays: a long log takes long. */
async function promoted(server: ChildProcess, url: string, said: string): Promise<void> {
  for (;;) {
    if (server.exitCode !== null)
      throw new Error(`PostgreSQL did not come up from this back-up:\n${lastWords(readFileSync(said, 'utf8'))}`);
    const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2000 });
    // A failing connection attempt reports its error twice; the query below throws.
    client.on('error', () => undefined);
    try {
      await client.connect();
      const { rows } = await client.query('select pg_is_in_recovery() as replaying');
      if (rows[0].replaying === false) return;
    } catch (fault) {
      const code = (fault as { code?: string }).code;
      if (code === '28P01')
        throw new Error(
          'The database does not know the password in the folder of keys (POSTGRES_PASSWORD): it is of another ' +
            'service.',
          { cause: fault },
        );
      // Without a code the connection broke off or was too slow: the server tells why when it has ended.
      if (code !== undefined && !NOT_YET.has(code)) throw fault;
    } finally {
      await client.end();
    }
    await sleep(100);
  }
}

/** The useful part of the server's log: the reason, not the lines before. */
function lastWords(text: string): string {
  const lines = text.trimEnd().split('\n');
  // It refuses each of our own questions while it replays.
  const faults = lines.filter((line) => /FATAL|PANIC|ERROR/.test(line) && !/ the database system is /.test(line));
  const words = (faults.length > 0 ? faults : lines.slice(-5)).join('\n');
  return /before configured recovery target/.test(words)
    ? `${words}\nThe log in BACKUP_DIR ends before the moment that was asked for.`
    : words;
}
