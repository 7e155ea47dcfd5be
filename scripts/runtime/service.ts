import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { connectableHost, type Settings } from '../../settings.js';
import { prepareLog } from '../backup/folder.js';
import type { DataDir } from './data-dir.js';
import { environmentOf, plainEnvironment } from './environments.js';
import { adminPasswords, keep, keepAdminPassword, type Secrets } from './keys.js';
import { nodePart } from './node-part.js';
import type { Lock } from './lock.js';
import type { Part, PartPlan } from './part.js';
import { reservePorts, type Address, type Reservation } from './ports.js';
import { placePostgres } from './postgres/postgres-place.js';
import { lockOutside } from './postgres/postgres-found.js';
import { applicationUrl, postgresPart, postgresUrl, prepareCluster } from './postgres/postgres.js';
import { prepareDatabase, workingPassword } from './postgres/prepare-database.js';
import type { RunJson } from './run-json.js';
import { StartError } from './start-error.js';
import { findTemporal } from './temporal/temporal-binary.js';
import { temporalPart } from './temporal/temporal-server.js';

export type PortName = 'PORT' | 'POSTGRES_PORT' | 'TEMPORAL_PORT' | 'TEMPORAL_UI_PORT' | 'MAIL_PORT' | 'MAIL_UI_PORT';

/** Debugger ports of the Node programs. */
export type NodeInspector = Partial<Record<'api' | 'worker', number>>;

export interface ServiceContext {
  settings: Settings;
  dir: DataDir;
  secrets: Secrets;
  ports: Partial<Record<PortName, Reservation>>;
  /** Aborted when the service is to stop, also during its start. */
  cancelled: AbortSignal;
  /** Registers a part with the supervisor, which stops it in the end, and starts it. */
  start: (plan: PartPlan) => Promise<Part>;
  /** Keeps a lock until the service has stopped. */
  hold: (lock: Lock) => void;
  inspect: NodeInspector | undefined;
  say: (line: string) => void;
  /** Runs a step and prints its name and duration. */
  step: <T>(what: string, work: () => Promise<T>) => Promise<T>;
}

const dist = join(fileURLToPath(import.meta.url), '..', '..', '..');
const cache = join(dist, '..', '.cache', 'temporal');
const program = (path: string) => join(dist, path);

/** The required ports: without those of external servers. */
export function neededPorts(settings: Settings): Partial<Record<PortName, number | 'auto'>> {
  const { PORT, POSTGRES_PORT, TEMPORAL_PORT, TEMPORAL_UI_PORT, MAIL_PORT, MAIL_UI_PORT } = settings;
  return {
    PORT,
    ...(settings.DATABASE_URL === undefined ? { POSTGRES_PORT } : {}),
    ...(settings.TEMPORAL_ADDRESS === undefined ? { TEMPORAL_PORT, TEMPORAL_UI_PORT } : {}),
    ...(catchesMail(settings) ? { MAIL_PORT, MAIL_UI_PORT } : {}),
  };
}

const HOSTS = {
  PORT: 'HOST',
  POSTGRES_PORT: 'POSTGRES_HOST',
  TEMPORAL_PORT: 'TEMPORAL_HOST',
  TEMPORAL_UI_PORT: 'TEMPORAL_HOST',
  MAIL_PORT: 'MAIL_HOST',
  MAIL_UI_PORT: 'MAIL_HOST',
} as const satisfies Record<PortName, keyof Settings>;

/** The listening address of a port, with its setting. */
export const addressOf = (name: PortName, settings: Settings): Address => ({
  host: settings[HOSTS[name]],
  setting: HOSTS[name],
});

/** In production an unsent mail would be lost silently: the catcher is never started there. */
const catchesMail = (settings: Settings): boolean => settings.SMTP_URL === undefined && !settings.production;

/** How often a part is tried on other ports. */
const MORE_PORTS = 3;

/**
 * Starts a part that opens its ports itself. Another program may take one between its release and the start. If all of
 * them are `auto`, others are chosen.
 */
async function onFreePorts(
  { settings, ports, cancelled }: ServiceContext,
  names: PortName[],
  begin: () => Promise<Part>,
): Promise<Part> {
  for (let left = MORE_PORTS; ; left -= 1) {
    try {
      return await begin();
    } catch (fault) {
      const taken = fault instanceof StartError && /address already in use/i.test(fault.message);
      const isFree = names.every((name) => settings[name] === 'auto');
      if (left === 0 || cancelled.aborted || !taken || !isFree) throw fault;
      const others = Object.fromEntries(names.map((name) => [name, 'auto'])) as Record<PortName, 'auto'>;
      Object.assign(ports, await reservePorts<PortName>((name) => addressOf(name, settings), others));
    }
  }
}

