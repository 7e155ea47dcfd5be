import { readFileSync, writeFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { join } from 'node:path';
import { root } from '../support/environment.js';
import { rowOf } from './figure.js';
import type { Figure } from './figure.js';
import { spentRow } from './processor.js';
import type { Spent } from './processor.js';

const BEGIN = '<!-- measured: written by npm run bench -- --write -->';
const END = '<!-- measured: end -->';

const BENCHMARKS = 'BENCHMARKS.md';
export const machine = (): string =>
  `${cpus().length} × ${cpus()[0]!.model.trim()}, ${Math.round(totalmem() / 2 ** 30)} GB, Node ${process.versions.node}, ${new Date().toISOString().slice(0, 10)}`;

/** Rewrites what stands between two marks of a document. */
export function between(document: string, begin: string, end: string, rewritten: (before: string) => string[]): void {
  const file = join(root, 'docs', document);
  const text = readFileSync(file, 'utf8');
  const [before, rest] = text.split(begin);
  const [middle, after] = (rest ?? '').split(end);
  if (before === undefined || after === undefined)
    throw new Error(`docs/${document} has lost the marks ${begin} and ${end}, between which a table stands`);
  writeFileSync(file, `${before}${begin}${['', ...rewritten(middle!), ''].join('\n')}${end}${after}`);
}

/** Puts the measured figures into docs/BENCHMARKS.md; those that were not measured now keep their row. */
export function writeDocument(figures: readonly Figure[]): void {
  if (figures.length === 0) return;
  between(BENCHMARKS, BEGIN, END, (table) => {
    const rows = new Map<string, string>();
    for (const line of table.split('\n')) {
      const name = /^\| ([A-Z][A-Z0-9_]*) \|/.exec(line)?.[1];
      if (name) rows.set(name, line);
    }
    for (const figure of figures) rows.set(figure.name, rowOf(figure));
    return [
      `Last written on: ${machine()}.`,
      '',
      '| figure | what | ours | held against | ratio | goal | met |',
      '|---|---|---|---|---|---|---|',
      ...rows.values(),
    ];
  });
}

/** Puts the processor's time of single things into docs/BENCHMARKS.md. */
export function writeSpent(spent: readonly Spent[]): void {
  between(
    BENCHMARKS,
    '<!-- processor: written by npm run bench -- PROCESSOR --write -->',
    '<!-- processor: end -->',
    () => [
      `Milliseconds, measured on: ${machine()}.`,
      '',
      '| one of | API | worker | Temporal | PostgreSQL | all |',
      '|---|---|---|---|---|---|',
      ...spent.map(spentRow),
    ],
  );
}
