/** Writes docs/MAP.md: folders, what each is for, which way their imports go; fails when a folder is not described. */
import { writeFileSync } from 'node:fs';
import { mapFaults, mapText } from './map/document.js';

const faults = mapFaults(process.cwd());
writeFileSync('docs/MAP.md', mapText(process.cwd()));
console.log(faults.length === 0 ? 'docs/MAP.md is written.' : faults.join('\n'));
process.exit(faults.length === 0 ? 0 : 1);
