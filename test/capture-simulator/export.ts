import { choicesOf, columnsOf } from './dictionary.js';
import { eventLabel, eventOf, hasRepeats, rowHolds } from './design.js';
import { compileFilter, type Predicate } from './filter-logic.js';
import { ApiError, tableAnswer, type Answer, type Cell, type Table } from './formats.js';
import type { Params } from './params.js';
import type { CaptureProject } from './project.js';
import { compareIds, type StoredRecord } from './store.js';
import type { CaptureUser, DataRow, Field } from './types.js';

/** One value column of an export. */
interface ExportColumn {
  name: string;
  form: string;
  kind: 'key' | 'value' | 'timestamp';
  field: Field;
  code: string | null;
}

interface Shape {
  columns: ExportColumn[];
  hasKey: boolean;
  labels: boolean;
  checkboxLabels: boolean;
  /** A form that was never saved has no status, instead of 0. */
  blankStatus: boolean;
  groups: boolean;
  identifiers: boolean;
}

const notValid = (parameter: string, values: readonly string[]): ApiError =>
  new ApiError(
    400,
    `The following values in the parameter "${parameter}" are not valid: ` +
      `${values.map((value) => `'${value}'`).join(', ')}`,
  );

/** The asked fields and forms, in dictionary order; the record id only where it was asked for. */
function exportColumns(
  project: CaptureProject,
  params: Params,
  user: CaptureUser,
  withTimestamps: boolean,
): ExportColumn[] {
  const { design } = project;
  const fields = params.list('fields');
  const forms = params.list('forms');
  const formNames = design.instruments.map((instrument) => instrument.name);
  const fieldNames = new Set([
    ...design.fields.map((field) => field.field_name),
    ...formNames.map((form) => `${form}_complete`),
  ]);
  const badFields = fields?.filter((name) => !fieldNames.has(name)) ?? [];
  if (badFields.length > 0) throw notValid('fields', badFields);
  const badForms = forms?.filter((name) => !formNames.includes(name)) ?? [];
  if (badForms.length > 0) throw notValid('forms', badForms);
  const everything = !fields && !forms;
  const askedFields = new Set(fields);
  const askedForms = new Set(forms);
  const columns: ExportColumn[] = [];
  for (const form of design.instruments) {
    const wholeForm = everything || askedForms.has(form.name);
    const timestamp: ExportColumn[] =
      withTimestamps && form.survey && wholeForm
        ? [
            {
              name: `${form.name}_timestamp`,
              form: form.name,
              kind: 'timestamp',
              field: design.fields[0] as Field,
              code: null,
            },
          ]
        : [];
    for (const field of design.fields) {
      if (field.form_name !== form.name || !(wholeForm || askedFields.has(field.field_name))) continue;
      const kind = field.field_name === project.key ? 'key' : 'value';
      columns.push(
        ...columnsOf(field, design.missing_data_codes).map(({ column, code }): ExportColumn => ({
          name: column,
          form: form.name,
          kind,
          field,
          code,
        })),
      );
      if (kind === 'key') columns.push(...timestamp.splice(0));
    }
    const first = columns.findIndex((column) => column.form === form.name);
    columns.splice(first < 0 ? columns.length : first, 0, ...timestamp);
    const complete = `${form.name}_complete`;
    const status = project.columns.get(complete);
    if (status && (wholeForm || askedFields.has(complete)))
      columns.push({ name: complete, form: form.name, kind: 'value', field: status.field, code: null });
  }
  return columns.filter(({ kind, form, field }) => kind === 'key' || mayExport(user, form, field));
}

/** Whether the user's export rights cover a field. */
const mayExport = (user: CaptureUser, form: string, field: Field): boolean =>
  !user.no_export.includes(form) &&
  ((user.export_identifiers && !user.export_deidentified) || field.identifier === '') &&
  !(user.export_deidentified && isFree(field));

const isFree = ({ field_type: type, text_validation_type_or_show_slider_number: validation }: Field): boolean =>
  type === 'notes' || (type === 'text' && /^$|^date/.test(validation));

function labelOf(column: ExportColumn, value: string, shape: Shape, missing: ReadonlyMap<string, string>): string {
  if (column.code !== null) {
    const label = choicesOf(column.field).get(column.code) ?? missing.get(column.code) ?? column.code;
    if (shape.checkboxLabels) return value === '1' ? label : '';
    return value === '1' ? 'Checked' : 'Unchecked';
  }
  return choicesOf(column.field).get(value) ?? missing.get(value) ?? value;
}

