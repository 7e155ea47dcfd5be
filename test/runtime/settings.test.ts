import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { settingDefinitions, envExample, readSettings, SettingsError, unsignedMessages } from '../../settings.js';
import type { Reader } from '../../settings.js';
import { root } from '../support/environment.js';

const good = {
  NODE_ENV: 'production',
  JWT_SECRET: 'k7Qd0sPz2vLx8mNb4rTy6wHc1jGf3aEu',
  SESSION_SECRET: 'p1Wn9bVe5cXq2zMr7tYk4uHs8dJf6gLo',
  DATACAPTURE_ENCRYPTION_KEY: '9f1c2b7ae04d8835617fbc92d0a3e64815c7b8f2904e6d1a3b5c7f9e8d6a4b20',
  AUDIT_SIGNING_KEY: 'e3Rt6yUi9oPl2kJh5gFd8sAz1xCv4bNm',
  TEMPORAL_PAYLOAD_KEY: '4d81f0c6a97b3e52d8146fb09c7a25e31b60d94f8e2c7a5306bd19f48ce7a253',
  ADMIN_PASSWORD: 'Tr4verse-Quill-88',
};
/** A secret of the same form as another. */
const TWINS: Record<string, keyof typeof good> = {
  JWT_SECRET: 'SESSION_SECRET',
  DATACAPTURE_ENCRYPTION_KEY: 'TEMPORAL_PAYLOAD_KEY',
  TEMPORAL_PAYLOAD_KEY: 'DATACAPTURE_ENCRYPTION_KEY',
};
const faultsOf = (env: Record<string, string>, reader?: Reader): string[] => {
  try {
    readSettings(env, reader);
    return [];
  } catch (fault) {
    if (fault instanceof SettingsError) return fault.faults;
    throw fault;
  }
};

describe('.env.example', () => {
  it('is what the settings say: every one with its default', () => {
    expect(readFileSync(join(root, '.env.example'), 'utf8')).to.equal(envExample());
  });
});

describe('docker-compose.yml', () => {
  it('passes every setting on that is not decided by the composition itself', () => {
    const decided = [
      'HOST',
      'PORT',
      'DATA_DIR',
      'POSTGRES_PORT',
      'POSTGRES_HOST',
      'TEMPORAL_HOST',
      'MAIL_HOST',
      'TEMPORAL_PORT',
      'TEMPORAL_UI_PORT',
      'MAIL_PORT',
      'MAIL_UI_PORT',
      'TEMPORAL_CLI',
      'TEMPORAL_RETENTION_DAYS',
      'AUDIT_CHECKPOINT_DIR',
      'CHROMIUM_PATH',
      'BACKUP_DIR',
    ];
    const passed = new Set(
      [...readFileSync(join(root, 'docker-compose.yml'), 'utf8').matchAll(/^ {4,6}([A-Z_\d]+): /gm)].map(
        ([, name]) => name,
      ),
    );
    expect(
      Object.keys(settingDefinitions).filter((name) => !passed.has(name) && !decided.includes(name)),
    ).to.deep.equal([]);
  });
});

