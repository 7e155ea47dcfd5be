import type { DictionaryField } from '../../../workflows/domain/capture/push-values.js';
import type { CaptureClient, CaptureRow } from '../client.js';
import { CaptureFailure } from '../failure.js';

const FRESH_MS = 10 * 60_000;
const known = new Map<string, { fields: readonly DictionaryField[]; until: number }>();

/**
 * The dictionary of a connection, asked for once in ten minutes.
 * @returns the fields, the primary key first, and whether they were read now
 * @throws CaptureFailure, also for an empty dictionary
 */
export async function dictionaryOf(client: CaptureClient, connection: string, reading: () => Promise<void>): Promise<{ fields: readonly DictionaryField[]; fresh: boolean }> {
  const found = known.get(connection);
  if (found && found.until > Date.now()) return { fields: found.fields, fresh: false };
  await reading();
  const fields = (await client.metadata()).map(fieldOf).filter(({ field_name }) => field_name !== '');
  if (fields.length === 0) throw new CaptureFailure('invalid_response', 'The capture system has an empty dictionary.');
  if (known.size >= 200) known.clear();
  known.set(connection, { fields, until: Date.now() + FRESH_MS });
  return { fields, fresh: true };
}

/** What was refused may be so because the dictionary has changed: it is read again next time. */
export const forgetDictionary = (connection: string): void => { known.delete(connection); };

const text = (value: unknown) => (typeof value === 'string' ? value.trim() : typeof value === 'number' ? String(value) : '');
const fieldOf = (row: CaptureRow): DictionaryField => ({
  field_name: text(row['field_name']), form_name: text(row['form_name']), field_type: text(row['field_type']), choices: text(row['select_choices_or_calculations']),
  validation: text(row['text_validation_type_or_show_slider_number']), min: text(row['text_validation_min']), max: text(row['text_validation_max']),
});
