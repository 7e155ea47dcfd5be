import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { startService } from '../support/service.js';
import type { Service } from '../support/service.js';
import { startChild } from './child.js';
import type { Child } from './child.js';
import type { Load, Measured } from './load.js';

/** One service, one load generator, the database with the owner's rights, and the first admin's token. */
export interface Stage {
  service: Service;
  load: Child<Load, Measured>;
  sql: pg.Pool;
  headers: Record<string, string>;
  adminId: string;
  /** A call outside the clock. @throws unless it answers 2xx */
  call<T>(method: string, path: string, body?: unknown): Promise<T>;
  /** Waits until neither the service nor its servers are busy with what was before. */
  quiet(): Promise<void>;
  clear(): Promise<void>;
}

/** No figure is to measure the rate limits: they are far above what the load generator reaches. */
const GENEROUS = '100000000';
/** Of every process of a stage: they count together. */
export const UNLIMITED = {
  RATE_LIMIT_PER_MINUTE: GENEROUS,
  AUTH_RATE_LIMIT_PER_MINUTE: GENEROUS,
  WEBHOOK_RATE_LIMIT_PER_MINUTE: GENEROUS,
};

/** The bare programs verify the same tokens. */
export const TOKEN_SECRET = 'a secret of the bench, 32 characters and more';

const SCHEMA = `
create schema if not exists bench;
create table if not exists bench.commands (id text primary key, body text not null, created_at timestamptz not null default clock_timestamp());
create table if not exists bench.events (
  id uuid primary key default gen_random_uuid(), project_id varchar(100) not null, record varchar(500) not null, instrument varchar(200) not null,
  event_name varchar(200), raw_body bytea not null, received_at timestamptz not null default clock_timestamp());
create table if not exists bench.trials (
  session_id uuid not null, task varchar(64) not null, trial_index integer not null, rt double precision, correct boolean, at timestamptz not null);`;

/** Starts a service of the bench's own on free ports and a throw-away folder. */
export async function setStage(): Promise<Stage> {
  const service = await startService({
    ...UNLIMITED,
    ACCESS_TOKEN_MINUTES: '600',
    JWT_SECRET: TOKEN_SECRET,
    // The service's own jobs would take part of what a figure is about, and past visits would be missed.
    REMINDER_INTERVAL_SECONDS: '86400',
    VISIT_STATUS_INTERVAL_SECONDS: '86400',
  });
  const { api, admin_email, admin_password, database_url } = service.run;
  const sql = new pg.Pool({ connectionString: database_url, max: 4 });
  await sql.query(SCHEMA);
  const load = await startChild<Load, Measured, object>('load.js', process.env);
  const login = await answered<{ user: { id: string }; tokens: { access_token: string } }>(
    `${api}/api/auth/login`,
    'POST',
    {},
    { email: admin_email, password: admin_password },
  );
  const headers = { authorization: `Bearer ${login.tokens.access_token}`, 'content-type': 'application/json' };
  return {
    service,
    load,
    sql,
    headers,
    adminId: login.user.id,
    call: (method, path, body) => answered(`${api}${path}`, method, headers, body),
    quiet: () => quiet(service),
    clear: async () => {
      await load.stop();
      await sql.end();
      await service.stop();
    },
  };
}

async function answered<T>(url: string, method: string, headers: Record<string, string>, body?: unknown): Promise<T> {
  const response = await fetch(url, {
    method,
    headers: { 'content-type': 'application/json', ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${url} answered ${response.status}: ${text.slice(0, 500)}`);
  return JSON.parse(text) as T;
}

const TICK_MS = 10;
const LOOK_MS = 300;

/** Waits, five minutes at most, until the service's processes together use less than a tenth of one processor. */
async function quiet(service: Service): Promise<void> {
  const { supervisor: _supervisor, ...parts } = service.current().pids;
  const pids = Object.values(parts).filter((pid) => pid !== undefined);
  const deadline = performance.now() + 300_000;
  let before = processorMs(pids);
  while (performance.now() < deadline) {
    await sleep(LOOK_MS);
    const now = processorMs(pids);
    if (now - before < LOOK_MS / 10) return;
    before = now;
  }
  throw new Error('the service did not become quiet within five minutes');
}

const processorMs = (pids: readonly number[]): number =>
  pids.reduce((sum, pid) => {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
    return sum + (Number(fields[11]) + Number(fields[12])) * TICK_MS;
  }, 0);
