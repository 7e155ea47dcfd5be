/**
 * Writes docs/DEPENDENCIES.md from package.json, the lock file and the reasons; fails when a package has none, or is
 * not used.
 */
import { writeFileSync } from 'node:fs';
import { dependenciesText } from './dependencies/document.js';
import { faults } from './dependencies/scan.js';
import { refuseUnknownArguments } from './runtime/program.js';

refuseUnknownArguments('npm run packages');
const found = faults(process.cwd());
if (found.length > 0) {
  console.error(found.join('\n'));
  process.exit(1);
}
writeFileSync('docs/DEPENDENCIES.md', dependenciesText(process.cwd()));
console.log('docs/DEPENDENCIES.md is written.');
