import { randomUUID } from 'node:crypto';
import type { Static } from 'typebox';
import { nowIso } from '../../db/client/clock.js';
import { visitKey } from '../../db/audit/hashing.js';
import { putOutbox } from '../../db/outbox/outbox.js';
import { lockAnchors } from '../../db/anchor/anchors.queries.js';
import type { ParticipantRecord } from '../../db/participants/participants.queries.js';
import { lockSession } from '../../db/assessment/sessions.queries.js';
import { statusToday } from '../../db/scheduling/visit-statuses.queries.js';
import { requestPushes } from '../../db/capture/push-requests.queries.js';
import { hasLiveVisit, insertVisit, updateVisit, visitById } from '../../db/scheduling/visits.queries.js';
import type { VisitRecord } from '../../db/scheduling/visits.queries.js';
import type { VisitContent, VisitDays } from '../../db/models/records.js';
import { FIRST_LIVED_DAY, addDays, isDate } from '../../workflows/domain/util/dates.js';
import { CONTENT, windowIdentity } from '../../workflows/domain/scheduling/schedule.js';
import { brokenRule, invalid, problem } from '../http/errors.js';
import { auditActor, beforeAndAfter, changedFields } from '../http/audit-actor.js';
import type { Completion, NewVisit, VisitChange } from './schedules.schemas.js';
import {
  lockForShare,
  pastInstant,
  assertNotWithdrawn,
  announceSourcesChanged,
} from '../participants/participants.service.js';
import type { RequestScope } from '../http/state.js';
import { getWindowOrThrow, requireBattery, withPresentEvent } from './windows.service.js';
import type { Tx } from '../../db/client/database.js';

/**
 * Schedules a visit by hand, without a schedule version. The first one of a window is that window's visit: a later
 * schedule does not plan the window again (domain/schedule.ts).
 * @throws 404, 409 PARTICIPANT_WITHDRAWN, 422
 */
export async function scheduleVisit(
  { tx, audit, actor, context }: RequestScope,
  input: Static<typeof NewVisit>,
): Promise<VisitRecord> {
  // The maker of a schedule locks the anchor: neither sees half of the other's change.
  if (input.visit_window_id) await lockAnchors(tx, [input.participant_id]);
  const participant = await lockForShare(tx, input.participant_id);
  if (input.study_id && input.study_id.toLowerCase() !== participant.study_id)
    throw brokenRule('study_id', 'OTHER_STUDY', 'is not the study of the participant');
  assertNotWithdrawn(participant);
  const window = input.visit_window_id ? await getWindowOrThrow(tx, input.visit_window_id) : undefined;
  if (window && window.study_id !== participant.study_id)
    throw problem('NOT_FOUND', { detail: 'There is no such visit window.' });
  const name = input.name ?? window?.name;
  if (name === undefined) throw invalid('name', 'REQUIRED', 'is required for a visit without a window');
  await requireBattery(tx, input.battery_id, participant.study_id);
  const { datacapture_event: event } = await withPresentEvent(tx, participant.study_id, input);
  const dates = {
    target_date: input.target_date,
    window_open: input.window_open ?? (window ? addDays(input.target_date, -window.window_before) : input.target_date),
    window_close: input.window_close ?? (window ? addDays(input.target_date, window.window_after) : input.target_date),
  };
  if (!isDate(dates.window_open) || !isDate(dates.window_close))
    throw brokenRule(
      'target_date',
      'OUT_OF_RANGE',
      'is so near to an end of the calendar (years 0001 to 9999) that its window does not lie within it',
    );
  requireNear(dates.target_date);
  requireOrder(dates);
  const id = await insertVisit(tx, {
    ...dates,
    name,
    visit_key: window ? await keyWithin(tx, participant.id, window.id) : randomUUID(),
    is_baseline: window?.is_baseline ?? false,
    study_id: participant.study_id,
    participant_id: participant.id,
    visit_window_id: window?.id ?? null,
    battery_id: input.battery_id === undefined ? (window?.battery_id ?? null) : input.battery_id,
    datacapture_event: event === undefined ? (window?.datacapture_event ?? null) : event,
  });
  audit.record({
    ...auditActor(actor, context),
    study_id: participant.study_id,
    action: 'visit_scheduled',
    resource_type: 'visit',
    resource_id: id,
    metadata: { participant_id: participant.id, ...dates },
  });
  return getVisitOrThrow(tx, id);
}

