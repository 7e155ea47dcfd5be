import { anyone } from '../http/access.js';
import { problem } from '../http/errors.js';
import type { Route } from '../http/route.js';
import { approvalPages } from './approvals/approvals.routes.js';
import { assetRoutes } from './assets/assets.js';
import { auditPages } from './audit/audit.routes.js';
import { consolePage } from './routing/page.js';
import { capturePages } from './capture/capture.routes.js';
import { inboxRoutes } from './inbox/inbox.routes.js';
import { enrollPages } from './participants/enroll.routes.js';
import { importPages } from './participants/import.routes.js';
import { participantListPages } from './participants/participants.routes.js';
import { participantForms } from './participants/participant-forms.routes.js';
import { participantPages } from './participants/participant.routes.js';
import { reportPages } from './reports/reports.routes.js';
import { loginRoutes } from './session/login.routes.js';
import { passwordRoutes } from './session/password.routes.js';
import { consoleSessionRoutes } from './session/session.routes.js';
import { userPages } from './users/users.routes.js';
import { conflictRoutes } from './inbox/conflict.routes.js';
import { reviewRoutes } from './inbox/review.routes.js';
import { todayRoutes } from './today/today.routes.js';
import { visitPageRoutes } from './today/visit.routes.js';
import { policyPages } from './studies/policy.routes.js';
import { studyPages } from './studies/studies.routes.js';
import { memberPages } from './studies/members/members.routes.js';
import { sitePages } from './studies/sites/sites.routes.js';
import { eventPages } from './studies/events/events.routes.js';
import { batteryPages } from './studies/batteries/batteries.routes.js';
import { modulePages } from './studies/batteries/modules.routes.js';
import { messagePages } from './studies/messages/messages.routes.js';
import { newStudyPages } from './studies/new/new-study.routes.js';
import { connectionPages } from './capture/connection.routes.js';
import { mappingEditPages } from './capture/mapping-edit.routes.js';
import { windowPages } from './studies/windows.routes.js';

/** Unknown console addresses get a page of their own, down to the depth of the deepest page. */
const nothingAt = [
  '/console/{one}',
  '/console/{one}/{two}',
  '/console/{one}/{two}/{three}',
  '/console/{one}/{two}/{three}/{four}',
  '/console/{one}/{two}/{three}/{four}/{five}',
  '/console/{one}/{two}/{three}/{four}/{five}/{six}',
  '/console/{one}/{two}/{three}/{four}/{five}/{six}/{seven}',
].map((path) =>
  consolePage({
    path,
    summary: 'Say that there is no such page',
    access: anyone,
    view: () => {
      throw problem('NOT_FOUND');
    },
  }),
);

/** Every route of the console. Each page's routes are listed here once. */
export const consoleRoutes: readonly Route[] = [
  ...assetRoutes,
  ...loginRoutes,
  ...passwordRoutes,
  ...consoleSessionRoutes,
  ...inboxRoutes,
  ...conflictRoutes,
  ...reviewRoutes,
  ...todayRoutes,
  ...visitPageRoutes,
  ...approvalPages,
  ...participantListPages,
  ...enrollPages,
  ...importPages,
  ...participantPages,
  ...participantForms,
  ...capturePages,
  ...auditPages,
  ...reportPages,
  ...userPages,
  ...studyPages,
  ...policyPages,
  ...windowPages,
  ...memberPages,
  ...sitePages,
  ...eventPages,
  ...batteryPages,
  ...modulePages,
  ...messagePages,
  ...newStudyPages,
  ...connectionPages,
  ...mappingEditPages,
  ...nothingAt,
];
