import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { openDataDir } from '../../scripts/runtime/data-dir.js';
import type { DataDir } from '../../scripts/runtime/data-dir.js';
import { keep, secretsFor } from '../../scripts/runtime/keys.js';
import { nodePart } from '../../scripts/runtime/node-part.js';
import { Part } from '../../scripts/runtime/part.js';
import type { PartName, PartPlan } from '../../scripts/runtime/part.js';
import { reservePorts } from '../../scripts/runtime/ports.js';
import type { Reservation } from '../../scripts/runtime/ports.js';
import { placePostgres } from '../../scripts/runtime/postgres/postgres-place.js';
import { postgresPart, postgresUrl, prepareCluster } from '../../scripts/runtime/postgres/postgres.js';
import type { prepareDatabase as PrepareDatabase } from '../../scripts/runtime/postgres/prepare-database.js';
import { identify, signal } from '../../scripts/runtime/processes.js';
import type { RunJson } from '../../scripts/runtime/run-json.js';
import { findTemporal } from '../../scripts/runtime/temporal/temporal-binary.js';
import { temporalPart } from '../../scripts/runtime/temporal/temporal-server.js';
import { ensureNamespace } from '../../scripts/runtime/temporal/temporal-setup.js';
import { planTemporal } from '../../scripts/temporal-postgres/plan.js';
import { buildServer } from '../../scripts/temporal-postgres/programs.js';
import { readSettings } from '../../settings.js';
import { root, testEnvironment } from './environment.js';
import { Link } from './link.js';
import { freePorts } from './ports.js';
import { copyTemplate } from './template.js';
import { removeDataRoot, temporaryDataDir } from './service.js';

export interface ClusterOptions {
  apis?: number;
  workers?: number;
  /** Settings of API and worker processes. */
  settings?: Record<string, string>;
  /** What the environment of one of them has besides, by its name. */
  own?: (name: string) => NodeJS.ProcessEnv;
  say?: (line: string) => void;
  /** A folder that PostgreSQL keeps its files in, instead of the data folder. */
  postgresAt?: string;
  /** `postgres`: the server of production, with a PostgreSQL of its own behind it (the member `store`). */
  temporal?: 'embedded' | 'postgres';
  /** A folder that the Temporal server keeps its file in, instead of the data folder. */
  temporalAt?: string;
  /** Whose built programs run, asked at each start: the checkout of another release. This one’s unless told. */
  release?: () => string;
  /** Of the embedded Temporal server's dynamic configuration: `name=value`. */
  temporalConfigured?: readonly string[];
}

/** One process of the cluster: it can be killed, frozen, ended as an operator does, and started again. */
export class Member {
  private part: Part | undefined;
  /** Others that stop with it when it is frozen (PostgreSQL's sessions are processes). */
  private frozen: number[] = [];
  constructor(
    readonly name: string,
    private readonly plan: () => PartPlan,
    private readonly changed: () => void,
    private readonly say: (line: string) => void,
    private readonly family: () => Promise<number[]> = () => Promise.resolve([]),
  ) {}

  get pid(): number | undefined {
    return this.part?.identity?.pid;
  }

  /**
   * Starts it, as often as it takes: what it needs may be away. From then on it is started again when it ends by
   * itself.
   */
  async start(patienceMs = 120_000): Promise<void> {
    const deadline = performance.now() + patienceMs;
    for (;;) {
      const part = (this.part = new Part(this.plan(), {
        changed: this.changed,
        say: (line) => this.say(`${this.name}: ${line}`),
      }));
      try {
        await part.start();
        return;
      } catch (fault) {
        if (performance.now() > deadline) throw fault;
        await sleep(200);
      }
    }
  }

  /** SIGKILL to the process and all of its group. */
  async kill(): Promise<void> {
    const { part } = this;
    part?.kill();
    await part?.stop();
  }

  /** As a deployment ends it: SIGTERM, its grace, and only then by force. */
  async stop(): Promise<void> {
    await this.part?.stop();
  }

  async freeze(): Promise<void> {
    if (this.pid === undefined) return;
    this.frozen = [this.pid, ...(await this.family())];
    for (const pid of this.frozen) signal(pid, 'SIGSTOP');
  }
  thaw(): void {
    for (const pid of this.frozen.splice(0)) signal(pid, 'SIGCONT');
  }
}

/**
 * PostgreSQL, a Temporal server, a mail catcher, and as many API and worker processes as wanted, each connected to the
 * servers by a link of its own; the APIs behind one address. The parts are the ones that `npm start` runs.
 */
export class Cluster {
  readonly members = new Map<string, Member>();
  /** By name: `front` (clients to APIs), `api1-postgres`, `worker2-temporal`, … */
  readonly links = new Map<string, Link>();
  run!: RunJson;
  temporalFile!: string;
  private readonly reservations: Reservation[] = [];
  private constructor(
    readonly dir: DataDir,
    private readonly options: ClusterOptions,
  ) {}

