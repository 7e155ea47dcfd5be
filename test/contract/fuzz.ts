/** `npm run contract:fuzz [-- --examples N --seed N --only REGEX]`: schemathesis at length over the whole contract, on a service of its own. */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { cleanUp, startService } from '../support/service.js';
import { pythonOf } from '../support/python.js';
import { SOURCES, fuzz } from './schemathesis.js';

const { values } = parseArgs({ options: { examples: { type: 'string', default: '100' }, seed: { type: 'string', default: '1' }, phases: { type: 'string', default: 'examples,coverage,fuzzing,stateful' }, only: { type: 'string' } } });
process.once('SIGINT', () => { void cleanUp().then(() => process.exit(130)); });
process.once('SIGTERM', () => { void cleanUp().then(() => process.exit(143)); });
const python = await pythonOf(SOURCES, 'schemathesis');
if (python === undefined) throw new Error('There is no python3: schemathesis cannot run.');
let code: number | null;
try {
  const service = await startService({ ACCESS_TOKEN_MINUTES: '600' });
  // What tests share is this one.
  process.env.TEST_RUN_JSON = join(service.dataDir, 'run.json');
  const result = await fuzz(python, {
    examples: Number(values.examples), seed: Number(values.seed), phases: values.phases.split(','),
    more: values.only === undefined ? [] : ['--include-path-regex', values.only],
  });
  process.stdout.write(result.output);
  code = result.code;
} finally {
  await cleanUp();
}
process.exit(code ?? 1);
