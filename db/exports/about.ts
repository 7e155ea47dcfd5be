import { csvText } from './formula-text.js';
import type { DatasetColumn, Dataset } from './columns.js';
import type { ExportRequest } from './statement.js';

export interface About {
  study_code: string;
  exported_at: string;
}

/** Also quoted where a program of another locale would split it into two cells. */
const quoted = (cell: string): string => (/[",;\t\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell);
const WRITTEN: Record<string, string> = {
  text: 'text',
  word: 'text',
  code: 'text',
  id: 'text',
  number: 'number',
  boolean: 'true or false',
  date: 'YYYY-MM-DD',
  instant: 'ISO 8601, UTC',
  json: 'JSON',
};

/** The first line of a CSV file. Names of metrics are user input, too. */
export const csvHeader = (columns: readonly DatasetColumn[]): string =>
  `${columns.map(({ name }) => quoted(csvText(name))).join(',')}\n`;

/**
 * The columns of an export in order: name, format, meaning and, for a closed list, the possible values separated by
 * `|`.
 */
export const dictionaryCsv = ({ columns }: Dataset): string =>
  [
    'column,written_as,meaning,allowed_values',
    ...columns.map(({ name, type, about, values = type === 'boolean' ? ['true', 'false'] : [] }) =>
      [name, WRITTEN[type]!, about, values.join('|')].map((cell) => quoted(csvText(cell))).join(','),
    ),
  ].join('\n') + '\n';

/** The README of an export: everything that a reader needs to know a year later. */
export const readme = (
  { dataset, deidentify, ...filters }: ExportRequest,
  { study_code, exported_at }: About,
): string => `${dataset}, of the study ${deidentify ? '(de-identified)' : study_code}, as of ${exported_at}.

${dataset}.csv          the data: UTF-8, comma, header in the first row; an empty cell is no value
data-dictionary.csv   what its columns are, and which values they can have

A text that a spreadsheet would run as a formula begins with an apostrophe.
${
  deidentify
    ? 'Codes and ids are pseudonyms, the same in every de-identified export of this study. Each participant’s ' +
      'dates are moved by a number of days of its own: what lies between them is as it was.'
    : `Filters: ${
        Object.entries(filters)
          .filter(([name, value]) => name !== 'study_id' && value !== undefined)
          .map(([name, value]) => `${name} ${String(value)}`)
          .join(', ') || 'none'
      }.`
}
`;
