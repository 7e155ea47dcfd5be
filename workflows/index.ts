/** The bundle's entry: every workflow that a worker runs, with the ids that its start must have. */
import * as anchor from './anchor/participant-anchor.workflow.js';
import * as reanchoring from './anchor/study-reanchoring.workflow.js';
import * as audit from './audit/audit-verification.workflow.js';
import * as query from './capture/datacapture-query.workflow.js';
import * as sync from './capture/datacapture-sync.workflow.js';
import * as trigger from './capture/datacapture-trigger.workflow.js';
import * as push from './capture/push-results.workflow.js';
import * as events from './events/event-delivery.workflow.js';
import * as studyExports from './exports/study-export.workflow.js';
import * as simulation from './simulation/study-simulation.workflow.js';
import { checkedStart } from './util/checked-start.js';

export { processPendingReminders, sendDailySummary } from './notifications/reminders.workflow.js';
export { expireSessions, updateVisitStatuses } from './scheduling/visit-statuses.workflow.js';

const participantAnchor = checkedStart(['participant_id', 'study_id'], anchor.participantAnchor);
const studyReanchoring = checkedStart(['study_id'], reanchoring.studyReanchoring);
const auditVerification = checkedStart(['verification_id'], audit.auditVerification);
const datacaptureQuery = checkedStart(['study_id'], query.datacaptureQuery);
const datacaptureSync = checkedStart(['sync_id', 'study_id'], sync.datacaptureSync);
const datacapturePoll = checkedStart(['study_id'], sync.datacapturePoll);
const datacaptureTrigger = checkedStart(['event_id', 'study_id'], trigger.datacaptureTrigger);
const pushResults = checkedStart(['session_id', 'study_id'], push.pushResults);
const eventDelivery = checkedStart(['delivery_id', 'study_id'], events.eventDelivery);
const studyExport = checkedStart(['export_id', 'study_id'], studyExports.studyExport);
const studySimulation = checkedStart(['simulation_id', 'study_id'], simulation.studySimulation);

export { participantAnchor, studyReanchoring, auditVerification, eventDelivery, studyExport, studySimulation };
export { datacaptureQuery, datacaptureSync, datacapturePoll, datacaptureTrigger, pushResults };
