import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { Connection } from '@temporalio/client';
import { expect } from 'chai';
import pg from 'pg';
import { identify } from '../../scripts/runtime/processes.js';
import { login } from '../support/http.js';
import { failedStart, service as sharedService, startService, until } from '../support/service.js';
import type { RunJson, Service } from '../support/service.js';
import { withDatabaseOf } from '../support/template.js';

type PartName = Exclude<keyof RunJson['pids'], 'supervisor'>;
const PARTS: PartName[] = ['postgres', 'temporal', 'mail', 'worker', 'api'];

const query = async ({ database_url }: { database_url: string }, sql: string): Promise<pg.QueryResult> => {
  const client = new pg.Client({ connectionString: database_url });
  await client.connect();
  try {
    return await client.query(sql);
  } finally {
    await client.end();
  }
};

/** Retention of closed histories in days, as the Temporal server itself says. */
const retentionDays = async (run: RunJson): Promise<number> => {
  const connection = await Connection.connect({ address: run.temporal, connectTimeout: 5000 });
  try {
    const { config } = await connection.workflowService.describeNamespace({ namespace: run.temporal_namespace });
    return Number(config?.workflowExecutionRetentionTtl?.seconds) / 86_400;
  } finally {
    await connection.close();
  }
};

const runs = (pid: number | undefined) => pid !== undefined && identify(pid) !== undefined;

const environmentOf = (pid: number): Record<string, string> =>
  Object.fromEntries(
    readFileSync(`/proc/${pid}/environ`, 'utf8')
      .split('\0')
      .filter((line) => line.includes('='))
      .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
  );

/** Whether something listens on the port of an address of this machine. */
const listens = (host: string, port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect({ host, port });
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });

/** Secrets that the operator gives, as in production: they are in the environment of `npm start` itself. */
const GIVEN = {
  JWT_SECRET: 'k7Qd0sPz2vLx8mNb4rTy6wHc1jGf3aEu',
  SESSION_SECRET: 'p1Wn9bVe5cXq2zMr7tYk4uHs8dJf6gLo',
};

const SETTINGS = { HOST: '0.0.0.0', ...GIVEN };

/** The one that all of these tests look at. */
let service: Service;
before('a service of one’s own', async function () {
  this.timeout(240_000);
  service = await startService(SETTINGS);
});
after(async () => {
  await service?.stop();
});

describe('The processes of the service', function () {
  this.timeout(240_000);
  before(function () {
    // An environment is read, and a second loopback address used, as Linux has them.
    if (process.platform !== 'linux') this.skip();
  });

  it('have no secret that they have no use for', () => {
    const { run } = service;
    const keys = join(run.data_dir, 'keys');
    const secrets = new Map(readdirSync(keys).map((name) => [name, readFileSync(join(keys, name), 'utf8').trim()]));
    for (const [name, value] of Object.entries(GIVEN)) secrets.set(name, value);
    expect([...secrets.keys()]).to.include.members(['JWT_SECRET', 'ADMIN_PASSWORD', 'POSTGRES_PASSWORD']);
    const known = (part: keyof typeof run.pids) => {
      const values = Object.values(environmentOf(run.pids[part]!)).join('\n');
      return [...secrets].flatMap(([name, value]) => (values.includes(value) ? [name] : [])).sort();
    };
    expect(known('postgres')).to.deep.equal([]);
    expect(known('temporal')).to.deep.equal([]);
    expect(known('mail')).to.deep.equal([]);
    const both = [
      'AUDIT_SIGNING_KEY',
      'DATABASE_APP_PASSWORD',
      'DATACAPTURE_ENCRYPTION_KEY',
      'SESSION_SECRET',
      'TEMPORAL_PAYLOAD_KEY',
      'VAPID_PRIVATE_KEY',
    ];
    expect(known('worker')).to.deep.equal(both);
    expect(known('api')).to.deep.equal([...both, 'JWT_SECRET'].sort());
    for (const part of ['api', 'worker'] as const) {
      const { DATABASE_URL, DATABASE_APP_PASSWORD } = environmentOf(run.pids[part]!);
      expect(new URL(DATABASE_URL!).username, part).to.equal('research_app');
      expect(DATABASE_APP_PASSWORD, part).to.equal(undefined);
    }
  });

  it('HOST opens the API alone: the others stay on loopback', async () => {
    const { run } = service;
    const portOf = (address: string) => Number(new URL(address.includes('://') ? address : `tcp://${address}`).port);
    // 127.0.0.2 is this machine as well: only what listens on every address answers there.
    expect(await listens('127.0.0.2', portOf(run.api)), 'the API').to.equal(true);
    for (const address of [run.database_url, run.temporal, run.temporal_ui!, run.smtp!, run.mail_ui!]) {
      expect(await listens('127.0.0.1', portOf(address)), address).to.equal(true);
      expect(await listens('127.0.0.2', portOf(address)), address).to.equal(false);
    }
  });

  it('serve with what they have: a login, a study', async () => {
    const { http } = await login(service.run.api, service.run.admin_email, service.run.admin_password ?? '');
    expect((await http.get('/api/studies')).status).to.equal(200);
    expect((await http.get('/api/health/detailed')).body).to.include({ status: 'ok' });
  });
});

