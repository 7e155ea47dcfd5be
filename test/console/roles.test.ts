import { expect } from 'chai';
import { consoleRoutes } from '../../api/console/console.routes.js';
import { allRoles } from '../../api/http/access.js';
import { admin, newStudy, user } from '../support/http.js';
import { service } from '../support/service.js';
import { Visitor, tokenIn } from './stage.js';

const NOBODY = '00000000-0000-4000-8000-000000000000';
/** It ends the login that asks. */
const LEFT_OUT = ['/console/logout'];

describe('roles in the console', function () {
  this.timeout(120_000);

  for (const role of allRoles)
    it(`lets a ${role} to the pages of its row of the permissions, and to no other`, async () => {
      const by = await admin();
      const study = await newStudy(by);
      const { email } = await user(by, role, role === 'admin' ? {} : { study_ids: [study.id] });
      const visitor = await Visitor.of((await service()).api, email);
      const token = tokenIn((await visitor.get('/console/inbox')).text);
      expect(token).not.to.equal('');
      for (const { method, path, access } of consoleRoutes) {
        if (!access.token || LEFT_OUT.includes(path)) continue;
        // Of nobody: what is admitted finds nothing, or refuses what is not there.
        const at = path.replaceAll(/\{\w+\}/g, NOBODY);
        const { status } = await visitor.send(method, at, method === 'POST' ? { _token: token } : undefined);
        if (access.roles.includes(role)) expect(status, `${method} ${path}`).not.to.be.oneOf([401, 403, 500]);
        // A part of a page that asks for itself is given nothing: what is shown stays.
        else expect(status, `${method} ${path}`).to.equal(access.byConsole === 'background' ? 204 : 403);
      }
    });
});