  static async start(options: ClusterOptions = {}): Promise<Cluster> {
    const dataDir = temporaryDataDir();
    // Another release makes its own database, and another folder is not copied to.
    if (!options.release && options.postgresAt === undefined) copyTemplate(dataDir, options.settings);
    const cluster = new Cluster(openDataDir(dataDir), options);
    try {
      await cluster.begin();
      return cluster;
    } catch (fault) {
      await cluster.stop();
      throw fault;
    }
  }

  /** Ends everything; the folder goes with the tests. */
  async stop(): Promise<void> {
    for (const member of this.members.values()) member.thaw();
    for (const link of this.links.values()) link.heal();
    const named = (prefix: string) => [...this.members.values()].filter(({ name }) => name.startsWith(prefix));
    for (const prefix of ['api', 'worker', 'mail', 'temporal', 'store', 'postgres'])
      await Promise.all(named(prefix).map((member) => member.stop()));
    await Promise.all([...this.links.values()].map((link) => link.close()));
    await Promise.all(this.reservations.map((reservation) => reservation.release()));
    rmSync(this.dir.supervisorJson, { force: true });
  }

  /** For programs, which have no end of the tests: removes the folder too. */
  async remove(): Promise<void> {
    await this.stop();
    await removeDataRoot(dirname(this.dir.path));
  }

  member(name: string): Member {
    const member = this.members.get(name);
    if (!member) throw new Error(`the cluster has no ${name}`);
    return member;
  }

  private async begin(): Promise<void> {
    const { dir } = this,
      { apis = 1, workers = 1 } = this.options,
      say = this.options.say ?? (() => undefined);
    const host = '127.0.0.1',
      nothing = new AbortController().signal;
    const log = (name: string) => join(dir.logs, `${name}.log`);
    const base = testEnvironment({ DATA_DIR: dir.path, HOST: host, ...this.options.settings });
    const settings = readSettings(base);
    const secrets = secretsFor(settings, dir.keys);
    const apiNames = Array.from({ length: apis }, (_, i) => `api${i + 1}`),
      workerNames = Array.from({ length: workers }, (_, i) => `worker${i + 1}`);
    const onPostgres = this.options.temporal === 'postgres';
    const ports = await reservePorts<string>(
      host,
      await freePorts(['postgres', ...(onPostgres ? [] : ['temporal', 'ui']), 'mail', 'mailUi', ...apiNames]),
    );
    this.reservations.push(...Object.values(ports));
    const at = (name: string) => ports[name]!.port;
    const release =
      (...names: string[]) =>
      async () => {
        await Promise.all(names.map((name) => ports[name]!.release()));
      };

    if (this.options.postgresAt !== undefined)
      symlinkSync(join(this.options.postgresAt, 'postgres'), join(dir.path, 'postgres'));
    const place = await placePostgres(dir.path, say);
    const password = keep(dir.keys, 'POSTGRES_PASSWORD');
    await prepareCluster(place, password, nothing);
    const databaseUrl = postgresUrl(host, at('postgres'), password);
    this.add(
      'postgres',
      () =>
        postgresPart(place, {
          host,
          port: at('postgres'),
          password,
          log: log('postgres'),
          archive: undefined,
          release: release('postgres'),
        }),
      () => sessions(databaseUrl),
    );
    this.temporalFile = join(this.options.temporalAt ?? dir.path, 'temporal.db');
    const cli = await findTemporal(settings.TEMPORAL_CLI, join(root, '.cache', 'temporal'), say, nothing);
    const temporalPort = onPostgres ? await this.addTemporalOnPostgres(host, password, say) : at('temporal');
    if (!onPostgres)
      this.add('temporal', () =>
        temporalPart({
          cli,
          host,
          port: temporalPort,
          uiPort: at('ui'),
          file: this.temporalFile,
          namespace: settings.TEMPORAL_NAMESPACE,
          retentionDays: 1,
          log: log('temporal'),
          release: release('temporal', 'ui'),
          configured: this.options.temporalConfigured ?? [],
        }),
      );
    const common: NodeJS.ProcessEnv = {
      ...base,
      ...secrets,
      DATA_DIR: dir.path,
      SMTP_URL: `smtp://${host}:${at('mail')}`,
    };
    this.addNode(
      'mail',
      'mail',
      'scripts/runtime/mail/mail-catcher.js',
      { ...common, MAIL_PORT: String(at('mail')), MAIL_UI_PORT: String(at('mailUi')) },
      release('mail', 'mailUi'),
    );
    const database = async () => {
      await this.member('postgres').start();
      const { prepareDatabase } = (await import(
        pathToFileURL(this.program('scripts/runtime/postgres/prepare-database.js')).href
      )) as { prepareDatabase: typeof PrepareDatabase };
      await prepareDatabase(databaseUrl, {
        appPassword: secrets.DATABASE_APP_PASSWORD,
        encryptionKey: secrets.DATACAPTURE_ENCRYPTION_KEY,
        admin: { email: settings.ADMIN_EMAIL, password: secrets.ADMIN_PASSWORD },
      });
    };
    const temporal = async () => {
      await this.members.get('store')?.start();
      await this.member('temporal').start();
      await ensureNamespace({
        address: `${host}:${temporalPort}`,
        namespace: settings.TEMPORAL_NAMESPACE,
        retentionDays: 1,
      });
    };
    await Promise.all([database(), temporal(), this.member('mail').start()]);

    const throughLinks = async (name: string): Promise<NodeJS.ProcessEnv> => {
      const [postgres, temporal] = [
        await this.link(`${name}-postgres`, () => [at('postgres')]),
        await this.link(`${name}-temporal`, () => [temporalPort]),
      ];
      return {
        ...common,
        ...this.options.own?.(name),
        DATABASE_URL: postgresUrl(host, postgres.port, password),
        TEMPORAL_ADDRESS: `${host}:${temporal.port}`,
      };
    };
    for (const name of workerNames) this.addNode(name, 'worker', 'activities/main.js', await throughLinks(name));
    for (const name of apiNames)
      this.addNode(
        name,
        'api',
        'api/main.js',
        { ...(await throughLinks(name)), PORT: String(at(name)) },
        release(name),
      );
    const front = await this.link('front', () => apiNames.map(at));
    await Promise.all([...workerNames, ...apiNames].map((name) => this.member(name).start()));
    this.run = {
      api: `http://${host}:${front.port}`,
      console: null,
      docs: `http://${host}:${front.port}/docs`,
      database_url: databaseUrl,
      temporal: `${host}:${temporalPort}`,
      temporal_namespace: settings.TEMPORAL_NAMESPACE,
      temporal_task_queue: settings.TEMPORAL_TASK_QUEUE,
      temporal_ui: null,
      temporal_cli: cli,
      temporal_codec: `http://${host}:${front.port}/codec`,
      mail_ui: `http://${host}:${at('mailUi')}`,
      smtp: `smtp://${host}:${at('mail')}`,
      admin_email: settings.ADMIN_EMAIL,
      admin_password: secrets.ADMIN_PASSWORD,
      data_dir: dir.path,
      pids: { supervisor: process.pid },
    };
    this.apiUrls = apiNames.map((name) => `http://${host}:${at(name)}`);
  }

