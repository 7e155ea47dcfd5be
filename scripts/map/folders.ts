/**
 * The features, in the map's order. Each has a folder with its name in every layer that it needs. `begin`: the file to
 * read first; from there the imports lead on.
 */
export const features: Record<string, { what: string; begin: string }> = {
  studies: { what: 'studies, their sites and enrollment policy', begin: 'api/studies/studies.routes.ts' },
  participants: {
    what: 'participants, consents, eligibility, forms, randomization, erasure',
    begin: 'api/participants/participants.routes.ts',
  },
  anchor: {
    what: 'the enrollment (anchor) date: decisions, overrides, authorizations, re-anchoring',
    begin: 'activities/anchor/apply.ts',
  },
  scheduling: {
    what: 'visit windows, schedule versions, visits, events, holidays, calendar feeds',
    begin: 'api/scheduling/schedule-versions.routes.ts',
  },
  assessment: {
    what: 'batteries, sessions, offline sync',
    begin: 'api/assessment/sessions/sessions.routes.ts',
  },
  capture: {
    what: 'the capture system: configuration, triggers, syncs, pushes',
    begin: 'activities/capture/triggers/process-trigger.ts',
  },
  notifications: {
    what: 'reminders and other messages to people: planning, sending, bounces',
    begin: 'activities/notifications/notifications.activities.ts',
  },
  portal: { what: 'the participant’s and the caregiver’s page', begin: 'api/portal/portal.routes.ts' },
  events: { what: 'events, their stream and subscriptions', begin: 'api/events/events.routes.ts' },
  exports: { what: 'datasets, whole studies, FHIR and ODM', begin: 'api/exports/exports.routes.ts' },
  imports: { what: 'participants from spreadsheets', begin: 'api/imports/participant-import.routes.ts' },
  reports: { what: 'report figures, plots and PDF documents', begin: 'api/reports/reports.routes.ts' },
  templates: { what: 'study designs to start from', begin: 'api/templates/templates.routes.ts' },
  simulation: {
    what: 'a study simulated with artificial participants',
    begin: 'workflows/simulation/study-simulation.workflow.ts',
  },
  timeline: { what: 'the chronology of one participant', begin: 'api/timeline/timeline.routes.ts' },
  identity: { what: 'users, logins, passwords, second factors, tokens', begin: 'api/identity/auth.routes.ts' },
  audit: { what: 'the audit chain: records, checkpoints, verification', begin: 'db/audit/audit.ts' },
  operations: { what: 'health, metrics, recovery of lost work', begin: 'api/operations/health.routes.ts' },
  console: {
    what: 'the staff console: pages for study operators at /console',
    begin: 'api/console/console.routes.ts',
  },
  v1: { what: 'the /api/v1 interface for programs', begin: 'api/v1/v1.routes.ts' },
};

/** Layers, in the map's order. */
export const layers = ['api', 'workflows', 'workflows/domain', 'activities', 'db'] as const;

/** The layers, and their folders that are no feature. What is inside of these and of a feature needs no description. */
export const folders: Record<string, { what: string; begin: string }> = {
  api: { what: 'the HTTP process: start, server, routes', begin: 'api/main.ts' },
  'api/http': { what: 'the frame of a request; knows no feature', begin: 'api/http/pipeline.ts' },
  'api/util': { what: 'a limit on concurrent work', begin: 'api/util/concurrency-limiter.ts' },
  workflows: { what: 'processes that take time, and how to talk to them', begin: 'workflows/contract.ts' },
  'workflows/domain': { what: 'decisions; pure', begin: 'workflows/domain/anchor/decide.ts' },
  'workflows/domain/expressions': {
    what: 'custom rules in CEL, with their budget',
    begin: 'workflows/domain/expressions/expressions.ts',
  },
  'workflows/domain/util': { what: 'dates and shared types', begin: 'workflows/domain/util/types.ts' },
  'workflows/util': {
    what: 'payload codec, failure converter, concurrency',
    begin: 'workflows/util/payload-codec.ts',
  },
  activities: { what: 'the worker process: each activity is one transaction', begin: 'activities/main.ts' },
  'activities/html': {
    what: 'the frame, palette and charts of pages, mails, pictures and reports',
    begin: 'activities/html/html-document.tsx',
  },
  'activities/outbox': { what: 'the relay that empties the outbox', begin: 'activities/outbox/outbox-relay.ts' },
  'activities/util': { what: 'timers, load, addresses, ids', begin: 'activities/util/pipelined.ts' },
  db: { what: 'migrations and the schema', begin: 'db/schema.sql' },
  'db/client': { what: 'pool, transactions, scope, statements, clock, paging', begin: 'db/client/transaction.ts' },
  'db/migrations': { what: 'the schema, forward only', begin: 'db/migrations/index.ts' },
  'db/models': { what: 'tables as Objection models', begin: 'db/models/records.ts' },
  'db/outbox': { what: 'messages to Temporal, committed with the change', begin: 'db/outbox/outbox.ts' },
  scripts: { what: 'one verb each: start, test, build, verify, record, restore', begin: 'docs/commands.md' },
  test: { what: 'a folder for each kind of guarantee', begin: 'test/README.md' },
};

/** Folders of data. */
export const leftOut = /(^|\/)(node_modules|histories|projects|python|__pycache__)(\/|$)/;
