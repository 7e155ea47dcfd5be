/** The bundle's entry: every workflow that a worker runs. */
export { participantAnchor } from './anchor/participant-anchor.workflow.js';
export { datacaptureTrigger } from './capture/datacapture-trigger.workflow.js';
export { datacapturePoll, datacaptureSync } from './capture/datacapture-sync.workflow.js';
export { datacaptureQuery } from './capture/datacapture-query.workflow.js';
export { pushResults } from './capture/push-results.workflow.js';
export { processPendingReminders, sendDailySummary } from './notifications/reminders.workflow.js';
export { studyReanchoring } from './anchor/study-reanchoring.workflow.js';
export { studyExport } from './exports/study-export.workflow.js';
export { studySimulation } from './simulation/study-simulation.workflow.js';
export { auditVerification } from './audit/audit-verification.workflow.js';
export { expireSessions, updateVisitStatuses } from './scheduling/visit-statuses.workflow.js';
export { eventDelivery } from './events/event-delivery.workflow.js';
