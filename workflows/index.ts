/** The bundle's entry: every workflow that a worker runs. */
export { participantAnchor } from './participant-anchor.js';
export { datacaptureTrigger } from './datacapture-trigger.js';
export { datacapturePoll, datacaptureSync } from './datacapture-sync.js';
export { datacaptureQuery } from './datacapture-query.js';
export { pushResults } from './push-results.js';
export { processPendingReminders, sendDailySummary } from './reminders.js';
export { studyReanchoring } from './study-reanchoring.js';
export { studyExport } from './study-export.js';
export { studySimulation } from './study-simulation.js';
export { auditVerification } from './audit-verification.js';
export { expireSessions, updateVisitStatuses } from './visit-statuses.js';
export { eventDelivery } from './event-delivery.js';
