import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import type { Duration } from './report.js';

const SUFFIX = '.test.ts';
/** The last measured duration of each file (`npm test -- --durations test/durations.json`). */
const MEASURED = 'test/durations.json';
/** The assumed duration of a file without a measurement. */
const UNMEASURED_SECONDS = 3;

/**
 * The test files that the paths name, as paths from the checkout; without paths, all of test/.
 * @throws Error that names a path without a test
 */
export function selectFiles(root: string, paths: readonly string[]): string[] {
  if (paths.length === 0) return filesBelow(root, 'test');
  const selected = paths.flatMap((path) => {
    const inside = relative(root, join(root, path)).split(sep).join('/');
    const found = [inside, `${inside}${SUFFIX}`, `${inside}.ts`].find((name) => existsSync(join(root, name)));
    const files =
      found === undefined ? [] : statSync(join(root, found)).isDirectory() ? filesBelow(root, found) : [found];
    if (files.length === 0 || files.some((file) => !file.startsWith('test/') || !file.endsWith(SUFFIX)))
      throw new Error(`${path} names no test: give files (test/…${SUFFIX}) or folders of test/.`);
    return files;
  });
  return [...new Set(selected)];
}

/** The slowest first, so that no runner ends long after the others. */
export function slowestFirst(root: string, files: readonly string[]): string[] {
  const file = join(root, MEASURED);
  const measured = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Record<string, Duration>) : {};
  const seconds = (path: string) => measured[path]?.seconds ?? UNMEASURED_SECONDS;
  return [...files].sort((a, b) => seconds(b) - seconds(a) || (a < b ? -1 : 1));
}

/** The same order for the same seed, on every machine (Fisher–Yates over the numbers of mulberry32). */
export function shuffled(files: readonly string[], seed: number): string[] {
  const order = [...files].sort();
  let state = seed >>> 0;
  const random = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  for (let last = order.length - 1; last > 0; last -= 1) {
    const other = Math.floor(random() * (last + 1));
    [order[last], order[other]] = [order[other]!, order[last]!];
  }
  return order;
}

function filesBelow(root: string, folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .map((name) => `${folder}/${name.split(sep).join('/')}`.replaceAll('//', '/'))
    .filter((name) => name.endsWith(SUFFIX) && !name.includes('/node_modules/'))
    .sort();
}
