/** `node scripts/run.mjs <program> [arguments]`: prepares the checkout, then runs dist/<program>.js in this process. */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { endWithNpm, keepCompiledCode, loadEnvFile, prepare, requireNode, root, run } from './prepare.mjs';

requireNode();
endWithNpm();
await run(async () => {
  const [program, ...args] = process.argv.slice(2);
  if (!program) throw new Error('Usage: node scripts/run.mjs <program without extension> [arguments]');
  process.chdir(root);
  loadEnvFile();
  await prepare();
  const file = join(root, 'dist', `${program}.js`);
  process.setSourceMapsEnabled(true);
  keepCompiledCode();
  // The program sees itself as the called one.
  process.argv = [process.execPath, file, ...args];
  await import(pathToFileURL(file).href);
});
