/**
 * What each group of operations is about, in the order of the work: logging in, a study and its design, its people, their
 * dates and visits, the results, what leaves the service, and its operation. A tag that is missing here fails the test of
 * the contract.
 */
export const tagDescriptions: Record<string, string> = {
  Authentication: 'Login, tokens, second factor, passwords.',
  Users: 'The staff, their roles, studies and sites.',
  Studies: 'Studies and their settings.',
  Sites: 'The places of a study.',
  'Study templates': 'Whole studies from a template.',
  'Anchor policy': 'By which rules a study’s enrollment dates are decided.',
  'Event definitions': 'Study events of the scheduling mode `edc`.',
  'Holiday calendars': 'Days on which no visit is planned.',
  Batteries: 'Versioned batteries of cognitive tasks.',
  Simulations: 'A whole study lived through under a policy.',
  Participants: 'Who takes part: enrollment, withdrawal, erasure.',
  Caregivers: 'Who opens the portal for participants.',
  Consents: 'Consents of a participant, by version and purpose.',
  Eligibility: 'The eligibility assessment of a participant.',
  Randomization: 'The arm of a participant, drawn once.',
  Forms: 'Forms of a participant and their items.',
  'Anchor date': 'The enrollment date of a participant: its value, history, decisions, overrides.',
  Schedules: 'Visit windows, visits and versions of a schedule.',
  Visits: 'Single visits and their states.',
  Sessions: 'Assessment sessions, their results and trials.',
  'Offline sync': 'Sessions that were held without a connection, and their conflicts.',
  Portal: 'What participants, and who cares for them, call themselves.',
  Notifications: 'Messages and reminders: planned, sent, explained.',
  Timeline: 'Everything about one participant in one line.',
  'Capture system': 'Configuration of the capture system, triggers, syncs and pushes.',
  Events: 'What happened in a study, for subscribers and lists.',
  Reports: 'Reports as JSON, plots and PDF.',
  Exports: 'Data sets and whole studies as files, and whole studies loaded.',
  'Programmatic access': 'Scoped tokens and what they may do.',
  Audit: 'The tamper-evident log, its checkpoints and proofs.',
  Health: 'Whether the process and what it needs answer.',
  Metrics: 'Requests, errors and times of the answering process.',
};
