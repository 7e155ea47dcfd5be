/** Writes docs/PERMISSIONS.md and prints it: the permissions declared by the routes. */
import { writeFileSync } from 'node:fs';
import { permissionsTable } from '../api/http/openapi/permissions.js';
import { permissionRoutes } from '../api/routes.js';
import { refuseUnknownArguments } from './runtime/program.js';

refuseUnknownArguments('npm run permissions');
const text = permissionsTable(permissionRoutes);
writeFileSync('docs/PERMISSIONS.md', text);
console.log(text);
