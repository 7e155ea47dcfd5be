import { problem } from '../../http/errors.js';

/** The columns of a file, with alternative names; an ambiguous name belongs to one column only. */
const ALIASES = {
  participant_code: [],
  external_id: ['record_id', 'record', 'external'],
  site_code: ['site', 'site_id', 'centre', 'center'],
  preferred_language: ['language', 'lang'],
  email: ['e_mail', 'mail'],
  phone: ['telephone', 'phone_number'],
  timezone: ['time_zone'],
  date_of_birth: ['dob', 'birth_date', 'birthdate'],
  arm: [],
} as const satisfies Record<string, readonly string[]>;

export type ImportColumn = keyof typeof ALIASES;
export const importColumns = Object.keys(ALIASES) as ImportColumn[];
/** The columns of the contract; others are optional. */
export const templateColumns: readonly ImportColumn[] = [
  'participant_code',
  'external_id',
  'site_code',
  'preferred_language',
];

export interface Header {
  columns: (ImportColumn | undefined)[];
  unknown: string[];
}
/** The row of a header, and the likely reason if it is invalid. */
export interface HeaderPlace {
  row: number;
  remarks: readonly string[];
}
/** Exports of a whole capture project are wide; more columns are none of participants. */
export const MAX_COLUMNS = 2_000;

/** The columns that a file of failed rows has behind those that were sent. */
export const reasonColumns = ['import_row', 'import_field', 'import_code', 'import_message'] as const;

/** Ignores case, blanks, underscores and hyphens. */
const plain = (name: string): string => name.toLowerCase().replaceAll(/[\s_-]+/g, '');
const byName = new Map(importColumns.map((column) => [plain(column), column]));
const byAlias = new Map(
  importColumns.flatMap((column) => ALIASES[column].map((name) => [plain(name), column] as const)),
);

const reasons = new Set<string>(reasonColumns.map(plain));
export const isReason = (name: string): boolean => reasons.has(plain(name));

/**
 * Identifies the columns of a file. An alternative name counts only if the column's own is missing; unknown columns are
 * skipped and reported.
 * @throws 400 HEADER_INVALID: participant_code is missing, a column occurs twice, there are more than 2,000
 */
export function readHeader(cells: readonly string[], place: HeaderPlace): Header {
  if (cells.length > MAX_COLUMNS)
    throw problem('HEADER_INVALID', {
      detail: `The header has more than ${MAX_COLUMNS} columns.`,
    });
  const names = cells.map(plain);
  const own = new Set(names.map((name) => byName.get(name)));
  const columns = names.map((name) => byName.get(name) ?? (own.has(byAlias.get(name)) ? undefined : byAlias.get(name)));
  const seen = new Set<string>();
  const twice = names
    .map((name, i) => columns[i] ?? name)
    .find((key) => key !== '' && (seen.has(key) || !seen.add(key)));
  if (twice !== undefined) throw refused(twice.slice(0, 64), 'DUPLICATE_COLUMN', 'stands in the header twice', place);
  if (!columns.includes('participant_code'))
    throw refused(
      'participant_code',
      'REQUIRED',
      'is missing in the header, which is the first row with content',
      place,
    );
  return {
    columns,
    unknown: cells
      .filter((cell, i) => columns[i] === undefined && cell.trim() !== '' && !isReason(cell))
      .map((cell) => cell.trim().slice(0, 64)),
  };
}

/** Whether a row may be the header: one of its cells is the required column. */
export const hasParticipantCode = (cells: readonly string[]): boolean =>
  cells.some((cell) => byName.get(plain(cell)) === 'participant_code');

const refused = (field: string, code: string, sentence: string, { row, remarks }: HeaderPlace) =>
  problem('HEADER_INVALID', {
    detail: [`The column ${field} ${sentence}.`, ...remarks].join(' '),
    errors: [{ path: field, row, code, message: `The column ${field} ${sentence}` }],
  });
