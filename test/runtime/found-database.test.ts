import { execFileSync } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import {
  chownSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import pg from 'pg';
import { SecretBox } from '../../db/client/crypto.js';
import { subscriptionSecretPlace } from '../../db/events/event-subscriptions.queries.js';
import { encryptionKeyBytes } from '../../settings.js';
import { login, newStudy } from '../support/http.js';
import { failedStart, startService, temporaryDataDir, type Service } from '../support/service.js';
import { copyTemplate, withDatabaseOf } from '../support/template.js';

/** A start that cannot go on says so in a sentence, without a stack, and exits with 1. */
async function refused(dataDir: string, settings: Record<string, string> = {}): Promise<string> {
  const { code, output } = await failedStart({ ...settings, DATA_DIR: dataDir });
  expect(code, output).to.equal(1);
  expect(output).not.to.match(/^\s+at /m);
  return output;
}

/** A database beside the data folder, as a start by root may make one; where there is a prepared one, it is that. */
function outside(): { dataDir: string; database: string } {
  const elsewhere = temporaryDataDir();
  const dataDir = temporaryDataDir();
  mkdirSync(elsewhere, { mode: 0o711 });
  copyTemplate(dataDir);
  mkdirSync(dataDir, { mode: 0o711, recursive: true });
  const database = join(elsewhere, 'postgres');
  // Of this user, or of PostgreSQL's where root has made it.
  const made = join(dataDir, 'postgres');
  if (existsSync(made)) renameSync(made, database);
  symlinkSync(database, made);
  return { dataDir, database };
}

/** One folder, whose service is started and stopped again and again: each start serves several tests. */
describe('A start on a data folder that is there', function () {
  this.timeout(300_000);
  const { dataDir, database } = outside();
  /** With the key of the rotation. */
  const rotated = { DATA_DIR: dataDir, DATACAPTURE_ENCRYPTION_KEY: randomBytes(32).toString('hex') };
  const folderKey = join(dataDir, 'keys', 'DATACAPTURE_ENCRYPTION_KEY');
  let service: Service;
  before(async () => {
    // Without a prepared one, a first start makes it.
    if (!existsSync(database)) await (await startService({ DATA_DIR: dataDir })).stop();
    await hasSubscription();
  });
  after(async () => {
    await service?.stop();
  });

  /** What DATACAPTURE_ENCRYPTION_KEY encrypts, with the key of the folder, before anything runs on it. */
  const hasSubscription = () =>
    withDatabaseOf(dataDir, async (connectionString) => {
      const client = new pg.Client({ connectionString });
      await client.connect();
      try {
        const [study, id] = [randomUUID(), randomUUID()];
        const box = new SecretBox(encryptionKeyBytes(readFileSync(folderKey, 'utf8').trim()));
        await client.query(`insert into studies (id, study_code, study_name) values ($1, 'FOUND', 'There before')`, [
          study,
        ]);
        await client.query(
          `insert into event_subscriptions (id, study_id, url, events, secret_encrypted) values ($1, $2, 'http://127.0.0.1:9/', '{ENROLLMENT_DATE_SET}', $3)`,
          [id, study, box.seal('a secret', subscriptionSecretPlace(id))],
        );
      } finally {
        await client.end();
      }
    });

  /** Another one. */
  async function savesSubscription({ run }: Service): Promise<void> {
    const { http } = await login(run.api, run.admin_email, run.admin_password ?? '');
    const study = await newStudy(http);
    const subscription = { url: 'http://127.0.0.1:9/', events: ['ENROLLMENT_DATE_SET'] };
    await http.expect(201, 'POST', `/api/studies/${study.id as string}/event-subscriptions`, subscription);
  }

  describe('Another DATACAPTURE_ENCRYPTION_KEY', () => {
    const rotate = () =>
      failedStart(rotated, [process.execPath, 'dist/scripts/rotate-datacapture-key.js', '--old-key-file', folderKey]);

    it('is taken after the rotation that docs/OPERATIONS.md describes, by the folder of the running service alone', async () => {
      // Nothing runs: the folder names no database.
      const stopped = await rotate();
      expect([stopped.code, stopped.output]).to.deep.equal([1, stopped.output]);
      expect(stopped.output).to.contain(
        `No database: set DATABASE_URL, or DATA_DIR to the folder of a running service`,
      );
      const early = await failedStart(rotated);
      expect(early.code, early.output).to.equal(1);
      expect(early.output).to.contain('"npm run rotate:datacapture-key" first (docs/OPERATIONS.md, "Change a secret")');

      service = await startService({ DATA_DIR: dataDir });
      const before = await rotate();
      expect(before.code, before.output).to.equal(0);
      expect(before.output).to.contain('Studies with event subscriptions: 1.');
      // Saved by a process that still has the former key.
      await savesSubscription(service);
      await service.stop();

      service = await startService(rotated);
      expect(service.output()).to.contain(
        'warning: DATACAPTURE_ENCRYPTION_KEY does not decrypt all that is stored: 1 event subscription was encrypted',
      );
      const { code, output } = await rotate();
      expect(code, output).to.equal(0);
    });
  });

  describe('a database that a start finds', () => {
    it('is left alone where the service of another folder works on it, of which this one is a copy', async () => {
      const copy = temporaryDataDir();
      execFileSync('cp', ['-a', dataDir, copy]);
      for (const name of ['run.json', 'supervisor.json']) rmSync(join(copy, name));
      const { supervisor, postgres } = service.run.pids;
      expect(await refused(copy, rotated))
        .to.contain(`works on it (process ${supervisor})`)
        .and.to.contain(database);
      expect(service.current().pids.postgres).to.equal(postgres);
      expect((await fetch(`${service.run.api}/api/health/db`)).status).to.equal(200);
    });

    it('is missed where it has gone: no empty one is made in its stead', async () => {
      await service.stop();
      expect(readdirSync(join(database, '..')), 'no lock is left').to.deep.equal(['postgres']);
      const away = `${database}.away`;
      renameSync(database, away);
      expect(await refused(dataDir, rotated)).to.contain('is gone: there was one since');
      mkdirSync(database);
      expect(await refused(dataDir, rotated), 'a place where nothing is mounted').to.contain(
        'is gone: there was one since',
      );
      rmSync(database, { recursive: true });
      expect(existsSync(database)).to.equal(false);
      renameSync(away, database);

      const parent = join(database, '..');
      renameSync(parent, `${parent}.away`);
      expect(await refused(dataDir, rotated)).to.contain(`points to ${database}, which is not there`);
      renameSync(`${parent}.away`, parent);
    });

    it('is refused where it is not whole, or no folder', async () => {
      const version = join(database, 'PG_VERSION');
      renameSync(version, `${version}.away`);
      expect(await refused(dataDir, rotated)).to.contain(
        'holds no whole database: its file PG_VERSION is missing or empty',
      );
      expect(readdirSync(join(database, '..'))).to.deep.equal(['postgres']);
      renameSync(`${version}.away`, version);
      const other = temporaryDataDir();
      mkdirSync(other, { mode: 0o711 });
      writeFileSync(join(other, 'postgres'), 'a file');
      expect(await refused(other)).to.contain(`${join(other, 'postgres')} is not a folder`);
    });

    it('is refused where it belongs to another user, with the command that mends it', async function () {
      if (process.getuid?.() !== 0) this.skip();
      const { uid, gid } = statSync(database);
      chownSync(database, 0, 0);
      expect(await refused(dataDir, rotated)).to.contain(`(chown -R ${uid} ${database})`);
      chownSync(database, uid, gid);
    });
  });

  describe('what it says', () => {
    it('tells which key is missing where what Temporal holds was sealed with another one', async () => {
      const key = join(dataDir, 'keys', 'TEMPORAL_PAYLOAD_KEY');
      renameSync(key, `${key}.away`);
      const output = await refused(dataDir, rotated);
      expect(output).to.contain('which is neither TEMPORAL_PAYLOAD_KEY nor one of TEMPORAL_PAYLOAD_FORMER_KEYS');
      renameSync(`${key}.away`, key);
      service = await startService({ ...rotated, ADMIN_EMAIL: 'nobody@example.org' });
      expect((await fetch(`${service.run.api}/api/health/db`)).status).to.equal(200);
      // All that is stored was encrypted again by the rotation above.
      expect(service.output()).not.to.contain('DATACAPTURE_ENCRYPTION_KEY');
    });

    it('says that ADMIN_EMAIL names no account, and in a sentence where no metrics can be served', async () => {
      await service.stop();
      expect(service.run.admin_password).to.equal(null);
      expect(service.output())
        .to.contain('ADMIN_EMAIL counts only when the first admin is made: there is no account of nobody@example.org')
        .and.not.to.contain('has another one');
      const { code, output } = await failedStart({
        ...rotated,
        WORKER_METRICS_PORT: 'auto',
        WORKER_METRICS_HOST: '203.0.113.7',
      });
      expect(code, output).to.equal(1);
      expect(output)
        .to.contain('set WORKER_METRICS_HOST to an address of this machine')
        .and.not.to.match(/^\s+at |errno|cause/m);
    });
  });
});
