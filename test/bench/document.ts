import { readFileSync, writeFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { join } from 'node:path';
import { root } from '../support/environment.js';
import { rowOf } from './figure.js';
import type { Figure } from './figure.js';

const BEGIN = '<!-- measured: written by npm run bench -- --write -->';
const END = '<!-- measured: end -->';

/** Puts the measured figures into docs/BENCHMARKS.md; those that were not measured now keep their row. */
export function writeDocument(figures: readonly Figure[]): void {
  const file = join(root, 'docs', 'BENCHMARKS.md');
  const text = readFileSync(file, 'utf8');
  const [before, rest] = text.split(BEGIN);
  const [table, after] = (rest ?? '').split(END);
  if (before === undefined || after === undefined) throw new Error('docs/BENCHMARKS.md has lost the marks between which the table stands');
  const rows = new Map<string, string>();
  for (const line of table!.split('\n')) {
    const name = /^\| ([A-Z][A-Z0-9_]*) \|/.exec(line)?.[1];
    if (name) rows.set(name, line);
  }
  for (const figure of figures) rows.set(figure.name, rowOf(figure));
  const machine = `${cpus().length} × ${cpus()[0]!.model.trim()}, ${Math.round(totalmem() / 2 ** 30)} GB, Node ${process.versions.node}, ${new Date().toISOString().slice(0, 10)}`;
  const lines = ['', `Last written on: ${machine}.`, '', '| figure | what | ours | held against | ratio | goal | met |', '|---|---|---|---|---|---|---|', ...rows.values(), ''];
  writeFileSync(file, `${before}${BEGIN}${lines.join('\n')}${END}${after}`);
}