/**
 * The key of the window's visit if the participant, whose anchor is locked, has no live one, else a new key: it is an
 * additional visit.
 */
async function keyWithin(tx: Tx, participantId: string, windowId: string): Promise<string> {
  const key = visitKey(participantId, windowIdentity(windowId));
  return (await hasLiveVisit(tx, participantId, { visitKey: key, windowId })) ? randomUUID() : key;
}

const DAYS = ['target_date', 'window_open', 'window_close'] as const;
const READ_BY_SCHEDULES = [...DAYS, ...CONTENT, 'needs_review'] as const;
const SCHEDULE = new Set(['target_date', 'window_open', 'window_close', 'status']);
/** The audit log has them before and after. A visit's name is written by people. */
const TOLD = [...DAYS, 'status', 'battery_id', 'datacapture_event'];

/** A visit keeps the beginning of a reason, no half of a letter; the audit log has all of it. */
export const keptReason = (reason: string): string => reason.slice(0, 200).replace(/\p{Surrogate}$/u, '');

/**
 * Corrects or cancels a pending visit, or removes its review mark. @throws 404, 409 PARTICIPANT_WITHDRAWN, VISIT_CLOSED
 * or STALE, 400, 422
 */
export async function changeVisit(
  { tx, audit, actor, context }: RequestScope,
  id: string,
  given: Static<typeof VisitChange>,
  assertIfMatch: (record: Record<string, unknown>) => void,
): Promise<VisitRecord> {
  // The next schedule reads these changes under the anchor's lock: a cancellation, another date or battery, a mark for
  // review comes before it or after.
  if (given.status === 'cancelled' || READ_BY_SCHEDULES.some((field) => given[field] !== undefined))
    await lockAnchors(tx, [(await getVisitOrThrow(tx, id)).participant_id]);
  const { visit: before, participant } = await lockVisitForShare(tx, id, given.datacapture_event !== undefined);
  assertIfMatch({ ...before });
  const input = await withPresentEvent(tx, before.study_id, given);
  const { reason, ...change } = input;
  const fields = changedFields({ ...before }, change);
  if (fields.length === 0) return before;
  if (fields.some((field) => SCHEDULE.has(field))) assertNotWithdrawn(participant);
  requireChangeable(before, fields, reason);
  if (fields.includes('target_date')) requireNear(input.target_date!);
  requireOrder({ ...before, ...change });
  await requireBattery(tx, input.battery_id, before.study_id);
  await updateVisit(tx, id, {
    ...change,
    ...movedFrom(before, input),
    ...changedFrom(before, input),
    ...(input.status === 'cancelled' && {
      status_reason: reason === undefined ? 'cancelled by hand' : keptReason(reason),
      cancelled_by_hand: true,
    }),
  });
  // Another window may reopen the visit, or close it: its status is updated at once, not at the next hour.
  if (input.status === undefined && (fields.includes('window_open') || fields.includes('window_close')))
    await updateVisit(tx, id, { status: await statusToday(tx, { ...before, ...input }) });
  audit.record({
    ...auditActor(actor, context),
    study_id: before.study_id,
    action: input.status === 'cancelled' ? 'visit_cancelled' : 'visit_changed',
    resource_type: 'visit',
    resource_id: id,
    metadata: {
      participant_id: before.participant_id,
      fields,
      ...(reason !== undefined && { reason }),
      ...beforeAndAfter({ ...before }, change, fields, TOLD),
    },
  });
  // Pushes its results to the corrected event.
  if (before.status === 'completed' && before.session_id !== null && fields.includes('datacapture_event'))
    await requestPushes(tx, [before.session_id]);
  return getVisitOrThrow(tx, id);
}

/**
 * A closed visit can't change, except for its review mark, and the event of a completed one: the target of its results
 * can be corrected with a reason.
 */
function requireChangeable({ status }: VisitRecord, fields: readonly string[], reason: string | undefined): void {
  if (status !== 'completed' && status !== 'superseded' && status !== 'cancelled') return;
  const others = fields.filter((field) => field !== 'needs_review');
  if (others.length === 0) return;
  if (status !== 'completed')
    throw problem('VISIT_CLOSED', { detail: `The visit is ${status}: only its mark for review can change.` });
  if (others.some((field) => field !== 'datacapture_event'))
    throw problem('VISIT_CLOSED', {
      detail: 'The visit is completed: only its mark for review and its datacapture_event can change.',
    });
  if (reason === undefined)
    throw invalid('reason', 'REQUIRED', 'is required to correct datacapture_event of a completed visit');
}

