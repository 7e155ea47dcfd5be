import { isDeepStrictEqual } from 'node:util';
import { Type } from 'typebox';
import type { Static } from 'typebox';
import { participantFields } from '../../../workflows/domain/capture/participant.js';
import type { DatacaptureConfigRow } from '../../../db/capture/datacapture-configs.queries.js';
import type { ConfigChangeRequest } from '../../capture/config-change.js';
import { ConfigPatch, EventBatteryMapping } from '../../capture/datacapture.schemas.js';
import { invalid, invalidFields } from '../../http/errors.js';
import type { FaultEntry } from '../../http/errors.js';
import { check } from '../../http/validation/validation.js';
import { typedJson, typedValue, wholeNumber } from '../studies/edit/edit.js';

const Name = Type.String({ minLength: 1, maxLength: 200 });
const orNothing = { ...Type.Unsafe<string | null>({ ...Name, type: ['string', 'null'] }) };
/** One event for each arm. */
const Events = { ...orNothing, maxLength: 4_000 };
/** A complete mapping, as in the form's JSON. */
const Mapping = Type.Object(
  {
    enrollment_instrument: Type.Optional(orNothing),
    enrollment_event: Type.Optional(Events),
    participant_field_mapping: Type.Optional(Type.Record(Name, Name)),
    event_battery_mapping: Type.Optional(EventBatteryMapping),
    data_field_mapping: Type.Optional(
      Type.Record(
        Name,
        Type.Object({ datacapture_instrument: Name, fields: Type.Record(Name, Name) }, { additionalProperties: false }),
      ),
    ),
  },
  { additionalProperties: false },
);
export type MappingDraft = Static<typeof Mapping>;

/** The stored mapping as a draft. */
export const storedMapping = (config: DatacaptureConfigRow): Required<MappingDraft> => ({
  enrollment_instrument: config.enrollment_instrument,
  enrollment_event: config.enrollment_event,
  participant_field_mapping: config.participant_field_mapping,
  event_battery_mapping: config.event_battery_mapping,
  data_field_mapping: config.data_field_mapping,
});

export const eventColumns = ['event', 'battery', 'day', 'before', 'after'] as const;
export const resultColumns = ['task', 'form', 'metric', 'field'] as const;
type Row<Column extends string> = Record<Column, string>;
export type MappingEventRow = Row<(typeof eventColumns)[number]>;
export type MappingResultRow = Row<(typeof resultColumns)[number]>;
/** The mapping as fields: a row for each event and result. */
export interface MappingRows {
  enrollment_instrument: string;
  enrollment_event: string;
  participant: Record<string, string>;
  events: MappingEventRow[];
  results: MappingResultRow[];
}

/** A stored mapping as rows. */
export const rowsOf = (draft: Required<MappingDraft>): MappingRows => ({
  enrollment_instrument: draft.enrollment_instrument ?? '',
  enrollment_event: draft.enrollment_event ?? '',
  participant: draft.participant_field_mapping,
  events: Object.entries(draft.event_battery_mapping)
    .sort(([, a], [, b]) => a.target_day - b.target_day)
    .map(([event, { battery_id, target_day, window_before, window_after }]) => ({
      event,
      battery: String(battery_id),
      day: String(target_day),
      before: String(window_before ?? 0),
      after: String(window_after ?? 7),
    })),
  results: Object.entries(draft.data_field_mapping).flatMap(([task, { datacapture_instrument: form, fields }]) => {
    const metrics = Object.entries(fields);
    return metrics.length === 0
      ? [{ task, form, metric: '', field: '' }]
      : metrics.map(([metric, field]) => ({ task, form, metric, field }));
  }),
});

/** The typed rows, without empty ones. */
export function typedRows(form: URLSearchParams): MappingRows {
  const said = (name: string) => typedValue(form, name).trim();
  const rows = <Column extends string>(first: string, columns: readonly Column[]): Row<Column>[] => {
    const places = [...form.keys()]
      .map((name) => (name.startsWith(`${first}.`) ? Number(name.slice(first.length + 1)) : NaN))
      .filter((place) => Number.isInteger(place) && place >= 0)
      .sort((a, b) => a - b);
    return places
      .map((index) => Object.fromEntries(columns.map((column) => [column, said(`${column}.${index}`)])) as Row<Column>)
      .filter((row) => isTyped(first, row));
  };
  const participant = [...form.keys()].filter((name) => name.startsWith('participant.'));
  return {
    enrollment_instrument: said('enrollment_instrument'),
    enrollment_event: said('enrollment_event'),
    participant: Object.fromEntries(
      participant.map((name) => [name.slice('participant.'.length), said(name)]).filter(([, field]) => field !== ''),
    ),
    events: rows('event', eventColumns),
    results: rows('task', resultColumns),
  };
}

/** The days of an event and the task have a preselected value. */
const isTyped = (first: string, row: Row<string>): boolean =>
  first === 'event'
    ? row['event'] !== '' || row['battery'] !== '' || row['day'] !== ''
    : Object.values(row).some((value) => value !== '');

/**
 * Converts rows into a mapping. Participant fields without a row stay as stored.
 * @throws 422 with each fault by its row
 */
