import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Client, WorkflowHandle } from '@temporalio/client';
import type { PayloadCodec } from '@temporalio/common';
import { payloadsIn } from '../support/temporal.js';

/** A word that must not be found but where it belongs: what it is, and the word itself. */
export interface Marker {
  name: string;
  word: string;
}
export interface Trace {
  name: string;
  place: string;
  near: string;
}

/** The forms in which a word may stand somewhere. */
const formsOf = (word: string): string[] =>
  [
    ...new Set([
      word,
      JSON.stringify(word).slice(1, -1),
      encodeURIComponent(word),
      Buffer.from(word).toString('hex'),
      Buffer.from(word).toString('base64').replace(/=+$/, ''),
      Buffer.from(word).toString('base64url'),
    ]),
  ].filter((form) => form.length > 3);

/** Which of the markers stand in a text, in whatever form. */
export function tracesIn(place: string, text: string, markers: readonly Marker[]): Trace[] {
  const lower = text.toLowerCase();
  return markers.flatMap(({ name, word }) => {
    const form = formsOf(word).find((one) => lower.includes(one.toLowerCase()));
    if (form === undefined) return [];
    const at = lower.indexOf(form.toLowerCase());
    return [{ name, place, near: text.slice(Math.max(0, at - 120), at + form.length + 40) }];
  });
}

/** Every file of a folder, as its bytes. */
export const tracesInFiles = (folder: string, files: (name: string) => boolean, markers: readonly Marker[]): Trace[] =>
  readdirSync(folder)
    .filter(files)
    .flatMap((name) => tracesIn(name, readFileSync(join(folder, name)).toString('latin1'), markers));

interface Rows {
  sql<T>(statement: string, values?: readonly unknown[]): Promise<T[]>;
}

/** Every column of every row of every table; `place` is table.column. */
export async function tracesInTables(database: Rows, markers: readonly Marker[]): Promise<Trace[]> {
  const columns = await database.sql<{ table: string; column: string }>(
    `select c.relname as table, a.attname as column from pg_class c join pg_attribute a on a.attrelid = c.oid
     where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace and a.attnum > 0 and not a.attisdropped order by 1, a.attnum`,
  );
  const found: Trace[] = [];
  for (const { table, column } of columns) {
    const [row] = await database.sql<{ text: string | null }>(
      `select string_agg(distinct "${column}"::text, e'\\n') as text from "${table}"`,
    );
    if (row?.text) found.push(...tracesIn(`${table}.${column}`, row.text, markers));
  }
  return found;
}

/**
 * Every workflow that there was: its history with payloads as they were sent, its memo, search attributes and what the
 * UI shows.
 * @param codec opens its payloads, which are read as well
 */
export async function tracesInWorkflows(
  client: Client,
  markers: readonly Marker[],
  codec?: PayloadCodec,
): Promise<{ traces: Trace[]; types: Set<string>; opened: number }> {
  let opened = 0;
  const traces: Trace[] = [];
  const types = new Set<string>();
  for await (const execution of client.workflow.list()) {
    types.add(execution.type);
    const history = await historyOf(client.workflow.getHandle(execution.workflowId, execution.runId));
    // The service deletes runs that tell of an erased participant, here since they were listed.
    if (history === undefined) continue;
    const { raw: _raw, ...described } = execution as typeof execution & { raw: unknown };
    const payloads = codec ? await codec.decode(payloadsIn([history, execution.raw])) : [];
    opened += payloads.length;
    traces.push(
      ...tracesIn(`an opened payload of ${execution.type}`, textOf(payloads), markers),
      ...tracesIn(`workflow ${execution.type}`, textOf(history), markers),
      ...tracesIn(`what is listed of ${execution.type}`, `${textOf(described)} ${textOf(execution.raw)}`, markers),
    );
  }
  return { traces, types, opened };
}

const GRPC_NOT_FOUND = 5;
/** Undefined: the run is deleted. */
async function historyOf(
  run: WorkflowHandle,
): Promise<Awaited<ReturnType<WorkflowHandle['fetchHistory']>> | undefined> {
  try {
    return await run.fetchHistory();
  } catch (fault) {
    if ((fault as { code?: unknown }).code === GRPC_NOT_FOUND) return undefined;
    throw fault;
  }
}

/** All texts and bytes within a value. */
export function textOf(value: unknown, seen = new Set<object>()): string {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('utf8');
  if (typeof value !== 'object' || value === null) return String(value);
  if (seen.has(value)) return '';
  seen.add(value);
  return Object.entries(value)
    .map(([key, item]) => `${key}=${textOf(item, seen)}`)
    .join('\n');
}
