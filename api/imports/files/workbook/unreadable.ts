import { problem } from '../../../http/errors.js';
import type { Problem } from '../../../http/errors.js';

/** 400 FILE_UNREADABLE with its reason. */
export const unreadable = (detail: string, cause?: unknown): Problem =>
  problem('FILE_UNREADABLE', { detail, ...(cause !== undefined && { cause }) });
export const damagedWorkbook = (cause?: unknown): Problem =>
  unreadable('The workbook is damaged: it cannot be read.', cause);

/** Decompressed, of all parts together: half a million cells and more. A workbook of 20 MiB may decompress to 20 GB. */
export const MAX_UNPACKED = 48 * 1024 * 1024;
export const workbookTooLarge = (): Problem =>
  unreadable(`The workbook is larger than ${MAX_UNPACKED / 1024 / 1024} MiB unpacked.`);

/** The most characters of one row, as in a CSV file; it also limits the text of a cell. */
export const MAX_ROW_TEXT = 256 * 1024;
