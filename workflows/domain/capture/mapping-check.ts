import { armOf } from './arms.js';
import { enrollmentEvents } from './enrollment.js';
import { isDateField, participantFields } from './participant.js';
import { checkResults, LAST_STAY } from './results-check.js';
import { surveyTime } from './record.js';
import { formOf, hasField } from './mapping-dictionary.js';
import type { Dictionary, ListedField, MappingFields, MappingWarning } from './mapping-dictionary.js';

/** Field types without a value in an export. */
const NO_TEXT = new Set(['file', 'descriptive']);

/** Compares a mapping with the capture system's dictionary: lists each unknown name with its place. */
export function checkMapping(mapping: MappingFields, dictionary: Dictionary): MappingWarning[] {
  const warnings: MappingWarning[] = [];
  const warn = (code: string, path: string, message: string) => warnings.push({ code, path, message });
  const instrument = (name: string, path: string) => {
    if (!dictionary.instruments.includes(name))
      warn('UNKNOWN_INSTRUMENT', path, `The capture system has no instrument "${name}".`);
  };
  const event = (name: string, path: string) => {
    // In a classic project an event is the visit's own name: it is neither requested nor sent.
    if (dictionary.longitudinal && !dictionary.events.includes(name))
      warn('UNKNOWN_EVENT', path, `The capture system has no event "${name}".`);
  };
  const field = (name: string, path: string) => {
    if (!hasField(dictionary, name)) warn('UNKNOWN_FIELD', path, `The capture system has no field "${name}".`);
  };

  if (mapping.project_id && dictionary.project_id && mapping.project_id !== dictionary.project_id)
    warn(
      'PROJECT_ID_DIFFERS',
      'project_id',
      `The connected project has the id ${dictionary.project_id}: triggers of project ${mapping.project_id} are ` +
        `another project's, and those of ${dictionary.project_id} are not taken.`,
    );
  if (mapping.enrollment_instrument) instrument(mapping.enrollment_instrument, 'enrollment_instrument');
  if (mapping.enrollment_event && !dictionary.longitudinal)
    warn('NO_EVENTS', 'enrollment_event', "The capture system's project has no events: enrollment_event is not used.");
  else for (const name of enrollmentEvents(mapping.enrollment_event ?? null)) event(name, 'enrollment_event');
  for (const name of eventsWithoutForm(mapping, dictionary))
    warn(
      'INSTRUMENT_NOT_DESIGNATED',
      'enrollment_event',
      `The instrument "${mapping.enrollment_instrument}" is not designated for the event "${name}": nobody is ` +
        `enrolled there.`,
    );
  for (const [arm, enrolling] of armsEnrolledTwice(mapping, dictionary))
    warn(
      'SEVERAL_ENROLLMENT_EVENTS',
      'enrollment_event',
      `Several events of arm ${arm} are an enrollment_event ("${enrolling.join('", "')}"): a record that has the ` +
        `enrollment form in more than one of them is enrolled by the earliest.`,
    );
  for (const { arm, visits } of armsNotEnrolled(mapping, dictionary))
    warn(
      'ARM_NOT_ENROLLED',
      'enrollment_event',
      `No event of arm ${arm} is an enrollment_event, though it has visits ("${visits.join('", "')}"): nobody is ` +
        `enrolled in this arm.`,
    );
  for (const [name, target] of Object.entries(mapping.participant_field_mapping ?? {})) {
    const path = `participant_field_mapping.${name}`;
    if (!(participantFields as readonly string[]).includes(name)) {
      warn(
        'UNKNOWN_PARTICIPANT_FIELD',
        path,
        `A participant has no field "${name}" that the capture system may fill: it is not used.`,
      );
    }
    if (!isSurveyTime(target, mapping, dictionary)) field(target, path);
    for (const { code, message } of unreadForms(target, mapping, dictionary)) warn(code, path, message);
    if (dictionary.fields.some((each) => each.field_name === target && NO_TEXT.has(each.field_type)))
      warn(
        'FIELD_HAS_NO_VALUE',
        path,
        `The field "${target}" holds a file or a text of the form: no value comes of it.`,
      );
    if (isDateField(name) && dictionary.fields.some((each) => each.field_name === target && holdsNoDate(each)))
      warn('FIELD_HAS_NO_DATE', path, `The field "${target}" never holds a date: no ${name} comes of it.`);
  }
  for (const name of Object.keys(mapping.event_battery_mapping ?? {})) event(name, `event_battery_mapping.${name}`);
  const visits = Object.keys(mapping.event_battery_mapping ?? {});
  if (!dictionary.longitudinal && visits.length > 1 && Object.keys(mapping.data_field_mapping ?? {}).length > 0) {
    warn('SAME_FIELDS', 'event_battery_mapping', LAST_STAY);
  }
  for (const [task, target] of Object.entries(mapping.data_field_mapping ?? {})) {
    const path = `data_field_mapping.${task}`;
    instrument(target.datacapture_instrument, `${path}.datacapture_instrument`);
    for (const [metric, name] of Object.entries(target.fields)) field(name, `${path}.fields.${metric}`);
  }
  return [...warnings, ...checkResults(mapping, dictionary)];
}

