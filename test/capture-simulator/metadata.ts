import { METADATA_COLUMNS, columnsOf } from './dictionary.js';
import { hasRepeats, instrumentRepeats } from './design.js';
import { ApiError, tableAnswer, type Answer, type Cell, type Table } from './formats.js';
import type { Params } from './params.js';
import type { CaptureProject } from './project.js';
import type { ProjectDesign } from './types.js';

const table = (rows: Table, columns: readonly string[], params: Params, root: string, single = false): Answer =>
  tableAnswer(rows, columns, params.format(), { root, single, delimiter: params.delimiter() });

function invalid(parameter: string, values: readonly string[]): ApiError {
  return new ApiError(
    400,
    `The following values in the parameter "${parameter}" are not valid: ` +
      `${values.map((value) => `'${value}'`).join(', ')}`,
  );
}

/** `content=metadata`: the data dictionary, by fields and forms where asked. */
export function exportMetadata({ design }: CaptureProject, params: Params): Answer {
  const fields = params.list('fields');
  const forms = params.list('forms');
  const badFields = fields?.filter((name) => !design.fields.some((field) => field.field_name === name)) ?? [];
  if (badFields.length > 0) throw invalid('fields', badFields);
  const badForms = forms?.filter((name) => !design.instruments.some((form) => form.name === name)) ?? [];
  if (badForms.length > 0) throw invalid('forms', badForms);
  const rows = design.fields.filter(
    (field) => (!fields && !forms) || fields?.includes(field.field_name) || forms?.includes(field.form_name),
  );
  return table(
    rows.map((field) => ({ ...field })),
    METADATA_COLUMNS,
    params,
    'records',
  );
}

export function exportInstruments({ design }: CaptureProject, params: Params): Answer {
  return table(
    design.instruments.map(({ name, label }) => ({ instrument_name: name, instrument_label: label })),
    ['instrument_name', 'instrument_label'],
    params,
    'instruments',
  );
}

/** The arms asked for; every arm where none is named. */
function askedArms(design: ProjectDesign, params: Params): Set<number> {
  const arms = params.list('arms');
  return new Set(arms ? arms.map(Number) : design.arms.map((arm) => arm.arm_num));
}

function refuseClassic(design: ProjectDesign, what: string): void {
  if (!design.longitudinal) throw new ApiError(400, `You cannot export ${what} for classic projects`);
}

export function exportArms({ design }: CaptureProject, params: Params): Answer {
  refuseClassic(design, 'arms');
  const arms = askedArms(design, params);
  return table(
    design.arms.filter((arm) => arms.has(arm.arm_num)).map((arm) => ({ ...arm })),
    ['arm_num', 'name'],
    params,
    'arms',
  );
}

/** `content=event`; the offsets are there only where the project uses scheduling. */
export function exportEvents({ design }: CaptureProject, params: Params): Answer {
  refuseClassic(design, 'events');
  const arms = askedArms(design, params);
  const offsets = design.scheduling ? ['day_offset', 'offset_min', 'offset_max'] : [];
  const rows: Table = design.events
    .filter((event) => arms.has(event.arm_num))
    .map((event) => ({
      event_name: event.event_name,
      arm_num: event.arm_num,
      ...(design.scheduling
        ? {
            day_offset: String(event.day_offset),
            offset_min: String(event.offset_min),
            offset_max: String(event.offset_max),
          }
        : {}),
      unique_event_name: event.unique_event_name,
      custom_event_label: event.custom_event_label,
      event_id: event.event_id,
    }));
  return table(
    rows,
    ['event_name', 'arm_num', ...offsets, 'unique_event_name', 'custom_event_label', 'event_id'],
    params,
    'events',
  );
}

export function exportFormEventMapping({ design }: CaptureProject, params: Params): Answer {
  refuseClassic(design, 'form/event mappings');
  const arms = askedArms(design, params);
  const rows = design.events
    .filter((event) => arms.has(event.arm_num))
    .flatMap((event) =>
      design.instruments
        .filter((form) => event.forms.includes(form.name))
        .map((form) => ({ arm_num: event.arm_num, unique_event_name: event.unique_event_name, form: form.name })),
    );
  return table(rows, ['arm_num', 'unique_event_name', 'form'], params, 'items');
}