export function draftOf(rows: MappingRows, stored: Required<MappingDraft>): MappingDraft {
  const errors: FaultEntry[] = [];
  const fault = (path: string, code: string, message: string) =>
    errors.push({ path, code, message: `${path} ${message}` });
  const events = new Map<string, unknown>();
  rows.events.forEach(({ event, battery, day, before, after }, index) => {
    if (event === '') fault(`event.${index}`, 'REQUIRED', 'is required');
    else if (events.has(event)) fault(`event.${index}`, 'DUPLICATE', 'is named twice');
    events.set(event, {
      ...(battery !== '' && { battery_id: wholeNumber(battery) }),
      ...(day !== '' && { target_day: wholeNumber(day) }),
      ...(before !== '' && { window_before: wholeNumber(before) }),
      ...(after !== '' && { window_after: wholeNumber(after) }),
    });
  });
  const tasks = new Map<string, { datacapture_instrument: string; fields: Map<string, string> }>();
  rows.results.forEach(({ task, form, metric, field }, index) => {
    const known = tasks.get(task) ?? { datacapture_instrument: form, fields: new Map<string, string>() };
    tasks.set(task, known);
    if (task === '') fault(`task.${index}`, 'REQUIRED', 'is required');
    if (form === '') fault(`form.${index}`, 'REQUIRED', 'is required');
    else if (known.datacapture_instrument !== form)
      fault(`form.${index}`, 'ONE_FORM', 'is another form of the same task');
    if (known.fields.has(metric)) fault(`metric.${index}`, 'DUPLICATE', 'is named twice');
    if ((metric === '') !== (field === ''))
      fault(metric === '' ? `metric.${index}` : `field.${index}`, 'REQUIRED', 'is required');
    if (metric !== '') known.fields.set(metric, field);
  });
  if (errors.length > 0) throw invalidFields(errors);
  const others = Object.entries(stored.participant_field_mapping).filter(([name]) => !isFieldOfRows(name));
  return accepted({
    enrollment_instrument: rows.enrollment_instrument || null,
    enrollment_event: rows.enrollment_event || null,
    participant_field_mapping: { ...Object.fromEntries(others), ...rows.participant },
    event_battery_mapping: Object.fromEntries(events),
    data_field_mapping: Object.fromEntries(
      [...tasks].map(([task, { fields, ...form }]) => [task, { ...form, fields: Object.fromEntries(fields) }]),
    ),
  });
}

export const isFieldOfRows = (name: string): boolean => (participantFields as readonly string[]).includes(name);

/** Parses a mapping written as JSON. @throws 422 */
export function draftOfJson(text: string): MappingDraft {
  const draft = typedJson(text);
  if (draft === undefined) throw invalid('json', 'TYPE', 'must be json');
  return accepted(draft);
}

function accepted(draft: unknown): MappingDraft {
  check(Mapping, draft, 'body');
  return draft as MappingDraft;
}

/** The change that turns the stored mapping into the draft: entries missing in the draft are removed. */
export function changeTo(draft: MappingDraft, stored: Required<MappingDraft>): ConfigChangeRequest {
  const change: Record<string, unknown> = {};
  for (const name of ['enrollment_instrument', 'enrollment_event'] as const)
    if ((draft[name] ?? null) !== stored[name]) change[name] = draft[name] ?? null;
  for (const name of ['participant_field_mapping', 'event_battery_mapping', 'data_field_mapping'] as const) {
    const to = draft[name] ?? {};
    if (JSON.stringify(to) === JSON.stringify(stored[name])) continue;
    change[name] = name === 'data_field_mapping' ? withoutFields(to, stored[name]) : gone<unknown>(to, stored[name]);
  }
  check(ConfigPatch, change, 'body');
  return change as ConfigChangeRequest;
}

/** A typed mapping over the stored one: entries that are as the form first showed them are as they are stored now. */
export const mergedDraft = (typed: MappingDraft, seen: MappingDraft, now: MappingDraft): Required<MappingDraft> =>
  merged(typed, seen, now) as Required<MappingDraft>;

function merged(typed: unknown, seen: unknown, now: unknown): unknown {
  if (isDeepStrictEqual(typed, seen)) return now;
  if (!isObject(typed) || !isObject(seen) || !isObject(now)) return typed;
  const names = [...new Set([...Object.keys(now), ...Object.keys(typed)])];
  const entries = names.map((name) => [name, merged(typed[name], seen[name], now[name])] as const);
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}
const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;

/** As a merge: null removes an entry. */
const gone = <T>(to: Record<string, T>, stored: Record<string, unknown>): Record<string, T | null> => ({
  ...Object.fromEntries(Object.keys(stored).map((name) => [name, null])),
  ...to,
});

function withoutFields(to: object, stored: Required<MappingDraft>['data_field_mapping']): Record<string, unknown> {
  const tasks = to as typeof stored;
  const entries = Object.entries(tasks).map(([task, entry]) => [
    task,
    { ...entry, fields: gone(entry.fields, stored[task]?.fields ?? {}) },
  ]);
  return gone(Object.fromEntries(entries) as Record<string, unknown>, stored);
}
