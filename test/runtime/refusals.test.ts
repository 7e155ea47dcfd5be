import { randomBytes } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { openDataDir } from '../../scripts/runtime/data-dir.js';
import { checkOwnServers } from '../../scripts/runtime/own-servers.js';
import { StartError } from '../../scripts/runtime/start-error.js';
import { readSettings } from '../../settings.js';
import { freePort } from '../support/api-process.js';
import { PRODUCTION } from '../support/production.js';
import { failedStart, service, temporaryDataDir } from '../support/service.js';

/** A start that cannot go on says so in a sentence, without a stack, and exits with 1. */
const refused = async (overrides: Record<string, string>): Promise<string> => {
  const { code, output } = await failedStart(overrides);
  expect(code, output).to.equal(1);
  expect(output).not.to.match(/^\s+at /m);
  return output;
};

describe('a start that cannot go on', function () {
  for (const program of ['activities/main.js', 'api/main.js', 'scripts/codec-server.js', 'scripts/migrate.js'])
    it(`of ${program} by itself tells no secret beside a faulty setting`, async () => {
      const word = 'Kx7-not-to-be-told';
      const { code, output } = await failedStart(
        {
          DATABASE_URL: `postgres://someone:${word}@127.0.0.1:1/research`,
          SMTP_URL: `smtp://someone:${word}@127.0.0.1:1`,
          JWT_SECRET: `${word}-jwt-0123456789-0123456789`,
          SESSION_SECRET: `${word}-session-0123456789-0123456789`,
          ADMIN_PASSWORD: `${word}-admin`,
          LOG_LEVEL: 'verbose',
        },
        [process.execPath, `dist/${program}`],
      );
      expect(code, output).to.equal(1);
      expect(output).to.contain('LOG_LEVEL must be one of').and.not.to.contain(word);
      if (program.endsWith('main.js')) expect(output).not.to.match(/^\s+at /m);
    });

  it('of the worker by itself says in a sentence which server it does not reach', async () => {
    const port = await freePort();
    const database = `postgres://someone:hidden-word@127.0.0.1:${port}/research`;
    const starts: [Record<string, string>, string][] = [
      [{}, 'DATABASE_URL and TEMPORAL_ADDRESS must be set for the worker ("npm start" sets them)'],
      [
        { DATABASE_URL: database, TEMPORAL_ADDRESS: `127.0.0.1:${port}` },
        'The database named by DATABASE_URL is not reached (ECONNREFUSED).',
      ],
      [
        { DATABASE_URL: (await service()).database_url, TEMPORAL_ADDRESS: `127.0.0.1:${port}` },
        'TEMPORAL_ADDRESS: the Temporal server is not reached (',
      ],
    ];
    for (const [settings, sentence] of starts) {
      const { code, output } = await failedStart(settings, [process.execPath, 'dist/activities/main.js']);
      expect(code, output).to.equal(1);
      expect(output.trim().split('\n').at(-1)).to.contain(sentence);
      expect(output).not.to.match(/^\s+at |hidden-word/m);
    }
  });

  it('is told of a run.json that a killed service left, by each tool that reads it', async () => {
    const folder = temporaryDataDir();
    mkdirSync(folder, { recursive: true });
    const port = await freePort();
    const database_url = `postgres://someone:hidden-word@127.0.0.1:${port}/research`;
    writeFileSync(join(folder, 'run.json'), JSON.stringify({ database_url, pids: { supervisor: 1, postgres: 1 } }));
    for (const tool of ['audit-verify', 'backup', 'migrate']) {
      const env = { DATA_DIR: folder, BACKUP_DIR: join(folder, 'backups') };
      const { code, output } = await failedStart(env, [process.execPath, `dist/scripts/${tool}.js`]);
      expect([tool, code], output).to.deep.equal([tool, 1]);
      expect(output, tool).to.contain(`The database at 127.0.0.1:${port} cannot be used: `);
      expect(output, tool).to.contain(`${folder}/run.json names it; is that service still running?`);
      expect(output, tool).not.to.match(/hidden-word|Acquire connection error/);
    }
    expect(existsSync(join(folder, 'backups')), 'nothing was begun').to.equal(false);
  });

  it('of a tool in production does not ask for secrets that it does not use', async () => {
    const folder = temporaryDataDir();
    mkdirSync(folder, { recursive: true });
    const keyFile = join(folder, 'old-key');
    writeFileSync(keyFile, PRODUCTION.DATACAPTURE_ENCRYPTION_KEY);
    const key = randomBytes(32).toString('hex');
    const tools: [string, string[], string][] = [
      ['backup', [], `No service runs on ${folder} `],
      ['restore', ['--into', join(folder, 'new'), '--keys', folder], 'holds no complete back-up'],
      ['migrate', [], 'No database: set DATABASE_URL, or DATA_DIR to the folder of a running service'],
      ['audit-verify', [], 'No database: set DATABASE_URL, or DATA_DIR to the folder of a running service'],
      ['rotate-datacapture-key', ['--old-key-file', keyFile], 'No database: set DATABASE_URL, or DATA_DIR'],
    ];
    for (const [tool, args, expected] of tools) {
      const env = { NODE_ENV: 'production', DATA_DIR: folder, BACKUP_DIR: join(folder, 'backups') };
      const own: Record<string, string> = tool.startsWith('rotate') ? { DATACAPTURE_ENCRYPTION_KEY: key } : {};
      const { code, output } = await failedStart({ ...env, ...own }, [
        process.execPath,
        `dist/scripts/${tool}.js`,
        ...args,
      ]);
      expect([tool, code], output).to.deep.equal([tool, 1]);
      expect(output, tool).to.contain(expected).and.not.to.contain('is required in production');
    }
  });

  it('of a simulation says before it calculates that its folder cannot be made, and does not try for ever', async function () {
    if (!existsSync('/proc/self')) this.skip();
    const policy = `${temporaryDataDir()}.json`;
    writeFileSync(policy, '{}');
    const args = [policy, '--participants', '5', '--out', '/proc/no-such-folder/out'];
    const { code, output } = await failedStart({}, [process.execPath, 'dist/scripts/simulate.js', ...args]);
    expect(code, output).to.equal(1);
    expect(output).to.contain('--out /proc/no-such-folder/out cannot be read and written');
    expect(output).not.to.contain('SHA-256');
  });

  it('of the codec server names a port that is none', async () => {
    const { code, output } = await failedStart({}, [process.execPath, 'dist/scripts/codec-server.js', '--port', 'abc']);
    expect([code, output.trim()]).to.deep.equal([1, '--port must be a number from 0 to 65535, not abc.']);
  });

  it('of a tool with an argument that it does not have names it, and nothing is done', async () => {
    const [node, folder] = [process.execPath, temporaryDataDir()];
    const commands: [string, [string, ...string[]], string][] = [
      ['npm run audit:verify', [node, 'dist/scripts/audit-verify.js', '--study', 'ONE'], '--study'],
      ['npm run migrate', [node, 'dist/scripts/migrate.js', '--dry-run'], '--dry-run'],
      ['npm run schema', [node, 'dist/scripts/schema.js', 'out.sql'], 'out.sql'],
      ['npm run openapi', [node, 'dist/scripts/openapi.js', '--check'], '--check'],
      ['npm run env:example', [node, 'dist/scripts/env-example.js', '--chekc'], '--chekc'],
      ['npm start', [node, 'scripts/start.mjs', '--port', '9000'], '--port'],
    ];
    for (const [usage, command, argument] of commands) {
      const { code, output } = await failedStart({ DATA_DIR: folder }, command);
      expect([usage, code], output).to.deep.equal([usage, 1]);
      expect(output, usage).to.match(new RegExp(`^Unknown argument "${argument}"\\. Usage: ${usage}`, 'm'));
    }
    expect(existsSync('--check'), 'an option is no name of a file').to.equal(false);
  });

  it('of a tool with an option that it does not have is a sentence and how to call it', async () => {
    for (const tool of ['codec-server', 'rotate-datacapture-key']) {
      const { code, output } = await failedStart({}, [process.execPath, `dist/scripts/${tool}.js`, '--prot', '1']);
      expect([tool, code], output).to.deep.equal([tool, 1]);
      expect(output, tool)
        .to.match(/^Unknown option '--prot'[^]*\nUsage: npm run /)
        .and.not.to.match(/^\s+at /m);
    }
  });

  it('of a tool that is asked for help is how to call it', async () => {
    const usual = ['simulate', 'restore', 'backup', 'audit-verify', 'codec-server', 'rotate-datacapture-key', 'demo'];
    const commands: [string, RegExp][] = [
      ...usual.map((tool): [string, RegExp] => [`dist/scripts/${tool}.js`, /^Usage: npm run /]),
      ['scripts/start.mjs', /^Usage: npm start/],
      ['scripts/dev.mjs', /^Usage: npm run dev/],
      ['scripts/audit-verify-export.mjs', /^Usage: node audit-verify-export/],
      // Without a usage line of its own: what it is, and nothing of what it does is begun.
      ...['examples', 'console-screenshots', 'record-histories', 'guards', 'test/stress'].map(
        (tool): [string, RegExp] => [`scripts/run.mjs scripts/${tool}`, /^`npm run [a-z:]+/],
      ),
    ];
    for (const [command, expected] of commands) {
      const { code, output } = await failedStart({}, [process.execPath, ...command.split(' '), '--help']);
      expect([command, code], output).to.deep.equal([command, 0]);
      expect(output.trim(), command)
        .to.match(expected)
        .and.not.to.match(/^\s+at |ERR_|@param/m);
    }
  });

  it('of the demo with an option that there is not is one sentence', async () => {
    const { code, output } = await failedStart({}, [process.execPath, 'dist/scripts/demo.js', '--keepopen']);
    expect(code, output).to.equal(1);
    expect(output)
      .to.contain(`Unknown option '--keepopen'`)
      .and.not.to.match(/^\s+at /m);
  });

  /** The Temporal command ends this start; until then it gives all of these warnings. */
  let warning: Promise<string> | undefined;
  const warned = () =>
    (warning ??= refused({
      ALOW_PRIVATE_URLS: 'false',
      REDIS_URI: 'redis://127.0.0.1:6379',
      reminder_interval_seconds: '5',
      POSTGRES_USER: 'someone',
      COMPOSE_PROJECT_NAME: 'research',
      CHROMIUM_PATH: '/nonexistent/chromium',
      TEMPORAL_CLI: '/nonexistent/temporal',
    }));

  it('names settings that are misspelt, and no other names of the environment', async () => {
    const misspelt = (await warned()).split('\n').filter((line) => line.includes('is no setting'));
    expect(misspelt.map((line) => line.replace(/^.*warning: /, '')).sort()).to.deep.equal([
      'ALOW_PRIVATE_URLS is no setting and counts for nothing; did you mean ALLOW_PRIVATE_URLS?',
      'REDIS_URI is no setting and counts for nothing; did you mean REDIS_URL?',
      'reminder_interval_seconds is no setting and counts for nothing; did you mean REMINDER_INTERVAL_SECONDS?',
    ]);
  });

  it('names every fault of the settings at once', async () => {
    const output = await refused({
      PORT: '80000',
      HOST: '127.0.0.1',
      REMINDER_INTERVAL_SECONDS: 'soon',
      ENABLE_API_DOCS: 'perhaps',
      DATACAPTURE_ENCRYPTION_KEY: 'short',
    });
    for (const name of [
      'PORT must lie between 1 and 65535',
      'REMINDER_INTERVAL_SECONDS is not a number: "soon"',
      'ENABLE_API_DOCS must be true or false',
      'DATACAPTURE_ENCRYPTION_KEY must be 32 bytes',
    ]) {
      expect(output).to.contain(name);
    }
  });

  it('generates no secret in production, and names every one that is missing or weak', async () => {
    const twice = 'k7Qd0sPz2vLx8mNb4rTy6wHc1jGf3aEu';
    const dataDir = temporaryDataDir();
    const output = await refused({
      DATA_DIR: dataDir,
      NODE_ENV: 'production',
      JWT_SECRET: twice,
      SESSION_SECRET: twice,
      AUDIT_SIGNING_KEY: 'changeme',
      ADMIN_PASSWORD: 'password1',
    });
    for (const fault of [
      'SESSION_SECRET is equal to JWT_SECRET',
      'DATACAPTURE_ENCRYPTION_KEY is required in production',
      'TEMPORAL_PAYLOAD_KEY is required in production',
      'AUDIT_SIGNING_KEY is shorter than 32',
      'AUDIT_SIGNING_KEY is a known default',
      'ADMIN_PASSWORD is shorter than 12',
      'ADMIN_PASSWORD is a known default',
    ])
      expect(output).to.contain(fault);
    expect(existsSync(dataDir)).to.equal(false);
  });

  it('says which data folder it cannot use', async () => {
    const folder = temporaryDataDir();
    writeFileSync(folder, 'a file');
    expect(await refused({ DATA_DIR: folder })).to.contain(`DATA_DIR ${folder} cannot be read and written`);
  });

  for (const setting of ['BACKUP_DIR', 'AUDIT_CHECKPOINT_DIR'])
    it(`says that ${setting} cannot be used, in one sentence`, async () => {
      const [path, dataDir] = [temporaryDataDir(), temporaryDataDir()];
      writeFileSync(path, 'a file');
      const output = await refused({ [setting]: path, DATA_DIR: dataDir });
      expect(output).to.contain(`${setting} ${path} cannot be read and written`).and.not.to.contain('    at ');
      expect(existsSync(join(dataDir, 'postgres')), 'a database').to.equal(false);
    });

  it('says so where no folder can be made', async function () {
    // Elsewhere there is no such place.
    if (!existsSync('/proc/self')) this.skip();
    const folder = '/proc/no-such-folder/data';
    expect(await refused({ DATA_DIR: folder })).to.contain(`DATA_DIR ${folder} cannot be read and written`);
  });

  it('says so when the folder is unreadable', () => {
    const folder = temporaryDataDir();
    mkdirSync(folder, { mode: 0o000 });
    // Root may read everything: for this it is somebody else for a moment.
    const root = process.getuid?.() === 0;
    if (root) process.seteuid?.(65_534);
    try {
      expect(() => openDataDir(folder)).to.throw(StartError, `DATA_DIR ${folder} cannot be read and written`);
    } finally {
      if (root) process.seteuid?.(0);
      chmodSync(folder, 0o700);
    }
  });

  it('names every server of your own that does not answer, with its setting and without its password', async () => {
    const port = await freePort();
    const output = await refused({
      DATABASE_URL: `postgres://someone:hidden-word@127.0.0.1:${port}/research`,
      REDIS_URL: `redis://127.0.0.1:${port}`,
      SMTP_URL: `smtp://127.0.0.1:${port}`,
      TEMPORAL_ADDRESS: `127.0.0.1:${port}`,
    });
    for (const setting of ['DATABASE_URL', 'REDIS_URL', 'SMTP_URL', 'TEMPORAL_ADDRESS'])
      expect(output).to.match(new RegExp(`\\(${setting}\\) does not answer: .+`));
    expect(output).not.to.contain('hidden-word');
  });

  it('is none for Redis and mail that are away in development, and for mail in production', async () => {
    const port = await freePort();
    const away = { REDIS_URL: `redis://127.0.0.1:${port}`, SMTP_URL: `smtp://127.0.0.1:${port}` };
    const [redis, mail] = await checkOwnServers(readSettings(away));
    expect(redis).to.match(/\(REDIS_URL\) does not answer: /);
    expect(mail).to.match(/\(SMTP_URL\) does not answer: /);
    const production = { ...readSettings(away), production: true };
    const refusal = await checkOwnServers(production).then(
      () => undefined,
      (fault: Error) => fault,
    );
    expect(refusal).to.be.instanceOf(StartError);
    expect(refusal?.message).to.contain('(REDIS_URL) does not answer');
    const { REDIS_URL: _redis, ...onlyMail } = production;
    expect(await checkOwnServers(onlyMail as typeof production)).to.have.length(1);
  });

  it('names the settings of addresses that are not of this machine', async () => {
    const output = await refused({ HOST: '203.0.113.7', POSTGRES_HOST: '203.0.113.8', TEMPORAL_HOST: '203.0.113.9' });
    expect(output.match(/\w+ 203\.0\.113\.\d is not an address of this machine\./g)).to.deep.equal([
      'HOST 203.0.113.7 is not an address of this machine.',
      'POSTGRES_HOST 203.0.113.8 is not an address of this machine.',
      'TEMPORAL_HOST 203.0.113.9 is not an address of this machine.',
    ]);
  });

  it('says which program cannot be run', async () => {
    expect(await warned()).to.contain('warning: CHROMIUM_PATH /nonexistent/chromium is no program that can be run');
  });

  it('says why the Temporal command named in the settings will not do', async () => {
    expect(await warned()).to.contain(
      'TEMPORAL_CLI /nonexistent/temporal is not a usable Temporal command: /nonexistent/temporal is not installed.',
    );
  });

  it('refuses a database of another PostgreSQL release', async () => {
    const dataDir = temporaryDataDir();
    mkdirSync(join(dataDir, 'postgres'), { recursive: true });
    writeFileSync(join(dataDir, 'postgres', 'PG_VERSION'), '11\n');
    expect(await refused({ DATA_DIR: dataDir })).to.contain('was made by PostgreSQL 11');
  });
});
