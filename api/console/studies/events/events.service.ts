import type { Static } from 'typebox';
import type { Tx } from '../../../../db/client/database.js';
import { eventsOfStudy } from '../../../../db/console/study-events.queries.js';
import type { BatteryName } from '../../../../db/console/study-events.queries.js';
import type { EventDefinitionRecord } from '../../../../db/scheduling/event-definitions.queries.js';
import { countOffAnchor } from '../../../../db/scheduling/schedules.queries.js';
import type { EventRow, ScheduleSources } from '../../../../db/scheduling/schedules.queries.js';
import type { StudyRecord } from '../../../../db/studies/studies.queries.js';
import type { Role } from '../../../http/access.js';
import { problem } from '../../../http/errors.js';
import type { NewEventDefinition } from '../../../scheduling/edc.schemas.js';
import { getEventDefinitionOrThrow } from '../../../scheduling/event-definitions.service.js';
import { dryRunFor } from '../../../studies/dry-runs-at-once.js';
import { dryRunSchedules } from '../../../studies/policy-dry-run.service.js';
import type { ScheduleDryRun } from '../../../studies/policy-dry-run.service.js';
import { editOf, orNull, wholeNumber } from '../edit/edit.js';
import type { Edit, RefusedForm } from '../edit/edit.js';
import { trialIfQuick } from '../quick-trial.js';
import { mayConfigure } from '../studies.service.js';

export interface EventsView {
  study: StudyRecord;
  events: EventDefinitionRecord[];
  batteries: BatteryName[];
  /** Participants whom an override left on the former date: another scheduling mode moves all of their visits too. */
  earlier?: number;
}
export const plansByEvents = (study: StudyRecord): boolean => study.config.scheduling_mode === 'edc';

/** @throws 404 */
export async function loadEvents(tx: Tx, studyId: string): Promise<EventsView> {
  const { study, ...found } = await eventsOfStudy(tx, studyId);
  if (!study) throw problem('NOT_FOUND', { detail: 'There is no such study.' });
  return { study, ...found };
}

/** The same for the page with all events. @throws 404 */
export async function loadEventsPage(tx: Tx, { role }: { role: Role }, studyId: string): Promise<EventsView> {
  const view = await loadEvents(tx, studyId);
  return mayConfigure(role) ? { ...view, earlier: await countOffAnchor(tx, studyId) } : view;
}

/** @throws 404 also for an event of another study */
export async function eventOf(tx: Tx, params: { study_id: string; event_id: string }): Promise<EventDefinitionRecord> {
  const event = await getEventDefinitionOrThrow(tx, params.event_id.toLowerCase());
  if (event.study_id !== params.study_id.toLowerCase())
    throw problem('NOT_FOUND', { detail: 'There is no such event definition.' });
  return event;
}

/** An event as a form. */
export const eventEdit = (event: EventDefinitionRecord | undefined, sent?: RefusedForm): Edit =>
  editOf(
    event,
    {
      event_oid: event?.event_oid ?? '',
      name: event?.name ?? '',
      target_day: String(event?.target_day ?? ''),
      window_before: String(event?.window_before ?? 0),
      window_after: String(event?.window_after ?? 7),
      battery_id: String(event?.battery_id ?? ''),
      is_baseline: event?.is_baseline ? '1' : '',
      repeat_count: String(event?.repeating?.count ?? ''),
      repeat_days: String(event?.repeating?.every_days ?? ''),
      datacapture_event: event?.datacapture_event ?? '',
      sort_order: String(event?.sort_order ?? 0),
    },
    sent,
  );

/** A typed event: text that is no number stays text, and the schema refuses it. */
export function eventIn(form: URLSearchParams): Static<typeof NewEventDefinition> {
  const said = (name: string) => form.get(name)?.trim() ?? '';
  const number = (name: string) => wholeNumber(said(name)) as number;
  const repeats = said('repeat_count') !== '' || said('repeat_days') !== '';
  return {
    event_oid: said('event_oid'),
    name: said('name'),
    target_day: number('target_day'),
    window_before: number('window_before'),
    window_after: number('window_after'),
    battery_id: orNull(said('battery_id'), number('battery_id')),
    is_baseline: said('is_baseline') !== '',
    repeating: repeats ? { count: number('repeat_count'), every_days: number('repeat_days') } : null,
    datacapture_event: orNull(said('datacapture_event'), said('datacapture_event')),
    sort_order: number('sort_order'),
  };
}

/**
 * A dry run of the schedules with this event in place of the one with its id; null: without it. Undefined if the study
 * does not schedule by events. @throws 429 QUOTA_EXCEEDED for one who waits for some already
 */
export async function eventTrial(
  { tx, actor }: { tx: Tx; actor: { id: string } },
  study: StudyRecord,
  id: string,
  input: Static<typeof NewEventDefinition> | null,
): Promise<ScheduleDryRun | undefined> {
  if (!plansByEvents(study)) return undefined;
  const change = (sources: ScheduleSources): ScheduleSources => {
    if (!sources.edc) return sources;
    const kept = sources.edc.events.filter((event) => event.id !== id);
    const events = input ? [...kept, { ...input, id } as EventRow].sort(byPlanOrder) : kept;
    return { ...sources, edc: { ...sources.edc, events } };
  };
  return dryRunFor(actor, () => dryRunSchedules(tx, study.id, change));
}

/** The same without an event, for the page that deletes it. `later`: the page of a large study does not wait for it. */
export const trialWithout = async (
  by: { tx: Tx; actor: { id: string } },
  study: StudyRecord,
  id: string,
): Promise<ScheduleDryRun | 'later' | undefined> =>
  plansByEvents(study)
    ? ((await trialIfQuick(by.tx, study.id, () => eventTrial(by, study, id, null))) ?? 'later')
    : undefined;

/** In the order of the plan. */
const byPlanOrder = (a: EventRow, b: EventRow): number =>
  a.sort_order - b.sort_order || a.target_day - b.target_day || (a.event_oid < b.event_oid ? -1 : 1);
