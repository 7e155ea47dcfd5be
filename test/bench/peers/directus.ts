import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { freePort } from '../../support/api-process.js';
import { until } from '../../support/until.js';
import type { Stage } from '../stage.js';
import { installDirectus } from './install.js';
import type { Installed } from './install.js';

const DATABASE = 'peer_directus';
const START_PATIENCE_MS = 180_000;

/** A Directus of the bench's own, on the PostgreSQL of the stage, with a data model like that of a study. */
export interface Directus {
  url: string;
  pid: number;
  sql: pg.Pool;
  /** Two studies; the coordinator is a member of the first. */
  studies: [mine: string, other: string];
  /** Of the coordinator, whose rule of permission isolates by study. */
  headers: Record<string, string>;
  /** As the administrator. @throws unless it answers 2xx */
  call<T>(method: string, path: string, body?: unknown): Promise<T>;
  /** A file, as the administrator. */
  read(path: string): Promise<Uint8Array>;
  stop(): Promise<void>;
}

/** Installs it if need be, makes its database, its collections and permissions, and starts it: one process. */
export async function startDirectus(stage: Stage): Promise<Directus> {
  const installed = await installDirectus();
  await stage.sql.query(`drop database if exists ${DATABASE}`);
  await stage.sql.query(`create database ${DATABASE}`);
  const database = new URL(stage.service.run.database_url);
  database.pathname = `/${DATABASE}`;
  const folder = mkdtempSync(join(tmpdir(), 'research-assessment-bench-directus-'));
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const adminToken = randomBytes(24).toString('hex');
  const env = environment({ url, port, folder, adminToken, database: database.href });
  await ended(run(installed, 'bootstrap', env, folder), 'Directus did not make its database');
  const server = run(installed, 'start', env, folder);
  const call = <T>(method: string, path: string, body?: unknown) =>
    answered<T>(`${url}${path}`, method, { authorization: `Bearer ${adminToken}` }, body);
  await until(async () => (await fetch(`${url}/server/ping`)).ok, {
    timeout: START_PATIENCE_MS,
    what: 'Directus to be ready',
  });
  const sql = new pg.Pool({ connectionString: database.href, max: 2 });
  return {
    url,
    pid: server.child.pid!,
    sql,
    ...(await modelStudies(call)),
    call,
    read: async (path) => {
      const response = await fetch(`${url}${path}`, { headers: { authorization: `Bearer ${adminToken}` } });
      if (!response.ok) throw new Error(`GET ${path} answered ${response.status}`);
      return new Uint8Array(await response.arrayBuffer());
    },
    stop: async () => {
      await sql.end();
      const exit = once(server.child, 'exit');
      server.child.kill('SIGTERM');
      await exit;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Neither its limits, nor its cache (which would answer from memory), nor what nobody of the bench uses. */
function environment(of: { url: string; port: number; folder: string; adminToken: string; database: string }) {
  const uploads = join(of.folder, 'uploads');
  const extensions = join(of.folder, 'extensions');
  for (const path of [uploads, extensions]) mkdirSync(path);
  return {
    PATH: process.env.PATH,
    NODE_ENV: 'production',
    HOST: '127.0.0.1',
    PORT: String(of.port),
    PUBLIC_URL: of.url,
    SECRET: randomBytes(32).toString('hex'),
    ADMIN_EMAIL: 'admin@example.org',
    ADMIN_PASSWORD: randomBytes(24).toString('hex'),
    ADMIN_TOKEN: of.adminToken,
    DB_CLIENT: 'pg',
    DB_CONNECTION_STRING: of.database,
    STORAGE_LOCATIONS: 'local',
    STORAGE_LOCAL_ROOT: uploads,
    EXTENSIONS_PATH: extensions,
    TELEMETRY: 'false',
    SERVE_APP: 'false',
    LOG_LEVEL: 'error',
    RATE_LIMITER_ENABLED: 'false',
    CACHE_ENABLED: 'false',
    WEBSOCKETS_ENABLED: 'false',
  };
}

interface Running {
  child: ChildProcess;
  output(): string;
}

function run({ node, cli }: Installed, command: string, env: NodeJS.ProcessEnv, cwd: string): Running {
  const child = spawn(node, [cli, command], { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let text = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
  return { child, output: () => text };
}

async function ended({ child, output }: Running, otherwise: string): Promise<void> {
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`${otherwise}:\n${output().slice(-2_000)}`);
}

type Call = Directus['call'];

const key = (field: string, isPrimary = false) => ({
  field,
  type: 'uuid',
  schema: { is_nullable: false, is_primary_key: isPrimary, is_indexed: !isPrimary },
  meta: { special: isPrimary ? ['uuid'] : null },
});
const plain = (field: string, type: string, schema: object = {}) => ({ field, type, schema, meta: {} });

const COLLECTIONS = [
  { collection: 'studies', fields: [key('id', true), plain('code', 'string')] },
  { collection: 'study_members', fields: [key('id', true), key('study'), key('user')] },
  {
    collection: 'participants',
    fields: [
      key('id', true),
      key('study'),
      plain('participant_code', 'string', { is_nullable: false }),
      ...['external_id', 'preferred_language', 'email', 'phone', 'timezone'].map((name) => plain(name, 'string')),
      plain('status', 'string', { default_value: 'enrolled' }),
      plain('date_of_birth', 'date'),
      { field: 'created_at', type: 'timestamp', schema: {}, meta: { special: ['date-created'] } },
    ],
  },
  {
    collection: 'trials',
    fields: [
      plain('id', 'bigInteger', { is_primary_key: true, has_auto_increment: true }),
      key('session'),
      plain('task', 'string'),
      plain('trial_index', 'integer'),
      plain('rt', 'float'),
      plain('correct', 'boolean'),
      plain('at', 'timestamp'),
    ],
  },
];
const RELATIONS = [
  { collection: 'study_members', field: 'study', related_collection: 'studies', meta: { one_field: 'members' } },
  { collection: 'study_members', field: 'user', related_collection: 'directus_users' },
  { collection: 'participants', field: 'study', related_collection: 'studies' },
];
/** Who is a member of the study sees it and its participants. */
const IS_MEMBER = { members: { user: { _eq: '$CURRENT_USER' } } };

async function modelStudies(call: Call): Promise<Pick<Directus, 'studies' | 'headers'>> {
  await call(
    'POST',
    '/collections',
    COLLECTIONS.map((collection) => ({ ...collection, schema: {}, meta: {} })),
  );
  for (const relation of RELATIONS) await call('POST', '/relations', { ...relation, schema: { on_delete: 'CASCADE' } });
  await call('POST', '/fields/studies', { field: 'members', type: 'alias', meta: { special: ['o2m'] } });
  const policy = await made(call, '/policies', { name: 'Coordinator', app_access: false, admin_access: false });
  await call(
    'POST',
    '/permissions',
    [
      { collection: 'participants', permissions: { study: IS_MEMBER } },
      { collection: 'studies', permissions: IS_MEMBER },
      { collection: 'study_members', permissions: { user: { _eq: '$CURRENT_USER' } } },
    ].map((rule) => ({ ...rule, policy, action: 'read', fields: ['*'] })),
  );
  const role = await made(call, '/roles', { name: 'Coordinator' });
  await call('POST', '/access', { role, policy });
  const token = randomBytes(24).toString('hex');
  const user = await made(call, '/users', {
    email: 'coordinator@example.org',
    password: randomUUID(),
    role,
    token,
  });
  const mine = await made(call, '/items/studies', { code: 'MINE' });
  const other = await made(call, '/items/studies', { code: 'OTHER' });
  await call('POST', '/items/study_members', { study: mine, user });
  return { studies: [mine, other], headers: { authorization: `Bearer ${token}` } };
}

const made = async (call: Call, path: string, body: object): Promise<string> =>
  (await call<{ data: { id: string } }>('POST', path, body)).data.id;

async function answered<T>(url: string, method: string, headers: Record<string, string>, body: unknown): Promise<T> {
  const isForm = body instanceof FormData;
  const response = await fetch(url, {
    method,
    headers: { ...headers, ...(body !== undefined && !isForm && { 'content-type': 'application/json' }) },
    ...(body !== undefined && { body: isForm ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${url} answered ${response.status}: ${text.slice(0, 500)}`);
  return (text === '' ? undefined : JSON.parse(text)) as T;
}
