import type { Settings } from '../../settings.js';
import type { Route } from '../http/route.js';
import { accountPages } from './account-pages.js';
import { accountRoutes } from './account.js';
import { anchorRoutes } from './anchor.js';
import { auditRoutes } from './audit.js';
import { authRoutes } from './auth.js';
import { batteryRoutes } from './batteries.js';
import { calendarFeedRoutes } from './calendar-feeds.js';
import { caregiverRoutes } from './caregivers.js';
import { codecRoutes } from './codec.js';
import { datacaptureRoutes } from './datacapture.js';
import { datacaptureSyncRoutes } from './datacapture-syncs.js';
import { decisionRoutes } from './decisions.js';
import { documentRoutes } from './documents.js';
import { erasureRoutes } from './erasure.js';
import { eventDefinitionRoutes } from './event-definitions.js';
import { eventSubscriptionRoutes } from './event-subscriptions.js';
import { eventRoutes } from './events.js';
import { exportRoutes } from './exports.js';
import { factRoutes } from './facts.js';
import { fullStudyRoutes } from './full-study.js';
import { healthRoutes } from './health.js';
import { holidayCalendarRoutes } from './holiday-calendars.js';
import { mfaRoutes } from './mfa.js';
import { metricsRoutes } from './metrics.js';
import { notificationRoutes } from './notifications.js';
import { overrideRoutes } from './overrides.js';
import { participantImportRoutes } from './participant-import.js';
import { participantRoutes } from './participants.js';
import { policyRoutes } from './policy.js';
import { portalLoginRoutes } from './portal-logins.js';
import { portalPages } from './portal-page.js';
import { portalRoutes } from './portal.js';
import { pushRoutes } from './pushes.js';
import { reportDocumentRoutes } from './report-documents.js';
import { reportRoutes } from './reports.js';
import { scheduleVersionRoutes } from './schedule-versions.js';
import { sessionRoutes } from './sessions.js';
import { simulationRoutes } from './simulations.js';
import { siteRoutes } from './sites.js';
import { standardRoutes } from './standards.js';
import { studyRoutes } from './studies.js';
import { syncRoutes } from './sync.js';
import { templateRoutes } from './templates.js';
import { timelineRoutes } from './timeline.js';
import { userRoutes } from './users.js';
import { v1Routes } from './v1.js';
import { visitStateRoutes } from './visit-states.js';
import { visitRoutes } from './visits.js';
import { webhookRoutes } from './webhooks.js';

/** What the contract describes. A resource exports its routes as a list and is named here once. */
export const described: readonly Route[] = [
  ...healthRoutes,
  ...authRoutes,
  ...mfaRoutes,
  ...accountRoutes,
  ...userRoutes,
  ...studyRoutes,
  ...siteRoutes,
  ...participantRoutes,
  ...caregiverRoutes,
  ...erasureRoutes,
  ...participantImportRoutes,
  ...exportRoutes,
  ...fullStudyRoutes,
  ...standardRoutes,
  ...factRoutes,
  ...visitRoutes,
  ...visitStateRoutes,
  ...batteryRoutes,
  ...sessionRoutes,
  ...syncRoutes,
  ...webhookRoutes,
  ...datacaptureRoutes,
  ...pushRoutes,
  ...datacaptureSyncRoutes,
  ...policyRoutes,
  ...scheduleVersionRoutes,
  ...eventDefinitionRoutes,
  ...holidayCalendarRoutes,
  ...simulationRoutes,
  ...anchorRoutes,
  ...decisionRoutes,
  ...overrideRoutes,
  ...portalRoutes,
  ...portalLoginRoutes,
  ...calendarFeedRoutes,
  ...reportRoutes,
  ...reportDocumentRoutes,
  ...templateRoutes,
  ...notificationRoutes,
  ...timelineRoutes,
  ...eventRoutes,
  ...eventSubscriptionRoutes,
  ...auditRoutes,
  ...v1Routes,
  ...metricsRoutes,
];

/** Every route of a deployment: /api/v1 is there where ENABLE_API_V1 says so, in the contract too. */
export function routesOf(settings: Settings): readonly Route[] {
  const served = settings.ENABLE_API_V1 ? described : described.filter(({ path }) => !path.startsWith('/api/v1/'));
  return [...served, ...accountPages, ...portalPages, ...documentRoutes(served), ...codecRoutes(settings)];
}
