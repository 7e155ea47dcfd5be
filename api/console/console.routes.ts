import { anyone } from '../http/access.js';
import { problem } from '../http/errors.js';
import type { Route } from '../http/route.js';
import { approvalPages } from './approvals/approvals.routes.js';
import { assetRoutes } from './assets/assets.js';
import { consolePage } from './html/page.js';
import { inboxRoutes } from './inbox/inbox.routes.js';
import { conflictRoutes } from './inbox/conflict.routes.js';
import { reviewRoutes } from './inbox/review.routes.js';
import { loginRoutes } from './session/login.routes.js';
import { passwordRoutes } from './session/password.routes.js';
import { sessionRoutes } from './session/session.routes.js';
import { todayRoutes } from './today/today.routes.js';
import { visitRoutes } from './today/visit.routes.js';

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
  ...conflictRoutes,
  ...reviewRoutes,
  ...todayRoutes,
  ...visitRoutes,
  ...approvalPages,
  ...nothingAt,
];
