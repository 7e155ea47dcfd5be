import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../support/environment.js';
import { enrolled } from './anchor.js';
import { between, machine } from './document.js';
import type { HttpRequest } from './load.js';
import { flameGraph } from './profile/flame.js';
import { sampledFunctions, timeByPlace } from './profile/functions.js';
import { statementCosts } from './profile/statements.js';
import type { StatementCost } from './profile/statements.js';
import { studyWithWindows } from './setting.js';
import type { Stage } from './stage.js';

const WARM = 60,
  COUNTED = 60,
  SAMPLED = 300;
const SHOWN_STATEMENTS = 14,
  SHOWN_PLACES = 12;

/**
 * PROFILE: what an anchor set by REST is made of, on a participant whose workflow runs, with ten visits: PostgreSQL's
 * statements with their triggers, and the worker's functions. Tables and a flame graph, no figure.
 */
export async function profileDecision(stage: Stage, write: boolean): Promise<void> {
  const studyId = await studyWithWindows(stage, 10);
  const people = await enrolled(stage, studyId, 2 * WARM + COUNTED + SAMPLED);
  const set = (count: number, concurrency: number) => async (): Promise<void> => {
    const requests = people.splice(0, count).map((id): HttpRequest => ({
      method: 'POST',
      path: `/api/studies/${studyId}/participants/${id}/anchor-date`,
      headers: stage.headers,
      body: JSON.stringify({ enrollment_date: '2026-01-05' }),
    }));
    await stage.load.ask({ kind: 'batch', url: stage.service.run.api, concurrency, requests });
  };
  await set(WARM, 8)();
  await stage.quiet();
  const worker = await sampledFunctions(stage.service.current().pids.worker!, set(SAMPLED, 8));
  const statements = await statementCosts(stage, set(WARM, 1), set(COUNTED, 1));
  const rows = [...statementRows(statements), '', ...placeRows(timeByPlace(worker))];
  process.stdout.write(`${rows.join('\n')}\n`);
  if (!write) return;
  between(
    'BENCHMARKS.md',
    '<!-- profile: written by npm run bench -- PROFILE --write -->',
    '<!-- profile: end -->',
    () => [`Measured on: ${machine()}.`, '', ...rows],
  );
  const title = `The worker's processor time of one decision: ${(worker.total / SAMPLED).toFixed(1)} ms`;
  writeFileSync(join(root, 'docs', 'decision-flame.svg'), `${flameGraph(worker, title, SAMPLED)}\n`);
}

function statementRows(statements: readonly StatementCost[]): string[] {
  const each = (value: number) => value / COUNTED;
  return [
    '| statement | for one decision | ms | pages hit | pages changed | WAL | triggers (ms) |',
    '|---|---|---|---|---|---|---|',
    ...statements
      .slice(0, SHOWN_STATEMENTS)
      .map(
        ({ text, calls, ms, hit, dirtied, walBytes, triggers }) =>
          `| \`${text.replaceAll('|', '\\|').replaceAll('`', '')}\` | ${each(calls).toFixed(1)} | ${each(ms).toFixed(2)} | ${each(hit).toFixed(0)} | ${each(dirtied).toFixed(1)} | ${each(walBytes).toFixed(0)} B | ${triggersOf(triggers, each)} |`,
      ),
  ];
}

const SHOWN_MS = 0.02;
const triggersOf = (triggers: StatementCost['triggers'], each: (value: number) => number): string =>
  [...triggers]
    .filter(([, { ms }]) => each(ms) >= SHOWN_MS)
    .sort((a, b) => b[1].ms - a[1].ms)
    .map(([name, { ms }]) => `${name} ${each(ms).toFixed(2)}`)
    .join(', ');

const placeRows = (places: readonly [string, number][]): string[] => [
  '| worker: module or package | ms for one decision |',
  '|---|---|',
  ...places.slice(0, SHOWN_PLACES).map(([place, ms]) => `| ${place} | ${(ms / SAMPLED).toFixed(2)} |`),
];
