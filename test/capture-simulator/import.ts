import { checkboxColumn, choicesOf } from './dictionary.js';
import { eventLabel, eventOf, eventRepeats, formInEvent, instrumentRepeats, rowHolds } from './design.js';
import { ApiError } from './formats.js';
import type { CaptureProject } from './project.js';
import type { RowKey } from './store.js';
import type { CaptureUser } from './types.js';
import { checkValue, type DateFormat } from './validation.js';

export interface ImportOptions {
  type: 'flat' | 'eav';
  overwrite: boolean;
  dateFormat: DateFormat;
  forceAutoNumber: boolean;
}

export interface PlannedWrite {
  record: string;
  key: RowKey;
  values: Map<string, string>;
  group: string | null | undefined;
}

export interface ImportPlan {
  writes: PlannedWrite[];
  /** Distinct records, in order of appearance: the id they have now and the one that was sent. */
  records: Map<string, string>;
}

const RESERVED = new Set(['redcap_repeat_instrument', 'redcap_repeat_instance', 'redcap_survey_identifier']);
export const LOCKED_RECORD =
  'This record has been locked at the record level. No value within this record can be modified until the ' +
  'record is unlocked.';
export const LOCKED_FORM =
  'This field is located on a form that is locked. You must first unlock this form for this record.';

class Faults {
  readonly lines: string[] = [];
  add(record: string, field: string, value: string, message: string): void {
    this.lines.push([record, field, value, message].map((cell) => `"${cell.replaceAll('"', '""')}"`).join(','));
  }
}

/** Rows of record, field_name and value become one row for each record, event and instance. */
function flatten(project: CaptureProject, rows: readonly Record<string, string>[]): Record<string, string>[] {
  const flat = new Map<string, Record<string, string>>();
  for (const row of rows) {
    const place = [
      row['record'],
      row['redcap_event_name'],
      row['redcap_repeat_instrument'],
      row['redcap_repeat_instance'],
    ].map((part) => part ?? '');
    const [record = ''] = place;
    let target = flat.get(place.join('\u0000'));
    if (!target) {
      target = { [project.key]: record };
      for (const name of ['redcap_event_name', 'redcap_repeat_instrument', 'redcap_repeat_instance']) {
        if (row[name]) target[name] = row[name];
      }
      flat.set(place.join('\u0000'), target);
    }
    const name = row['field_name'] ?? '';
    const value = row['value'] ?? '';
    const field = project.design.fields.find((candidate) => candidate.field_name === name);
    const isBox = field?.field_type === 'checkbox';
    if (isBox && (choicesOf(field).has(value) || project.design.missing_data_codes.has(value)))
      target[checkboxColumn(field, value)] = '1';
    else if (name !== '' && name !== project.key) target[name] = value;
  }
  return [...flat.values()];
}

function refuseUnknownColumns(project: CaptureProject, rows: readonly Record<string, string>[]): void {
  const { design } = project;
  const timestamps = new Set(
    design.instruments.filter((instrument) => instrument.survey).map((instrument) => `${instrument.name}_timestamp`),
  );
  const unknown = new Set<string>();
  for (const row of rows) {
    for (const name of Object.keys(row)) {
      const known =
        name === project.key ||
        project.columns.has(name) ||
        RESERVED.has(name) ||
        timestamps.has(name) ||
        (name === 'redcap_event_name' && design.longitudinal) ||
        (name === 'redcap_data_access_group' && design.groups.length > 0);
      if (!known) unknown.add(name);
    }
  }
  if (unknown.size > 0)
    throw new ApiError(
      400,
      `The following fields were not found in the project as real data fields: ${[...unknown].join(', ')}`,
    );
  if (rows.some((row) => row[project.key] === undefined))
    throw new ApiError(400, `The record ID field "${project.key}" is missing from the data being imported.`);
}

/** The row that the values go to; undefined after a fault. */
function placeOf(
  project: CaptureProject,
  id: string,
  row: Record<string, string>,
  pendingNew: Map<string, number>,
  faults: Faults,
): RowKey | undefined {
  const { design } = project;
  // A longitudinal import that names no event goes to the first one.
  const event = design.longitudinal ? row['redcap_event_name'] || (design.events[0]?.unique_event_name ?? '') : '';
  if (design.longitudinal && !eventOf(design, event)) {
    faults.add(id, 'redcap_event_name', event, 'This is not a valid unique event name of the project.');
    return undefined;
  }
  const repeatInstrument = row['redcap_repeat_instrument'] ?? '';
  const asked = row['redcap_repeat_instance'] ?? '';
  if (repeatInstrument !== '' && !instrumentRepeats(design, event, repeatInstrument)) {
    faults.add(
      id,
      'redcap_repeat_instrument',
      repeatInstrument,
      'This instrument is not a repeating instrument of the project or of this event.',
    );
    return undefined;
  }
  const repeats = repeatInstrument !== '' || eventRepeats(design, event);
  if (!repeats && asked === '') return { event, repeatInstrument: '', instance: 0 };
  if (!repeats || (repeatInstrument !== '' && asked === '')) {
    faults.add(
      id,
      'redcap_repeat_instance',
      asked,
      repeats
        ? 'A row of a repeating instrument needs a value here.'
        : 'There can be no value here: neither this event nor an instrument that the row names repeats.',
    );
    return undefined;
  }
  if (asked === 'new') {
    const place = `${id}\u0000${event}\u0000${repeatInstrument}`;
    const instance = Math.max(project.store.lastInstance(id, event, repeatInstrument), pendingNew.get(place) ?? 0) + 1;
    pendingNew.set(place, instance);
    return { event, repeatInstrument, instance };
  }
  if (asked !== '' && !/^[1-9]\d*$/.test(asked)) {
    faults.add(id, 'redcap_repeat_instance', asked, 'The repeat instance must be a whole number above zero, or "new".');
    return undefined;
  }
  return { event, repeatInstrument, instance: asked === '' ? 1 : Number(asked) };
}

