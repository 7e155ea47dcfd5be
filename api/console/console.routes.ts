import { anyone } from '../http/access.js';
import { problem } from '../http/errors.js';
import type { Route } from '../http/route.js';
import { approvalPages } from './approvals/approvals.routes.js';
import { assetRoutes } from './assets/assets.js';
import { consolePage } from './html/page.js';
import { capturePages } from './capture/capture.routes.js';
import { inboxRoutes } from './inbox/inbox.routes.js';
import { loginRoutes } from './session/login.routes.js';
import { passwordRoutes } from './session/password.routes.js';
import { sessionRoutes } from './session/session.routes.js';
import { policyPages } from './studies/policy.routes.js';
import { studyPages } from './studies/studies.routes.js';
import { windowPages } from './studies/windows.routes.js';

/** An address of the console at which there is nothing gets a page that says so. */
const nothingAt = ['/console/{one}', '/console/{one}/{two}', '/console/{one}/{two}/{three}'].map((path) =>
  consolePage({
    path,
    summary: 'Say that there is no such page',
    access: anyone,
    view: () => {
      throw problem('NOT_FOUND');
    },
  }),
);

/** Every route of the console. A page's routes are named here once. */
export const consoleRoutes: readonly Route[] = [
  ...assetRoutes,
  ...loginRoutes,
  ...passwordRoutes,
  ...sessionRoutes,
  ...inboxRoutes,
  ...approvalPages,
  ...capturePages,
  ...studyPages,
  ...policyPages,
  ...windowPages,
  ...nothingAt,
];
