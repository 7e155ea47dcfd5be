import { resolve } from 'node:path';
import { SchemaError } from '../../db/migrate.js';
import { SettingsError, type Settings } from '../../settings.js';
import { ofDatabase, openDataDir, usableFolder, type DataDir } from './data-dir.js';
import { secretsFor } from './keys.js';
import { takeLock, type Lock } from './lock.js';
import { endLeftBehind } from './left-behind.js';
import { Part, type PartName } from './part.js';
import { reservePorts, type Reservation } from './ports.js';
import type { Identity } from './processes.js';
import { removeRunJson, writeRunJson, type RunJson } from './run-json.js';
import { StartError } from './start-error.js';
import { addressOf, neededPorts, startService, type NodeInspector, type PortName } from './service.js';
import { readyText, say, step } from './terminal.js';
import { misspeltSettings, unusablePrograms, usableSettings } from './usable-settings.js';

/** The API first, so that no new requests arrive; then its users; the stores last. */
const STOP_ORDER: PartName[][] = [['api'], ['worker'], ['temporal', 'mail'], ['postgres']];

/** The service, as seen by a program in the supervisor's process. */
export interface RunningService {
  databaseUrl: string;
  /**
   * Restarts these Node programs, on the same ports.
   * @throws StartError with the last output of one that does not start; it is retried with back-off
   */
  restart: (names: ('api' | 'worker')[]) => Promise<void>;
  say: (line: string) => void;
  /** Aborted when the service is to stop. */
  stopped: AbortSignal;
}

export interface SuperviseOptions {
  /** The port of each Node program's inspector; 0 takes a free one. */
  inspect?: NodeInspector;
  /** Runs from the time the service is ready until `stopped`. */
  whileRunning?: (service: RunningService) => Promise<void>;
}

/**
 * Runs the whole service in this process and its children until it is stopped (SIGINT, SIGTERM, SIGHUP, or the end of
 * the channel to its parent).
 * @returns the exit code: 0 after a stop, 1 when it could not start
 */
export async function supervise({ inspect, whileRunning }: SuperviseOptions = {}): Promise<number> {
  const stop = listenForStop();
  let supervision: Supervision | undefined;
  try {
    for (const warning of misspeltSettings()) say(`warning: ${warning}`);
    const settings = await usableSettings();
    for (const warning of unusablePrograms(settings)) say(`warning: ${warning}`);
    const dir = openDataDir(settings.DATA_DIR);
    if (settings.AUDIT_CHECKPOINT_DIR !== undefined)
      usableFolder('AUDIT_CHECKPOINT_DIR', resolve(settings.AUDIT_CHECKPOINT_DIR));
    if (settings.BACKUP_DIR !== undefined && settings.DATABASE_URL === undefined)
      usableFolder('BACKUP_DIR', resolve(settings.BACKUP_DIR), ofDatabase);
    // All files created from here on, also by children, are private to this user.
    process.umask(0o077);
    supervision = new Supervision(dir);
    stop.again = () => supervision?.kill();
    const { leftBehind } = supervision.lock;
    if (Object.keys(leftBehind).length > 0)
      await step('clearing up after a service that was killed', () => endLeftBehind(leftBehind));
    const secrets = secretsFor(settings, dir.keys);
    for (const warning of embeddedInProduction(settings)) say(`warning: ${warning}`);
    await checkOwn(settings);
    supervision.ports = await reservePorts<PortName>(
      (name) => addressOf(name, settings),
      neededPorts(settings) as Record<PortName, number | 'auto'>,
    );
    stop.signal.throwIfAborted();
    const { start, hold } = supervision;
    const started = startService({
      settings,
      dir,
      secrets,
      ports: supervision.ports,
      cancelled: supervision.cancelled,
      start,
      hold,
      inspect,
      say,
      step,
    });
    const run = await Promise.race([started, aborted(stop.signal)]);
    if (run) {
      supervision.ready(run);
      // The output of production is collected by others.
      process.stdout.write(readyText(settings.production ? { ...run, admin_password: null } : run, dir));
      const { restart } = supervision;
      await Promise.all([
        aborted(stop.signal),
        whileRunning?.({ databaseUrl: run.database_url, restart, say, stopped: stop.signal }),
      ]);
    } else {
      // Starting parts learn of the stop themselves.
      started.catch((fault: Error) => say(`stopped while starting: ${fault.message.split('\n')[0]}`));
    }
    say(`stopping (${String(stop.signal.reason)})`);
    return 0;
  } catch (fault) {
    if (stop.signal.aborted) return 0;
    process.stderr.write(`\n${messageOf(fault)}\n`);
    return 1;
  } finally {
    await supervision?.end();
    stop.done();
  }
}

/** The processes of one data folder: in the lock file from their start, and in run.json when all serve. */
class Supervision {
  readonly lock;
  ports: Partial<Record<PortName, Reservation>> = {};
  /** Further locks, held until everything has stopped. */
  readonly #held: Lock[] = [];
  readonly #parts = new Map<PartName, Part>();
  #run: Omit<RunJson, 'pids'> | undefined;
  readonly #ending = new AbortController();

