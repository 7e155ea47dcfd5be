/** `npm run build`: what every other command does before it runs, on its own. */
import { prepare, refuseArguments, requireNode, run } from './prepare.mjs';

requireNode();
await run(async () => {
  refuseArguments('npm run build');
  if (!(await prepare())) process.stderr.write('dist is up to date\n');
});