/**
 * Starts everything, independent parts in parallel, and returns the addresses.
 * @throws StartError, SchemaError with one sentence for the person at the terminal
 */
export async function startService(context: ServiceContext): Promise<Omit<RunJson, 'pids'>> {
  const { settings, dir, secrets, ports, cancelled, start, hold, inspect, say, step } = context;
  const release =
    (...names: PortName[]) =>
    async () => {
      await Promise.all(names.map((name) => ports[name]?.release()));
    };
  const at = (name: PortName) => ports[name]?.port ?? 0;
  const log = (name: string) => join(dir.logs, `${name}.log`);
  const url = (host: string, name: PortName) => `http://${connectableHost(host)}:${at(name)}`;

  const database = async (): Promise<string> => {
    if (settings.DATABASE_URL !== undefined) return settings.DATABASE_URL;
    const place = await placePostgres(dir.path, say);
    const password = keep(dir.keys, 'POSTGRES_PASSWORD');
    // Before a database is made: its user may have no access.
    const archive = settings.BACKUP_DIR === undefined ? undefined : prepareLog(settings.BACKUP_DIR, place.user);
    await prepareCluster(place, password, cancelled, dir.keys);
    const lock = lockOutside(place, dir.path);
    if (lock !== undefined) hold(lock);
    const host = settings.POSTGRES_HOST;
    const plan = () => {
      const where = { host, port: at('POSTGRES_PORT'), password };
      return postgresPart(place, { ...where, archive, log: log('postgres'), release: release('POSTGRES_PORT') });
    };
    await step('PostgreSQL', () => onFreePorts(context, ['POSTGRES_PORT'], () => start(plan())));
    return postgresUrl(host, at('POSTGRES_PORT'), password);
  };
  let adminPassword: string | null = null;
  const migrated = async (): Promise<string> => {
    const databaseUrl = await database();
    const { applied, adminCreated, warnings } = await step('database schema and first admin', () =>
      prepareDatabase(databaseUrl, {
        appPassword: secrets.DATABASE_APP_PASSWORD,
        encryptionKey: secrets.DATACAPTURE_ENCRYPTION_KEY,
        admin: { email: settings.ADMIN_EMAIL, password: secrets.ADMIN_PASSWORD },
      }),
    );
    if (applied.length > 0) say(`applied ${applied.join(', ')}`);
    for (const warning of warnings) say(`warning: ${warning}`);
    // In production it is not stored: the operator provides it.
    if (adminCreated && !settings.production) keepAdminPassword(dir.keys, secrets.ADMIN_PASSWORD);
    const candidates = settings.production
      ? [secrets.ADMIN_PASSWORD]
      : adminPasswords(dir.keys, secrets.ADMIN_PASSWORD);
    const { exists, password = null } = adminCreated
      ? { exists: true, password: secrets.ADMIN_PASSWORD }
      : await workingPassword(databaseUrl, settings.ADMIN_EMAIL, candidates);
    adminPassword = password;
    if (!exists)
      say(`ADMIN_EMAIL counts only when the first admin is made: there is no account of ${settings.ADMIN_EMAIL}`);
    else if (adminPassword !== secrets.ADMIN_PASSWORD)
      say(`ADMIN_PASSWORD counts only when the first admin is made: ${settings.ADMIN_EMAIL} has another one`);
    return databaseUrl;
  };
  const temporal = async (): Promise<{ address: string; cli: string | null; ui: string | null }> => {
    if (settings.TEMPORAL_ADDRESS !== undefined)
      return {
        address: settings.TEMPORAL_ADDRESS,
        cli: settings.TEMPORAL_CLI ?? null,
        ui: settings.TEMPORAL_UI_URL ?? null,
      };
    const cli = await step('Temporal command', () => findTemporal(settings.TEMPORAL_CLI, cache, say, cancelled));
    const plan = () =>
      temporalPart({
        cli,
        host: settings.TEMPORAL_HOST,
        port: at('TEMPORAL_PORT'),
        uiPort: at('TEMPORAL_UI_PORT'),
        file: join(dir.path, 'temporal.db'),
        namespace: settings.TEMPORAL_NAMESPACE,
        retentionDays: settings.TEMPORAL_RETENTION_DAYS,
        log: log('temporal'),
        release: release('TEMPORAL_PORT', 'TEMPORAL_UI_PORT'),
        codec: `${url(settings.HOST, 'PORT')}/codec`,
      });
    await step('Temporal server', () =>
      onFreePorts(context, ['TEMPORAL_PORT', 'TEMPORAL_UI_PORT'], () => start(plan())),
    );
    return {
      address: `${connectableHost(settings.TEMPORAL_HOST)}:${at('TEMPORAL_PORT')}`,
      cli,
      ui: settings.TEMPORAL_UI_URL ?? url(settings.TEMPORAL_HOST, 'TEMPORAL_UI_PORT'),
    };
  };
  const portsOf = (): Partial<Record<PortName, string>> =>
    Object.fromEntries(Object.entries(ports).map(([name, reservation]) => [name, String(reservation.port)]));
  const mail = async (): Promise<{ smtp: string | null; ui: string | null }> => {
    if (!catchesMail(settings)) return { smtp: settings.SMTP_URL ?? null, ui: null };
    const own = { NODE_ENV: settings.NODE_ENV, DATA_DIR: dir.path, MAIL_HOST: settings.MAIL_HOST };
    const catcher = program('scripts/runtime/mail/mail-catcher.js');
    const plan = () => {
      const { MAIL_PORT, MAIL_UI_PORT } = portsOf();
      return {
        ...nodePart('mail', catcher, { ...plainEnvironment(), ...own, MAIL_PORT, MAIL_UI_PORT }, log('mail')),
        before: release('MAIL_PORT', 'MAIL_UI_PORT'),
      };
    };
    await step('mail catcher', () => onFreePorts(context, ['MAIL_PORT', 'MAIL_UI_PORT'], () => start(plan())));
    return {
      smtp: `smtp://${connectableHost(settings.MAIL_HOST)}:${at('MAIL_PORT')}`,
      ui: url(settings.MAIL_HOST, 'MAIL_UI_PORT'),
    };
  };

  const [databaseUrl, temporalAt, mailAt] = await Promise.all([migrated(), temporal(), mail()]);
  const env: NodeJS.ProcessEnv = {
    ...process.env,
    ...secrets,
    NODE_ENV: settings.NODE_ENV,
    HOST: settings.HOST,
    DATA_DIR: dir.path,
    ...portsOf(),
    DATABASE_URL: applicationUrl(databaseUrl, secrets.DATABASE_APP_PASSWORD),
    TEMPORAL_ADDRESS: temporalAt.address,
    ...(temporalAt.ui === null ? {} : { TEMPORAL_UI_URL: temporalAt.ui }),
    ...(mailAt.smtp === null ? {} : { SMTP_URL: mailAt.smtp }),
    // Development without gateways: messages can be viewed beside the mails.
    ...(mailAt.ui === null
      ? {}
      : {
          SMS_GATEWAY_URL: settings.SMS_GATEWAY_URL ?? `${mailAt.ui}/sms`,
          PUSH_GATEWAY_URL: settings.PUSH_GATEWAY_URL ?? `${mailAt.ui}/push`,
        }),
  };
  await Promise.all([
    step('worker', () =>
      start(
        nodePart('worker', program('activities/main.js'), environmentOf('worker', env), log('worker'), inspect?.worker),
      ),
    ),
    step('API', () =>
      start({
        ...nodePart('api', program('api/main.js'), environmentOf('api', env), log('api'), inspect?.api),
        before: release('PORT'),
      }),
    ),
  ]);
  return {
    api: url(settings.HOST, 'PORT'),
    docs: `${url(settings.HOST, 'PORT')}/docs`,
    console: settings.ENABLE_CONSOLE ? `${url(settings.HOST, 'PORT')}/console` : null,
    database_url: databaseUrl,
    temporal: temporalAt.address,
    temporal_namespace: settings.TEMPORAL_NAMESPACE,
    temporal_task_queue: settings.TEMPORAL_TASK_QUEUE,
    temporal_ui: temporalAt.ui,
    temporal_cli: temporalAt.cli,
    temporal_codec: `${url(settings.HOST, 'PORT')}/codec`,
    mail_ui: mailAt.ui,
    smtp: mailAt.smtp,
    admin_email: settings.ADMIN_EMAIL,
    admin_password: adminPassword,
    data_dir: dir.path,
  };
}
