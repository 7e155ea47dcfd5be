/**
 * The one reader of the environment. Every setting is declared once, with its default and what it is for;
 * `.env.example` is written from the same table (`npm run env:example`), so that the two cannot differ.
 */
import { createECDH } from 'node:crypto';
import { accessSync, constants, readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { join } from 'node:path';

export class SettingsError extends Error {
  /** Private: an error that nobody catches is printed with its fields, and these are secrets. */
  readonly #read: Settings | undefined;

  /** @param read what could be read all the same, with defaults in place of what could not */
  constructor(
    readonly faults: string[],
    read?: Settings,
  ) {
    super(
      'The settings have ' +
        `${faults.length === 1 ? 'a fault' : `${faults.length} faults`}:\n${faults.map((f) => `  - ${f}`).join('\n')}`,
    );
    this.name = 'SettingsError';
    this.#read = read;
  }

  get read(): Settings | undefined {
    return this.#read;
  }
}

interface Definition<T> {
  group: string;
  doc: string;
  /** The default as it would be written in the environment; `undefined`: not set. */
  fallback: string | undefined;
  /** Throws an Error whose message completes "NAME …". */
  parse: (raw: string | undefined) => T;
  secret?: boolean;
}

const text = (group: string, doc: string, fallback: string): Definition<string> => ({
  group,
  doc,
  fallback,
  parse: (raw) => raw ?? fallback,
});
const optional = (group: string, doc: string): Definition<string | undefined> => ({
  group,
  doc,
  fallback: undefined,
  parse: (raw) => raw,
});
const secret = (group: string, doc: string): Definition<string | undefined> => ({
  ...optional(group, doc),
  secret: true,
});
/** A secret that is sent as a bearer token: nothing else than what fits there. */
const bearerToken = (group: string, doc: string): Definition<string | undefined> => ({
  ...secret(group, doc),
  parse: (raw) => {
    if (raw !== undefined && !/^[A-Za-z0-9._~+/=-]+$/.test(raw))
      throw new Error('may hold letters, digits and . _ ~ + / = - only');
    if (raw !== undefined && raw.length < 32) throw new Error('is shorter than 32 characters');
    return raw;
  },
});
const vapidKey = (group: string, doc: string): Definition<string | undefined> => ({
  ...secret(group, doc),
  parse: (raw) => {
    if (raw !== undefined && !/^[A-Za-z0-9_-]{43}=?$/.test(raw))
      throw new Error('must be 32 bytes, written as base64url');
    if (raw !== undefined && !isKeyOfCurve(raw)) throw new Error('is no private key of the curve P-256');
    return raw;
  },
});
const KEY_FORM = 'must be 32 bytes, written as hex (64 characters) or base64';
/** A key that may be left out. */
const key = (group: string, doc: string): Definition<string | undefined> => ({
  ...secret(group, doc),
  parse: (raw) => {
    if (raw !== undefined && !encryptionKeyBytes(raw)) throw new Error(KEY_FORM);
    return raw;
  },
});
const keyList = (group: string, doc: string): Definition<string[] | undefined> => ({
  ...list(group, doc),
  secret: true,
  parse: (raw) => {
    const named = list(group, doc).parse(raw);
    if (named?.some((one) => !encryptionKeyBytes(one))) throw new Error(`names keys, of which each ${KEY_FORM}`);
    return named;
  },
});
const number = (
  group: string,
  doc: string,
  fallback: number,
  { min = 0, max = Number.MAX_SAFE_INTEGER, integer = false } = {},
): Definition<number> => ({
  group,
  doc,
  fallback: String(fallback),
  parse: (raw) => {
    const value = raw === undefined ? fallback : Number(raw);
    if (!Number.isFinite(value) || raw?.trim() === '') throw new Error(`is not a number: "${raw}"`);
    // Read as another number by other programs that are given the same environment (docker compose, a proxy).
    if (/^\s*0[box]/i.test(raw ?? '')) throw new Error(`is not a decimal number: "${raw}"`);
    if (integer && !Number.isInteger(value)) throw new Error(`is not a whole number: "${raw}"`);
    if (value < min || value > max) throw new Error(`must lie between ${min} and ${max}, not ${value}`);
    return value;
  },
});
/** Whole numbers of at least 1. */
const count = (group: string, doc: string, fallback: number) => number(group, doc, fallback, { min: 1, integer: true });
/** What a provider of messages takes in a minute. */
const perMinute = (doc: string) => number('Limits', doc, 0);
/** About a millisecond, or a tenth of a second for days: shorter than anybody waits for. */
const SHORTEST = { SECONDS: 0.001, MINUTES: 0.0001, HOURS: 0.000001, DAYS: 0.000001 } as const;
/** A hundred years: what ends later has no date any more. */
const LONGEST = { SECONDS: 3_155_760_000, MINUTES: 52_596_000, HOURS: 876_600, DAYS: 36_525 } as const;
/** Durations: any fraction above zero. */
const duration = (unit: keyof typeof SHORTEST, doc: string, fallback: number) =>
  number('Durations', doc, fallback, { min: SHORTEST[unit], max: LONGEST[unit] });
/** What a timer of the runtime waits for: 24 days at most, a longer one would end at once. */
const wait = (doc: string, fallback: number) =>
  number('Durations', doc, fallback, { min: SHORTEST.SECONDS, max: 2_147_483 });
const port = (doc: string, fallback: number): Definition<number | 'auto'> => ({
  group: 'Ports',
  doc,
  fallback: String(fallback),
  parse: (raw) => {
    if (raw === 'auto') return 'auto';
    return number('', '', fallback, { min: 1, max: 65535, integer: true }).parse(raw);
  },
});
const optionalPort = (group: string, doc: string): Definition<number | 'auto' | undefined> => ({
  group,
  doc,
  fallback: undefined,
  parse: (raw) => (raw === undefined ? undefined : port(doc, 0).parse(raw)),
});
const flag = (group: string, doc: string, fallback: boolean): Definition<boolean> => ({
  group,
  doc,
  fallback: String(fallback),
  parse: (raw) => {
    if (raw === undefined) return fallback;
    if (/^(true|1|yes|on)$/i.test(raw)) return true;
    if (/^(false|0|no|off)$/i.test(raw)) return false;
    throw new Error(`must be true or false, not "${raw}"`);
  },
});
const oneOfWords = <Word extends string>(
  group: string,
  words: readonly Word[],
  doc: string,
): Definition<Word | undefined> => ({
  group,
  doc: `${words.join(' or ')}: ${doc}`,
  fallback: undefined,
  parse: (raw) => {
    if (raw !== undefined && !words.includes(raw as Word))
      throw new Error(`must be ${words.join(' or ')}, not "${raw}"`);
    return raw as Word | undefined;
  },
});
const optionalFlag = (group: string, doc: string): Definition<boolean | undefined> => ({
  group,
  doc,
  fallback: undefined,
  parse: (raw) => (raw === undefined ? undefined : flag(group, doc, false).parse(raw)),
});
const cidrs = (group: string, doc: string): Definition<string[] | undefined> => ({
  group,
  doc,
  fallback: undefined,
  parse: (raw) => {
    const entries = list(group, doc).parse(raw);
    const wrong = entries?.filter((entry) => !isCidr(entry)) ?? [];
    if (wrong.length > 0) throw new Error(`has values that are neither an address nor a CIDR: ${wrong.join(', ')}`);
    return entries;
  },
});
const isCidr = (entry: string): boolean => {
  const [address = '', bits, more] = entry.split('/');
  const family = isIP(address);
  return (
    family !== 0 &&
    more === undefined &&
    (bits === undefined || (/^\d+$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128)))
  );
};
const list = (group: string, doc: string): Definition<string[] | undefined> => ({
  group,
  doc,
  fallback: undefined,
  parse: (raw) => {
    const named = raw
      ?.split(',')
      .map((s) => s.trim())
      .filter(Boolean);
    // Otherwise a comma that was left would mean nobody: no second factor, or no trigger.
    if (named?.length === 0) throw new Error(`names nothing: "${raw}"`);
    return named;
  },
});