  constructor(private readonly dir: DataDir) {
    this.lock = takeLock(
      dir.supervisorJson,
      ({ pid }) =>
        `DATA_DIR ${dir.path} is in use by the service that runs as process ${pid}: stop that one, or set DATA_DIR ` +
        'to another folder.',
    );
    // A run.json left by a killed supervisor would name addresses that do not exist.
    removeRunJson(dir.runJson);
  }

  readonly start = async (plan: ConstructorParameters<typeof Part>[0]): Promise<Part> => {
    const part = new Part(plan, { changed: () => this.#write(), say });
    this.#parts.set(plan.name, part);
    this.cancelled.throwIfAborted();
    await part.start();
    return part;
  };

  readonly hold = (lock: Lock): void => {
    this.#held.push(lock);
  };

  readonly restart = async (names: PartName[]): Promise<void> => {
    await Promise.all(names.map((name) => this.#parts.get(name)?.restart()));
  };

  get cancelled(): AbortSignal {
    return this.#ending.signal;
  }

  ready(run: Omit<RunJson, 'pids'>): void {
    this.#run = run;
    this.#write();
  }

  kill(): void {
    for (const part of this.#parts.values()) part.kill();
  }

  async end(): Promise<void> {
    this.#ending.abort();
    this.#run = undefined;
    removeRunJson(this.dir.runJson);
    for (const names of STOP_ORDER) await Promise.all(names.map((name) => this.#parts.get(name)?.stop()));
    await Promise.all(Object.values(this.ports).map((reservation) => reservation.release()));
    for (const lock of [...this.#held, this.lock]) lock.release();
  }

  #write(): void {
    const identities = [...this.#parts.values()].flatMap(({ name, identity }): [PartName, Identity][] =>
      identity ? [[name, identity]] : [],
    );
    this.lock.record(Object.fromEntries(identities));
    if (!this.#run) return;
    const pids = Object.fromEntries(identities.map(([name, { pid }]) => [name, pid]));
    writeRunJson(this.dir.runJson, { ...this.#run, pids: { supervisor: process.pid, ...pids } });
  }
}

/** Production may run on the embedded servers; a warning points out a mistake. */
function embeddedInProduction({
  production,
  BACKUP_DIR,
  DATABASE_URL,
  TEMPORAL_ADDRESS,
  SMTP_URL,
}: Settings): string[] {
  if (!production) return [];
  return [
    ...(DATABASE_URL === undefined && BACKUP_DIR === undefined
      ? [
          'DATABASE_URL is not set: the embedded PostgreSQL keeps the data in DATA_DIR, which nobody backs up ' +
            'for you (BACKUP_DIR and "npm run backup" would).',
        ]
      : []),
    ...(DATABASE_URL === undefined && BACKUP_DIR !== undefined
      ? [
          'DATABASE_URL is not set: the embedded PostgreSQL keeps the data in DATA_DIR, backed up as often as ' +
            '"npm run backup" is run.',
        ]
      : []),
    ...(TEMPORAL_ADDRESS === undefined
      ? ['TEMPORAL_ADDRESS is not set: the embedded Temporal server is one process without a replica.']
      : []),
    ...(SMTP_URL === undefined ? ['SMTP_URL is not set: no mail is sent.'] : []),
  ];
}

async function checkOwn(settings: Settings): Promise<void> {
  if (
    [settings.DATABASE_URL, settings.TEMPORAL_ADDRESS, settings.REDIS_URL, settings.SMTP_URL].every(
      (own) => own === undefined,
    )
  )
    return;
  // Imported late: the clients of four servers take memory that the supervisor otherwise does not need.
  const { checkOwnServers } = await import('./own-servers.js');
  const warnings = await step('looking at your own servers', () => checkOwnServers(settings));
  for (const warning of warnings) say(`warning: ${warning}`);
}

interface Stop {
  signal: AbortSignal;
  again: () => void;
  done: () => void;
}

function listenForStop(): Stop {
  const controller = new AbortController();
  const stop: Stop = { signal: controller.signal, again: () => undefined, done: () => undefined };
  const names = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  // npm forwards a Ctrl-C that the terminal has already sent: only a later one forces the stop.
  let since = 0;
  const hear = (name: string) => () => {
    if (!controller.signal.aborted) {
      since = performance.now();
      controller.abort(name);
    } else if (name === 'SIGINT' && performance.now() - since > 1000) {
      say('killing what still runs');
      stop.again();
    }
  };
  const listeners = [
    ...names.map((name) => [name, hear(name)] as const),
    ['disconnect', hear('its starter is gone')] as const,
  ];
  for (const [name, listener] of listeners) process.on(name, listener);
  // A closed terminal must not crash the process before everything is stopped.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  stop.done = () => {
    for (const [name, listener] of listeners) process.off(name, listener);
    if (process.connected) process.disconnect();
  };
  return stop;
}

const aborted = (signal: AbortSignal): Promise<undefined> =>
  new Promise((done) => {
    if (signal.aborted) done(undefined);
    else signal.addEventListener('abort', () => done(undefined), { once: true });
  });

/** A problem that a person can fix is one message; anything else is a bug with its place. */
function messageOf(fault: unknown): string {
  if (!(fault instanceof Error)) return String(fault);
  const meantForPeople = fault instanceof SettingsError || fault instanceof StartError || fault instanceof SchemaError;
  return meantForPeople || !fault.stack ? fault.message : fault.stack;
}
