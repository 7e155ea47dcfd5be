/** Writes docs/PERMISSIONS.md and prints it: the permissions declared by the routes. */
import { writeFileSync } from 'node:fs';
import { permissionsTable } from '../api/http/openapi/permissions.js';
import { permitted } from '../api/routes.js';

const text = permissionsTable(permitted);
writeFileSync('docs/PERMISSIONS.md', text);
console.log(text);
