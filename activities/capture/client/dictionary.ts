import { choiceCodes } from '../../../workflows/domain/capture/choices.js';
import type { BoxCodes } from '../../../workflows/domain/capture/participant.js';
import { surveyTime } from '../../../workflows/domain/capture/record.js';
import type { CaptureClient, CaptureRow } from './client.js';
import { CaptureFailure } from './failure.js';

/** A field of the dictionary. */
export interface DictionaryRow {
  field_name: string;
  form_name: string;
  field_type: string;
  annotation: string;
  /** `1, Yes | 0, No` */
  choices: string;
  identifier: boolean;
  /** A date or a free text: a de-identified export has none of them. */
  free: boolean;
}

/** The required part of a dictionary. */
export interface Need {
  forms: readonly string[];
  /** Fields of any form. */
  fields?: readonly string[];
}

const nameOf = (row: CaptureRow, column: string): string => {
  const value = row[column];
  return typeof value === 'string' ? value.trim() : '';
};

/**
 * The dictionary's fields in order, only of the required forms: a project may have thousands. The first form is always
 * included, since its first field is the record id. All fields are read if the capture system does not list its forms,
 * or a required field is on none of these.
 * @param call before each call
 */
export async function readDictionary(
  client: CaptureClient,
  { forms, fields = [] }: Need,
  call: () => Promise<void> = () => Promise.resolve(),
): Promise<{ rows: CaptureRow[]; instruments: string[] }> {
  const instruments = (await formsOf(client, call))
    ?.map((row) => nameOf(row, 'instrument_name'))
    .filter((name) => name !== '');
  const wanted = (instruments ?? []).filter((name, index) => index === 0 || forms.includes(name));
  if (instruments && wanted.length > 0 && wanted.length < instruments.length) {
    await call();
    const rows = await client.metadata(wanted);
    const known = new Set(rows.map((row) => nameOf(row, 'field_name')));
    const missing = fields.some(
      (field) =>
        !known.has(field) &&
        !known.has(field.split('___', 1)[0]!) &&
        !instruments.some((name) => field === `${name}_complete` || field === surveyTime(name)),
    );
    if (!missing && rows.length > 0) return { rows, instruments };
  }
  await call();
  return { rows: await client.metadata(), instruments: instruments ?? [] };
}

/** The capture system's default name of the record id field. */
export const USUAL_KEY = 'record_id';

/**
 * The first field of the dictionary; the default if the capture system refuses the call. @throws CaptureFailure when it
 * does not answer at all
 */
export async function primaryKeyOf(client: CaptureClient): Promise<string> {
  try {
    const name = (await readDictionary(client, { forms: [] })).rows[0]?.['field_name'];
    return typeof name === 'string' && name.trim() !== '' ? name.trim() : USUAL_KEY;
  } catch (failure) {
    if (failure instanceof CaptureFailure && failure.errorType === 'rejected') return USUAL_KEY;
    throw failure;
  }
}

const isFree = (type: string, validation: string): boolean =>
  type === 'notes' || (type === 'text' && /^$|^date/.test(validation));

/** The required fields of the dictionary, in its order, each with its form, type and action tags. */
export async function dictionaryRows(client: CaptureClient, need: Need): Promise<DictionaryRow[]> {
  return (await readDictionary(client, need)).rows.map((row, index) => ({
    field_name: nameOf(row, 'field_name'),
    form_name: nameOf(row, 'form_name'),
    field_type: nameOf(row, 'field_type'),
    annotation: nameOf(row, 'field_annotation'),
    choices: nameOf(row, 'select_choices_or_calculations'),
    identifier: nameOf(row, 'identifier').toLowerCase() === 'y',
    free: index > 0 && isFree(nameOf(row, 'field_type'), nameOf(row, 'text_validation_type_or_show_slider_number')),
  }));
}

/** The codes of the checkbox fields. */
export const boxCodesOf = (fields: readonly Pick<DictionaryRow, 'field_name' | 'field_type' | 'choices'>[]): BoxCodes =>
  Object.fromEntries(
    fields
      .filter(({ field_type }) => field_type === 'checkbox')
      .map(({ field_name, choices }) => [field_name, choiceCodes(choices)]),
  );

/** A capture system that does not list its forms is usable nevertheless. */
async function formsOf(client: CaptureClient, call: () => Promise<void>): Promise<CaptureRow[] | undefined> {
  await call();
  try {
    return await client.instruments();
  } catch (failure) {
    if (failure instanceof CaptureFailure && failure.errorType === 'rejected' && !failure.forbidden) return undefined;
    throw failure;
  }
}
