import type { Settings } from '../settings.js';
import type { Route } from './http/route.js';
import { accountPages } from './identity/account-pages.routes.js';
import { accountRoutes } from './identity/account.routes.js';
import { anchorRoutes } from './anchor/anchor.routes.js';
import { auditRoutes } from './audit/audit.routes.js';
import { authRoutes } from './identity/auth.routes.js';
import { batteryRoutes } from './assessment/batteries/batteries.routes.js';
import { calendarFeedRoutes } from './scheduling/calendar-feeds.routes.js';
import { caregiverRoutes } from './portal/caregivers.routes.js';
import { codecRoutes } from './operations/codec.routes.js';
import { consoleRoutes } from './console/console.routes.js';
import { datacaptureRoutes } from './capture/datacapture.routes.js';
import { datacaptureSyncRoutes } from './capture/datacapture-syncs.routes.js';
import { decisionRoutes } from './anchor/decisions.routes.js';
import { documentRoutes } from './http/documents.routes.js';
import { erasureRoutes } from './participants/erasure.routes.js';
import { eventDefinitionRoutes } from './scheduling/event-definitions.routes.js';
import { eventSubscriptionRoutes } from './events/event-subscriptions.routes.js';
import { eventRoutes } from './events/events.routes.js';
import { exportRoutes } from './exports/exports.routes.js';
import { factRoutes } from './participants/facts.routes.js';
import { fullStudyRoutes } from './exports/full-study.routes.js';
import { healthRoutes } from './operations/health.routes.js';
import { holidayCalendarRoutes } from './scheduling/holiday-calendars.routes.js';
import { mfaRoutes } from './identity/mfa.routes.js';
import { metricsRoutes } from './operations/metrics.routes.js';
import { notificationRoutes } from './notifications/notifications.routes.js';
import { overrideRoutes } from './anchor/overrides.routes.js';
import { participantImportRoutes } from './imports/participant-import.routes.js';
import { participantRoutes } from './participants/participants.routes.js';
import { policyRoutes } from './studies/policy.routes.js';
import { portalLoginRoutes } from './portal/portal-logins.routes.js';
import { startPage } from './http/start-page.routes.js';
import { portalPages } from './portal/portal-page.routes.js';
import { portalRoutes } from './portal/portal.routes.js';
import { pushRoutes } from './capture/pushes.routes.js';
import { reportDocumentRoutes } from './reports/report-documents.routes.js';
import { reportRoutes } from './reports/reports.routes.js';
import { scheduleVersionRoutes } from './scheduling/schedule-versions.routes.js';
import { sessionRoutes } from './assessment/sessions/sessions.routes.js';
import { simulationRoutes } from './simulation/simulations.routes.js';
import { siteRoutes } from './studies/sites.routes.js';
import { standardRoutes } from './exports/standards.routes.js';
import { studyRoutes } from './studies/studies.routes.js';
import { syncRoutes } from './assessment/offline-sync/sync.routes.js';
import { templateRoutes } from './templates/templates.routes.js';
import { timelineRoutes } from './timeline/timeline.routes.js';
import { userRoutes } from './identity/users.routes.js';
import { v1Routes } from './v1/v1.routes.js';
import { visitStateRoutes } from './scheduling/visit-states.routes.js';
import { visitRoutes } from './scheduling/visits.routes.js';
import { webhookRoutes } from './capture/triggers/webhooks.routes.js';

/** The routes in the contract. A resource exports its routes as a list and is listed here once. */
export const documentedRoutes: readonly Route[] = [
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

/** The routes in docs/PERMISSIONS.md: the contract's and the console's. */
export const permissionRoutes: readonly Route[] = [...documentedRoutes, ...consoleRoutes];

/** Every route of a deployment, and of its contract: /api/v1 exists if ENABLE_API_V1 is set. */
export function routesOf(settings: Settings): readonly Route[] {
  const served = settings.ENABLE_API_V1
    ? documentedRoutes
    : documentedRoutes.filter(({ path }) => !path.startsWith('/api/v1/'));
  const console = settings.ENABLE_CONSOLE ? consoleRoutes : [];
  const pages = [startPage, ...console, ...accountPages, ...portalPages];
  return [...served, ...pages, ...documentRoutes(served), ...codecRoutes(settings)];
}
