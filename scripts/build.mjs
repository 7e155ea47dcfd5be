/** `npm run build`: what every other command does before it runs, on its own. */
import { prepare, requireNode, run } from './prepare.mjs';

requireNode();
await run(async () => {
  if (!(await prepare())) process.stderr.write('dist is up to date\n');
});
