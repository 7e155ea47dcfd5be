import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { parseCsvObjects } from './csv.js';
import { columnsOf, parseDictionary } from './dictionary.js';
import { buildDesign, eventOf, primaryKey } from './design.js';
import { InputError } from './schemas.js';
import { RecordStore } from './store.js';
import type { Field, ProjectDesign } from './types.js';

/** What a project is made of, kept so that it can be made again. */
export interface ProjectSource {
  project: unknown;
  dictionary: string;
  data: string;
}

/** Where a column's values belong. */
export interface Column {
  field: Field;
  /** The choice, for a checkbox column. */
  code: string | null;
}

/** One project: its design and its records. */
export class CaptureProject {
  readonly design: ProjectDesign;
  readonly key: string;
  /** Data columns by name: fields, checkbox choices, and the `_complete` of each form (with a field of its own). */
  readonly columns: ReadonlyMap<string, Column>;
  store: RecordStore;

  constructor(
    readonly source: ProjectSource,
    private readonly now: () => string,
  ) {
    this.design = buildDesign(source.project, parseDictionary(source.dictionary));
    this.key = primaryKey(this.design);
    this.columns = dataColumns(this.design);
    this.store = new RecordStore(now);
    this.load(parseCsvObjects(source.data));
  }

  /** Empties the project and loads its data again. */
  reset(): void {
    this.store = new RecordStore(this.now);
    this.load(parseCsvObjects(this.source.data));
  }

  /**
   * Takes rows as they are, unchecked: a real database holds values older than its present rules (a partial date in
   * a date field, for one). Unknown columns and events are errors all the same.
   */
  load(rows: readonly Record<string, string>[]): void {
    for (const row of rows) {
      const id = row[this.key];
      if (id === undefined || id === '')
        throw new InputError(`A data row of project ${this.design.project_id} has no ${this.key}.`);
      const event = row['redcap_event_name'] ?? '';
      if (this.design.longitudinal ? !eventOf(this.design, event) : event !== '') {
        throw new InputError(`The data row of record "${id}" has the unknown event "${event}".`);
      }
      const values = new Map<string, string>();
      for (const [column, value] of Object.entries(row)) {
        if (column === this.key || column.startsWith('redcap_')) continue;
        if (!this.columns.has(column) && !column.endsWith('_timestamp'))
          throw new InputError(`The data have the column "${column}", which the dictionary does not have.`);
        if (value !== '') values.set(column, value);
      }
      this.store.write(
        id,
        {
          event,
          repeatInstrument: row['redcap_repeat_instrument'] ?? '',
          instance: Number(row['redcap_repeat_instance'] || 0),
        },
        values,
      );
      const group = row['redcap_data_access_group'];
      if (group) this.store.setGroup(id, group);
    }
  }
}

function dataColumns(design: ProjectDesign): Map<string, Column> {
  const columns = new Map<string, Column>();
  for (const field of design.fields) {
    for (const { column, code } of columnsOf(field, design.missing_data_codes)) columns.set(column, { field, code });
  }
  const model = design.fields[0] as Field;
  for (const { name } of design.instruments) {
    columns.set(`${name}_complete`, {
      code: null,
      field: {
        ...model,
        field_name: `${name}_complete`,
        form_name: name,
        field_type: 'dropdown',
        identifier: '',
        field_label: 'Complete?',
        select_choices_or_calculations: '0, Incomplete | 1, Unverified | 2, Complete',
        text_validation_type_or_show_slider_number: '',
      },
    });
  }
  return columns;
}

/** Reads `project.json`, `dictionary.csv` and (where there is one) `data.csv` of a folder. */
export async function readProjectFolder(folder: string): Promise<ProjectSource> {
  const text = async (name: string): Promise<string> => {
    try {
      return await readFile(path.join(folder, name), 'utf8');
    } catch (error) {
      throw new InputError(
        `The project folder "${folder}" has no readable ${name} ` +
          `(${error instanceof Error ? error.message : String(error)}).`,
      );
    }
  };
  const [project, dictionary, data] = await Promise.all([
    text('project.json'),
    text('dictionary.csv'),
    text('data.csv'),
  ]);
  try {
    return { project: JSON.parse(project) as unknown, dictionary, data };
  } catch (error) {
    throw new InputError(
      `The project folder "${folder}" has a project.json that is not JSON ` +
        `(${error instanceof Error ? error.message : String(error)}).`,
    );
  }
}
