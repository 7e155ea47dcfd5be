import * as identity from './0001-identity.js';
import * as studies from './0002-studies.js';
import * as anchor from './0003-anchor.js';
import * as recordKeeping from './0004-record-keeping.js';
import * as capture from './0005-capture.js';
import * as request from './0006-request.js';
import * as asOf from './0007-as-of.js';
import * as edc from './0008-edc.js';
import * as assessments from './0009-assessments.js';
import * as pages from './0010-pages.js';
import * as waitingTriggers from './0011-waiting-triggers.js';
import * as isolationCost from './0012-isolation-cost.js';
import * as outboxSubject from './0013-outbox-subject.js';
import * as portal from './0014-portal.js';
import * as regenerationCost from './0015-regeneration-cost.js';
import * as push from './0016-push.js';
import * as pushPace from './0016b-push-pace.js';
import * as poll from './0017-poll.js';
import * as dataOut from './0018-exports.js';
import * as exportCost from './0018b-export-cost.js';
import * as templates from './0019-templates.js';
import * as reminders from './0020-reminders.js';
import * as secondFactors from './0021-identity.js';
import * as audit from './0022-audit.js';
import * as events from './0023-events.js';
import * as erasure from './0024-erasure.js';
import * as userLinks from './0025-user-links.js';
import * as messageLane from './0026-message-lane.js';
import * as consentRevocation from './0027-consent-revocation.js';
import * as restingAnchors from './0030-resting-anchors.js';
import * as reminderCost from './0031-reminder-cost.js';
import * as cancelledByHand from './0032-cancelled-by-hand.js';
import * as batteryRight from './0033-battery-right.js';
import * as endedLogins from './0034-ended-logins.js';
import * as auditVerifications from './0035-audit-verifications.js';
import * as deadAddresses from './0036-dead-addresses.js';
import * as imports from './0038-imports.js';
import * as openChanges from './0040-open-changes.js';
import * as touchCost from './0041-touch-cost.js';
import * as caregivers from './0042-caregivers.js';
import * as caregiverEpochs from './0043-caregiver-epochs.js';
import * as patientChanges from './0044-patient-changes.js';
import * as studySize from './0045-study-size.js';
import * as callerCost from './0046-caller-cost.js';
import * as auditTexts from './0047-audit-texts.js';
import * as failingWorkflows from './0048-failing-workflows.js';
import * as localIds from './0049-local-ids.js';
import * as movedByHand from './0050-moved-by-hand.js';
import * as changedByHand from './0051-changed-by-hand.js';
import * as pushWarnings from './0052-push-warnings.js';
import * as reminderTargetDates from './0056-reminder-target-dates.js';
import * as loadedErasedItems from './0057-loaded-erased-items.js';
import * as deviceIds from './0060-device-ids.js';
import * as sessionFlags from './0061-session-flags.js';
import * as knownEvents from './0062-known-events.js';
import * as forbiddenPushes from './0063-forbidden-pushes.js';
import * as unmatchedTriggers from './0064-unmatched-triggers.js';
import * as captureArms from './0065-capture-arms.js';
import * as portalLogins from './0067-portal-logins.js';
import * as calendarFeeds from './0068-calendar-feeds.js';
import * as practiceTrials from './0069-practice-trials.js';
import * as reinstatement from './0072-reinstatement.js';
import * as workerSigns from './0073-worker-signs.js';
import * as waiverApproval from './0074-waiver-approval.js';
import * as signatures from './0078-signatures.js';
import * as accountProtection from './0079-account-protection.js';
import * as formulaTexts from './0082-formula-texts.js';
import * as sessionNames from './0083-session-names.js';
import * as importedClaims from './0084-imported-claims.js';
import * as messageAuthorizations from './0086-message-authorizations.js';
import * as portalTokensEnd from './0087-portal-tokens-end.js';
import * as messageDetails from './0088-message-details.js';
import * as askersAndWorkers from './0090-askers-and-workers.js';
import * as moreImportedClaims from './0091-more-imported-claims.js';
import * as workToDo from './0092-work-to-do.js';
import * as claimedSignatures from './0093-claimed-signatures.js';
import * as importedPersons from './0094-imported-persons.js';
import * as reportDocuments from './0095-report-documents.js';
import * as visitsOfAStudy from './0096-visits-of-a-study.js';
import * as policyTrials from './0097-policy-trials.js';
import * as repeatedHour from './0098-repeated-hour.js';
import * as erasedReasons from './0103-erased-reasons.js';
import * as erasedVisitTexts from './0106-erased-visit-texts.js';
import * as auditAppendVariables from './0108-audit-append-variables.js';
import * as reminderLimitsRow from './0109-reminder-limits-row.js';
import * as zonesAndLetters from './0111-zones-and-letters.js';
import * as recordsToReadAgain from './0112-records-to-read-again.js';
import * as addressCorrected from './0114-address-corrected.js';
import * as partialPushes from './0115-partial-pushes.js';
import * as activeDeviceSessions from './0116-active-device-sessions.js';
import * as erasedVisitNames from './0122-erased-visit-names.js';
import * as formerErasures from './0123-former-erasures.js';
import * as reminderHours from './0124-reminder-hours.js';
import * as enrollmentEvents from './0125-enrollment-events.js';
import * as reminderCalendar from './0126-reminder-calendar.js';
import * as orderedDeliveries from './0127-ordered-deliveries.js';
import * as visitsComparedAsSets from './0128-visits-compared-as-sets.js';
import * as visitInstants from './0129-visit-instants.js';

