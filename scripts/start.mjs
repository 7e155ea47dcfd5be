/**
 * `npm start`: prepares the checkout and runs the supervisor in this process, so that Ctrl-C and the pid are its own.
 */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import {
  endWithNpm,
  keepCompiledCode,
  loadEnvFile,
  prepare,
  refuseArguments,
  requireNode,
  root,
  run,
} from './prepare.mjs';

requireNode();
endWithNpm();
await run(async () => {
  refuseArguments('npm start (its settings are environment variables, or lines of .env: see .env.example)');
  process.chdir(root);
  loadEnvFile();
  await prepare();
  process.setSourceMapsEnabled(true);
  keepCompiledCode();
  const { supervise } = await import(pathToFileURL(join(root, 'dist', 'scripts', 'runtime', 'supervisor.js')).href);
  // Nothing to wait for: an interrupted download must not block the terminal.
  process.exit(await supervise());
});