/** The stored value as it is exported; choices not ticked and forms never opened are 0 where the row can hold them. */
function valueOf(
  project: CaptureProject,
  record: StoredRecord,
  row: DataRow,
  column: ExportColumn,
  shape: Shape,
): string {
  if (column.kind === 'key') return record.id;
  if (!rowHolds(project.design, row.event, row.repeatInstrument, column.form)) return '';
  const stored = row.values.get(column.name);
  if (column.kind === 'timestamp') return stored ?? '';
  const isZero = column.code !== null || (column.name === `${column.form}_complete` && !shape.blankStatus);
  const value = stored ?? (isZero ? '0' : '');
  return shape.labels && value !== '' ? labelOf(column, value, shape, project.design.missing_data_codes) : value;
}

function selectedRecords(project: CaptureProject, params: Params, user: CaptureUser): StoredRecord[] {
  const range = (name: string): string | undefined => {
    const value = params.text(name);
    if (!value) return undefined;
    if (!/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/.test(value))
      throw new ApiError(400, `The value of the parameter "${name}" must be in the format YYYY-MM-DD HH:MM:SS`);
    return value;
  };
  const begin = range('dateRangeBegin');
  const end = range('dateRangeEnd');
  const asked = params.list('records');
  const ids = asked ? [...new Set(asked)].sort(compareIds) : project.store.ids();
  return ids.flatMap((id) => {
    const record = project.store.get(id);
    if (!record || (user.data_access_group !== null && record.group !== user.data_access_group)) return [];
    if ((begin !== undefined && record.modifiedAt < begin) || (end !== undefined && record.modifiedAt > end)) return [];
    return [record];
  });
}

/** Event order, then what does not repeat, then repeats by instrument and instance. */
function rowOrder(project: CaptureProject): (a: DataRow, b: DataRow) => number {
  const { design } = project;
  const events = new Map(design.events.map((event, index) => [event.unique_event_name, index]));
  const forms = new Map(design.instruments.map((form, index) => [form.name, index + 1]));
  return (a, b) =>
    (events.get(a.event) ?? 0) - (events.get(b.event) ?? 0) ||
    (forms.get(a.repeatInstrument) ?? 0) - (forms.get(b.repeatInstrument) ?? 0) ||
    a.instance - b.instance;
}

function rowFilter(project: CaptureProject, params: Params): (record: StoredRecord, row: DataRow) => boolean {
  const logic = params.text('filterLogic');
  if (!logic || logic.trim() === '') return () => true;
  const predicate: Predicate = compileFilter(logic, (name) => project.columns.has(name));
  return (record, row) =>
    predicate((field, event) => {
      if (field === project.key) return record.id;
      const source =
        event === null
          ? row
          : [...record.rows.values()].find((other) => other.event === event && other.repeatInstrument === '');
      return source?.values.get(field) ?? (project.columns.get(field)?.code === null ? '' : '0');
    });
}

/** The identifying columns of a row; the protocol gives them only together with the record id. */
function place(project: CaptureProject, record: StoredRecord, row: DataRow, shape: Shape): Record<string, Cell> {
  const { design } = project;
  const cells: Record<string, Cell> = {};
  if (design.longitudinal) cells['redcap_event_name'] = shape.labels ? eventLabel(design, row.event) : row.event;
  if (hasRepeats(design)) {
    const form = design.instruments.find((instrument) => instrument.name === row.repeatInstrument);
    cells['redcap_repeat_instrument'] = shape.labels ? (form?.label ?? '') : row.repeatInstrument;
    cells['redcap_repeat_instance'] = row.instance === 0 ? '' : row.instance;
  }
  if (shape.groups) {
    const group = design.groups.find((candidate) => candidate.unique_group_name === record.group);
    cells['redcap_data_access_group'] = shape.labels ? (group?.data_access_group_name ?? '') : (record.group ?? '');
  }
  if (shape.identifiers) cells['redcap_survey_identifier'] = '';
  return cells;
}