export interface SqlMigration {
  name: string;
  up: string;
}

/** In order; forward only. A released migration is never edited: a change is a new one at the end. */
export const migrations: readonly SqlMigration[] = [
  identity,
  studies,
  anchor,
  recordKeeping,
  capture,
  request,
  asOf,
  edc,
  assessments,
  pages,
  waitingTriggers,
  isolationCost,
  outboxSubject,
  portal,
  regenerationCost,
  push,
  pushPace,
  poll,
  dataOut,
  exportCost,
  templates,
  reminders,
  secondFactors,
  audit,
  events,
  erasure,
  userLinks,
  messageLane,
  consentRevocation,
  restingAnchors,
  reminderCost,
  cancelledByHand,
  batteryRight,
  endedLogins,
  auditVerifications,
  deadAddresses,
  imports,
  openChanges,
  touchCost,
  caregivers,
  caregiverEpochs,
  patientChanges,
  studySize,
  callerCost,
  auditTexts,
  failingWorkflows,
  localIds,
  movedByHand,
  changedByHand,
  pushWarnings,
  reminderTargetDates,
  loadedErasedItems,
  deviceIds,
  sessionFlags,
  knownEvents,
  forbiddenPushes,
  unmatchedTriggers,
  captureArms,
  portalLogins,
  calendarFeeds,
  practiceTrials,
  reinstatement,
  workerSigns,
  waiverApproval,
  signatures,
  accountProtection,
  formulaTexts,
  sessionNames,
  importedClaims,
  messageAuthorizations,
  portalTokensEnd,
  messageDetails,
  askersAndWorkers,
  moreImportedClaims,
  workToDo,
  claimedSignatures,
  importedPersons,
  reportDocuments,
  visitsOfAStudy,
  policyTrials,
  repeatedHour,
  erasedReasons,
  erasedVisitTexts,
  auditAppendVariables,
  reminderLimitsRow,
  zonesAndLetters,
  recordsToReadAgain,
  addressCorrected,
  partialPushes,
  activeDeviceSessions,
  erasedVisitNames,
  formerErasures,
  reminderHours,
  enrollmentEvents,
  reminderCalendar,
  orderedDeliveries,
  visitsComparedAsSets,
  visitInstants,
];
export const latestRevision = migrations.at(-1)!.name;