describe('a service that runs, is stopped or killed', function () {
  this.timeout(300_000);

  it('tells in run.json, for its owner only, where everything is', async () => {
    const { run, dataDir } = service;
    expect(statSync(join(dataDir, 'run.json')).mode & 0o777).to.equal(0o600);
    expect(Object.keys(run.pids)).to.have.members(['supervisor', ...PARTS]);
    expect(Object.values(run.pids).every(runs)).to.equal(true);
    expect((await fetch(`${run.api}/api/health`)).status).to.equal(200);
    expect((await fetch(run.temporal_ui ?? '')).status).to.equal(200);
    expect((await fetch(`${run.mail_ui}/email`)).status).to.equal(200);
    expect((await query(run, 'select current_user as name')).rows[0].name).to.equal('postgres');
    expect(run.admin_email).to.equal('admin@example.org');
    expect(service.output()).to.contain(run.admin_password).and.to.contain(run.api);
  });

  it('keeps secrets where only their owner reads them', () => {
    for (const inside of ['keys', 'logs', 'mail'])
      expect(statSync(join(service.dataDir, inside)).mode & 0o077, inside).to.equal(0);
    for (const key of readdirSync(join(service.dataDir, 'keys')))
      expect(statSync(join(service.dataDir, 'keys', key)).mode & 0o077, key).to.equal(0);
  });

  it('keeps closed histories as long as the setting says', async () => {
    expect(await retentionDays(service.run)).to.equal(90);
  });

  it('writes to disk what PostgreSQL acknowledges', async () => {
    const { rows } = await query(
      service.run,
      `select current_setting('fsync') as fsync, current_setting('synchronous_commit') as commit, current_setting('server_encoding') as encoding`,
    );
    expect(rows[0]).to.deep.equal({ fsync: 'on', commit: 'on', encoding: 'UTF8' });
  });

  it('refuses a second start on its data folder', async () => {
    const { code, output } = await failedStart({ DATA_DIR: service.dataDir });
    expect(code).to.equal(1);
    expect(output).to.contain(`is in use by the service that runs as process ${service.run.pids.supervisor}`);
    expect(Object.values(service.current().pids).every(runs)).to.equal(true);
  });

  it('refuses a start on taken ports, naming each port and its setting, and leaves nothing', async () => {
    const port = (url: string | null) => new URL(url ?? '').port;
    const { code, output } = await failedStart({
      PORT: port(service.run.api),
      MAIL_UI_PORT: port(service.run.mail_ui),
    });
    expect(code).to.equal(1);
    expect(output).to.contain(`Port ${port(service.run.api)} on 127.0.0.1 is taken by another program: set PORT`);
    expect(output).to.contain(
      `Port ${port(service.run.mail_ui)} on 127.0.0.1 is taken by another program: set MAIL_UI_PORT`,
    );
    expect(output).not.to.contain('PostgreSQL: ready');
  });

  for (const name of PARTS) {
    it(`starts ${name} again when it is killed, on the same port, and run.json follows`, async () => {
      const before = service.current();
      process.kill(before.pids[name] ?? 0, 'SIGKILL');
      const now = await until(
        () => {
          const run = service.current();
          return run.pids[name] !== undefined &&
            run.pids[name] !== before.pids[name] &&
            service.output().includes(`${name} is back (process ${run.pids[name]})`)
            ? run
            : undefined;
        },
        { what: `${name} to be back` },
      );
      expect({ ...now, pids: {} }).to.deep.equal({ ...before, pids: {} });
      expect(service.output()).to.contain(`${name} ended by SIGKILL; starting it again in`);
      if (name === 'postgres') expect((await query(now, 'select 1 as one')).rows[0].one).to.equal(1);
      if (name === 'temporal') expect(await retentionDays(now)).to.equal(90);
      if (name === 'api') await until(async () => (await fetch(`${now.api}/api/health`)).ok);
    });
  }

  it('stops without a process or run.json left, and goes on with its data after every kind of end', async () => {
    const other = await sharedService();
    const besideNow = () => JSON.parse(readFileSync(join(other.data_dir, 'run.json'), 'utf8')) as RunJson;
    const beside = besideNow();
    const first = service;
    const { dataDir } = first;
    const again = () => startService({ ...SETTINGS, DATA_DIR: dataDir });
    const everything = Object.values(first.current().pids);
    await query(first.run, `create table kept (step text); insert into kept values ('stopped')`);
    expect(await first.stop()).to.equal(0);
    expect(everything.filter(runs), 'left after a stop').to.deep.equal([]);
    expect(existsSync(join(dataDir, 'run.json'))).to.equal(false);
    expect(existsSync(join(dataDir, 'supervisor.json'))).to.equal(false);
    expect(existsSync(join(dataDir, 'postgres', 'postmaster.pid'))).to.equal(false);

    const second = (service = await again());
    expect(second.run.admin_password).to.equal(first.run.admin_password);
    await query(second.run, `insert into kept values ('killed whole')`);
    await second.kill('everything');

    const third = (service = await again());
    await query(third.run, `insert into kept values ('killed supervisor')`);
    await third.kill('supervisor');
    // Anyone who has a channel to it goes by itself; the two servers wait for the next start.
    expect(runs(third.run.pids.postgres)).to.equal(true);

    const fourth = (service = await again());
    expect(
      Object.entries(third.run.pids).filter(([, pid]) => runs(pid)),
      'left of the service that was killed',
    ).to.deep.equal([]);
    const { rows } = await query(fourth.run, 'select step from kept order by step');
    expect(rows.map(({ step }) => step)).to.deep.equal(['killed supervisor', 'killed whole', 'stopped']);

    // All the time beside the one that tests share, whose processes nobody has touched.
    for (const { api } of [other, fourth.run]) expect((await fetch(`${api}/api/health`)).status).to.equal(200);
    expect(besideNow()).to.deep.equal(beside);
  });

  it('ends with 0, and does not start again when its schema has become newer than the program', async () => {
    await query(
      service.run,
      `insert into knex_migrations (name, batch, migration_time) values ('9999-of-tomorrow', 99, now())`,
    );
    expect(await service.stop()).to.equal(0);
    const { code, output } = await failedStart({ DATA_DIR: service.dataDir });
    expect(code).to.equal(1);
    expect(output)
      .to.contain('The database schema is newer than this program (it holds 9999-of-tomorrow)')
      .and.not.to.match(/^\s+at /m);
  });

  it('does not start with another key than the one of what is stored', async () => {
    const { dataDir } = service;
    await withDatabaseOf(dataDir, async (database_url) => {
      const database = { database_url };
      await query(database, `delete from knex_migrations where name = '9999-of-tomorrow'`);
      await query(
        database,
        `insert into studies (study_code, study_name) values ('KEY', 'Encrypted with another key')`,
      );
      await query(
        database,
        `insert into datacapture_configs (study_id, api_url, api_token_encrypted) select id, 'https://capture.example.org/api/', 'v1:0123456789ab:a:b:c' from studies where study_code = 'KEY'`,
      );
      await query(
        database,
        `insert into user_mfa (user_id, secret_sealed, verified_at) select id, 'v1:0123456789ab:a:b:c', now() from users`,
      );
      await query(
        database,
        `insert into event_subscriptions (study_id, url, events, secret_encrypted) select id, 'https://events.example.org/', '{ENROLLMENT_DATE_SET}', 'v1:0123456789ab:a:b:c' from studies where study_code = 'KEY'`,
      );
    });
    const wrongKey = await failedStart({ DATA_DIR: dataDir });
    expect(wrongKey.code).to.equal(1);
    expect(wrongKey.output).to.contain(
      'DATACAPTURE_ENCRYPTION_KEY does not decrypt what is stored: 1 capture-system configuration, 1 second factor, ' +
        '1 event subscription were encrypted with another key.',
    );
    expect(readdirSync(dataDir), 'nothing half-started')
      .not.to.include.members(['run.json'])
      .and.not.to.include.members(['supervisor.json']);
    expect(existsSync(join(dataDir, 'postgres', 'postmaster.pid'))).to.equal(false);
  });
});
