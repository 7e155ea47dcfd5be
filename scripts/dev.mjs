/**
 * `npm run dev [-- --inspect[=PORT]]`: `npm start`, and after each save the API and the worker run the new code.
 * With --inspect a debugger reaches the API at PORT (9229) and the worker at the next one; 0 takes free ports.
 */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { builtSources } from './compile.mjs';
import { answerHelp, endWithNpm, keepCompiledCode, loadEnvFile, prepare, requireNode, root, run } from './prepare.mjs';
import { reloadOnSave } from './reload.mjs';

const INSPECTOR_PORT = 9229;
const USAGE = 'Usage: npm run dev [-- --inspect[=PORT]]';

requireNode();
endWithNpm();
await run(async () => {
  const inspect = inspectorOf(process.argv.slice(2));
  process.chdir(root);
  loadEnvFile();
  await prepare();
  const built = await builtSources(root);
  process.setSourceMapsEnabled(true);
  keepCompiledCode();
  const { supervise } = await import(pathToFileURL(join(root, 'dist', 'scripts', 'runtime', 'supervisor.js')).href);
  process.exit(await supervise({ inspect, whileRunning: (service) => reloadOnSave(root, built, service) }));
});

function inspectorOf(args) {
  if (args.length === 0) return undefined;
  answerHelp(USAGE);
  const asked = args.length === 1 ? /^--inspect(?:=(\d+))?$/.exec(args[0]) : null;
  const port = Number(asked?.[1] ?? INSPECTOR_PORT);
  if (asked === null || port > 65_534) throw new Error(USAGE);
  return { api: port, worker: port === 0 ? 0 : port + 1 };
}
