import { setTimeout as sleep } from 'node:timers/promises';
import {
  findConfig,
  isStillConnected,
  noteConnection,
  updateConfig,
} from '../../db/capture/datacapture-configs.queries.js';
import type { DatacaptureConfigRow, UsedConnection } from '../../db/capture/datacapture-configs.queries.js';
import { takeAsker } from '../../db/capture/capture-questions.queries.js';
import { retryForbidden } from '../../db/capture/push-requests.queries.js';
import { forgetUnmatched } from '../../db/capture/unmatched-triggers.queries.js';
import { tasksOfBatteries } from '../../db/assessment/battery-tasks.queries.js';
import type { AuditEntry } from '../../db/audit/audit.js';
import { withStudyScope, readInScope } from '../../db/client/transaction.js';
import { readScheduleSources } from '../../db/scheduling/schedules.queries.js';
import type { ScheduleSources } from '../../db/scheduling/schedules.queries.js';
import { planVisits } from '../../workflows/domain/scheduling/schedule.js';
import { checkMapping } from '../../workflows/domain/capture/mapping-check.js';
import { enrollmentEvents } from '../../workflows/domain/capture/enrollment.js';
import { followEvents, presentName } from '../../workflows/domain/capture/known-events.js';
import { QUERY_SECONDS } from '../../workflows/domain/capture/query.js';
import type {
  CaptureAnswer,
  CaptureEvent,
  CaptureQuestion,
  ConnectionReport,
  Instrument,
} from '../../workflows/domain/capture/query.js';
import type { CaptureClient, CaptureRow } from './client/client.js';
import { openConnection, openTrial } from './client/connection.js';
import { describe, isSet, textValue } from './client/project.js';
import type { CaptureDeps } from './deps.js';
import { readDictionary } from './client/dictionary.js';
import { CaptureFailure } from './client/failure.js';
import { listedEventOf, noteEvents } from './follow-events.js';
import type { Dictionary } from '../../workflows/domain/capture/mapping-dictionary.js';
import type { MappingFields } from '../../workflows/domain/capture/mapping-dictionary.js';
import type { MappingWarning } from '../../workflows/domain/capture/mapping-dictionary.js';
import type { FormPlace, PlannedPlace } from '../../workflows/domain/capture/mapping-dictionary.js';
import type { Tx } from '../../db/client/database.js';

/** Answers a question to a study's capture system. Its faults are answers, too, with a public message. */
export async function queryCapture(deps: CaptureDeps, question: CaptureQuestion): Promise<CaptureAnswer> {
  // The caller should learn of a slow capture system, not of a worker timeout.
  const until = performance.now() + QUERY_SECONDS * 1000;
  const asked: { of?: UsedConnection } = {};
  try {
    return await waitingForLimits(until, () => answer(deps, question, until, asked));
  } catch (failure) {
    if (!(failure instanceof CaptureFailure)) throw failure;
    if (question.kind === 'test-connection') await storeFailedTest(deps, question, failure, asked.of);
    return { ok: false, error_type: failure.errorType, message: failure.message };
  }
}

const PAUSE_MS = 1_000;

/** Asks again when the capture system asks for it, as long as the caller waits. */
async function waitingForLimits<T>(until: number, ask: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await ask();
    } catch (failure) {
      if (!(failure instanceof CaptureFailure) || failure.limitedMs === undefined) throw failure;
      const pause = Math.max(failure.limitedMs, PAUSE_MS);
      if (performance.now() + pause >= until) throw failure;
      await sleep(pause);
    }
  }
}

/** @param asked gets the connection, once it is known */
async function answer(
  deps: CaptureDeps,
  question: CaptureQuestion,
  until: number,
  asked: { of?: UsedConnection },
): Promise<CaptureAnswer> {
  if (question.kind === 'try-connection')
    return { ok: true, connection: await describe(await openTrial(deps, question, { until })) };
  const { config, client } = await openConnection(deps, question.study_id, { until });
  asked.of = config;
  switch (question.kind) {
    case 'test-connection': {
      const connection = await describe(client);
      await storeTest(deps, question, connection, config);
      return { ok: true, connection };
    }
    case 'instruments':
      return { ok: true, instruments: (await client.instruments()).map(instrumentOf) };
    case 'events':
      return { ok: true, events: await listEvents(deps, question, client) };
    case 'check-mapping':
      return {
        ok: true,
        warnings: await checkNames(deps, config, question, client),
      };
  }
}

