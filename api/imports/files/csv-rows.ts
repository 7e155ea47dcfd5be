import { Readable } from 'node:stream';
import { CsvError, parse } from 'csv-parse';
import { textOfCsv } from '../../../db/exports/formula-text.js';
import { problem } from '../../http/errors.js';
import type { SheetRow } from './sheet.js';
import { decode } from './text.js';
import { Packing } from './workbook/decompress.js';

/** The rows of a piece are kept in memory for their reader. */
const PIECE = 32 * 1024;
/** The most characters of one record. Otherwise an unclosed quote would turn the whole file into one record. */
const MAX_RECORD = 256 * 1024;
const SEPARATORS = [',', ';', '\t'] as const;
const NAMES: Record<string, string> = { ',': 'comma', ';': 'semicolon', '\t': 'tab', '|': 'bar' };

/**
 * The first line in which spreadsheet programs name the separator: `sep=;`, also in quotes. It may be any sign that is
 * not part of a word; a tab also as `\\t`.
 */
const NAMED_SEPARATOR = /^[\r\n]*[ ]*"?sep=(\\t|[^\r\n"\p{L}\p{N} ])"?[,;\t| ]*(?=[\r\n]|$)/iu;

/** The most lines, including blank ones. */
const MAX_LINES = 200_000;

/** The result of reading a CSV file. */
export interface CsvRead {
  encoding: string;
  separator: string;
}

/**
 * Reads CSV with comma, semicolon or tab, detected from the header, or the separator that a first line `sep=;` names;
 * quoted cells may contain line breaks. The apostrophes of this service's own files are taken off. Rows are counted as
 * in a spreadsheet: the header is row 1, a quoted line break is within its row, an empty line is a row.
 * @param send gets the rows that are not blank, compressed
 * @param charset the character set that the file is said to have
 * @throws 400 FILE_UNREADABLE if it can't be parsed, 413 for too many lines
 */
export async function readCsvRows(
  bytes: Buffer,
  send: (piece: Uint8Array<ArrayBuffer>) => void,
  charset?: string,
): Promise<CsvRead> {
  const decoded = decode(bytes, charset);
  requireLines(decoded.text);
  const named = NAMED_SEPARATOR.exec(decoded.text);
  // The line becomes an empty one: rows are counted as a spreadsheet program counts them.
  const text = named ? decoded.text.replace(NAMED_SEPARATOR, (line) => line.replace(/[^\r\n]/g, '')) : decoded.text;
  const separator = named?.[1]?.replace('\\t', '\t') ?? separatorOf(text);
  const packing = new Packing(send);
  for await (const { row, cells } of rowsOf(text, separator)) {
    if (row > MAX_LINES)
      throw problem('TOO_LARGE', {
        detail: `The file has more than ${MAX_LINES} lines, with those that are blank: divide it.`,
      });
    packing.add(row, cells.map(textOfCell));
  }
  packing.end();
  return { encoding: decoded.encoding, separator: NAMES[separator] ?? separator };
}

/** `="0012"`: a formula by which programs keep a spreadsheet from reading a text as a number. */
const TEXT_AS_FORMULA = /^="([^"]*)"$/;
const textOfCell = (cell: string): string => TEXT_AS_FORMULA.exec(cell.trim())?.[1] ?? textOfCsv(cell);

/** Checked early: a line of millions of separators would create as many cells before they could be counted. */
function requireLines(text: string): void {
  for (let at = 0; text.length - at > MAX_RECORD;) {
    const rest = text.slice(at, at + MAX_RECORD);
    const end = Math.max(rest.lastIndexOf('\n'), rest.lastIndexOf('\r'));
    if (end < 0)
      throw problem('FILE_UNREADABLE', { detail: `The file has a line of more than ${MAX_RECORD} characters.` });
    at += end + 1;
  }
}

/** The separator that the first record has most of, outside of quotes. */
function separatorOf(text: string): string {
  const counts = new Map<string, number>(SEPARATORS.map((one) => [one, 0]));
  let quoted = false;
  const first = text.search(/[^\r\n]/);
  for (let i = Math.max(first, 0); i < Math.min(text.length, first + MAX_RECORD); i += 1) {
    const c = text[i]!;
    if (c === '"') quoted = !quoted;
    else if (!quoted && (c === '\n' || c === '\r')) break;
    else if (!quoted && counts.has(c)) counts.set(c, counts.get(c)! + 1);
  }
  return [...counts].sort((a, b) => b[1] - a[1])[0]![0];
}

async function* rowsOf(text: string, delimiter: string): AsyncGenerator<SheetRow> {
  const parser = parse({
    delimiter,
    record_delimiter: ['\r\n', '\n', '\r'],
    relax_column_count: true,
    relax_quotes: true,
    skip_empty_lines: false,
    max_record_size: MAX_RECORD,
  });
  let row = 0;
  try {
    for await (const cells of Readable.from(pieces(text))
      .on('error', (fault) => parser.destroy(fault))
      .pipe(parser) as AsyncIterable<string[]>) {
      row += 1;
      yield { row, cells };
    }
  } catch (fault) {
    if (!(fault instanceof CsvError)) throw fault;
    throw problem('FILE_UNREADABLE', {
      detail: `The file is not CSV from row ${row + 1} on: ${reasons[fault.code] ?? 'it cannot be taken apart'}.`,
      cause: fault,
    });
  }
}

const reasons: Record<string, string> = {
  CSV_QUOTE_NOT_CLOSED: 'a quote is not closed',
  CSV_MAX_RECORD_SIZE: `a row is longer than ${MAX_RECORD} characters, or a quote is not closed`,
};

function* pieces(text: string): Generator<string> {
  for (let at = 0; at < text.length; at += PIECE) yield text.slice(at, at + PIECE);
}
