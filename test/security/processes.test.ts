import { readFileSync, readdirSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { expect } from 'chai';
import { login } from '../support/http.js';
import { startService } from '../support/service.js';
import type { Service } from '../support/service.js';

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

describe('The processes of the service', function () {
  this.timeout(240_000);
  let service: Service;
  before(async function () {
    // An environment is read, and a second loopback address used, as Linux has them.
    if (process.platform !== 'linux') this.skip();
    service = await startService({ HOST: '0.0.0.0', ...GIVEN });
  });
  after(() => service?.stop());

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
