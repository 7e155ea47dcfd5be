import { boxOf, choiceCodes } from './choices.js';

/** The parts of a capture system's metadata that a mapping is checked against. */
export interface Dictionary {
  /** The connected project's id; missing if unknown. */
  project_id?: string;
  fields: ListedField[];
  instruments: string[];
  /** Unique event names; empty for a classic project. */
  events: string[];
  longitudinal: boolean;
  /** The instruments of each event; missing if unknown. */
  designated?: FormPlace[];
  /** Which instruments repeat. */
  repeating?: FormPlace[];
  /** What sessions of each battery of the study may have results of: tasks, and modules by name. */
  batteries?: Record<number, string[]>;
  /** The study's visits besides the mapped events; missing if unknown. */
  visits?: PlannedPlace[];
}

/** What of the study's plan has results: a window, or the occurrences of an event definition. */
export interface PlannedPlace {
  code: string;
  event: string | null;
  battery_id: number | null;
  /** It is planned so many times. */
  times: number;
}

export interface MappingFields {
  project_id?: string | null;
  enrollment_instrument?: string | null;
  enrollment_event?: string | null;
  participant_field_mapping?: Record<string, string>;
  event_battery_mapping?: Record<string, unknown>;
  data_field_mapping?: Record<string, { datacapture_instrument: string; fields: Record<string, string> }>;
}

export interface MappingWarning {
  code: string;
  path: string;
  message: string;
}

export interface ListedField {
  field_name: string;
  form_name: string;
  field_type: string;
  validation?: string;
  /** Its action tags. */
  annotation?: string;
  /** `1, Yes | 0, No`; missing if unknown. */
  choices?: string;
}

/** A field by name; `field___code` is one box of a checkbox field; `<instrument>_complete` is on every instrument. */
export function hasField(dictionary: Dictionary, name: string): boolean {
  if (isFormStatus(dictionary, name)) return true;
  const [base, code] = name.split('___', 2) as [string, string?];
  return dictionary.fields.some(
    (f) => f.field_name === name || (code !== undefined && f.field_name === base && hasBox(f, code)),
  );
}

const hasBox = ({ field_type, choices }: ListedField, code: string): boolean =>
  field_type === 'checkbox' && (choices === undefined || choiceCodes(choices).some((each) => boxOf(each) === code));

/** Whether the name is of the status that each instrument has. */
export const isFormStatus = ({ instruments }: Dictionary, name: string): boolean =>
  instruments.some((instrument) => name === `${instrument}_complete`);

/** The form of a field, or of a box of it; undefined: unknown. */
export const formOf = (field: string, { fields }: Dictionary): string | undefined =>
  fields.find(({ field_name }) => field_name === field || field_name === field.split('___', 1)[0])?.form_name;

/** The place of a form: an event, empty in a classic project. */
export interface FormPlace {
  event: string;
  form: string;
}
