/** What a capture system says of itself, as far as a mapping can be wrong about it. */
export interface Dictionary {
  /** As the connected project says it; absent where it does not. */
  project_id?: string;
  fields: { field_name: string; form_name: string; field_type: string; validation?: string }[];
  instruments: string[];
  /** Unique event names; empty for a classic project. */
  events: string[];
  longitudinal: boolean;
  /** Which instrument is in which event; absent where the capture system does not tell. */
  designated?: FormPlace[];
  /** Which instruments repeat. */
  repeating?: FormPlace[];
  /** Of each battery of the study the tasks. */
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

/** Where a form stands: in an event, empty in a classic project. */
export interface FormPlace {
  event: string;
  form: string;
}
