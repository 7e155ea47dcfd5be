/** Writes .env.example from the table of settings; `--check` only compares. */
import { readFileSync, writeFileSync } from 'node:fs';
import { envExample } from '../settings.js';
import { refuseUnknownArguments } from './runtime/program.js';

refuseUnknownArguments('npm run env:example [-- --check]', ['--check']);
const file = '.env.example';
const text = envExample();
if (!process.argv.includes('--check')) {
  writeFileSync(file, text);
  console.log(`${file} written`);
} else if (readFileSync(file, 'utf8') !== text) {
  console.error(`${file} is not what settings.ts says: run "node scripts/run.mjs scripts/env-example".`);
  process.exitCode = 1;
}