  /** @returns the server's port */
  private async addTemporalOnPostgres(host: string, password: string, say: (line: string) => void): Promise<number> {
    const cancelled = new AbortController().signal;
    const programs = await buildServer(join(root, '.cache', 'temporal'), cancelled);
    const plans = await planTemporal({
      programs,
      dir: join(this.dir.path, 'temporal-postgres'),
      host,
      port: 'auto',
      password,
      say,
      cancelled,
    });
    this.reservations.push(plans);
    this.add(
      'store',
      () => plans.store,
      () => sessions(plans.storeUrl),
    );
    this.add('temporal', () => plans.server);
    return plans.port;
  }

  /** Of each API by itself, past the front. */
  apiUrls: string[] = [];

  private add(name: string, plan: () => PartPlan, family?: () => Promise<number[]>): void {
    this.members.set(name, new Member(name, plan, () => this.record(), this.options.say ?? (() => undefined), family));
  }

  private addNode(
    name: string,
    part: PartName,
    program: string,
    env: NodeJS.ProcessEnv,
    before?: () => Promise<void>,
  ): void {
    this.add(name, () => ({
      ...nodePart(part, this.program(program), env, join(this.dir.logs, `${name}.log`)),
      ...(before && { before }),
    }));
  }

  private program(name: string): string {
    return join(this.options.release?.() ?? root, 'dist', name);
  }

  private async link(name: string, ports: () => number[]): Promise<Link> {
    const link = await Link.open(ports);
    this.links.set(name, link);
    return link;
  }

  /** What runs is written down, so that a run that was killed leaves nothing that nobody can find. */
  private record(): void {
    const parts = Object.fromEntries(
      [...this.members.values()].flatMap(({ name, pid }) => {
        const identity = pid === undefined ? undefined : identify(pid);
        return identity ? [[name, identity]] : [];
      }),
    );
    mkdirSync(dirname(this.dir.supervisorJson), { recursive: true });
    writeFileSync(this.dir.supervisorJson, JSON.stringify({ supervisor: { pid: 0, birth: 'none' }, parts }));
  }
}

/** PostgreSQL's other processes: each is of a group of its own. */
async function sessions(url: string): Promise<number[]> {
  const { default: pg } = await import('pg');
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 });
  // It may be killed meanwhile: then there is nothing to freeze.
  client.on('error', () => undefined);
  try {
    await client.connect();
    return (
      await client.query<{ pid: number }>('select pid from pg_stat_activity where pid <> pg_backend_pid()')
    ).rows.map(({ pid }) => pid);
  } finally {
    await client.end();
  }
}
