import type { DictionaryField } from '../../../workflows/domain/capture/push-values.js';
import type { CaptureClient, CaptureRow } from '../client/client.js';
import { readDictionary } from '../client/dictionary.js';
import type { Need } from '../client/dictionary.js';
import { CaptureFailure } from '../client/failure.js';

const CACHE_TTL_MS = 10 * 60_000;
const known = new Map<string, { fields: readonly DictionaryField[]; until: number }>();

/** The server does not answer: the next call would fail alike. */
const AWAY = new Set<string>(['connection_error', 'timeout']);

export interface PushDictionary {
  /** The primary key first; empty without an available dictionary. */
  fields: readonly DictionaryField[];
  /** Whether they were read now. */
  fresh: boolean;
  /** Why it could not be read. */
  unread?: CaptureFailure;
}

/**
 * The dictionary that a push needs, cached for ten minutes. An empty or unreadable one does not prevent sending: then
 * only the capture system validates. @throws CaptureFailure when it does not answer at all, or asks
 * to be called later
 */
export async function dictionaryOf(
  client: CaptureClient,
  connection: string,
  need: Need,
  reading: () => Promise<void>,
): Promise<PushDictionary> {
  const key = [connection, ...new Set(need.forms), ...(need.fields ?? [])].join('\0');
  const found = known.get(key);
  if (found && found.until > performance.now()) return { fields: found.fields, fresh: false };
  try {
    const fields = (await readDictionary(client, need, reading)).rows
      .map(fieldOf)
      .filter(({ field_name }) => field_name !== '');
    if (fields.length === 0) return { fields, fresh: true };
    if (known.size >= 1_000) known.clear();
    known.set(key, { fields, until: performance.now() + CACHE_TTL_MS });
    return { fields, fresh: true };
  } catch (failure) {
    if (!(failure instanceof CaptureFailure) || AWAY.has(failure.errorType) || failure.isPutOff) throw failure;
    // A dictionary of ten minutes ago is better than none.
    return { fields: found?.fields ?? [], fresh: true, unread: failure };
  }
}

/** A changed dictionary may be the cause of a refusal: it is read again next time. */
export const forgetDictionary = (connection: string): void => {
  for (const key of known.keys()) if (key.startsWith(`${connection}\0`)) known.delete(key);
};

const text = (value: unknown) =>
  typeof value === 'string' ? value.trim() : typeof value === 'number' ? String(value) : '';
const fieldOf = (row: CaptureRow): DictionaryField => ({
  field_name: text(row['field_name']),
  form_name: text(row['form_name']),
  field_type: text(row['field_type']),
  choices: text(row['select_choices_or_calculations']),
  validation: text(row['text_validation_type_or_show_slider_number']),
  annotation: text(row['field_annotation']),
  min: text(row['text_validation_min']),
  max: text(row['text_validation_max']),
});
