import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { until } from '../../support/until.js';
import type { Stage } from '../stage.js';

/** What a statement, and the statements of functions within it, cost in all. */
export interface StatementCost {
  /** Its beginning, on one line. */
  text: string;
  calls: number;
  /** Milliseconds in all, with its triggers and what it calls. */
  ms: number;
  /** Pages of 8 KB that it found in memory, and that it changed. */
  hit: number;
  dirtied: number;
  walBytes: number;
  triggers: Map<string, { calls: number; ms: number }>;
}

const SETTINGS: Record<string, string> = {
  session_preload_libraries: 'auto_explain',
  'auto_explain.log_min_duration': '0',
  'auto_explain.log_analyze': 'on',
  'auto_explain.log_buffers': 'on',
  'auto_explain.log_wal': 'on',
  'auto_explain.log_triggers': 'on',
  // Triggers have a time only with this. The clock is asked at each row of each plan, of which a decision has few.
  'auto_explain.log_timing': 'on',
  'auto_explain.log_format': 'json',
  // Values are persons' data and make no difference.
  'auto_explain.log_parameter_max_length': '0',
};

/**
 * What PostgreSQL does while `work` runs, by statement: its own `auto_explain`, on every connection of the service.
 * Loaded into new connections: those that are open are ended, and the service opens others.
 */
export async function statementCosts(stage: Stage, warm: () => Promise<void>, work: () => Promise<void>) {
  const log = join(stage.service.dataDir, 'logs', 'postgres.log');
  try {
    for (const [name, value] of Object.entries(SETTINGS))
      await stage.sql.query(`alter database ${DATABASE} set ${name} = '${value}'`);
    await reconnect(stage);
    await warm();
    const from = sizeOf(log);
    await work();
    return costsIn(textFrom(log, from));
  } finally {
    for (const name of Object.keys(SETTINGS)) await stage.sql.query(`alter database ${DATABASE} reset ${name}`);
    await reconnect(stage);
  }
}

const DATABASE = 'research';

async function reconnect(stage: Stage): Promise<void> {
  await stage.sql.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
     where datname = $1 and pid <> pg_backend_pid() and backend_type = 'client backend' and application_name <> ''`,
    [DATABASE],
  );
  await until(async () => (await fetch(`${stage.service.run.api}/api/health/db`)).ok, {
    what: 'the service to be ready again',
  });
}

interface Plan {
  'Query Text': string;
  Plan: Record<string, unknown>;
  Triggers?: { 'Trigger Name'?: string; Relation?: string; Time?: number; Calls: number }[];
}

/** Entries of `auto_explain` begin with their duration; the plan follows as JSON over many lines. */
const ENTRY = /duration: ([\d.]+) ms {2}plan:\n([\s\S]*?)(?=\n\d{4}-\d\d-\d\d |$)/g;

function costsIn(log: string): StatementCost[] {
  const found = new Map<string, StatementCost>();
  for (const [, duration, json] of log.matchAll(ENTRY)) {
    const plan = JSON.parse(json!) as Plan;
    const text = beginningOf(plan['Query Text']);
    const cost = found.get(text) ?? { text, calls: 0, ms: 0, hit: 0, dirtied: 0, walBytes: 0, triggers: new Map() };
    found.set(text, cost);
    cost.calls += 1;
    cost.ms += Number(duration);
    cost.hit += Number(plan.Plan['Shared Hit Blocks'] ?? 0);
    cost.dirtied += Number(plan.Plan['Shared Dirtied Blocks'] ?? 0);
    cost.walBytes += Number(plan.Plan['WAL Bytes'] ?? 0);
    for (const { 'Trigger Name': name, Relation: relation, Calls: calls, Time: ms = 0 } of plan.Triggers ?? []) {
      const key = [relation, name].filter(Boolean).join('.');
      const trigger = cost.triggers.get(key) ?? { calls: 0, ms: 0 };
      cost.triggers.set(key, { calls: trigger.calls + calls, ms: trigger.ms + ms });
    }
  }
  return [...found.values()].sort((a, b) => b.ms - a.ms);
}

const SHOWN_LETTERS = 90;
const beginningOf = (text: string): string => {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return line.length > SHOWN_LETTERS ? `${line.slice(0, SHOWN_LETTERS)}…` : line;
};

function sizeOf(file: string): number {
  const descriptor = openSync(file, 'r');
  try {
    return fstatSync(descriptor).size;
  } finally {
    closeSync(descriptor);
  }
}

function textFrom(file: string, from: number): string {
  const descriptor = openSync(file, 'r');
  try {
    const rest = Buffer.alloc(fstatSync(descriptor).size - from);
    readSync(descriptor, rest, 0, rest.length, from);
    return rest.toString('utf8');
  } finally {
    closeSync(descriptor);
  }
}