/** A text of a form. The fault does not repeat the value: an address may hold a password. */
const formed = (
  group: string,
  doc: string,
  { is, otherwise }: { is: (raw: string) => boolean; otherwise: string },
): Definition<string | undefined> => ({
  group,
  doc,
  fallback: undefined,
  parse: (raw) => {
    if (raw !== undefined && !is(raw)) throw new Error(otherwise);
    return raw;
  },
});
/** The path of a file that is read at the start. */
const readableFile = (group: string, doc: string): Definition<string | undefined> => ({
  ...optional(group, doc),
  parse: (raw) => {
    try {
      if (raw !== undefined) accessSync(raw, constants.R_OK);
    } catch (fault) {
      throw new Error(`names ${raw}, which cannot be read (${(fault as NodeJS.ErrnoException).code})`, {
        cause: fault,
      });
    }
    return raw;
  },
});
/** As `formed`, with a default. */
const formedText = (group: string, doc: string, fallback: string, form: Parameters<typeof formed>[2]) => ({
  ...text(group, doc, fallback),
  parse: (raw: string | undefined) => formed(group, doc, form).parse(raw) ?? fallback,
});

/** A name that a Temporal server takes. */
const temporalName = (
  what: string,
  fallback: string,
  { is, otherwise }: { is: (raw: string) => boolean; otherwise: string },
): Definition<string> => ({
  ...text('Servers of your own', what, fallback),
  parse: (raw = fallback) => {
    if (Buffer.byteLength(raw) > 1_000) throw new Error('is longer than 1000 bytes, the most that Temporal takes');
    if (!is(raw)) throw new Error(otherwise);
    return raw;
  },
});

/** What a login takes no more of. The fault does not repeat the value. */
const notLonger = <T>(most: number, definition: Definition<T>): Definition<T> => ({
  ...definition,
  parse: (raw) => {
    if (raw !== undefined && [...raw].length > most) throw new Error(`is longer than ${most} characters`);
    return definition.parse(raw);
  },
});

/** An address of a server over HTTP. */
const address = (group: string, doc: string): Definition<string | undefined> =>
  formed(group, doc, {
    is: (raw) => URL.canParse(raw) && /^https?:\/\//i.test(raw),
    otherwise: 'is no http or https address',
  });
