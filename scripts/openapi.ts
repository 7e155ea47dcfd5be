import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { openapi } from '../api/http/openapi/document.js';
import { withErrorsTable } from '../api/http/openapi/errors-table.js';
import { permissionsTable } from '../api/http/openapi/permissions.js';
import { documentedRoutes, permissionRoutes } from '../api/routes.js';
import { dependenciesText } from './dependencies/document.js';
import { mapText } from './map/document.js';
import { refuseUnknownArguments } from './runtime/program.js';

/**
 * Writes docs/openapi.json, or the named file: the contract declared by the routes; also permissions, the table of
 * errors, the map of the code and its packages.
 */
// A file's name is no option.
refuseUnknownArguments(
  'npm run openapi [-- FILE]',
  process.argv.slice(2, 3).filter((one) => !one.startsWith('-')),
);
const file = process.argv[2] ?? 'docs/openapi.json';
mkdirSync(file.includes('/') ? file.slice(0, file.lastIndexOf('/')) : '.', { recursive: true });
writeFileSync(file, `${JSON.stringify(openapi(documentedRoutes), null, 2)}\n`);
console.log(`${documentedRoutes.length} operations written to ${file}.`);
if (file === 'docs/openapi.json') {
  writeFileSync('docs/PERMISSIONS.md', permissionsTable(permissionRoutes));
  writeFileSync('docs/api.md', withErrorsTable(readFileSync('docs/api.md', 'utf8')));
  writeFileSync('docs/MAP.md', mapText(process.cwd()));
  writeFileSync('docs/DEPENDENCIES.md', dependenciesText(process.cwd()));
}
