/** Writes docs/MAP.md: folders, their purpose, the direction of their imports; fails if a folder has no description. */
import { writeFileSync } from 'node:fs';
import { mapFaults, mapText } from './map/document.js';
import { refuseUnknownArguments } from './runtime/program.js';

refuseUnknownArguments('npm run map');
const faults = mapFaults(process.cwd());
writeFileSync('docs/MAP.md', mapText(process.cwd()));
console.log(faults.length === 0 ? 'docs/MAP.md is written.' : faults.join('\n'));
process.exit(faults.length === 0 ? 0 : 1);
