import { relative } from 'node:path';
import type { DataDir } from './data-dir.js';
import type { RunJson } from './run-json.js';

const seconds = (milliseconds: number) => (milliseconds / 1000).toFixed(1);

/** One line with the seconds since this process began. */
export const say = (line: string): void => {
  process.stdout.write(`[${seconds(performance.now()).padStart(6)} s] ${line}\n`);
};

/** Runs a step and prints its duration; a slow one prints that it is still running. */
export async function step<T>(what: string, work: () => Promise<T>): Promise<T> {
  const start = performance.now();
  const reminder = setInterval(() => say(`${what}: ${seconds(performance.now() - start)} s so far`), 3000);
  try {
    const result = await work();
    say(`${what}: ready after ${seconds(performance.now() - start)} s`);
    return result;
  } finally {
    clearInterval(reminder);
  }
}

/** The next information for a newcomer. */
export function readyText(run: RunJson | Omit<RunJson, 'pids'>, dir: DataDir): string {
  const folder = relative(process.cwd(), dir.path) || '.';
  const shown = folder.startsWith('..') ? dir.path : folder;
  const rows: [string, string | null][] = [
    ['API', run.api],
    ['Console', run.console],
    ['API docs', run.docs],
    ['Temporal UI', run.temporal_ui],
    ['Mail', run.mail_ui],
    [
      'Admin',
      run.admin_password === null
        ? run.admin_email
        : `${run.admin_email}, password ${run.admin_password} (kept in ${shown}/run.json)`,
    ],
    ['Logs', `${shown}/logs`],
  ];
  const lines = rows.flatMap(([name, value]) => (value === null ? [] : [`  ${name.padEnd(12)} ${value}`]));
  return (
    `\nReady after ${seconds(performance.now())} s.\n${lines.join('\n')}\n\nCtrl-C stops everything; the data ` +
    `stay in ${shown}.\n`
  );
}
