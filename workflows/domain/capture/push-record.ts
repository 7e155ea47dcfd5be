import { checkValue, outOfRange, numberText } from './push-values.js';
import type { DictionaryField } from './push-values.js';

/** The facts that decide a push; database rows at the time of the attempt. */
export interface PushSubject {
  integrated: boolean;
  session_id: string;
  session_status: string;
  source: 'online' | 'offline';
  external_id: string | null;
  began_after_withdrawal: boolean;
  visit_status: string | null;
  visit_event: string | null;
  visit_session_id: string | null;
  summaries: TaskSummaries | null;
  /** Tasks whose results stand in the session by their modules, with the names of these. */
  divided?: Record<string, string[]> | null;
}
export type TaskSummaries = Record<string, Record<string, number>>;
export type DataFieldMapping = Record<string, { datacapture_instrument: string; fields: Record<string, string> }>;

/** `later`: nothing to push yet; `skip`: never; `configuration`: a person must first fix something. */
export type PushPlan =
  | { kind: 'later' }
  | { kind: 'skip' | 'configuration'; reason: string }
  | { kind: 'push'; record: string; event: string; metrics: Metric[]; instruments: string[] };
export interface Metric {
  field: string;
  value: number;
}

const skip = (reason: string): PushPlan => ({ kind: 'skip', reason });
const configuration = (reason: string): PushPlan => ({ kind: 'configuration', reason });

/**
 * Whether and what to push of a session's results. `mapping` undefined: the study has no configuration. The present
 * state counts, including changes since the session's end.
 */
export function planPush(subject: PushSubject, mapping: DataFieldMapping | undefined): PushPlan {
  if (!subject.integrated) return skip('The study takes no part in the capture system.');
  if (subject.session_status !== 'completed') return skip(`The session is ${subject.session_status}.`);
  if (subject.began_after_withdrawal) return skip('The session began after the participant had withdrawn.');
  if (mapping === undefined) return configuration('The study has no capture-system configuration.');
  if (subject.visit_status === null)
    return configuration('The session is of no visit, so of no event of the capture system.');
  if (subject.visit_session_id !== null && subject.visit_session_id !== subject.session_id)
    return skip('The visit is told by another session.');
  if (subject.visit_status !== 'completed')
    return skip(`The visit is ${subject.visit_status}: this session does not tell it any more.`);
  if (!subject.visit_event) return configuration('The visit has no capture-system event (datacapture_event).');
  if (!subject.external_id)
    return configuration('The participant has no record id in the capture system (external_id).');
  if (Object.keys(mapping).length === 0)
    return configuration('The configuration maps no results (data_field_mapping).');
  if (subject.summaries === null && subject.source === 'offline') return { kind: 'later' };
  const divided = dividedTask(subject, mapping);
  if (divided)
    return configuration(
      `The battery has ${divided.task} in several modules: data_field_mapping has to name these (${divided.names}).`,
    );
  const content = contentOf(subject.summaries ?? {}, mapping);
  if (content.instruments.length === 0) return skip('The session has no results of a task that is mapped.');
  return { kind: 'push', record: subject.external_id, event: subject.visit_event, ...content };
}

/** A mapped task whose results stand under other names, of which the mapping has none: they would never arrive. */
function dividedTask(
  { summaries, divided }: PushSubject,
  mapping: DataFieldMapping,
): { task: string; names: string } | undefined {
  for (const task of Object.keys(mapping)) {
    const names = divided && Object.hasOwn(divided, task) ? divided[task]! : [];
    if (
      names.length > 0 &&
      !Object.hasOwn(summaries ?? {}, task) &&
      !names.some((name) => Object.hasOwn(mapping, name))
    )
      return { task, names: names.join(', ') };
  }
  return undefined;
}

/** Each mapped metric with a value; an instrument is complete when the session has its task. */
function contentOf(summaries: TaskSummaries, mapping: DataFieldMapping): { metrics: Metric[]; instruments: string[] } {
  const done = Object.entries(mapping).filter(([task]) => Object.hasOwn(summaries, task));
  const metrics = done.flatMap(([task, { fields }]) =>
    Object.entries(fields).flatMap(([metric, field]) => {
      const value = Object.hasOwn(summaries[task]!, metric) ? summaries[task]![metric] : undefined;
      return typeof value === 'number' && Number.isFinite(value) ? [{ field, value }] : [];
    }),
  );
  return { metrics, instruments: [...new Set(done.map(([, { datacapture_instrument }]) => datacapture_instrument))] };
}

