import { execFileSync } from 'node:child_process';
import {
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { failedStart, startService, temporaryDataDir, type Service } from '../support/service.js';
import { copyTemplate } from '../support/template.js';

/** A start that cannot go on says so in a sentence, without a stack, and exits with 1. */
async function refused(dataDir: string): Promise<string> {
  const { code, output } = await failedStart({ DATA_DIR: dataDir });
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

describe('a database that a start finds', function () {
  this.timeout(120_000);
  const { dataDir, database } = outside();
  let service: Service;
  before(async () => {
    service = await startService({ DATA_DIR: dataDir });
  });
  after(async () => {
    await service?.stop();
  });

  it('is left alone where the service of another folder works on it, of which this one is a copy', async () => {
    const copy = temporaryDataDir();
    execFileSync('cp', ['-a', dataDir, copy]);
    for (const name of ['run.json', 'supervisor.json']) rmSync(join(copy, name));
    const { supervisor, postgres } = service.run.pids;
    expect(await refused(copy))
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
    expect(await refused(dataDir)).to.contain('is gone: there was one since');
    mkdirSync(database);
    expect(await refused(dataDir), 'a place where nothing is mounted').to.contain('is gone: there was one since');
    rmSync(database, { recursive: true });
    expect(existsSync(database)).to.equal(false);
    renameSync(away, database);

    const parent = join(database, '..');
    renameSync(parent, `${parent}.away`);
    expect(await refused(dataDir)).to.contain(`points to ${database}, which is not there`);
    renameSync(`${parent}.away`, parent);
  });

  it('is refused where it is not whole, or no folder', async () => {
    const version = join(database, 'PG_VERSION');
    renameSync(version, `${version}.away`);
    expect(await refused(dataDir)).to.contain('holds no whole database: its file PG_VERSION is missing or empty');
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
    expect(await refused(dataDir)).to.contain(`(chown -R ${uid} ${database})`);
    chownSync(database, uid, gid);
  });

  it('tells which key is missing where what Temporal holds was sealed with another one', async () => {
    const key = join(dataDir, 'keys', 'TEMPORAL_PAYLOAD_KEY');
    renameSync(key, `${key}.away`);
    const output = await refused(dataDir);
    expect(output).to.contain('which is neither TEMPORAL_PAYLOAD_KEY nor one of TEMPORAL_PAYLOAD_FORMER_KEYS');
    renameSync(`${key}.away`, key);
    service = await startService({ DATA_DIR: dataDir });
    expect((await fetch(`${service.run.api}/api/health/db`)).status).to.equal(200);
  });
});
