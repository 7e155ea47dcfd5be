import { isTask } from '../assessment/tasks.js';
import { takesNoNumber } from './push-values.js';
import { formOf, isFormStatus } from './mapping-dictionary.js';
import type { Dictionary } from './mapping-dictionary.js';
import type { MappingFields } from './mapping-dictionary.js';
import type { PlannedPlace } from './mapping-dictionary.js';
import type { MappingWarning } from './mapping-dictionary.js';

type Warn = (code: string, path: string, message: string) => void;

/** The parts of the results' mapping that no push can satisfy, as far as the capture system tells. */
export function checkResults(mapping: MappingFields, dictionary: Dictionary): MappingWarning[] {
  const warnings: MappingWarning[] = [];
  const warn: Warn = (code, path, message) => warnings.push({ code, path, message });
  const taken: Result[] = [];
  for (const [task, target] of Object.entries(mapping.data_field_mapping ?? {})) {
    const path = `data_field_mapping.${task}`;
    if (!isTask(task) && !Object.values(dictionary.batteries ?? {}).some((names) => names.includes(task)))
      warn('UNKNOWN_TASK', path, `There is no task "${task}": no session has results of it.`);
    const events = eventsOf(task, mapping, dictionary);
    checkForm(target.datacapture_instrument, `${path}.datacapture_instrument`, { events, dictionary, warn });
    for (const [metric, field] of Object.entries(target.fields)) {
      const at = `${path}.fields.${metric}`;
      const result = { task, metric, field, events };
      const other = taken.find((each) => isSamePlace(each, result));
      if (other !== undefined)
        warn(
          'DUPLICATE',
          at,
          `The field "${field}" already takes ${other.task === task ? '' : `${other.task}.`}${other.metric}: of ` +
            `two results one is lost.`,
        );
      taken.push(result);
      checkField(field, at, dictionary, warn);
      const form = formOf(field, dictionary);
      if (form !== undefined && form !== target.datacapture_instrument)
        checkForm(form, at, { events, dictionary, warn });
    }
  }
  for (const { event, codes } of sharedEvents(mapping, dictionary))
    warn(
      'SAME_FIELDS',
      'data_field_mapping',
      event === CLASSIC
        ? LAST_STAY
        : `Several visits (${codes.join(', ')}) deliver the same results to the event "${event}": those of one visit ` +
            `are taken, and no others. Give each an event of its own.`,
    );
  for (const { event, codes } of lostEvents(mapping, dictionary))
    warn(
      'UNKNOWN_EVENT',
      'data_field_mapping',
      `Visits (${codes.join(', ')}) deliver results to the event "${event}", which the capture system does not have.`,
    );
  return warnings;
}

/** The place of all visits in a project without events. */
const CLASSIC = '';
export const LAST_STAY =
  'The project has no events: the results of several visits are written to the same fields of the record, ' +
  'and the last ones stay.';

/** The events to whose same fields several planned visits deliver results, with the codes of these. */
function sharedEvents(
  { data_field_mapping: results = {}, event_battery_mapping: mapped = {} }: MappingFields,
  { longitudinal, visits = [], batteries = {} }: Dictionary,
): { event: string; codes: string[] }[] {
  // Several mapped visits have their warning.
  if (!longitudinal && Object.keys(mapped).length > 1) return [];
  const placeOf = ({ event }: PlannedPlace) => (longitudinal || event === null ? event : CLASSIC);
  const fieldsOf = (visit: PlannedPlace) => resultFields(visit, results, batteries);
  return [...new Set(visits.map(placeOf))].flatMap((event) => {
    const here = visits.filter((visit) => event !== null && placeOf(visit) === event);
    const all = here.flatMap((visit) =>
      [...new Set(fieldsOf(visit))].flatMap((field) => Array(visit.times).fill(field)),
    );
    const twice = all.filter((field, index) => all.indexOf(field) !== index);
    const codes = here
      .filter((visit) => fieldsOf(visit).some((field) => twice.includes(field)))
      .map(({ code }) => code);
    return codes.length === 0 ? [] : [{ event: event!, codes }];
  });
}

/** The fields to which a planned visit delivers results. */
const resultFields = (
  { battery_id }: PlannedPlace,
  results: MappingFields['data_field_mapping'] & object,
  batteries: Dictionary['batteries'] & object,
): string[] =>
  (battery_id === null ? [] : (batteries[battery_id] ?? []))
    .filter((task) => Object.hasOwn(results, task))
    .flatMap((task) => Object.values(results[task]!.fields));

