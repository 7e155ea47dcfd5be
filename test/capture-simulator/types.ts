/** One line of a data dictionary, by the names that the API's `metadata` uses. */
export interface Field {
  field_name: string;
  form_name: string;
  section_header: string;
  field_type: string;
  field_label: string;
  select_choices_or_calculations: string;
  field_note: string;
  text_validation_type_or_show_slider_number: string;
  text_validation_min: string;
  text_validation_max: string;
  identifier: string;
  branching_logic: string;
  required_field: string;
  custom_alignment: string;
  question_number: string;
  matrix_group_name: string;
  matrix_ranking: string;
  field_annotation: string;
}

export interface Instrument {
  name: string;
  label: string;
  survey: boolean;
}

export interface Arm {
  arm_num: number;
  name: string;
}

export interface CaptureEvent {
  event_name: string;
  arm_num: number;
  unique_event_name: string;
  custom_event_label: string | null;
  event_id: number;
  /** Offsets in days, kept positive. */
  day_offset: number;
  offset_min: number;
  offset_max: number;
  forms: string[];
  /** The whole event repeats (not single instruments of it). */
  repeating: boolean;
}

export interface DataAccessGroup {
  unique_group_name: string;
  data_access_group_name: string;
}

export interface CaptureUser {
  username: string;
  /** 32 hexadecimal digits; without one the user has no API access. */
  token: string | null;
  email: string;
  firstname: string;
  lastname: string;
  /** The unique name of the group that the user is confined to. */
  data_access_group: string | null;
  api_export: boolean;
  api_import: boolean;
  record_delete: boolean;
  record_create: boolean;
  /** Forms that the user may not export: they are missing in exports, with their status. */
  no_export: string[];
  /** Without it fields that are marked as identifiers are missing in exports. */
  export_identifiers: boolean;
  /** With it dates, notes and texts without a validation are missing too, as in a de-identified export. */
  export_deidentified: boolean;
}

export interface TriggerConfig {
  /** Where data entry triggers go; null: none are sent. */
  url: string | null;
  prefix: 'datacapture_' | 'redcap_';
  /** `header`: HMAC of the body; `url`: `?signature=` of the project id; `none`: as a plain installation does. */
  signing: 'none' | 'header' | 'url';
  /** Sends `X-Datacapture-Timestamp` and signs it with the body. */
  timestamp: boolean;
  secret: string | null;
}

/** What the project is, apart from its data. */
export interface ProjectDesign {
  project_id: number;
  title: string;
  created_at: string;
  in_production: boolean;
  language: string;
  purpose: number;
  notes: string;
  irb_number: string;
  pi_firstname: string;
  pi_lastname: string;
  scheduling: boolean;
  record_autonumbering: boolean;
  secondary_unique_field: string;
  custom_record_label: string;
  missing_data_codes: Map<string, string>;
  longitudinal: boolean;
  arms: Arm[];
  /** Empty in a classic project. */
  events: CaptureEvent[];
  instruments: Instrument[];
  /** In dictionary order; the first one is the primary key. */
  fields: Field[];
  /** `event|instrument` (the event is '' in a classic project). */
  repeatingInstruments: Set<string>;
  groups: DataAccessGroup[];
  users: CaptureUser[];
  trigger: TriggerConfig;
}

/** The values of one record at one event (and repeat); checkbox choices are `field___code` with '1' or '0'. */
export interface DataRow {
  event: string;
  repeatInstrument: string;
  /** 0: not a repeat. */
  instance: number;
  values: Map<string, string>;
}

/** One accepted change, kept so that a test can count what was really written. */
export interface WriteEntry {
  at: string;
  project_id: number;
  via: 'api' | 'form' | 'load' | 'delete' | 'rename';
  call_id: number | null;
  record: string;
  event: string;
  repeat_instrument: string;
  repeat_instance: number;
  fields: string[];
  /** False: what was sent stood there already. */
  changed: boolean;
}