async function listEvents(
  deps: CaptureDeps,
  { study_id, follow }: Extract<CaptureQuestion, { kind: 'events' }>,
  client: CaptureClient,
): Promise<CaptureEvent[]> {
  const events = await eventsOf(client);
  if (follow) await noteEvents(deps, study_id, events, follow.question_id);
  return events;
}

/**
 * Compares the names of a mapping with the dictionary. For a saved mapping the events are stored, so that they are
 * known by id.
 */
async function checkNames(
  deps: CaptureDeps,
  config: DatacaptureConfigRow,
  { study_id, proposed }: Extract<CaptureQuestion, { kind: 'check-mapping' }>,
  client: CaptureClient,
): Promise<MappingWarning[]> {
  const given = { ...config, ...(proposed as MappingFields) };
  const { listed, ...dictionary } = await dictionaryOf(client, given);
  if (Object.keys(proposed).length === 0) await noteEvents(deps, study_id, listed);
  const { batteries, sources } = await readInScope(deps.database, study_id, async (tx) => ({
    batteries: await tasksOfBatteries(tx, study_id),
    sources: await readScheduleSources(tx, study_id),
  }));
  // What was stored before an event was renamed is not unknown: a rename is followed.
  const { known } = followEvents(config.known_events, listed);
  const called = (name: string) => presentName(known, name);
  const mapping = withNames(given, called);
  return checkMapping(mapping, { ...dictionary, batteries, visits: placesOf(planWithNames(sources, called), mapping) });
}

/** A mapping with other names of events. */
const withNames = <M extends MappingFields>(mapping: M, called: (name: string) => string): M => ({
  ...mapping,
  ...(mapping.enrollment_event && {
    enrollment_event: enrollmentEvents(mapping.enrollment_event).map(called).join(','),
  }),
  ...(mapping.event_battery_mapping && {
    event_battery_mapping: Object.fromEntries(
      Object.entries(mapping.event_battery_mapping).map(([name, entry]) => [called(name), entry]),
    ),
  }),
});

/** A study's windows and event definitions with other names of events. */
function planWithNames(sources: ScheduleSources, called: (name: string) => string): ScheduleSources {
  const of = <E extends { datacapture_event: string | null }>(each: E): E => ({
    ...each,
    datacapture_event: each.datacapture_event === null ? null : called(each.datacapture_event),
  });
  const { windows, edc } = sources;
  return { ...sources, windows: windows.map(of), edc: edc && { ...edc, events: edc.events.map(of) } };
}

/** The planned visits under a mapping, by their events. */
function placesOf(
  { edc, windows }: ScheduleSources,
  mapping: Pick<MappingFields, 'event_battery_mapping'>,
): PlannedPlace[] {
  if (edc)
    return edc.events.map(({ event_oid, datacapture_event, battery_id, repeating }) => ({
      code: event_oid,
      event: datacapture_event,
      battery_id,
      times: repeating?.count ?? 1,
    }));
  const entries = (mapping.event_battery_mapping ?? {}) as ScheduleSources['mapping'];
  return planVisits(ANY_DATE, windows, entries).visits.map(
    ({ name, visit_window_id, datacapture_event, battery_id }) => ({
      code: windows.find(({ id }) => id === visit_window_id)?.code ?? name,
      event: datacapture_event,
      battery_id,
      times: 1,
    }),
  );
}
const ANY_DATE = '2000-01-01';

type Test = Extract<CaptureQuestion, { kind: 'test-connection' }>;

/** Another address or token that was saved while this one was tested stays untested. */
async function storeTest(
  deps: CaptureDeps,
  question: Test,
  connection: ConnectionReport,
  used: UsedConnection,
): Promise<void> {
  await withStudyScope(deps.database, question.study_id, async ({ tx, audit }) => {
    if (await isStillConnected(tx, question.study_id, used)) {
      await updateConfig(tx, question.study_id, {
        project_id: connection.project_id.slice(0, 100),
        sync_status: 'active',
        sync_error_message: null,
      });
      await forgetUnmatched(tx, connection.project_id);
      await retryForbidden(tx, question.study_id, 'read');
    }
    audit.record(await tested(tx, question, 'connected'));
  });
}

