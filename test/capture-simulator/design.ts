import { parseChoices } from './dictionary.js';
import { InputError, ProjectFileSchema, readInput } from './schemas.js';
import type { CaptureEvent, Field, Instrument, ProjectDesign } from './types.js';

/** `month_3_arm_1`: the slug is cut to 18 characters; a second event of the same slug gets a letter. */
export function uniqueEventName(name: string, arm: number, taken: ReadonlySet<string>): string {
  const slug =
    name
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, '_')
      .replace(/^_+|_+$/g, '')
      .slice(0, 18)
      .replace(/_+$/, '') || 'event';
  for (let letter = 0; ; letter += 1) {
    const unique = `${slug}_arm_${arm}${letter === 0 ? '' : String.fromCharCode(96 + letter)}`;
    if (!taken.has(unique)) return unique;
  }
}

const titleOf = (name: string): string =>
  name
    .split('_')
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join(' ');

/** Makes a project's design of its `project.json` and its dictionary; throws InputError naming what does not fit. */
export function buildDesign(projectFile: unknown, fields: Field[]): ProjectDesign {
  const file = readInput(ProjectFileSchema, projectFile, 'The project file');
  const forms = [...new Set(fields.map((field) => field.form_name))];
  const named = new Map(file.instruments.map((instrument) => [instrument.name, instrument]));
  const known = (form: string, where: string): void => {
    if (!forms.includes(form))
      throw new InputError(
        `The project file names the instrument "${form}" in ${where}, which the dictionary does not have.`,
      );
  };
  for (const name of named.keys()) known(name, 'instruments');
  const instruments: Instrument[] = forms.map(
    (name) => named.get(name) ?? { name, label: titleOf(name), survey: false },
  );

  const taken = new Set<string>();
  const events: CaptureEvent[] = file.events.map((event, index) => {
    for (const form of event.forms) known(form, `the event "${event.event_name}"`);
    const unique = uniqueEventName(event.event_name, event.arm_num, taken);
    taken.add(unique);
    return { ...event, unique_event_name: unique, event_id: file.project_id * 100 + index + 1 };
  });
  const arms =
    file.arms.length > 0
      ? file.arms
      : [...new Set(events.map((event) => event.arm_num))].map((arm) => ({ arm_num: arm, name: `Arm ${arm}` }));
  for (const event of events) {
    if (!arms.some((arm) => arm.arm_num === event.arm_num))
      throw new InputError(
        `The event "${event.event_name}" is in arm ${event.arm_num}, which the project file does not have.`,
      );
  }
  for (const { event, instrument } of file.repeating_instruments) {
    known(instrument, 'repeating_instruments');
    if (event !== '' && !taken.has(event))
      throw new InputError(`The project file repeats "${instrument}" at the unknown event "${event}".`);
  }
  return {
    ...file,
    missing_data_codes: parseChoices(file.missing_data_codes),
    longitudinal: events.length > 0,
    arms,
    events,
    instruments,
    fields,
    repeatingInstruments: new Set(file.repeating_instruments.map(({ event, instrument }) => `${event}|${instrument}`)),
    groups: file.data_access_groups,
  };
}

export const primaryKey = (design: ProjectDesign): string => (design.fields[0] as Field).field_name;

export const eventOf = (design: ProjectDesign, unique: string): CaptureEvent | undefined =>
  design.events.find((event) => event.unique_event_name === unique);

/** Whether the instrument is collected at the event ('' in a classic project). */
export const formInEvent = (design: ProjectDesign, event: string, form: string): boolean =>
  !design.longitudinal || (eventOf(design, event)?.forms.includes(form) ?? false);

export const instrumentRepeats = (design: ProjectDesign, event: string, form: string): boolean =>
  design.repeatingInstruments.has(`${event}|${form}`);
export const eventRepeats = (design: ProjectDesign, event: string): boolean =>
  eventOf(design, event)?.repeating ?? false;
export const hasRepeats = (design: ProjectDesign): boolean =>
  design.repeatingInstruments.size > 0 || design.events.some((event) => event.repeating);

/** Whether a row of this event and repeating instrument can hold values of the form. */
export function rowHolds(design: ProjectDesign, event: string, repeatInstrument: string, form: string): boolean {
  if (repeatInstrument !== '') return form === repeatInstrument;
  return formInEvent(design, event, form) && !instrumentRepeats(design, event, form);
}

/** `Baseline (Arm 1: Drug)`, or `Baseline` where there is one arm. */
export function eventLabel(design: ProjectDesign, unique: string): string {
  const event = eventOf(design, unique);
  if (!event) return unique;
  if (design.arms.length < 2) return event.event_name;
  return (
    `${event.event_name} (Arm ${event.arm_num}: ` +
    `${design.arms.find((arm) => arm.arm_num === event.arm_num)?.name ?? ''})`
  );
}