/** The fields of a push in which results of these tasks stand already, delivered by another visit. */
export function fieldsTaken(
  { metrics }: Extract<PushPlan, { kind: 'push' }>,
  delivered: readonly string[],
  mapping: DataFieldMapping,
): string[] {
  const fields = delivered.flatMap((task) =>
    Object.hasOwn(mapping, task) ? Object.values(mapping[task]!.fields) : [],
  );
  return metrics.map(({ field }) => field).filter((field) => fields.includes(field));
}

/** A field that does not accept the value; contains neither record nor value. */
export interface FieldFault {
  field: string;
  rule: string;
}
/** A warning that does not prevent sending; contains neither record nor value. */
export interface PushWarning {
  code: 'OUT_OF_RANGE';
  field: string;
  message: string;
}
export type PushRecordRow = Record<string, string>;
export const EVENT_FIELD = 'redcap_event_name';

/**
 * The row of an import, as text, checked against the capture system's dictionary: its first field is the primary key.
 * Fields missing in the dictionary are validated by the capture system only.
 * @returns the row without key and event, every field that refuses its value, which is left out of it, and warnings
 */
export function pushValuesOf(
  plan: Extract<PushPlan, { kind: 'push' }>,
  dictionary: readonly DictionaryField[],
): { values: PushRecordRow; faults: FieldFault[]; warnings: PushWarning[] } {
  const fields = new Map(dictionary.map((field) => [field.field_name, field]));
  const values: PushRecordRow = {};
  const faults: FieldFault[] = [];
  const warnings: PushWarning[] = [];
  for (const { field, value } of plan.metrics) {
    const text = numberText(value, fields.get(field));
    const rule = field === dictionary[0]?.field_name ? 'it is the record id' : checkValue(field, text, fields);
    if (rule !== undefined) {
      faults.push({ field, rule });
      continue;
    }
    values[field] = text;
    const range = outOfRange(fields.get(field), text);
    if (range !== undefined) warnings.push({ code: 'OUT_OF_RANGE', field, message: `${field}: ${range}.` });
  }
  // A form that lacks a result is not complete.
  if (faults.length === 0) for (const instrument of plan.instruments) values[`${instrument}_complete`] = '2';
  return { values, faults, warnings };
}

/**
 * The values of fields that the dictionary lists, without the status of their forms, and the other fields: where a
 * capture system refuses an import for these, it has the listed ones nevertheless. Undefined: all or none are listed.
 */
export function listedValues(
  values: PushRecordRow,
  dictionary: readonly DictionaryField[],
): { values: PushRecordRow; unlisted: string[] } | undefined {
  const names = new Set(dictionary.flatMap(({ field_name, form_name }) => [field_name, `${form_name}_complete`]));
  const isListed = (name: string) => names.has(name) || names.has(name.split('___', 1)[0]!);
  const unlisted = Object.keys(values).filter((name) => !isListed(name));
  const listed = Object.entries(values).filter(([name]) => isListed(name) && !name.endsWith('_complete'));
  if (unlisted.length === 0 || listed.length === 0) return undefined;
  return { values: Object.fromEntries(listed), unlisted };
}

/** The values that the record does not have yet; `standing` are the rows of its export. */
export function missingFrom(values: PushRecordRow, standing: readonly Record<string, unknown>[]): PushRecordRow {
  const text = (value: unknown) =>
    typeof value === 'string' ? value.trim() : typeof value === 'number' ? String(value) : '';
  // A repeating event is written in its first instance; rows of repeating forms have other values.
  const row = standing.find(
    (each) => text(each['redcap_repeat_instrument']) === '' && ['', '1'].includes(text(each['redcap_repeat_instance'])),
  );
  if (!row) return values;
  return Object.fromEntries(
    Object.entries(values).filter(([field, value]) => {
      const stands = text(row[field]);
      return (
        stands === '' || (stands !== value && Number(stands.replace(',', '.')) !== Number(value.replace(',', '.')))
      );
    }),
  );
}
