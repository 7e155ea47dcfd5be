import { readFileSync } from 'node:fs';
import type { Json } from './contract/alternatives.js';
import { undecided } from './contract/allowed.js';
import { readBase, writeBase } from './contract/base.js';
import { breakingChanges } from './contract/breaking.js';
import { refuseUnknownArguments } from './runtime/program.js';

/**
 * Compares docs/openapi.json with the contract of the last release: exits with 1 if callers of that release break.
 * `--keep` (with a release) stores the present document as that of the last release.
 */
refuseUnknownArguments('npm run contract:breaking [-- --keep]', ['--keep']);
const root = process.cwd();
const document = JSON.parse(readFileSync('docs/openapi.json', 'utf8')) as Json;
if (process.argv[2] === '--keep') {
  writeBase(root, document);
  console.log('docs/openapi.json is kept as the contract of the last release.');
} else {
  const { breaks, unused } = undecided(breakingChanges(readBase(root), document));
  for (const { rule, at, message } of breaks) console.error(`${rule}: ${at}: ${message}`);
  for (const { rule, at, reason } of unused)
    console.error(`scripts/contract/allowed.ts: nothing needs ${rule} ${String(at)} (${reason}) any more`);
  if (breaks.length + unused.length > 0) process.exitCode = 1;
  else console.log('docs/openapi.json breaks no caller of the last release.');
}
