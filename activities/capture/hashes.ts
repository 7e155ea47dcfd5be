import { hash } from 'node:crypto';
import { canonicalJson } from '../../db/canonical-json.js';
import type { Reading } from '../../workflows/domain/capture/reading.js';
import type { ExportRow } from '../../workflows/domain/capture/record.js';

const sha256 = (value: unknown) => hash('sha256', canonicalJson(value), 'hex');

/** What the record holds and how it is read: a corrected mapping makes the same bytes worth reading again. */
export const contentHashOf = (rows: readonly ExportRow[], mapping: Record<string, string>): string => sha256([rows, mapping]);

/** What the service takes from the record, whoever has read it and whatever else was exported. */
export const readingHashOf = ({ record: _record, ...taken }: Reading, mapping: Record<string, string>): string => sha256([taken, mapping]);
