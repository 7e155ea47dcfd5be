/** Writes docs/PERMISSIONS.md and prints it: who may call what, as the routes declare it. */
import { writeFileSync } from 'node:fs';
import { permissionsTable } from '../api/http/openapi/permissions.js';
import { consoleRoutes } from '../api/console/console.routes.js';
import { described } from '../api/routes.js';

const text = permissionsTable([...described, ...consoleRoutes]);
writeFileSync('docs/PERMISSIONS.md', text);
console.log(text);