describe('the settings', () => {
  it('take every duration short enough for a test to wait for', () => {
    for (const [name, value] of [
      ['REFRESH_TOKEN_DAYS', '0.00005'],
      ['PUSH_RETRY_MAX_DAYS', '0.0001'],
      ['EVENT_RETRY_MAX_DAYS', '0.00001'],
      ['INVITATION_DAYS', '0.00001'],
      ['REMINDER_MAX_LATENESS_HOURS', '0.0003'],
      ['WEBHOOK_DEDUPE_HOURS', '0.0001'],
      ['MAGIC_LINK_MINUTES', '0.001'],
      ['AUDIT_CHECKPOINT_SECONDS', '0.05'],
    ] as const) {
      expect(faultsOf({ [name]: value }), name).to.deep.equal([]);
    }
    for (const name of Object.keys(settingDefinitions).filter((name) => /_(SECONDS|MINUTES|HOURS|DAYS)$/.test(name))) {
      expect(faultsOf({ [name]: '0' }).join(), name).to.match(
        new RegExp(`^${name} must lie between 0\\.0|^${name} must lie between 1 `),
      );
    }
  });

  it('name no server that production must have: it may run on the embedded ones', () => {
    expect(faultsOf(good)).to.deep.equal([]);
  });

  it('refuse an address that people reach production by without https', () => {
    expect(faultsOf({ ...good, PUBLIC_URL: 'http://study.example.org' })).to.deep.equal([
      'PUBLIC_URL must be https in production',
    ]);
  });

  const { NODE_ENV: _production, ...required } = good;
  for (const name of Object.keys(required)) {
    it(`refuse production without ${name}`, () => {
      expect(faultsOf({ ...good, [name]: '' })).to.deep.equal([`${name} is required in production`]);
    });
    // A payload key is 32 bytes in any environment.
    const is = (fault: string) =>
      name === 'TEMPORAL_PAYLOAD_KEY' ? /^TEMPORAL_PAYLOAD_KEY must/m : new RegExp(`^${name} is ${fault}`, 'm');
    it(`refuse a short ${name} in production`, () => {
      const least = name === 'ADMIN_PASSWORD' ? 12 : 32;
      expect(faultsOf({ ...good, [name]: 'Zk4-vQ9tRw' }).join('\n')).to.match(is(`shorter than ${least} characters`));
    });
    it(`refuse a known default as ${name} in production`, () => {
      expect(faultsOf({ ...good, [name]: 'changeme-changeme-changeme-changeme' }).join('\n')).to.match(
        is('a known default or too simple'),
      );
    });
    it(`refuse ${name} that is equal to another in production`, () => {
      const twin = TWINS[name] ?? 'JWT_SECRET';
      const [fault, ...others] = faultsOf({ ...good, [name]: good[twin] });
      expect(fault).to.be.oneOf([`${name} is equal to ${twin}`, `${twin} is equal to ${name}`]);
      expect(others).to.deep.equal([]);
    });
  }

  it('name a malformed or blank secret once: it is not missing', () => {
    const sealed = { ...good, TEMPORAL_PAYLOADS: 'sealed', TEMPORAL_PAYLOAD_KEY: 'abc', SESSION_SECRET: ' ' };
    for (const reader of [undefined, 'api', 'worker', 'tool'] as const)
      expect(faultsOf(sealed, reader).map((fault) => fault.split(' ')[0])).to.have.members([
        'SESSION_SECRET',
        'TEMPORAL_PAYLOAD_KEY',
      ]);
  });

  it('refuse a key in production that is another one in another spelling', () => {
    const key = Buffer.from(good.DATACAPTURE_ENCRYPTION_KEY, 'hex').toString('base64');
    for (const twin of [key, good.DATACAPTURE_ENCRYPTION_KEY.toUpperCase(), ` ${good.DATACAPTURE_ENCRYPTION_KEY}`])
      expect(faultsOf({ ...good, AUDIT_SIGNING_KEY: twin })).to.deep.equal([
        'AUDIT_SIGNING_KEY is equal to DATACAPTURE_ENCRYPTION_KEY',
      ]);
  });

  for (const [name, least] of [
    ['DATABASE_APP_PASSWORD', 12],
    ['METRICS_TOKEN', 32],
    ['MESSAGE_SIGNING_KEY', 32],
  ] as const) {
    it(`refuse a short ${name} in production`, () => {
      expect(faultsOf({ ...good, [name]: 'Zk4-vQ9tRw' })).to.deep.equal([
        `${name} is shorter than ${least} characters`,
      ]);
    });
    it(`refuse a known default as ${name} in production`, () => {
      expect(faultsOf({ ...good, [name]: 'changeme-changeme-changeme-changeme' })).to.deep.equal([
        `${name} is a known default or too simple`,
      ]);
    });
    it(`refuse ${name} that is equal to another in production`, () => {
      expect(faultsOf({ ...good, [name]: good.SESSION_SECRET })).to.deep.equal([`${name} is equal to SESSION_SECRET`]);
    });
  }

  for (const [name, value, fault] of [
    ['LOG_LEVEL', 'verbose', 'must be one of trace, debug, info, warn, error'],
    ['PUBLIC_URL', 'study.example.org', 'is no http or https address'],
    ['PUBLIC_URL', 'https://study.example.org/?page=1', 'may hold no query, no # and no blank'],
    ['TEMPORAL_UI_URL', 'localhost:8233', 'is no http or https address'],
    ['TEMPORAL_UI_URL', 'https://temporal.example.org/#top', 'may hold no query, no # and no blank'],
    ['SMS_GATEWAY_URL', 'gateway', 'is no http or https address'],
    ['PUSH_GATEWAY_URL', 'ftp://gateway.example.org', 'is no http or https address'],
    ['TEMPORAL_ADDRESS', 'http://127.0.0.1:7233', 'is not host:port'],
    ['VAPID_SUBJECT', 'ops@example.org', 'is no mailto: or https: address'],
    ['MAIL_FROM', 'Our Study', 'is no sender: an email address, or Name <address>'],
    ['ADMIN_EMAIL', 'admin', 'is no email address'],
    ['ADMIN_EMAIL', `${'x'.repeat(309)}@example.org`, 'is longer than 320 characters'],
    ['ADMIN_PASSWORD', 'Quill'.repeat(201), 'is longer than 1000 characters'],
    ['VAPID_PRIVATE_KEY', 'A'.repeat(43), 'is no private key of the curve P-256'],
    ['MFA_REQUIRED_ROLES', ' ', 'is blank: leave it empty, or give it a value'],
    ['MFA_REQUIRED_ROLES', ',', 'names nothing: ","'],
    ['WEBHOOK_ALLOWED_IPS', ', ,', 'names nothing: ", ,"'],
    ['COMPLIANCE_ACTIONS', ',', 'names nothing: ","'],
    ['DATA_DIR', '  ', 'is blank: leave it empty, or give it a value'],
    ['REFRESH_TOKEN_DAYS', '1e6', 'must lie between 0.000001 and 36525, not 1000000'],
    ['REQUEST_TIMEOUT_SECONDS', '3000000', 'must lie between 0.001 and 2147483, not 3000000'],
    ['TEMPORAL_RETENTION_DAYS', '200000', 'must lie between 1 and 36500, not 200000'],
    ['DATABASE_POOL_MAX', '2', 'must lie between 3 and 10000, not 2'],
    ['PORT', '0x1F90', 'is not a decimal number: "0x1F90"'],
    ['REMINDER_INTERVAL_SECONDS', ' 0b101', 'is not a decimal number: " 0b101"'],
    ['TEMPORAL_NAMESPACE', 'n'.repeat(1_001), 'is longer than 1000 bytes, the most that Temporal takes'],
    ['TEMPORAL_NAMESPACE', 'büro', 'may hold ASCII letters, digits and signs only, and is not temporal-system'],
    ['TEMPORAL_TASK_QUEUE', 'ü'.repeat(501), 'is longer than 1000 bytes, the most that Temporal takes'],
    ['TEMPORAL_TASK_QUEUE', '/_sys/queue', 'may hold no control characters, and not begin with /_sys/'],
    ['TEMPORAL_TLS_CA_FILE', '/no/such/ca.pem', 'names /no/such/ca.pem, which cannot be read (ENOENT)'],
  ] as const) {
    it(`refuse ${name}=${value.slice(0, 50)} that is of another form, in one sentence`, () => {
      expect(faultsOf({ [name]: value })).to.deep.equal([`${name} ${fault}`]);
    });
  }

  it('take what is of the form', () => {
    for (const [name, value] of [
      ['LOG_LEVEL', 'debug'],
      ['PUBLIC_URL', 'http://study.example.org:8000/base/'],
      ['TEMPORAL_UI_URL', 'https://temporal.example.org'],
      ['TEMPORAL_ADDRESS', 'temporal.example.org:7233'],
      ['TEMPORAL_ADDRESS', '[::1]:7233'],
      ['VAPID_SUBJECT', 'mailto:ops@example.org'],
      ['MAIL_FROM', 'ops@example.org'],
      ['MAIL_FROM', 'Größe, Zeit & Co <ops@example.org>'],
      ['ADMIN_EMAIL', 'admin@localhost'],
      ['ADMIN_EMAIL', `${'x'.repeat(308)}@example.org`],
      ['ADMIN_PASSWORD', 'Quill'.repeat(200)],
      ['RATE_LIMIT_PER_MINUTE', ' 60 '],
      ['TEMPORAL_NAMESPACE', 'Our studies'],
      ['TEMPORAL_TASK_QUEUE', 'ü'.repeat(500)],
    ] as const)
      expect(faultsOf({ [name]: value }), `${name} ${value}`).to.deep.equal([]);
  });

  it('refuse certificates that would count for nothing, and half of a pair', () => {
    const file = join(root, 'package.json');
    const tls = { TEMPORAL_ADDRESS: 'temporal.example.org:7233', TEMPORAL_TLS: 'true' };
    expect(faultsOf({ ...tls, TEMPORAL_TLS_CA_FILE: file })).to.deep.equal([]);
    expect(faultsOf({ ...tls, TEMPORAL_ADDRESS: '' })).to.deep.equal([
      'TEMPORAL_TLS is true, which needs TEMPORAL_ADDRESS',
    ]);
    expect(faultsOf({ TEMPORAL_TLS_CA_FILE: file })).to.deep.equal([
      'TEMPORAL_TLS_CA_FILE is set, which needs TEMPORAL_TLS',
    ]);
    expect(faultsOf({ ...tls, TEMPORAL_TLS_CERT_FILE: file })).to.deep.equal([
      'TEMPORAL_TLS_CERT_FILE and TEMPORAL_TLS_KEY_FILE belong together: set both, or none',
    ]);
  });

  it('refuse an environment that is none', () => {
    expect(faultsOf({ NODE_ENV: 'prod' })).to.deep.equal([
      'NODE_ENV must be development, test or production, not "prod"',
    ]);
  });

  it('refuse a program that must seal and has no key', () => {
    const sealed = { TEMPORAL_PAYLOADS: 'sealed', DATABASE_URL: '', TEMPORAL_PAYLOAD_KEY: '' };
    expect(() => readSettings(sealed, 'worker')).to.throw('TEMPORAL_PAYLOADS is "sealed"');
    expect(faultsOf(sealed), 'npm start makes the key').to.deep.equal([]);
  });

  it('refuse unsigned messages in production where they are not told otherwise', () => {
    expect(unsignedMessages(readSettings(good))).to.equal('refuse');
    expect(unsignedMessages(readSettings({}))).to.equal('accept');
    expect(unsignedMessages(readSettings({ UNSIGNED_MESSAGES: 'refuse' }))).to.equal('refuse');
  });

  for (const value of [
    'changeme-changeme-changeme-changeme',
    'changemechangemechangemechangeme',
    'change-me-change-me-change-me-1234',
    'secretsecretsecretsecretsecretsecret',
    'password1234',
    'Password12345678',
    'passwordpassword',
    'Admin1234567!',
    'research-assessment',
    'admin@example.org',
    'Research Assessment <no-reply@example.org>',
    'changeme'.padEnd(32, 'x'),
    'changeme'.padEnd(40, '0'),
    'test-secret-test-secret-test-secret',
    'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa',
    'please-change-me-in-production-now',
    'your-super-secret-jwt-key-change-this-in-production',
    'supersecretsupersecretsupersecretsupersecret',
    'change-me-to-a-random-32-character-string',
    'your-secret-key-your-secret-key-here',
    'insecure-development-secret-do-not-use',
    'letmeinletmeinletmeinletmein',
  ]) {
    it(`in production "${value}" is a known default`, () => {
      const faults = faultsOf({ ...good, ADMIN_PASSWORD: value });
      expect(faults).to.deep.equal(['ADMIN_PASSWORD is a known default or too simple']);
    });
  }

  for (const value of [
    'Admin-9f3kQ-zz81-Lw!',
    'test-7f0c94be1d2a5836e7f0c94be1d2a5836e7f0c94b',
    'secret-5f2b8c1e-7a3d-4e90-b6f4-19c8d2a7e035',
    'Default-Quill-Traverse-88',
    'my-signing-key-Xk3vPq9-tRw',
    'keytokenstring-4f9a1c7be2d0',
    'password-is-Wv8mK2xQ',
  ]) {
    it(`in production "${value}" is a secret of one's own`, () => {
      expect(faultsOf({ ...good, ADMIN_PASSWORD: value })).to.deep.equal([]);
    });
  }
});
