import { configStatement, exchangeStatement } from '../../../db/capture/datacapture-configs.queries.js';
import type { DatacaptureConfigRow } from '../../../db/capture/datacapture-configs.queries.js';
import { claimRecord } from '../../../db/capture/datacapture-records.queries.js';
import type { RecordClaim } from '../../../db/capture/datacapture-records.queries.js';
import { eventStatement, openTriggersBefore } from '../../../db/capture/webhook-events.queries.js';
import type { WebhookEventRow } from '../../../db/capture/webhook-events.queries.js';
import { readInScope, withStudyScope, writeInScope } from '../../../db/client/transaction.js';
import type { DatacaptureTriggerStart } from '../../../workflows/contract.js';
import { concernsEnrollment, enrollmentEvents } from '../../../workflows/domain/capture/enrollment.js';
import { presentName, standingEvents } from '../../../workflows/domain/capture/known-events.js';
import { clientOf } from '../client/connection.js';
import { exchangeOff, recordBusy, TriggerRefused } from '../client/failure.js';
import type { CaptureDeps } from '../deps.js';
import { withPresentNames } from '../follow-events.js';
import { ignoreTrigger } from './complete-trigger.js';
import type { TriggerReport } from './complete-trigger.js';

/** Longer than an attempt's calls may take: an expired lease belongs to a dead attempt. */
const leaseSeconds = ({ settings }: CaptureDeps) => 6 * settings.DATACAPTURE_TIMEOUT_SECONDS + 30;
/** The typical time of one trigger. */
const EACH_MS = 150,
  MAX_WAIT_MS = 5_000;

/** An open trigger with the record that it holds. */
export interface OpenTrigger {
  event: WebhookEventRow;
  config: DatacaptureConfigRow;
  claim: RecordClaim;
  /** The form, and the events, that enroll. */
  rules: { instrument: string; events: readonly string[] };
}

/** The trigger with its claimed record, or its result: from an earlier attempt, or for another instrument. */
export async function openTrigger(
  deps: CaptureDeps,
  start: DatacaptureTriggerStart,
): Promise<OpenTrigger | { ended: TriggerReport }> {
  const { study_id, event_id } = start;
  const [[claim], [event], [config], [exchange]] = (await writeInScope(
    deps.database,
    study_id,
    [
      claimRecord(study_id, event_id, leaseSeconds(deps)),
      eventStatement(event_id),
      configStatement(study_id),
      exchangeStatement(study_id),
    ],
    'one',
  )) as [RecordClaim[], WebhookEventRow[], DatacaptureConfigRow[], { is_on: boolean }[]];
  if (!event) throw new TriggerRefused('EVENT_NOT_FOUND', 'There is no such webhook event.');
  if (event.status !== 'received' && event.status !== 'processing')
    return { ended: { status: event.status, outcome: event.outcome } };
  if (!config) throw new TriggerRefused('CONFIG_NOT_FOUND', 'The study has no capture-system configuration any more.');
  if (!exchange?.is_on) throw exchangeOff();
  const present = await presently(deps, event, config);
  const { known_events: known, enrollment_event: named } = present.config;
  const events = standingEvents(known, enrollmentEvents(named));
  if (!concernsEnrollment(present.event, { instrument: present.config.enrollment_instrument, events }))
    return { ended: await withStudyScope(deps.database, study_id, ({ tx }) => ignoreTrigger(tx, event)) };
  return { ...present, rules: { instrument: event.instrument, events }, claim: claim ?? (await stepBack(deps, event)) };
}

/**
 * Trigger and configuration with the present event names: a trigger may be older than a rename, or the first to reveal
 * it. Where no events are known, as the mapping was saved unchecked, they are listed: the arm of the record depends on
 * them.
 */
async function presently(
  deps: CaptureDeps,
  event: WebhookEventRow,
  config: DatacaptureConfigRow,
): Promise<{ event: WebhookEventRow; config: DatacaptureConfigRow }> {
  const name = event.event_name;
  const known = Object.values(config.known_events);
  if (!name || event.instrument !== config.enrollment_instrument) return { event, config };
  const called = presentName(config.known_events, name);
  if (called !== name) return { event: { ...event, event_name: called }, config };
  if (known.some((each) => !each.gone && each.name === name)) return { event, config };
  const connection = `${config.api_url}\0${config.api_token_encrypted}`;
  if (known.length === 0 && (unlisted.get(connection) ?? 0) > performance.now()) return { event, config };
  const present = await withPresentNames(deps, { config, client: await clientOf(deps, config) });
  if (Object.keys(present.known_events).length === 0) {
    if (unlisted.size >= 1_000) unlisted.clear();
    unlisted.set(connection, performance.now() + UNLISTED_MS);
  }
  return { event, config: present };
}

/** Until when a token that may not list events is not asked for them again by each trigger. */
const unlisted = new Map<string, number>();
const UNLISTED_MS = 10 * 60_000;

/**
 * Another trigger holds the record: retries when those before it should be done; Temporal waits, without occupying a
 * worker slot.
 */
async function stepBack(deps: CaptureDeps, event: WebhookEventRow): Promise<never> {
  const ahead = await readInScope(deps.database, event.study_id, (tx) => openTriggersBefore(tx, event));
  throw recordBusy(Math.min(EACH_MS * Math.max(1, ahead), MAX_WAIT_MS) * (0.8 + Math.random() * 0.4));
}
