/**
 * `npm run contract:fuzz [-- --examples N --seed N --phases … --only REGEX --tag TAG]`: schemathesis at length over the
 * whole contract, on a service of its own: every operation by itself, then calls that follow each other, of one tag
 * after the other.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { root } from '../support/environment.js';
import { cleanUp, startService } from '../support/service.js';
import { pythonOf } from '../support/python.js';
import { SOURCES, fuzz } from './schemathesis.js';

const STATEFUL = 'stateful';
const MAKERS = ['Studies', 'Participants'];
const { values } = parseArgs({
  options: {
    examples: { type: 'string', default: '100' },
    seed: { type: 'string', default: '1' },
    phases: { type: 'string', default: 'examples,coverage,fuzzing,stateful' },
    only: { type: 'string' },
    tag: { type: 'string' },
  },
});
process.once('SIGINT', () => {
  void cleanUp().then(() => process.exit(130));
});
process.once('SIGTERM', () => {
  void cleanUp().then(() => process.exit(143));
});
const python = await pythonOf(SOURCES, 'schemathesis');
if (python === undefined) throw new Error('There is no python3: schemathesis cannot run.');
const phases = values.phases.split(',');
const single = phases.filter((phase) => phase !== STATEFUL);
const only = values.only === undefined ? [] : ['--include-path-regex', values.only];
const runs: { title: string; phases: string[]; more: string[] }[] = [
  ...(single.length > 0 ? [{ title: single.join(', '), phases: single, more: only }] : []),
  ...(!phases.includes(STATEFUL)
    ? []
    : only.length > 0
      ? [{ title: STATEFUL, phases: [STATEFUL], more: only }]
      : groups()
          .filter((tags) => values.tag === undefined || tags.at(-1) === values.tag)
          .map((tags) => ({
            title: `${STATEFUL}: ${tags.join(', ')}`,
            phases: [STATEFUL],
            more: tags.flatMap((tag) => ['--include-tag', tag]),
          }))),
];
const codes: (number | null)[] = [];
try {
  const service = await startService({ ACCESS_TOKEN_MINUTES: '600' });
  // What tests share is this one.
  process.env.TEST_RUN_JSON = join(service.dataDir, 'run.json');
  for (const { title, ...run } of runs) {
    const result = await fuzz(python, { examples: Number(values.examples), seed: Number(values.seed), ...run });
    process.stdout.write(`\n##### ${title}\n${result.output}`);
    codes.push(result.code);
  }
} finally {
  await cleanUp();
}
process.exit(codes.length > 0 && codes.every((code) => code === 0) ? 0 : (codes.find((code) => code) ?? 1));

/**
 * Operations whose calls follow each other: each tag with those that make what nearly everything hangs on. All at once
 * they are some fourteen thousand links, and of so many the generator finds no scenario at all.
 */
function groups(): string[][] {
  const { paths } = JSON.parse(readFileSync(join(root, 'docs', 'openapi.json'), 'utf8')) as {
    paths: Record<string, Record<string, { tags: string[] }>>;
  };
  const tags = new Set(
    Object.values(paths)
      .flatMap((operations) => Object.values(operations))
      .flatMap((operation) => operation.tags),
  );
  return [...tags].filter((tag) => !MAKERS.includes(tag)).map((tag) => [...MAKERS, tag]);
}
