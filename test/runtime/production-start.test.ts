import { existsSync } from 'node:fs';
import { expect } from 'chai';
import pg from 'pg';
import { freePort } from '../support/api-process.js';
import { testEnvironment } from '../support/environment.js';
import { unique } from '../support/http.js';
import { PRODUCTION } from '../support/production.js';
import { compiled, ran } from '../support/program.js';
import { failedStart, service, temporaryDataDir } from '../support/service.js';

const good = {
  ...PRODUCTION,
  PUBLIC_URL: 'https://study.example.org',
  TEMPORAL_PAYLOAD_KEY: '4d81f0c6a97b3e52d8146fb09c7a25e31b60d94f8e2c7a5306bd19f48ce7a253',
};
/**
 * A missing one, one that is too short, a default, two that are equal, a key that is too simple, and addresses that
 * will not do.
 */
const faulty = {
  ...good,
  JWT_SECRET: '',
  SESSION_SECRET: 'short',
  AUDIT_SIGNING_KEY: 'changeme-changeme-changeme-changeme',
  DATACAPTURE_ENCRYPTION_KEY: '00'.repeat(32),
  METRICS_TOKEN: '00'.repeat(32),
  PUBLIC_URL: 'http://study.example.org',
  PORT: 'eighty',
};
const FAULTS = [
  'JWT_SECRET is required in production',
  'SESSION_SECRET is shorter than 32',
  'AUDIT_SIGNING_KEY is a known default',
  'DATACAPTURE_ENCRYPTION_KEY is a known default or too simple',
  'METRICS_TOKEN is equal to DATACAPTURE_ENCRYPTION_KEY',
  'PUBLIC_URL must be https in production',
  'PORT is not a number',
];
const NPM_START: [string, ...string[]] = ['npm', 'start'];

describe('npm start in production', function suite() {
  this.timeout(120_000);
  const name = unique('tomorrow').replaceAll('-', '_');
  let owner: pg.Client;
  /** A database of the shared server that a newer release has migrated. */
  let newer: string;
  before(async () => {
    const { database_url } = await service();
    owner = new pg.Client({ connectionString: database_url });
    await owner.connect();
    await owner.query(`create database ${name}`);
    const url = new URL(database_url);
    url.pathname = `/${name}`;
    newer = url.toString();
    const other = new pg.Client({ connectionString: newer });
    await other.connect();
    await other.query(
      `create table knex_migrations (id serial primary key, name text, batch int, migration_time timestamptz); insert into knex_migrations (name) values ('9999-of-tomorrow')`,
    );
    await other.end();
  });
  after(async () => {
    await owner.query(`drop database if exists ${name} with (force)`);
    await owner.end();
  });

  const refused = async (overrides: Record<string, string>): Promise<string> => {
    const { code, output } = await failedStart(overrides, NPM_START);
    expect(code, output).to.equal(1);
    expect(output, 'no stack').not.to.match(/^\s+at /m);
    expect(output, 'no secret')
      .not.to.contain('hidden-word')
      .and.not.to.contain('changeme-')
      .and.not.to.contain('00'.repeat(32));
    return output;
  };

  it('names every fault of the settings and every server that does not answer at once, and makes nothing', async () => {
    const port = await freePort();
    const DATA_DIR = temporaryDataDir();
    const output = await refused({
      ...faulty,
      DATA_DIR,
      DATABASE_URL: `postgres://someone:hidden-word@127.0.0.1:${port}/research`,
      REDIS_URL: `redis://:hidden-word@127.0.0.1:${port}`,
      TEMPORAL_ADDRESS: `127.0.0.1:${port}`,
      SMTP_URL: `smtp://someone:hidden-word@127.0.0.1:${port}`,
    });
    for (const fault of FAULTS) expect(output).to.contain(fault);
    for (const setting of ['DATABASE_URL', 'REDIS_URL', 'SMTP_URL', 'TEMPORAL_ADDRESS'])
      expect(output).to.match(new RegExp(`\\(${setting}\\) does not answer: .+`));
    expect(existsSync(DATA_DIR)).to.equal(false);
  });

  it('names a schema that is newer beside faults of the settings and a server that is away', async () => {
    const output = await refused({ ...faulty, DATABASE_URL: newer, TEMPORAL_ADDRESS: `127.0.0.1:${await freePort()}` });
    for (const fault of [
      ...FAULTS,
      'The database schema is newer than this program (it holds 9999-of-tomorrow)',
      '(TEMPORAL_ADDRESS) does not answer',
    ])
      expect(output).to.contain(fault);
  });

  it('with good settings names a schema that is newer beside a server that is away', async () => {
    const output = await refused({ ...good, DATABASE_URL: newer, REDIS_URL: `redis://127.0.0.1:${await freePort()}` });
    expect(output)
      .to.contain('The database schema is newer than this program (it holds 9999-of-tomorrow)')
      .and.contain('(REDIS_URL) does not answer');
  });

  it('names addresses that are none, each by its setting and not by what it holds', async () => {
    const output = await refused({
      ...faulty,
      DATABASE_URL: 'someone:hidden-word@database',
      REDIS_URL: 'hidden-word',
      SMTP_URL: '//hidden-word',
    });
    for (const setting of ['DATABASE_URL', 'REDIS_URL', 'SMTP_URL'])
      expect(output).to.contain(`${setting} is not a URL of `);
    for (const fault of FAULTS) expect(output).to.contain(fault);
  });

  it('makes nothing in a Temporal server that answers while something else is wrong', async () => {
    const { temporal } = await service();
    const output = await refused({ ...faulty, TEMPORAL_ADDRESS: temporal, TEMPORAL_NAMESPACE: name });
    expect(output).not.to.contain('(TEMPORAL_ADDRESS)');
    const { Connection } = await import('@temporalio/client');
    const connection = await Connection.connect({ address: temporal });
    try {
      const { namespaces } = await connection.workflowService.listNamespaces({ pageSize: 1000 });
      expect(namespaces.map(({ namespaceInfo }) => namespaceInfo?.name)).not.to.include(name);
    } finally {
      await connection.close();
    }
  });

  it('the job of a deployment names all of it as well, of the servers that it works on', async () => {
    const port = await freePort();
    const { code, output } = await ran(
      [compiled('scripts/runtime/deploy')],
      testEnvironment({
        ...faulty,
        ADMIN_PASSWORD: '',
        DATABASE_URL: newer,
        TEMPORAL_ADDRESS: `127.0.0.1:${port}`,
        REDIS_URL: `redis://127.0.0.1:${port}`,
      }),
    );
    expect(code, output).to.equal(1);
    for (const fault of [
      ...FAULTS,
      'ADMIN_PASSWORD is required in production',
      'The database schema is newer than this program',
      '(TEMPORAL_ADDRESS) does not answer',
    ])
      expect(output).to.contain(fault);
    expect(output)
      .not.to.contain('REDIS_URL')
      .and.not.to.match(/^\s+at /m);
  });

  it('an API that is started alone says which servers are away, and no line of a library before it', async () => {
    const port = await freePort();
    const { code, output } = await ran(
      [compiled('api/main')],
      testEnvironment({
        ...good,
        DATABASE_URL: `postgres://someone:hidden-word@127.0.0.1:${port}/research`,
        TEMPORAL_ADDRESS: `127.0.0.1:${port}`,
      }),
    );
    const lines = output.trimEnd().split('\n');
    expect([code, lines[0], lines.length], output).to.deep.equal([1, 'The settings have 2 faults:', 3]);
  });
});