function eavRows(project: CaptureProject, record: StoredRecord, row: DataRow, shape: Shape): Table {
  const {
    redcap_data_access_group: group,
    redcap_survey_identifier: _identifier,
    ...where
  } = place(project, record, row, shape);
  const line = (name: string, value: string): Record<string, Cell> => ({
    record: record.id,
    ...where,
    field_name: name,
    value,
  });
  const lines: Table = [];
  for (const column of shape.columns) {
    if (!rowHolds(project.design, row.event, row.repeatInstrument, column.form) && column.kind !== 'key') continue;
    const raw =
      column.kind === 'key'
        ? record.id
        : (row.values.get(column.name) ?? (column.name === `${column.form}_complete` ? '0' : ''));
    if (raw === '' || (column.code !== null && raw !== '1')) continue;
    const value = column.code ?? raw;
    lines.push(line(column.field.field_name, shape.labels ? (choicesOf(column.field).get(value) ?? value) : value));
  }
  if (typeof group === 'string' && group !== '') lines.push(line('redcap_data_access_group', group));
  return lines;
}

/** The record id stands in every event of the record, also where only repeated forms were saved. */
const bareRows = (rows: readonly DataRow[]): DataRow[] =>
  [...new Set(rows.map(({ event }) => event))]
    .filter((event) => !rows.some((row) => row.event === event && row.repeatInstrument === ''))
    .map((event) => ({ event, repeatInstrument: '', instance: 0, values: new Map() }));

/** `content=record` without an action: the records as rows (flat) or as single values (eav). */
export function exportRecords(project: CaptureProject, params: Params, user: CaptureUser): Answer {
  const { design } = project;
  const format = params.format();
  const eav = params.text('type') === 'eav';
  const events = params.list('events');
  if (events && !design.longitudinal)
    throw new ApiError(400, 'You cannot export records by event from a classic project: it has no events');
  const badEvents = events?.filter((event) => !eventOf(design, event)) ?? [];
  if (badEvents.length > 0) throw notValid('events', badEvents);
  const surveyFields = params.flag('exportSurveyFields');
  const columns = exportColumns(project, params, user, surveyFields);
  const shape: Shape = {
    columns,
    hasKey: columns.some((column) => column.kind === 'key'),
    labels: params.text('rawOrLabel') === 'label',
    checkboxLabels: params.flag('exportCheckboxLabel'),
    blankStatus: params.flag('exportBlankForGrayFormStatus'),
    groups: params.flag('exportDataAccessGroups') && design.groups.length > 0 && user.data_access_group === null,
    identifiers: surveyFields && design.instruments.some((instrument) => instrument.survey),
  };
  const keep = rowFilter(project, params);
  const order = rowOrder(project);
  const askedEvents = events ? new Set(events) : undefined;
  const holders = new Map<string, boolean>();
  // A row is listed where it can hold one of the asked fields; with the record id alone, every plain row is.
  const listed = (row: DataRow): boolean => {
    const place = `${row.event}|${row.repeatInstrument}`;
    let holds = holders.get(place);
    if (holds === undefined) {
      const asked = columns.filter((column) => column.kind !== 'key');
      holds =
        asked.length === 0
          ? row.repeatInstrument === ''
          : asked.some((column) => rowHolds(design, row.event, row.repeatInstrument, column.form));
      holders.set(place, holds);
    }
    return holds && (askedEvents?.has(row.event) ?? true);
  };
  const keyAlone = columns.every((column) => column.kind === 'key');
  const table: Table = [];
  for (const record of selectedRecords(project, params, user)) {
    const rows = [...record.rows.values()];
    for (const row of [...rows, ...(keyAlone ? bareRows(rows) : [])].sort(order)) {
      if (!listed(row) || !keep(record, row)) continue;
      if (eav) {
        table.push(...eavRows(project, record, row, shape));
        continue;
      }
      const cells: Record<string, Cell> = {};
      if (shape.hasKey) {
        cells[project.key] = record.id;
        Object.assign(cells, place(project, record, row, shape));
      }
      for (const column of columns) cells[column.name] = valueOf(project, record, row, column, shape);
      table.push(cells);
    }
  }
  const headings = new Map(
    params.text('rawOrLabelHeaders') === 'label' && !eav
      ? columns.map(
          (column) =>
            [
              column.name,
              column.code === null
                ? column.field.field_label || column.name
                : `${column.field.field_label} (choice=${
                    choicesOf(column.field).get(column.code) ??
                    design.missing_data_codes.get(column.code) ??
                    column.code
                  })`,
            ] as const,
        )
      : [],
  );
  return tableAnswer(table, table[0] ? Object.keys(table[0]) : [], format, {
    root: 'records',
    headings,
    delimiter: params.delimiter(),
  });
}