/** @param used undefined: none could be opened */
async function storeFailedTest(
  deps: CaptureDeps,
  question: Test,
  failure: CaptureFailure,
  used: UsedConnection | undefined,
): Promise<void> {
  await withStudyScope(deps.database, question.study_id, async ({ tx, audit }) => {
    if (!(await findConfig(tx, question.study_id))) return;
    if (used === undefined || (await isStillConnected(tx, question.study_id, used)))
      await noteConnection(tx, question.study_id, failure.message);
    audit.record(await tested(tx, question, failure.errorType));
  });
}

/** Attributed to the person whom the API stored; a question sent to the worker directly has none. */
async function tested(tx: Tx, { kind, study_id, question_id }: Test, result: string): Promise<AuditEntry> {
  const { actor_user_id, request_id } = await takeAsker(tx, { studyId: study_id, kind, id: question_id });
  return {
    study_id,
    user_id: actor_user_id,
    request_id,
    action: 'datacapture_connection_tested',
    resource_type: 'datacapture_config',
    resource_id: study_id,
    metadata: { result, via: actor_user_id === null ? 'workflow' : 'rest' },
  };
}

const instrumentOf = (row: CaptureRow): Instrument => ({
  instrument_name: textValue(row['instrument_name']),
  instrument_label: textValue(row['instrument_label']),
});

/** A classic project has none: the capture system refuses the call, which is no fault. */
async function eventsOf(client: CaptureClient): Promise<CaptureEvent[]> {
  if (!isSet((await client.project())['is_longitudinal'])) return [];
  return (await client.events()).map(listedEventOf);
}

async function dictionaryOf(
  client: CaptureClient,
  mapping: MappingFields,
): Promise<Dictionary & { listed: CaptureEvent[] }> {
  const project = await client.project();
  const longitudinal = isSet(project['is_longitudinal']);
  const results = Object.values(mapping.data_field_mapping ?? {});
  const { rows, instruments } = await readDictionary(client, {
    forms: [mapping.enrollment_instrument ?? '', ...results.map((target) => target.datacapture_instrument)],
    fields: [
      ...Object.values(mapping.participant_field_mapping ?? {}),
      ...results.flatMap((target) => Object.values(target.fields)),
    ],
  });
  const fields = rows.map((row) => ({
    field_name: textValue(row['field_name']),
    form_name: textValue(row['form_name']),
    field_type: textValue(row['field_type']),
    validation: textValue(row['text_validation_type_or_show_slider_number']),
    choices: textValue(row['select_choices_or_calculations']),
    annotation: textValue(row['field_annotation']),
  }));
  const listed = longitudinal ? (await client.events()).map(listedEventOf) : [];
  const events = listed.map(({ unique_event_name }) => unique_event_name);
  const repeats = project['has_repeating_instruments_or_events'];
  const repeating =
    repeats === undefined || isSet(repeats) ? await unlessRefused(() => client.repeatingFormsEvents()) : [];
  const designated = longitudinal ? await unlessRefused(() => client.formEventMapping()) : [];
  return {
    ...(designated && { designated: designated.map((row) => placeOf(row['unique_event_name'], row['form'])) }),
    ...(repeating && { repeating: repeating.map((row) => placeOf(row['event_name'], row['form_name'])) }),
    project_id: textValue(project['project_id']),
    fields,
    instruments,
    events,
    longitudinal,
    listed,
  };
}

const placeOf = (event: unknown, form: unknown): FormPlace => ({ event: textValue(event), form: textValue(form) });

/** Refused by a project without the feature, or for a token without the right: unknown. */
async function unlessRefused(ask: () => Promise<CaptureRow[]>): Promise<CaptureRow[] | undefined> {
  try {
    return await ask();
  } catch (failure) {
    if (failure instanceof CaptureFailure && failure.errorType === 'rejected') return undefined;
    throw failure;
  }
}
