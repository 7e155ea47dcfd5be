import { problem } from '../../../http/errors.js';
import type { Problem } from '../../../http/errors.js';

/** 400 FILE_UNREADABLE with its reason. */
export const unreadable = (detail: string, cause?: unknown): Problem =>
  problem('FILE_UNREADABLE', { detail, ...(cause !== undefined && { cause }) });
export const damaged = (cause?: unknown): Problem => unreadable('The workbook is damaged: it cannot be read.', cause);

/** Unpacked, of all parts together: half a million cells and more. A workbook of 20 MiB may unpack to 20 GB. */
export const MAX_UNPACKED = 48 * 1024 * 1024;
export const tooLarge = (): Problem =>
  unreadable(`The workbook is larger than ${MAX_UNPACKED / 1024 / 1024} MiB unpacked.`);

/** Characters of one row, as of a CSV file's: no text of a cell is longer either. */
export const MAX_ROW_TEXT = 256 * 1024;