export function exportRepeating({ design }: CaptureProject, params: Params): Answer {
  if (!hasRepeats(design))
    throw new ApiError(
      400,
      'You cannot export repeating instruments and events because the project does not contain any repeating ' +
        'instruments and events',
    );
  const rows: Table = [];
  for (const event of design.longitudinal ? design.events.map((e) => e.unique_event_name) : ['']) {
    const where: Record<string, Cell> = design.longitudinal ? { event_name: event } : {};
    if (design.events.find((e) => e.unique_event_name === event)?.repeating)
      rows.push({ ...where, form_name: '', custom_form_label: '' });
    for (const form of design.instruments) {
      if (instrumentRepeats(design, event, form.name))
        rows.push({ ...where, form_name: form.name, custom_form_label: '' });
    }
  }
  return table(
    rows,
    [...(design.longitudinal ? ['event_name'] : []), 'form_name', 'custom_form_label'],
    params,
    'items',
  );
}

export function exportProjectInfo({ design }: CaptureProject, params: Params): Answer {
  const info = {
    project_id: design.project_id,
    project_title: design.title,
    creation_time: design.created_at,
    production_time: design.in_production ? design.created_at : '',
    in_production: design.in_production ? 1 : 0,
    project_language: design.language,
    purpose: design.purpose,
    purpose_other: '',
    project_notes: design.notes,
    custom_record_label: design.custom_record_label,
    secondary_unique_field: design.secondary_unique_field,
    is_longitudinal: design.longitudinal ? 1 : 0,
    has_repeating_instruments_or_events: hasRepeats(design) ? 1 : 0,
    surveys_enabled: design.instruments.some((form) => form.survey) ? 1 : 0,
    scheduling_enabled: design.scheduling && design.longitudinal ? 1 : 0,
    record_autonumbering_enabled: design.record_autonumbering ? 1 : 0,
    randomization_enabled: 0,
    ddp_enabled: 0,
    project_irb_number: design.irb_number,
    project_grant_number: '',
    project_pi_firstname: design.pi_firstname,
    project_pi_lastname: design.pi_lastname,
    display_today_now_button: 1,
    missing_data_codes: [...design.missing_data_codes].map(([code, label]) => `${code}, ${label}`).join(' | '),
    external_modules: '',
    bypass_branching_erase_field_prompt: 0,
  };
  return table([info], Object.keys(info), params, 'items', true);
}

export function exportUsers({ design }: CaptureProject, params: Params): Answer {
  const forms = Object.fromEntries(design.instruments.map((form) => [form.name, 1]));
  const rows: Table = design.users.map((user) => ({
    username: user.username,
    email: user.email,
    firstname: user.firstname,
    lastname: user.lastname,
    expiration: '',
    data_access_group: user.data_access_group ?? '',
    data_access_group_id:
      user.data_access_group === null
        ? ''
        : String(design.groups.findIndex((group) => group.unique_group_name === user.data_access_group) + 1),
    design: 0,
    user_rights: 0,
    data_access_groups: user.data_access_group === null ? 1 : 0,
    api_export: user.api_export ? 1 : 0,
    api_import: user.api_import ? 1 : 0,
    record_create: user.record_create ? 1 : 0,
    record_rename: 0,
    record_delete: user.record_delete ? 1 : 0,
    lock_records_all_forms: 0,
    lock_records: 0,
    forms,
    forms_export: forms,
  }));
  return table(rows, Object.keys(rows[0] ?? {}), params, 'items');
}

export function exportGroups({ design }: CaptureProject, params: Params): Answer {
  const rows: Table = design.groups.map((group, index) => ({ ...group, data_access_group_id: index + 1 }));
  return table(rows, ['data_access_group_name', 'unique_group_name', 'data_access_group_id'], params, 'dags');
}

/** `content=exportFieldNames`: what each field is called in an export, a line for each checkbox choice. */
export function exportFieldNames({ design }: CaptureProject, params: Params): Answer {
  const asked = params.text('field');
  if (asked && !design.fields.some((field) => field.field_name === asked)) throw invalid('field', [asked]);
  const rows: Table = [];
  for (const form of design.instruments) {
    for (const field of design.fields) {
      // The names are of fields that an import takes: none of files, texts of the form and calculations is listed.
      const isListed = !['calc', 'file', 'descriptive'].includes(field.field_type);
      if (!isListed || field.form_name !== form.name || (asked && field.field_name !== asked)) continue;
      for (const { column, code } of columnsOf(field))
        rows.push({ original_field_name: field.field_name, choice_value: code ?? '', export_field_name: column });
    }
    const complete = `${form.name}_complete`;
    if (!asked) rows.push({ original_field_name: complete, choice_value: '', export_field_name: complete });
  }
  return table(rows, ['original_field_name', 'choice_value', 'export_field_name'], params, 'fields');
}
