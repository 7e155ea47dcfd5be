import { hash } from 'node:crypto';
import { canonicalJson } from '../../db/audit/canonical-json.js';
import { MANUAL_RETRY } from '../../workflows/domain/capture/duplicates.js';
import { policyItems } from '../../workflows/domain/capture/participant.js';
import type { Reading, ReadingRules } from '../../workflows/domain/capture/reading.js';
import type { ExportRow } from '../../workflows/domain/capture/record.js';

const sha256 = (value: unknown) => hash('sha256', canonicalJson(value), 'hex');

/**
 * The content of a record and the way of reading it: after a corrected mapping, or under a policy that names other
 * items, the same bytes are read again. It begins with the requested part: the record in some events, or all of it.
 */
export function contentHashOf(
  rows: readonly ExportRow[],
  { mapping, policy, instrument }: Pick<ReadingRules, 'mapping' | 'policy' | 'instrument'>,
  event: string | null,
): string {
  const items = policyItems(policy, instrument).sort();
  const read = items.length === 0 ? [rows, mapping] : [rows, mapping, items];
  return sha256(event).slice(0, MANUAL_RETRY) + sha256(read).slice(MANUAL_RETRY);
}

/**
 * The values that the service takes from a record, independent of reader and other exported fields. The record's own
 * name is excluded, and so is a code equal to it: a renamed record has the same hash.
 */
export function readingHashOf({ record, ...taken }: Reading, mapping: Record<string, string>): string {
  const { participant_code: code, ...others } = taken.mapped.values;
  const values = code === record ? others : taken.mapped.values;
  return sha256([{ ...taken, mapped: { ...taken.mapped, values } }, mapping]);
}
