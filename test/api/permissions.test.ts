import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { permissionsTable } from '../../api/http/openapi/permissions.js';
import { permissionRoutes } from '../../api/routes.js';
import { root } from '../support/environment.js';

describe('The table of permissions', () => {
  it('docs/PERMISSIONS.md is what the routes declare ("npm run permissions" writes it)', () => {
    expect(readFileSync(join(root, 'docs', 'PERMISSIONS.md'), 'utf8')).to.equal(permissionsTable(permissionRoutes));
  });

  it('has a row for each operation, and only what is meant for everybody is open to anybody', () => {
    const rows = permissionsTable(permissionRoutes)
      .split('\n')
      .filter((line) => /^\| [A-Z]+ \|/.test(line));
    expect(rows).to.have.length(permissionRoutes.length);
    const open = permissionRoutes.filter(({ access }) => access.token === false).map(({ path }) => path);
    for (const path of open)
      expect(path).not.to.match(
        /^\/api\/(v1|users|studies|participants|exports|reports|anchors|schedules|batteries|metrics\/(?!health|prometheus))/,
      );
  });
});
