import { parseCsvObjects } from './csv.js';
import type { Field } from './types.js';

/** API name of each dictionary column, and the heading that a downloaded data dictionary has for it. */
const COLUMNS: readonly (readonly [keyof Field, string])[] = [
  ['field_name', 'Variable / Field Name'],
  ['form_name', 'Form Name'],
  ['section_header', 'Section Header'],
  ['field_type', 'Field Type'],
  ['field_label', 'Field Label'],
  ['select_choices_or_calculations', 'Choices, Calculations, OR Slider Labels'],
  ['field_note', 'Field Note'],
  ['text_validation_type_or_show_slider_number', 'Text Validation Type OR Show Slider Number'],
  ['text_validation_min', 'Text Validation Min'],
  ['text_validation_max', 'Text Validation Max'],
  ['identifier', 'Identifier?'],
  ['branching_logic', 'Branching Logic (Show field only if...)'],
  ['required_field', 'Required Field?'],
  ['custom_alignment', 'Custom Alignment'],
  ['question_number', 'Question Number (surveys only)'],
  ['matrix_group_name', 'Matrix Group Name'],
  ['matrix_ranking', 'Matrix Ranking?'],
  ['field_annotation', 'Field Annotation'],
];

export const METADATA_COLUMNS: readonly (keyof Field)[] = COLUMNS.map(([name]) => name);

const BLANK: Field = {
  field_name: '',
  form_name: '',
  section_header: '',
  field_type: '',
  field_label: '',
  select_choices_or_calculations: '',
  field_note: '',
  text_validation_type_or_show_slider_number: '',
  text_validation_min: '',
  text_validation_max: '',
  identifier: '',
  branching_logic: '',
  required_field: '',
  custom_alignment: '',
  question_number: '',
  matrix_group_name: '',
  matrix_ranking: '',
  field_annotation: '',
};

const TYPES = new Set([
  'text',
  'notes',
  'calc',
  'dropdown',
  'radio',
  'checkbox',
  'yesno',
  'truefalse',
  'slider',
  'file',
  'descriptive',
  'sql',
]);

/** Reads a data dictionary in CSV, with the downloaded file's headings or with the API's column names. */
export function parseDictionary(csv: string): Field[] {
  const fields = parseCsvObjects(csv).map((row, index) => {
    const field: Field = { ...BLANK };
    for (const [name, heading] of COLUMNS) field[name] = (row[heading] ?? row[name] ?? '').trim();
    if (!/^[a-z][a-z0-9_]*$/.test(field.field_name))
      throw new Error(`The dictionary's row ${index + 2} has no valid field name: "${field.field_name}".`);
    if (field.form_name === '') throw new Error(`The dictionary's field "${field.field_name}" has no form name.`);
    if (!TYPES.has(field.field_type))
      throw new Error(`The dictionary's field "${field.field_name}" has the unknown type "${field.field_type}".`);
    return field;
  });
  if (fields.length === 0) throw new Error('The dictionary has no field; its first one would be the primary key.');
  const twice = fields.find(
    (field, index) => fields.findIndex((other) => other.field_name === field.field_name) !== index,
  );
  if (twice) throw new Error(`The dictionary has the field "${twice.field_name}" twice.`);
  return fields;
}

/** `1, Male | 2, Female` as code → label, in order. Yes/no and true/false fields have their fixed choices. */
export function choicesOf(field: Field): Map<string, string> {
  if (field.field_type === 'yesno')
    return new Map([
      ['1', 'Yes'],
      ['0', 'No'],
    ]);
  if (field.field_type === 'truefalse')
    return new Map([
      ['1', 'True'],
      ['0', 'False'],
    ]);
  if (!['radio', 'dropdown', 'checkbox'].includes(field.field_type)) return new Map();
  return parseChoices(field.select_choices_or_calculations);
}

export function parseChoices(text: string): Map<string, string> {
  const choices = new Map<string, string>();
  for (const part of text.split('|')) {
    const comma = part.indexOf(',');
    const code = (comma < 0 ? part : part.slice(0, comma)).trim();
    if (code !== '') choices.set(code, comma < 0 ? code : part.slice(comma + 1).trim());
  }
  return choices;
}

/** `cb___a`: in a column's name a code is in lower case, and has an underscore for each other sign (`-4`: `cb____4`). */
export const checkboxColumn = (field: Field, code: string): string =>
  `${field.field_name}___${code.toLowerCase().replace(/[^a-z0-9_]/g, '_')}`;

/**
 * The export columns of a field: one, none (descriptive), or one per checkbox choice.
 * @param missing the project's missing-data codes: a checkbox has a column for each of them, too
 */
export function columnsOf(
  field: Field,
  missing: ReadonlyMap<string, string> = new Map(),
): { column: string; code: string | null }[] {
  if (field.field_type === 'descriptive') return [];
  if (field.field_type !== 'checkbox') return [{ column: field.field_name, code: null }];
  const columns = new Map<string, string>();
  for (const code of [...choicesOf(field).keys(), ...missing.keys()]) {
    const column = checkboxColumn(field, code);
    if (!columns.has(column)) columns.set(column, code);
  }
  return [...columns].map(([column, code]) => ({ column, code }));
}
