import { mkdtempSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { spawnSync } from 'node:child_process';
import { format } from 'prettier';
import type { Example } from '../test/support/examples.js';

/**
 * `npm run examples [-- --missing] [FILES OF TESTS]`: runs tests (by default all) and stores in docs/examples.json a
 * request and an answer of each operation that they call. Other operations keep their examples; with `--missing` all
 * that have one do. The example of a removed operation is removed.
 */
const FILE = 'docs/examples.json';
const { paths } = JSON.parse(readFileSync('docs/openapi.json', 'utf8')) as {
  paths: Record<string, Record<string, { operationId: string }>>;
};
const operations = new Set(
  Object.values(paths).flatMap((methods) => Object.values(methods).map(({ operationId }) => operationId)),
);
const onlyMissing = process.argv.includes('--missing');
const folder = mkdtempSync(join(tmpdir(), 'examples-'));
const run = spawnSync(
  process.execPath,
  ['scripts/test.mjs', ...process.argv.slice(2).filter((argument) => argument !== '--missing')],
  {
    stdio: 'inherit',
    env: { ...process.env, EXAMPLES_DIR: folder },
  },
);
const found = readdirSync(folder).flatMap((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')) as Example[]);
const known = JSON.parse(readFileSync(FILE, 'utf8')) as Record<string, Omit<Example, 'operationId'>>;
const size = (value: unknown): number => JSON.stringify(value).length;
const fresh = new Map<string, Omit<Example, 'operationId'>>();
for (const { operationId, ...example } of found) {
  if (onlyMissing && operationId in known) continue;
  const other = fresh.get(operationId);
  if (!other || size(other) < size(example)) fresh.set(operationId, example);
}
const all = Object.fromEntries(
  [...Object.entries(known), ...fresh].filter(([id]) => operations.has(id)).sort(([a], [b]) => (a < b ? -1 : 1)),
);
writeFileSync(FILE, await format(JSON.stringify(all), { parser: 'json', printWidth: 120 }));
console.log(`${fresh.size} examples are new; ${Object.keys(all).length} in ${FILE}.`);
process.exit(run.status ?? 1);