/** The events of planned visits with results that the capture system does not have. Mapped ones have their warning. */
function lostEvents(
  { data_field_mapping: results = {}, event_battery_mapping: mapped = {} }: MappingFields,
  { events, longitudinal, visits = [], batteries = {} }: Dictionary,
): { event: string; codes: string[] }[] {
  if (!longitudinal) return [];
  const lost = visits.filter(
    (visit) =>
      visit.event !== null &&
      !events.includes(visit.event) &&
      !Object.hasOwn(mapped, visit.event) &&
      resultFields(visit, results, batteries).length > 0,
  );
  return [...new Set(lost.map(({ event }) => event!))].map((event) => ({
    event,
    codes: lost.filter((visit) => visit.event === event).map(({ code }) => code),
  }));
}

interface Result {
  task: string;
  metric: string;
  field: string;
  /** Undefined: any. */
  events: string[] | undefined;
}

/** Whether two results are written to the same field of a record, in an event that both tasks are in. */
const isSamePlace = (a: Result, b: Result): boolean =>
  a.field === b.field && (!a.events || !b.events || a.events.some((event) => b.events!.includes(event)));

/**
 * The events with results of a task: those of mapped events and of planned visits (of windows or event definitions)
 * whose battery has the task; all mapped events if none has. Undefined: there is none of these.
 */
function eventsOf(
  task: string,
  mapping: MappingFields,
  { batteries = {}, visits = [], longitudinal }: Dictionary,
): string[] | undefined {
  const mapped = Object.entries(mapping.event_battery_mapping ?? {}) as [string, { battery_id?: unknown }][];
  const places = [
    ...mapped.map(([event, { battery_id }]) => ({ event, battery_id: Number(battery_id) })),
    ...(longitudinal ? visits : []).flatMap(({ event, battery_id }) =>
      event === null || battery_id === null ? [] : { event, battery_id },
    ),
  ];
  const having = places.filter(({ battery_id }) => batteries[battery_id]?.includes(task)).map(({ event }) => event);
  if (having.length > 0) return [...new Set(having)];
  return mapped.length > 0 ? mapped.map(([event]) => event) : undefined;
}

function checkField(name: string, path: string, dictionary: Dictionary, warn: Warn): void {
  const { fields } = dictionary;
  if (isFormStatus(dictionary, name)) {
    warn('FIELD_TAKES_NO_RESULT', path, `The field "${name}" is the status of its form: a push sets it itself.`);
    return;
  }
  if (fields[0]?.field_name === name) {
    warn('RECORD_ID_FIELD', path, `The field "${name}" is the record id: no result is written to it.`);
    return;
  }
  const field = fields.find(({ field_name }) => field_name === name);
  const rule = field && takesNoNumber({ ...field, validation: field.validation ?? '' });
  if (rule) warn('FIELD_TAKES_NO_RESULT', path, `The field "${name}" takes no result: ${rule}.`);
}

function checkForm(
  form: string,
  path: string,
  { events, dictionary, warn }: { events: string[] | undefined; dictionary: Dictionary; warn: Warn },
): void {
  const { designated, repeating = [], longitudinal } = dictionary;
  if (!dictionary.instruments.includes(form)) return;
  const repeats = repeating.filter((place) => place.form === form && (events?.includes(place.event) ?? true));
  if (repeats.length > 0 || (!longitudinal && repeating.some((place) => place.form === form)))
    warn(
      'REPEATING_INSTRUMENT',
      path,
      `The instrument "${form}" repeats${repeats[0]?.event ? ` in the event "${repeats[0].event}"` : ''}: ` +
        `results are written to no instance of it.`,
    );
  if (!longitudinal || designated === undefined) return;
  const has = (event: string) => designated.some((place) => place.event === event && place.form === form);
  const without = (events ?? []).filter((event) => dictionary.events.includes(event) && !has(event));
  if (without.length > 0)
    warn(
      'INSTRUMENT_NOT_DESIGNATED',
      path,
      `The instrument "${form}" is not designated for the event "${without.join('", "')}": its results are ` +
        `refused there.`,
    );
  else if (events === undefined && !designated.some((place) => place.form === form))
    warn('INSTRUMENT_NOT_DESIGNATED', path, `The instrument "${form}" is designated for no event.`);
}
