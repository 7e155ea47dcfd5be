import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import pg from 'pg';
import { applicationUrl } from '../../scripts/runtime/postgres/postgres.js';
import { failedApi, freePort, startApi } from '../support/api-process.js';
import { Http, unique } from '../support/http.js';
import { testEnvironment } from '../support/environment.js';
import { PRODUCTION } from '../support/production.js';
import { compiled, ran } from '../support/program.js';
import { service, startService } from '../support/service.js';

const good = {
  ...PRODUCTION,
  PUBLIC_URL: 'https://study.example.org',
  TEMPORAL_PAYLOAD_KEY: '4d81f0c6a97b3e52d8146fb09c7a25e31b60d94f8e2c7a5306bd19f48ce7a253',
};

describe('The API process in production', function suite() {
  this.timeout(120_000);

  it('names every fault of its settings at once and exits with 1', async () => {
    const { code, output } = await failedApi({
      ...good,
      PUBLIC_URL: 'http://study.example.org',
      JWT_SECRET: '',
      TEMPORAL_PAYLOAD_KEY: '',
      SESSION_SECRET: 'short',
      DATACAPTURE_ENCRYPTION_KEY: '00'.repeat(32),
      AUDIT_SIGNING_KEY: 'changeme-changeme-changeme-changeme',
      ADMIN_PASSWORD: 'password1234',
      DATABASE_APP_PASSWORD: 'secret',
      METRICS_TOKEN: 'a-short-one',
    });
    expect(code).to.equal(1);
    for (const fault of [
      'JWT_SECRET is required in production',
      'TEMPORAL_PAYLOAD_KEY is required in production',
      'SESSION_SECRET is shorter than 32',
      'DATACAPTURE_ENCRYPTION_KEY is a known default or too simple',
      'AUDIT_SIGNING_KEY is a known default',
      'ADMIN_PASSWORD is a known default',
      'DATABASE_APP_PASSWORD is shorter than 12',
      'METRICS_TOKEN is shorter than 32',
      'PUBLIC_URL must be https in production',
    ])
      expect(output).to.contain(fault);
    expect(output, 'no secret').not.to.contain('changeme-').and.not.to.contain('password1234');
    expect(output, 'no stack').not.to.match(/^\s+at /m);
  });

  it('names the servers that it was not told of', async () => {
    const { code, output } = await failedApi({ ...good, DATABASE_URL: '', TEMPORAL_ADDRESS: '' });
    expect(code).to.equal(1);
    expect(output).to.contain('DATABASE_URL is not set').and.contain('TEMPORAL_ADDRESS is not set');
  });

  it('names secrets that are equal to each other, whichever they are', async () => {
    const { code, output } = await failedApi({
      ...good,
      SESSION_SECRET: good.JWT_SECRET,
      AUDIT_SIGNING_KEY: good.DATACAPTURE_ENCRYPTION_KEY,
      METRICS_TOKEN: good.JWT_SECRET,
    });
    expect(code).to.equal(1);
    for (const fault of [
      'SESSION_SECRET is equal to JWT_SECRET',
      'AUDIT_SIGNING_KEY is equal to DATACAPTURE_ENCRYPTION_KEY',
      'METRICS_TOKEN is equal to SESSION_SECRET',
    ])
      expect(output).to.contain(fault);
  });

  it('names every server that does not answer, without passwords, beside faults of the settings: one start lists everything to fix', async () => {
    const port = await freePort();
    const { code, output } = await failedApi({
      ...good,
      JWT_SECRET: '',
      SESSION_SECRET: 'short',
      PUBLIC_URL: 'http://study.example.org',
      PORT: 'eighty',
      DATABASE_URL: `postgres://someone:hidden-word@127.0.0.1:${port}/research`,
      REDIS_URL: `redis://:hidden-word@127.0.0.1:${port}`,
      TEMPORAL_ADDRESS: `127.0.0.1:${port}`,
    });
    expect(code).to.equal(1);
    for (const fault of [
      'JWT_SECRET is required in production',
      'SESSION_SECRET is shorter than 32',
      'PUBLIC_URL must be https in production',
      'PORT is not a number',
      'DATABASE_URL: the database is not reached',
      'REDIS_URL: Redis is not reached',
      'TEMPORAL_ADDRESS: the Temporal server is not reached',
    ])
      expect(output).to.contain(fault);
    expect(output).not.to.contain('hidden-word');
    expect(output, 'no stack').not.to.match(/^\s+at /m);
  });

  it('names the schema revision beside a server that is away', async () => {
    const { database_url } = await service();
    const name = unique('empty').replace('-', '_');
    const owner = new pg.Client({ connectionString: database_url });
    await owner.connect();
    try {
      // Another database of the same server, with its roles and without the schema.
      await owner.query(`create database ${name}`);
      const url = new URL(database_url);
      url.pathname = `/${name}`;
      const { code, output } = await failedApi({
        ...good,
        DATABASE_URL: url.toString(),
        TEMPORAL_ADDRESS: `127.0.0.1:${await freePort()}`,
      });
      expect(code).to.equal(1);
      expect(output)
        .to.contain('schema is at revision none')
        .and.contain('TEMPORAL_ADDRESS: the Temporal server is not reached');
    } finally {
      await owner.query(`drop database if exists ${name} with (force)`);
      await owner.end();
    }
  });

  it('serves when everything is as it must be, by https alone: HSTS and Secure cookies, also without PUBLIC_URL or with it in capitals', async () => {
    for (const PUBLIC_URL of ['', 'HTTPS://study.example.org']) {
      const api = await startApi({ ...good, PUBLIC_URL });
      try {
        const health = await new Http(api.url).get('/api/health');
        expect(health.body).to.include({ status: 'ok', environment: 'production' });
        const { headers } = await fetch(`${api.url}/console/login`);
        expect(headers.get('strict-transport-security'), PUBLIC_URL).to.include('max-age');
        expect(headers.getSetCookie().length, PUBLIC_URL).to.be.greaterThan(0);
        for (const cookie of headers.getSetCookie())
          expect(cookie, PUBLIC_URL).to.match(/; HttpOnly; SameSite=Lax; Secure$/);
      } finally {
        expect(await api.stop()).to.equal(0);
      }
    }
  });

  it('runs on the embedded servers, asks its admin for a second factor, and tells run.json alone the password', async () => {
    const own = await startService(good);
    try {
      expect(own.run).to.include({ admin_password: good.ADMIN_PASSWORD, mail_ui: null });
      expect(own.output()).not.to.contain(good.ADMIN_PASSWORD);
      for (const setting of ['DATABASE_URL', 'TEMPORAL_ADDRESS', 'SMTP_URL'])
        expect(own.output()).to.contain(`warning: ${setting} is not set`);
      const answer = await new Http(own.run.api).post('/api/auth/login', {
        email: own.run.admin_email,
        password: own.run.admin_password,
      });
      expect([answer.status, answer.body.mfa_setup_required]).to.deep.equal([200, true]);
      const migrated = await ran([compiled('scripts/migrate')], testEnvironment({ DATA_DIR: own.dataDir }));
      expect([migrated.code, migrated.output]).to.satisfy(
        () => migrated.code === 0 && migrated.output.includes('Schema is at'),
      );
    } finally {
      await own.stop();
    }
  });

  it('has its audit verified where the worker runs, which is given no secret of the API and is no owner', async () => {
    const { data_dir, database_url } = await service();
    const kept = (name: string) => readFileSync(join(data_dir, 'keys', name), 'utf8').trim();
    const { JWT_SECRET: _jwt, ADMIN_PASSWORD: _password, ...ofWorker } = good;
    const { code, output } = await ran(
      [compiled('scripts/audit-verify')],
      testEnvironment({
        ...ofWorker,
        AUDIT_SIGNING_KEY: kept('AUDIT_SIGNING_KEY'),
        DATABASE_URL: applicationUrl(database_url, kept('DATABASE_APP_PASSWORD')),
        AUDIT_CHECKPOINT_DIR: join(data_dir, 'audit-checkpoints'),
      }),
    );
    expect(output).not.to.contain('is required in production');
    expect(output).to.match(/\d+ chains are valid/);
    expect(code, output).to.equal(0);
  });
});
