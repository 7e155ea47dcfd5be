import { hash } from 'node:crypto';
import { canonicalJson } from '../../../db/audit/canonical-json.js';
import { MANUAL_RETRY } from '../../../workflows/domain/capture/duplicates.js';
import type { Reading } from '../../../workflows/domain/capture/reading.js';
import type { ExportRow } from '../../../workflows/domain/capture/record.js';

const sha256 = (value: unknown) => hash('sha256', canonicalJson(value), 'hex');

/**
 * What the record holds and how it is read: a corrected mapping makes the same bytes worth reading again. It begins
 * with what was asked for: the record in some events, or all of it.
 */
export const contentHashOf = (
  rows: readonly ExportRow[],
  mapping: Record<string, string>,
  event: string | null,
): string => sha256(event).slice(0, MANUAL_RETRY) + sha256([rows, mapping]).slice(MANUAL_RETRY);

/**
 * The values that the service takes from a record, independent of reader and other exported fields. The record's own
 * name is excluded, and so is a code equal to it: a renamed record has the same hash.
 */
export function readingHashOf({ record, ...taken }: Reading, mapping: Record<string, string>): string {
  const { participant_code: code, ...others } = taken.mapped.values;
  const values = code === record ? others : taken.mapped.values;
  return sha256([{ ...taken, mapped: { ...taken.mapped, values } }, mapping]);
}