/** An address that paths are appended to. */
const baseAddress = (group: string, doc: string): Definition<string | undefined> => ({
  ...address(group, doc),
  parse: (raw) => {
    const base = address(group, doc).parse(raw);
    if (base !== undefined && /[?#\s]/.test(base)) throw new Error('may hold no query, no # and no blank');
    return base;
  },
});
const MAIL_ADDRESS = '[^\\s@<>,;]+@[^\\s@<>,;]+';

/** The URL of a server, by the schemes of its protocol. The fault does not repeat it: it may hold a password. */
const server = (schemes: readonly string[], doc: string): Definition<string | undefined> => ({
  group: 'Servers of your own',
  doc,
  fallback: undefined,
  parse: (raw) => {
    if (raw !== undefined && !(URL.canParse(raw) && schemes.includes(new URL(raw).protocol.slice(0, -1))))
      throw new Error(`is not a URL of ${schemes.map((scheme) => `${scheme}://`).join(' or ')}`);
    return raw;
  },
});

/** As a browser sends it: an app's shell has a scheme of its own (`capacitor://localhost`), a page of a file `null`. */
const ORIGIN = /^(null|file:\/\/|[a-z][a-z0-9+.-]*:\/\/[^/?#@\s*]+)$/;
/** Origins by commas, as browsers write them: scheme, host and port, nothing behind. */
const origins = (group: string, doc: string): Definition<string[] | undefined> => ({
  group,
  doc,
  fallback: undefined,
  parse: (raw) => {
    const named = list(group, doc).parse(raw);
    const wrong = named?.filter((origin) => !ORIGIN.test(origin)) ?? [];
    if (wrong.length > 0) throw new Error(`has values that are no origin: ${wrong.join(', ')}`);
    return named;
  },
});

const LOG_LEVELS: readonly string[] = ['trace', 'debug', 'info', 'warn', 'error'];
const ROLES = ['admin', 'researcher', 'coordinator', 'investigator', 'data_manager'];
/** Roles by commas, or the one word `none`. */
const roleList = (group: string, doc: string): Definition<string[] | undefined> => ({
  group,
  doc,
  fallback: undefined,
  parse: (raw) => {
    const named = list(group, doc).parse(raw);
    if (named?.length === 1 && named[0] === 'none') return [];
    const wrong = named?.filter((role) => !ROLES.includes(role)) ?? [];
    if (wrong.length > 0) throw new Error(`has values that are no role: ${wrong.join(', ')}`);
    return named;
  },
});

/** Names of audit actions, by commas. */
const actionList = (group: string, doc: string, fallback: string): Definition<string[]> => ({
  group,
  doc,
  fallback,
  parse: (raw) => {
    const named = list(group, doc).parse(raw ?? fallback) ?? [];
    const wrong = named.filter((name) => !/^[a-z][a-z0-9_]{0,99}$/.test(name));
    if (wrong.length > 0)
      throw new Error(`may hold lower-case letters, digits and _ in each name, but has ${wrong.join(', ')}`);
    return named;
  },
});

export const settingDefinitions = {
  NODE_ENV: text('General', 'development or production; production requires real secrets', 'development'),
  HOST: text('General', 'address that the API listens on', '127.0.0.1'),
  DATA_DIR: text('General', 'database, Temporal file, logs, keys, run.json', '.data'),
  LOG_LEVEL: formedText('General', LOG_LEVELS.join(', '), 'info', {
    is: (raw) => LOG_LEVELS.includes(raw),
    otherwise: `must be one of ${LOG_LEVELS.join(', ')}`,
  }),
  PUBLIC_URL: baseAddress(
    'General',
    'base URL that people reach the API by (links in mails); default: where it listens',
  ),
  TRUST_PROXY: flag('General', 'take the client address from X-Forwarded-For', false),

  PORT: port('API', 8000),
  POSTGRES_PORT: port('embedded PostgreSQL', 5433),
  TEMPORAL_PARTICIPANT_CODES: flag(
    'Switches',
    'shows participant codes in Temporal: as search attribute ParticipantCode and in the details; pseudonyms, ' +
      'but not encrypted there',
    false,
  ),
  TEMPORAL_PORT: port('embedded Temporal server', 7233),
  TEMPORAL_UI_PORT: port('Temporal Web UI', 8233),
  POSTGRES_HOST: text('Ports', 'address that the embedded PostgreSQL listens on', '127.0.0.1'),
  TEMPORAL_HOST: text('Ports', 'address that the embedded Temporal server and its Web UI listen on', '127.0.0.1'),
  MAIL_HOST: text('Ports', 'address that the mail catcher listens on', '127.0.0.1'),
  MAIL_PORT: port('mail catcher, SMTP', 1025),
  MAIL_UI_PORT: port('mail catcher, page and JSON', 1080),

  DATABASE_URL: server(
    ['postgres', 'postgresql'],
    'PostgreSQL, owner of the schema; set: no embedded PostgreSQL is started',
  ),
  DATABASE_APP_PASSWORD: secret(
    'Servers of your own',
    'password of the role research_app that API and worker log in as; not set: they log in as the owner and ' +
      'take the role',
  ),
  DATABASE_POOL_MAX: number(
    'Servers of your own',
    'connections to PostgreSQL for each process, at least 3: the worker keeps two for its sweeps',
    20,
    { min: 3, max: 10_000, integer: true },
  ),
  TEMPORAL_ADDRESS: formed('Servers of your own', 'host:port; set: no embedded Temporal server is started', {
    is: (raw) => /^(\[[\da-f:.]+\]|[^\s:/@]+)(:\d{1,5})?$/i.test(raw),
    otherwise: 'is not host:port',
  }),
  TEMPORAL_TLS: flag('Servers of your own', 'connects to the server of TEMPORAL_ADDRESS by TLS', false),
  TEMPORAL_TLS_CA_FILE: readableFile(
    'Servers of your own',
    'certificate (PEM) of the authority that signed the one of that server; default: the authorities of the system',
  ),
  TEMPORAL_TLS_CERT_FILE: readableFile(
    'Servers of your own',
    'certificate (PEM) that API and worker show that server (mTLS)',
  ),
  TEMPORAL_TLS_KEY_FILE: readableFile('Servers of your own', 'private key (PEM) of that certificate'),
  TEMPORAL_NAMESPACE: temporalName('Temporal namespace', 'default', {
    is: (raw) => /^[ -~]+$/.test(raw) && raw !== 'temporal-system',
    otherwise: 'may hold ASCII letters, digits and signs only, and is not temporal-system',
  }),
  TEMPORAL_TASK_QUEUE: temporalName(
    'Temporal task queue; workflows stay on the one that they began on (docs/OPERATIONS.md, "Another task queue")',
    'research-assessment',
    {
      is: (raw) => !/^\/_sys\/|\p{Cc}/u.test(raw),
      otherwise: 'may hold no control characters, and not begin with /_sys/',
    },
  ),
  TEMPORAL_UI_URL: baseAddress(
    'Servers of your own',
    'Temporal Web UI that links point to, when it is not the embedded one',
  ),
  TEMPORAL_CLI: optional('Servers of your own', 'the temporal command to use instead of looking for one'),
  TEMPORAL_RETENTION_DAYS: number(
    'Servers of your own',
    'how long the embedded Temporal server keeps closed histories',
    90,
    { min: 1, max: 36_500, integer: true },
  ),
  REDIS_URL: server(['redis', 'rediss'], 'shares the rate limits instead of PostgreSQL'),
  SMTP_URL: server(['smtp', 'smtps'], 'mail server; set: no mail catcher is started'),
  MAIL_FROM: formedText('Servers of your own', 'sender of all mail', 'Research Assessment <no-reply@example.org>', {
    is: (raw) => new RegExp(`^(${MAIL_ADDRESS}|[^<>\\n]*<${MAIL_ADDRESS}>)$`).test(raw.trim()),
    otherwise: 'is no sender: an email address, or Name <address>',
  }),
  SMS_GATEWAY_URL: address('Servers of your own', 'HTTP gateway for text messages'),
  PUSH_GATEWAY_URL: address('Servers of your own', 'HTTP gateway for push messages to apps'),
  VAPID_SUBJECT: formed(
    'Servers of your own',
    'whom push services of browsers may write to, mailto: or https:; default: the address of MAIL_FROM',
    {
      is: (raw) => URL.canParse(raw) && /^(mailto:.|https:\/\/)/i.test(raw),
      otherwise: 'is no mailto: or https: address',
    },
  ),

  ADMIN_EMAIL: notLonger(
    320,
    formedText('First admin', 'account created at the first start', 'admin@example.org', {
      is: (raw) => new RegExp(`^${MAIL_ADDRESS}$`).test(raw),
      otherwise: 'is no email address',
    }),
  ),
  ADMIN_PASSWORD: notLonger(
    1_000,
    secret(
      'First admin',
      'development: generated once, printed and kept in DATA_DIR; production: required, at least 12 characters',
    ),
  ),

  JWT_SECRET: secret('Secrets', 'signs access tokens; at least 32 characters'),
  MESSAGE_SIGNING_KEY: secret(
    'Secrets',
    'seed of the Ed25519 key by which the API signs messages to workflows for the persons who send them; not ' +
      'set: derived from JWT_SECRET',
  ),
  SESSION_SECRET: secret('Secrets', 'signs portal cookies and links; at least 32 characters'),
  DATACAPTURE_ENCRYPTION_KEY: secret('Secrets', '32 bytes, hex or base64: encrypts capture-system tokens and secrets'),
  VAPID_PRIVATE_KEY: vapidKey(
    'Secrets',
    'key of Web Push messages (RFC 8292): 32 bytes, base64url, as `npx web-push generate-vapid-keys` prints ' +
      'it; production without it: browsers get none',
  ),
  TEMPORAL_PAYLOAD_KEY: key(
    'Secrets',
    '32 bytes, hex or base64: seals what Temporal stores of workflows; development: created at the first start ' +
      'and kept in DATA_DIR; production: required',
  ),
  TEMPORAL_PAYLOAD_FORMER_KEYS: keyList(
    'Secrets',
    'previous keys, comma-separated: what they encrypted can still be read',
  ),
  AUDIT_SIGNING_KEY: secret('Secrets', 'seed of the Ed25519 key that signs audit checkpoints; at least 32 characters'),

  ACCESS_TOKEN_MINUTES: duration('MINUTES', 'life of an access token', 30),
  REFRESH_TOKEN_DAYS: duration('DAYS', 'life of a refresh token', 7),
  PORTAL_REFRESH_DAYS: duration('DAYS', 'life of a refresh token of the portal', 30),
  ASSESSMENT_SESSION_MINUTES: duration('MINUTES', 'life of an assessment session', 120),
  MAGIC_LINK_MINUTES: duration('MINUTES', 'life of a portal link', 15),
  REAUTHENTICATION_MINUTES: duration(
    'MINUTES',
    'how old a login may be that mints a token or sets up a second factor without password or code',
    5,
  ),
  CONSOLE_IDLE_MINUTES: duration('MINUTES', 'a login of the console ends after so long without a request', 30),
  PASSWORD_RESET_MINUTES: duration('MINUTES', 'life of a link for a new password', 60),
  INVITATION_DAYS: duration('DAYS', 'life of an invitation', 7),
  REMINDER_INTERVAL_SECONDS: duration('SECONDS', 'how often due reminders are sent', 300),
  REMINDER_MAX_LATENESS_HOURS: duration('HOURS', 'a reminder later than this is suppressed', 12),
  MESSAGE_RETRY_MAX_DAYS: duration('DAYS', 'how long a message is tried that a mail server or gateway puts off', 7),
  VISIT_STATUS_INTERVAL_SECONDS: duration('SECONDS', 'how often visit states follow the calendar', 3600),
  DATACAPTURE_TIMEOUT_SECONDS: number(
    'Durations',
    'how long one call to the capture system may take; somebody who waits for an answer waits 20 s at most',
    60,
    { min: SHORTEST.SECONDS, max: 120 },
  ),
  DATACAPTURE_BREAKER_FAILURES: count('Durations', 'failures in a row that open the circuit breaker', 5),
  DATACAPTURE_BREAKER_COOLDOWN_SECONDS: duration('SECONDS', 'how long an open breaker refuses calls', 60),
  PUSH_RETRY_INITIAL_SECONDS: duration('SECONDS', 'first wait before a push is repeated', 5),
  PUSH_RETRY_MAX_DAYS: duration('DAYS', 'how long a push is repeated', 7),
  EVENT_RETRY_INITIAL_SECONDS: duration('SECONDS', 'first wait before an event delivery is repeated', 5),
  EVENT_RETRY_MAX_DAYS: duration('DAYS', 'how long an event delivery is repeated', 3),
  EVENT_TIMEOUT_SECONDS: wait('how long a subscriber may take to answer', 10),
  EVENT_SECRET_OVERLAP_HOURS: duration('HOURS', 'how long a replaced signing secret signs along with the new one', 24),
  FAILING_WORKFLOWS_INTERVAL_SECONDS: wait('how often workers look for workflows whose task fails again and again', 60),
  VISIT_COUNTS_CHECK_SECONDS: duration(
    'SECONDS',
    'after how long all visits of a study are counted again, and compared with the counts that are kept for reports',
    10_800,
  ),
  AUDIT_CHECKPOINT_SECONDS: duration('SECONDS', 'how often chains that grew are signed', 3600),
  WEBHOOK_DEDUPE_HOURS: duration('HOURS', 'how long the same trigger counts as a duplicate', 24),
  EXPORT_RETENTION_HOURS: duration('HOURS', 'how long a file that was exported in the background is kept', 72),
  REQUEST_TIMEOUT_SECONDS: wait(
    'how long a request waits for the worker, for what another one has locked, or for a database that does ' +
      'not answer, before 503',
    10,
  ),
  STATEMENT_TIMEOUT_SECONDS: wait(
    'how long one statement of a request may take before 503; files in and out, verifications and documents ' +
      'have their own limit',
    60,
  ),
  REQUEST_ARRIVAL_SECONDS: wait('how long a request may take to arrive, its body with it, before 408', 120),

  RATE_LIMIT_PER_MINUTE: count('Limits', 'requests a minute, by user or address', 60),
  AUTH_RATE_LIMIT_PER_MINUTE: count('Limits', 'login and registration, by address and by account', 10),
  WEBHOOK_RATE_LIMIT_PER_MINUTE: count('Limits', 'triggers a minute for each capture project', 600),
  EXPORTS_PER_USER: count(
    'Limits',
    'exports of one study in the background that one user may have unfinished or kept at a time',
    50,
  ),
  LINKS_PER_HOUR: count(
    'Limits',
    'links (portal, password, invitation) that one participant, caregiver or user is sent an hour, and messages ' +
      'that staff send again',
    20,
  ),
  EMAIL_PER_MINUTE: perMinute('mails a minute that the mail server is given, by all workers together; 0: no limit'),
  SMS_PER_MINUTE: perMinute('text messages a minute for their gateway, likewise'),
  PUSH_PER_MINUTE: perMinute('push messages a minute, likewise'),
  DATACAPTURE_PUSHES_PER_MINUTE: count(
    'Limits',
    'calls a minute that pushes make to one capture system, of 600 that it allows before it bans',
    300,
  ),
  WEBHOOK_ALLOWED_IPS: cidrs('Limits', 'CIDRs that triggers may come from; not set: any'),
  MAX_BODY_BYTES: count('Limits', 'JSON body', 5 * 1024 * 1024),
  MAX_UPLOAD_BYTES: count('Limits', 'uploaded file', 20 * 1024 * 1024),
  ALLOW_PRIVATE_URLS: optionalFlag(
    'Limits',
    'capture systems and subscriptions on private addresses; default: not in production',
  ),
  CORS_ORIGINS: origins(
    'Limits',
    'origins whose pages may call the API, by commas (https://app.example.org); not set: none',
  ),
  MFA_REQUIRED_ROLES: roleList(
    'Limits',
    'roles that must use a second factor, by commas, or none; default: admin in production, none else',
  ),

  COMPLIANCE_ACTIONS: actionList(
    'Switches',
    'actions that an admin may record in the audit log by POST /api/audit/records, by commas',
    'cutover_signoff',
  ),
  UNSIGNED_MESSAGES: oneOfWords<'accept' | 'refuse'>(
    'Switches',
    ['accept', 'refuse'],
    'messages to workflows that name a person without an authorization of the API; default: refused in ' +
      'production, else accepted',
  ),
  TEMPORAL_PAYLOADS: oneOfWords<'open' | 'sealed'>(
    'Switches',
    ['open', 'sealed'],
    'whether messages to participants’ workflows whose payload is not sealed with TEMPORAL_PAYLOAD_KEY are ' +
      'accepted (open, the default) or refused (sealed)',
  ),
  METRICS_TOKEN: bearerToken(
    'Switches',
    'lets a monitoring system read /api/metrics/prometheus as its bearer token; at least 32 characters',
  ),
  WORKER_METRICS_PORT: optionalPort(
    'Switches',
    'the worker’s metrics for Prometheus, at /metrics (behind METRICS_TOKEN where that is set); not set: not served',
  ),
  WORKER_METRICS_HOST: text('Switches', 'address that the worker’s metrics are served on', '127.0.0.1'),
  OTEL_EXPORTER_OTLP_ENDPOINT: address(
    'Switches',
    'where OpenTelemetry traces are sent (OTLP over HTTP, such as http://collector:4318); not set: no traces',
  ),
  OTEL_SERVICE_NAME: text('Switches', 'the name of the service in its traces', 'research-assessment-platform'),
  ENABLE_API_DOCS: flag('Switches', 'serve /openapi.json, /docs, /redoc', true),
  ENABLE_API_V1: flag('Switches', 'serve /api/v1', true),
  ENABLE_CONSOLE: flag('Switches', 'serve the staff console at /console', true),
  AUDIT_CHECKPOINT_DIR: optional('Switches', 'where checkpoints are kept; default: DATA_DIR/audit-checkpoints'),
  BACKUP_DIR: optional(
    'Switches',
    'back-ups of the embedded PostgreSQL and the log that leads from them to any later moment (npm run backup, ' +
      'npm run restore); not set: none',
  ),
  CHROMIUM_PATH: optional('Switches', 'browser that prints PDF reports'),
} satisfies Record<string, Definition<unknown>>;

type Definitions = typeof settingDefinitions;
export type SettingName = keyof Definitions;
type Raw = { [K in SettingName]: ReturnType<Definitions[K]['parse']> };
export type Settings = Raw & { production: boolean };

const PLACEHOLDERS =
  /change|(?<![a-z])(?:me|it|now)(?![a-z])|(?<=change)(?:me|it|this|now)|please|in[-_ ]?production|secret|passwor[dt]|default|admin(?:istrator)?|test(?:ing)?|example|insecure|placeholder|todo|x{3,}|super|jwt|session|signing|audit|encryption|key|token|random|string|char(?:acter)?s?|value|letmein|welcome|qwerty|abcdef\w{0,20}|replace|generate|long|strong|development|(?<![a-z])(?:your?|my|an?|the|this|that|to|with|at|of|in|do|not|use|for|here|least|dev|real|own|some|app|very)(?![a-z])/gi;
const COUNTED = /\d*(?:0123|1234|2345|3456|4567|5678|6789|7890|9876|4321)\d*|123|321/g;
/** Below this a value is too simple, whatever it says. */
const FEWEST_SIGNS = 5;

/**
 * Whether a secret is one of the known defaults, or only consists of words used as defaults (`changeme-changeme-…`,
 * `Password1234!`). A secret that begins with such a word and continues with other text is accepted.
 */
export function isKnownDefault(value: string): boolean {
  const lower = value.toLowerCase();
  if (Object.values<Definition<unknown>>(settingDefinitions).some(({ fallback }) => fallback?.toLowerCase() === lower))
    return true;
  if (new Set(value).size < FEWEST_SIGNS) return true;
  const own = lower.replaceAll(PLACEHOLDERS, ' ');
  return own !== lower && new Set(own.replaceAll(COUNTED, '').replaceAll(/[^\p{L}\p{N}]/gu, '')).size < FEWEST_SIGNS;
}

/** Programs of the service that are given their settings by another one. */
export type Program = 'api' | 'worker';
/** `tool`: a command beside the service, which may be run in the place of any of its programs. */
export type Reader = Program | 'tool';
/**
 * What a program has no use for and is not given: the worker checks no access token, and only migrations are done as
 * the owner of the database.
 */
export const WITHHELD: Readonly<Record<Program, readonly string[]>> = {
  api: ['ADMIN_PASSWORD', 'DATABASE_APP_PASSWORD'],
  worker: ['ADMIN_PASSWORD', 'DATABASE_APP_PASSWORD', 'JWT_SECRET', 'MESSAGE_SIGNING_KEY'],
};

const SECRETS = [
  'JWT_SECRET',
  'SESSION_SECRET',
  'DATACAPTURE_ENCRYPTION_KEY',
  'AUDIT_SIGNING_KEY',
  'TEMPORAL_PAYLOAD_KEY',
  'ADMIN_PASSWORD',
] as const;

/**
 * Reads and validates the environment. An empty value counts as not set.
 * @param reader whose settings they are: what it is not given is not missed; a tool says itself what it needs
 * @throws SettingsError naming every fault at once.
 */
export function readSettings(env: Record<string, string | undefined> = process.env, reader?: Reader): Settings {
  const faults: string[] = [];
  const read: Record<string, unknown> = {};
  for (const [name, definition] of Object.entries(settingDefinitions)) {
    const raw = env[name] === '' ? undefined : env[name];
    try {
      if (raw?.trim() === '') throw new Error('is blank: leave it empty, or give it a value');
      read[name] = definition.parse(raw);
    } catch (fault) {
      faults.push(`${name} ${(fault as Error).message}`);
      read[name] = definition.parse(undefined);
    }
  }
  const settings = { ...read, production: read.NODE_ENV === 'production' } as Settings;
  if (settings.NODE_ENV !== 'production' && settings.NODE_ENV !== 'development' && settings.NODE_ENV !== 'test') {
    faults.push(`NODE_ENV must be development, test or production, not "${settings.NODE_ENV}"`);
  }
  if (settings.DATACAPTURE_ENCRYPTION_KEY !== undefined && !encryptionKeyBytes(settings.DATACAPTURE_ENCRYPTION_KEY)) {
    faults.push('DATACAPTURE_ENCRYPTION_KEY must be 32 bytes, written as hex (64 characters) or base64');
  }
  faults.push(...tlsFaults(settings));
  const malformed = faults.map((fault) => fault.slice(0, fault.indexOf(' ')));
  // `npm start` makes the key that is missing only after it has read the settings: its programs are given it.
  const isService = reader === 'api' || reader === 'worker';
  const hasNoKey = settings.TEMPORAL_PAYLOAD_KEY === undefined && !malformed.includes('TEMPORAL_PAYLOAD_KEY');
  if (isService && settings.TEMPORAL_PAYLOADS === 'sealed' && hasNoKey)
    faults.push('TEMPORAL_PAYLOADS is "sealed", which needs TEMPORAL_PAYLOAD_KEY');
  if (settings.production) faults.push(...productionFaults(settings, [...notMissedBy(reader), ...malformed]));
  if (faults.length > 0) throw new SettingsError(faults, settings);
  return settings;
}

const notMissedBy = (reader: Reader | undefined): readonly string[] =>
  reader === undefined ? [] : reader === 'tool' ? SECRETS : WITHHELD[reader];

/** Settings of TLS that would count for nothing: a connection that is meant to be encrypted must be. */
function tlsFaults(settings: Settings): string[] {
  const { TEMPORAL_TLS, TEMPORAL_ADDRESS, TEMPORAL_TLS_CERT_FILE, TEMPORAL_TLS_KEY_FILE } = settings;
  const files = (['TEMPORAL_TLS_CA_FILE', 'TEMPORAL_TLS_CERT_FILE', 'TEMPORAL_TLS_KEY_FILE'] as const).filter(
    (name) => settings[name] !== undefined,
  );
  return [
    ...(TEMPORAL_TLS && TEMPORAL_ADDRESS === undefined ? ['TEMPORAL_TLS is true, which needs TEMPORAL_ADDRESS'] : []),
    ...(TEMPORAL_TLS ? [] : files.map((name) => `${name} is set, which needs TEMPORAL_TLS`)),
    ...((TEMPORAL_TLS_CERT_FILE === undefined) === (TEMPORAL_TLS_KEY_FILE === undefined)
      ? []
      : ['TEMPORAL_TLS_CERT_FILE and TEMPORAL_TLS_KEY_FILE belong together: set both, or none']),
  ];
}

/** A secret in one spelling: the same key as hex and as base64, or with a blank at its end, is one key. */
const asKey = (value: string): string => encryptionKeyBytes(value.trim())?.toString('hex') ?? value.trim();

function productionFaults(settings: Settings, notMissed: readonly string[]): string[] {
  const faults: string[] = [];
  const seen = new Map<string, string>();
  for (const name of SECRETS) {
    const value = settings[name];
    const least = name === 'ADMIN_PASSWORD' ? 12 : 32;
    if (value === undefined) {
      if (!notMissed.includes(name)) faults.push(`${name} is required in production`);
      continue;
    }
    if (value.length < least) faults.push(`${name} is shorter than ${least} characters`);
    if (isKnownDefault(value)) faults.push(`${name} is a known default or too simple`);
    const twin = seen.get(asKey(value));
    if (twin) faults.push(`${name} is equal to ${twin}`);
    seen.set(asKey(value), name);
  }
  // These may be left out; where they are given they must be good as well.
  for (const name of ['DATABASE_APP_PASSWORD', 'METRICS_TOKEN', 'MESSAGE_SIGNING_KEY'] as const) {
    const value = settings[name];
    if (value === undefined) continue;
    if (name === 'MESSAGE_SIGNING_KEY' && value.length < 32) faults.push(`${name} is shorter than 32 characters`);
    if (name === 'DATABASE_APP_PASSWORD' && value.length < 12) faults.push(`${name} is shorter than 12 characters`);
    if (isKnownDefault(value)) faults.push(`${name} is a known default or too simple`);
    const twin = seen.get(asKey(value));
    if (twin) faults.push(`${name} is equal to ${twin}`);
    seen.set(asKey(value), name);
  }
  if (settings.PUBLIC_URL !== undefined && !/^https:\/\/[^/]/i.test(settings.PUBLIC_URL))
    faults.push('PUBLIC_URL must be https in production');
  return faults;
}

/** The 32 key bytes behind a hex or base64 text; undefined when it is neither. */
export function encryptionKeyBytes(value: string): Buffer | undefined {
  if (/^[0-9a-f]{64}$/i.test(value)) return Buffer.from(value, 'hex');
  const bytes = Buffer.from(value, 'base64');
  return bytes.length === 32 ? bytes : undefined;
}

function isKeyOfCurve(privateKey: string): boolean {
  try {
    return vapidPublicKey(privateKey) !== '';
  } catch {
    return false;
  }
}

/** The public half of VAPID_PRIVATE_KEY, which a page hands to its browser. */
export function vapidPublicKey(privateKey: string): string {
  const curve = createECDH('prime256v1');
  curve.setPrivateKey(Buffer.from(privateKey, 'base64url'));
  return curve.getPublicKey().toString('base64url');
}
/** The keys of what Temporal stores. */
export const payloadKeys = ({
  TEMPORAL_PAYLOAD_KEY,
  TEMPORAL_PAYLOAD_FORMER_KEYS,
}: Pick<Settings, 'TEMPORAL_PAYLOAD_KEY' | 'TEMPORAL_PAYLOAD_FORMER_KEYS'>) => ({
  current: TEMPORAL_PAYLOAD_KEY === undefined ? undefined : encryptionKeyBytes(TEMPORAL_PAYLOAD_KEY),
  former: (TEMPORAL_PAYLOAD_FORMER_KEYS ?? []).map((one) => encryptionKeyBytes(one)!),
});

/** The option `tls` of a connection to Temporal; empty: without TLS. @throws Error if a file cannot be read */
export function temporalTls(
  settings: Pick<
    Settings,
    'TEMPORAL_TLS' | 'TEMPORAL_TLS_CA_FILE' | 'TEMPORAL_TLS_CERT_FILE' | 'TEMPORAL_TLS_KEY_FILE'
  >,
): { tls?: { serverRootCACertificate?: Buffer; clientCertPair?: { crt: Buffer; key: Buffer } } } {
  const { TEMPORAL_TLS, TEMPORAL_TLS_CA_FILE: ca, TEMPORAL_TLS_CERT_FILE: crt, TEMPORAL_TLS_KEY_FILE: key } = settings;
  if (!TEMPORAL_TLS) return {};
  return {
    tls: {
      ...(ca !== undefined && { serverRootCACertificate: readFileSync(ca) }),
      ...(crt !== undefined &&
        key !== undefined && { clientCertPair: { crt: readFileSync(crt), key: readFileSync(key) } }),
    },
  };
}

/** What becomes of messages that claim a person and do not prove it. */
export const unsignedMessages = ({
  UNSIGNED_MESSAGES,
  production,
}: Pick<Settings, 'UNSIGNED_MESSAGES' | 'production'>): 'accept' | 'refuse' =>
  UNSIGNED_MESSAGES ?? (production ? 'refuse' : 'accept');

/** Address to connect to, for something that listens on HOST. */
export const connectableHost = (host: string): string => {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
};

/** Where audit checkpoints are kept outside the database. */
export const checkpointFolder = ({
  AUDIT_CHECKPOINT_DIR,
  DATA_DIR,
}: Pick<Settings, 'AUDIT_CHECKPOINT_DIR' | 'DATA_DIR'>): string =>
  AUDIT_CHECKPOINT_DIR ?? join(DATA_DIR, 'audit-checkpoints');

/** The text of `.env.example`: every setting with its default, grouped; secrets are left empty. */
export function envExample(): string {
  const lines = [
    '# Every setting with its default. Copy to .env and change what you need; an empty value is "not set".',
  ];
  let group = '';
  for (const [name, definition] of Object.entries(settingDefinitions)) {
    if (definition.group !== group) {
      group = definition.group;
      lines.push('', `# --- ${group}`);
    }
    lines.push(`# ${definition.doc}`, `${name}=${definition.fallback ?? ''}`);
  }
  return `${lines.join('\n')}\n`;
}