function valuesOf(
  project: CaptureProject,
  id: string,
  key: RowKey,
  row: Record<string, string>,
  options: ImportOptions,
  faults: Faults,
): Map<string, string> {
  const { design, store } = project;
  const values = new Map<string, string>();
  const locks = store.get(id)?.locks ?? new Set<string>();
  const standing = store.row(id, key)?.values;
  for (const [name, value] of Object.entries(row)) {
    const column = project.columns.get(name);
    if (!column || name === project.key || (value === '' && !options.overwrite)) continue;
    const form = column.field.form_name;
    if (!rowHolds(design, key.event, key.repeatInstrument, form)) {
      if (value === '') continue;
      faults.add(
        id,
        name,
        value,
        formInEvent(design, key.event, form)
          ? `This field ('${name}') exists on a repeating instrument or a different one: redcap_repeat_instrument must name "${form}", and only its fields.`
          : `This field ('${name}') exists on an instrument that is not designated for the event named '${eventLabel(design, key.event)}'. You are not allowed to import data for this field into this event.`,
      );
      continue;
    }
    const checked =
      value === ''
        ? { value }
        : checkValue(column.field, column.code, value, design.missing_data_codes, options.dateFormat);
    if ('error' in checked) {
      faults.add(id, name, value, checked.error);
      continue;
    }
    if ((standing?.get(name) ?? '') !== checked.value) {
      if (locks.has('*')) faults.add(id, name, value, LOCKED_RECORD);
      else if (locks.has(`${key.event}|${form}`)) faults.add(id, name, value, LOCKED_FORM);
    }
    values.set(name, checked.value);
  }
  return values;
}

function groupOf(
  project: CaptureProject,
  user: CaptureUser,
  id: string,
  row: Record<string, string>,
  faults: Faults,
): string | null | undefined {
  const asked = row['redcap_data_access_group'];
  const current = project.store.get(id)?.group;
  if (user.data_access_group !== null) {
    if (asked !== undefined)
      faults.add(
        id,
        'redcap_data_access_group',
        asked,
        'Members of a data access group cannot assign records to a group: leave this column out.',
      );
    else if (current !== undefined && current !== user.data_access_group)
      faults.add(id, project.key, id, 'This record belongs to another data access group.');
    return user.data_access_group;
  }
  if (asked === undefined || asked === '') return undefined;
  if (project.design.groups.some((group) => group.unique_group_name === asked)) return asked;
  faults.add(
    id,
    'redcap_data_access_group',
    asked,
    'This is not the unique name of a data access group of the project.',
  );
  return undefined;
}

/**
 * Checks a whole import and says what it would write; nothing is written here.
 * @throws ApiError 400 with one line `"record","field","value","message"` for each fault.
 */
export function planImport(
  project: CaptureProject,
  user: CaptureUser,
  sent: readonly Record<string, string>[],
  options: ImportOptions,
): ImportPlan {
  const rows = options.type === 'eav' ? flatten(project, sent) : sent;
  if (rows.length === 0) return { writes: [], records: new Map() };
  refuseUnknownColumns(project, rows);
  const faults = new Faults();
  const records = new Map<string, string>();
  const renumbered = new Map<string, string>();
  const pendingNew = new Map<string, number>();
  const writes: PlannedWrite[] = [];
  for (const row of rows) {
    const provided = row[project.key] ?? '';
    if (provided === '') {
      faults.add('', project.key, '', 'The record ID field must have a value.');
      continue;
    }
    if (options.forceAutoNumber && !renumbered.has(provided))
      renumbered.set(provided, String(BigInt(project.store.nextNumber()) + BigInt(renumbered.size)));
    const id = renumbered.get(provided) ?? provided;
    if (id.length > 100) faults.add(id, project.key, id, 'The record name is longer than 100 characters.');
    if (!user.record_create && !project.store.has(id))
      faults.add(id, project.key, id, 'You do not have privileges to create new records.');
    const key = placeOf(project, id, row, pendingNew, faults);
    if (!key) continue;
    records.set(id, provided);
    writes.push({
      record: id,
      key,
      values: valuesOf(project, id, key, row, options, faults),
      group: groupOf(project, user, id, row, faults),
    });
  }
  if (faults.lines.length > 0) throw new ApiError(400, faults.lines.join('\n'));
  return { writes, records };
}