/** A date is no choice of a person, and no entry that is validated as something else. A number may be a year. */
const holdsNoDate = ({ field_type: type, validation = '' }: ListedField): boolean =>
  ['yesno', 'truefalse', 'slider'].includes(type) ||
  (type === 'text' && /^(time|email|phone|zipcode|postalcode|ssn|alpha_only)/.test(validation));

/** Whether a field is the time of the enrollment form's survey, which no dictionary lists. */
const isSurveyTime = (
  field: string,
  { enrollment_instrument: form }: MappingFields,
  { instruments }: Dictionary,
): boolean => !!form && instruments.includes(form) && field === surveyTime(form);

/** The known events of `enrollment_event` that do not have the enrollment form. */
function eventsWithoutForm(
  { enrollment_instrument: form, enrollment_event: named }: MappingFields,
  { designated, events, instruments, longitudinal }: Dictionary,
): string[] {
  if (!form || !instruments.includes(form) || !longitudinal || designated === undefined) return [];
  return enrollmentEvents(named ?? null).filter(
    (event) => events.includes(event) && !designated.some((place) => place.event === event && place.form === form),
  );
}

/** The arms with more than one event that enrolls, and these events. */
function armsEnrolledTwice(mapping: MappingFields, dictionary: Dictionary): [number, string[]][] {
  const { events, longitudinal } = dictionary;
  if (!longitudinal) return [];
  const without = eventsWithoutForm(mapping, dictionary);
  const byArm = new Map<number, string[]>();
  for (const event of new Set(enrollmentEvents(mapping.enrollment_event ?? null))) {
    const arm = events.includes(event) && !without.includes(event) ? armOf({}, event) : undefined;
    if (arm !== undefined) byArm.set(arm, [...(byArm.get(arm) ?? []), event]);
  }
  return [...byArm].filter(([, enrolling]) => enrolling.length > 1);
}

/** The arms that have visits, in the mapping or the study's plan, and no known event of `enrollment_event`. */
function armsNotEnrolled(
  { enrollment_event: named, event_battery_mapping: mapped = {} }: MappingFields,
  { events, longitudinal, visits = [] }: Dictionary,
): { arm: number; visits: string[] }[] {
  // Without one that is known every event enrolls, or nothing can be said.
  const enrolled = enrollmentEvents(named ?? null).filter((event) => events.includes(event));
  if (!longitudinal || enrolled.length === 0) return [];
  const arms = new Set(enrolled.map((event) => armOf({}, event)));
  const others = new Map<number, string[]>();
  for (const event of new Set([...Object.keys(mapped), ...visits.map((visit) => visit.event)])) {
    const arm = event !== null && events.includes(event) ? armOf({}, event) : undefined;
    if (arm !== undefined && !arms.has(arm)) others.set(arm, [...(others.get(arm) ?? []), event!]);
  }
  return [...others].map(([arm, visitsThere]) => ({ arm, visits: visitsThere }));
}

/** Why an enrollment does not hold the field: its form is not in the event, or repeats there. */
function unreadForms(
  field: string,
  { enrollment_instrument: instrument, enrollment_event: named }: MappingFields,
  dictionary: Dictionary,
): { code: string; message: string }[] {
  const { designated, events, repeating = [], longitudinal, fields } = dictionary;
  const form = formOf(field, dictionary);
  // The record id is in every row.
  if (form === undefined || form === instrument || field === fields[0]?.field_name) return [];
  const places = designated?.filter((place) => place.form === form).map(({ event }) => event);
  const asked = enrollmentEvents(named ?? null).filter((event) => events.includes(event));
  if (longitudinal && asked.length > 0 && places !== undefined) {
    const without = asked.filter((event) => !places.includes(event)).join('", "');
    if (without !== '')
      return [
        {
          code: 'INSTRUMENT_NOT_DESIGNATED',
          message:
            `The field "${field}" is on the instrument "${form}" that is not designated for the event ` +
            `"${without}": no value is read there.`,
        },
      ];
  }
  const read = longitudinal ? (asked.length > 0 ? asked : (places ?? [])) : [''];
  const repeats = (event: string) => repeating.some((place) => place.form === form && place.event === event);
  return read.length > 0 && read.every(repeats)
    ? [
        {
          code: 'REPEATING_INSTRUMENT',
          message:
            `The field "${field}" is on the instrument "${form}" that repeats: no value is read from its ` +
            `instances.`,
        },
      ]
    : [];
}
