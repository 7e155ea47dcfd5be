/** The parts of a capture system's metadata that a mapping is checked against. */
export interface Dictionary {
  /** The connected project's id; missing if unknown. */
  project_id?: string;
  fields: { field_name: string; form_name: string; field_type: string; validation?: string }[];
  instruments: string[];
  /** Unique event names; empty for a classic project. */
  events: string[];
  longitudinal: boolean;
  /** The instruments of each event; missing if unknown. */
  designated?: FormPlace[];
  /** Which instruments repeat. */
  repeating?: FormPlace[];
  /** The tasks of each battery of the study. */
  batteries?: Record<number, string[]>;
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

/** A field by name; `field___code` is one box of a checkbox field; `<instrument>_complete` is on every instrument. */
export function hasField(dictionary: Dictionary, name: string): boolean {
  if (dictionary.instruments.some((instrument) => name === `${instrument}_complete`)) return true;
  const [base, code] = name.split('___', 2) as [string, string?];
  return dictionary.fields.some(
    (f) => f.field_name === name || (code !== undefined && f.field_name === base && f.field_type === 'checkbox'),
  );
}

/** The place of a form: an event, empty in a classic project. */
export interface FormPlace {
  event: string;
  form: string;
}