/**
 * Completes a visit that is scheduled, open or missed; a completed one is returned unchanged.
 * @throws 404, 409 VISIT_CLOSED, 400 a future time
 */
export async function completeVisit(
  { tx, audit, actor, context }: RequestScope,
  id: string,
  input: Static<typeof Completion>,
): Promise<VisitRecord> {
  const before = await getVisitOrThrow(tx, id, true);
  if (before.status === 'completed') return before;
  if (before.status === 'superseded' || before.status === 'cancelled')
    throw problem('VISIT_CLOSED', { detail: `The visit is ${before.status} and cannot be completed.` });
  const completed_at = pastInstant(input.completed_at ?? nowIso(), 'completed_at');
  await updateVisit(tx, id, { status: 'completed', completed_at });
  audit.record({
    ...auditActor(actor, context),
    study_id: before.study_id,
    action: 'visit_completed',
    resource_type: 'visit',
    resource_id: id,
    metadata: { participant_id: before.participant_id, completed_at, status_before: before.status },
  });
  // The completion of the baseline is a prerequisite and may be a source; existing data also restrict a re-anchoring.
  if (before.is_baseline)
    await putOutbox(tx, [
      announceSourcesChanged({ id: before.participant_id, study_id: before.study_id }, actor, context),
    ]);
  return getVisitOrThrow(tx, id);
}

export async function getVisitOrThrow(tx: Tx, id: string, lock = false): Promise<VisitRecord> {
  const visit = await visitById(tx, id, lock);
  if (!visit) throw problem('NOT_FOUND', { detail: 'There is no such visit.' });
  return visit;
}

/**
 * The visit, locked, and its participant with a shared lock: a withdrawal comes before the change or after it.
 * @param withSession also the session that completed it: its push is requested, and the end of a push locks the session
 * first
 */
export async function lockVisitForShare(
  tx: Tx,
  id: string,
  withSession = false,
): Promise<{ visit: VisitRecord; participant: ParticipantRecord }> {
  const { participant_id, session_id } = await getVisitOrThrow(tx, id);
  const participant = await lockForShare(tx, participant_id);
  if (withSession && session_id !== null) await lockSession(tx, session_id);
  return { visit: await getVisitOrThrow(tx, id, true), participant };
}

/** The schedule's dates of a visit that a user moves; null if it returns to them. */
function movedFrom(before: VisitRecord, input: Static<typeof VisitChange>): { moved_from?: VisitDays | null } {
  if (
    before.schedule_version_id === null ||
    !DAYS.some((day) => input[day] !== undefined && input[day] !== before[day])
  )
    return {};
  const planned = before.moved_from ?? {
    target_date: before.target_date,
    window_open: before.window_open,
    window_close: before.window_close,
  };
  return { moved_from: DAYS.every((day) => (input[day] ?? before[day]) === planned[day]) ? null : planned };
}

/** The same for its name, battery and event: the schedule's values of those that differ. */
function changedFrom(before: VisitRecord, input: Static<typeof VisitChange>): { changed_from?: VisitContent | null } {
  if (
    before.schedule_version_id === null ||
    !CONTENT.some((field) => input[field] !== undefined && input[field] !== before[field])
  )
    return {};
  const planned = { ...before, ...before.changed_from };
  const other = CONTENT.filter(
    (field) => (input[field] === undefined ? before[field] : input[field]) !== planned[field],
  );
  return {
    changed_from: other.length === 0 ? null : Object.fromEntries(other.map((field) => [field, planned[field]])),
  };
}

/** @throws 400 OUT_OF_RANGE for a mistyped year */
function requireNear(target: string): void {
  if (target < FIRST_LIVED_DAY) throw brokenRule('target_date', 'OUT_OF_RANGE', `lies before ${FIRST_LIVED_DAY}`);
}

function requireOrder(dates: { target_date: string; window_open: string; window_close: string }): void {
  if (dates.window_open <= dates.target_date && dates.target_date <= dates.window_close) return;
  const message = 'target_date must lie between window_open and window_close';
  throw problem('RULE_VIOLATED', {
    detail: `${message}.`,
    errors: [{ path: 'target_date', code: 'OUTSIDE_WINDOW', message }],
  });
}
