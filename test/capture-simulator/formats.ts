import { parseCsvObjects, writeCsv } from './csv.js';
import { XML_HEAD, escapeXml, parseXmlItems, writeXml } from './xml.js';

export type Format = 'json' | 'csv' | 'xml';
/** JSON keeps numbers and null where the protocol has them; csv and xml write text. */
export type Cell = string | number | null | Record<string, number>;
export type Table = Record<string, Cell>[];

export interface Answer {
  status: number;
  type: string;
  body: string;
}

const TYPES: Record<Format, string> = {
  json: 'application/json; charset=utf-8',
  csv: 'text/csv; charset=utf-8',
  xml: 'text/xml; charset=utf-8',
};

/** An answer that the API itself gives as an error: `status` and a message for anyone who called. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
    this.name = 'ApiError';
  }
}

export const isFormat = (value: string | undefined): value is Format =>
  value === 'json' || value === 'csv' || value === 'xml';

/** Errors follow `returnFormat`, then `format`, then xml. */
export function errorFormat(returnFormat: string | undefined, format: string | undefined): Format {
  if (isFormat(returnFormat)) return returnFormat;
  return isFormat(format) ? format : 'xml';
}

export function errorAnswer(status: number, message: string, format: Format): Answer {
  if (format === 'json') return { status, type: TYPES.json, body: JSON.stringify({ error: message }) };
  if (format === 'csv') return { status, type: TYPES.csv, body: `ERROR: ${message}` };
  return { status, type: TYPES.xml, body: `${XML_HEAD}<hash><error>${escapeXml(message)}</error></hash>` };
}

function cellText(cell: Cell): string {
  if (cell === null) return '';
  if (typeof cell === 'object')
    return Object.entries(cell)
      .map(([key, value]) => `${key}:${value}`)
      .join(',');
  return String(cell);
}

export interface TableShape {
  /** The root element in xml. */
  root: string;
  /** Heading per column of the csv answer, where it is not the column's own name. */
  headings?: Map<string, string>;
  delimiter?: string;
  /** One row that JSON shows as an object (project information). */
  single?: boolean;
}

/** A table in the asked format; `columns` orders csv and xml. */
export function tableAnswer(rows: Table, columns: readonly string[], format: Format, shape: TableShape): Answer {
  if (format === 'json') {
    return { status: 200, type: TYPES.json, body: JSON.stringify(shape.single === true ? rows[0] : rows) };
  }
  const texts = rows.map((row) => columns.map((column) => cellText(row[column] ?? '')));
  if (format === 'csv') {
    const header = columns.map((column) => shape.headings?.get(column) ?? column);
    return { status: 200, type: TYPES.csv, body: rows.length === 0 ? '\n' : writeCsv(header, texts, shape.delimiter) };
  }
  if (shape.single === true) {
    const inner = columns.map((column, i) => `<${column}>${escapeXml(texts[0]?.[i] ?? '')}</${column}>`).join('');
    return { status: 200, type: TYPES.xml, body: `${XML_HEAD}<${shape.root}>${inner}</${shape.root}>` };
  }
  const items = texts.map((cells) => Object.fromEntries(columns.map((column, i) => [column, cells[i] ?? ''])));
  return { status: 200, type: TYPES.xml, body: writeXml(shape.root, items) };
}

/** A bare text, as version, delete counts and the next record name are answered in every format. */
export const textAnswer = (body: string): Answer => ({ status: 200, type: 'text/html; charset=utf-8', body });

/** `{"count":2}`, `2` or `<hash><count>2</count></hash>`. */
export function countAnswer(count: number, format: Format): Answer {
  if (format === 'json') return { status: 200, type: TYPES.json, body: JSON.stringify({ count }) };
  if (format === 'csv') return { status: 200, type: TYPES.csv, body: String(count) };
  return { status: 200, type: TYPES.xml, body: `${XML_HEAD}<hash><count>${count}</count></hash>` };
}

/** A list of ids: a JSON array, a csv column `id`, or `<ids><id>…`. */
export function idsAnswer(ids: readonly string[], format: Format): Answer {
  if (format === 'json') return { status: 200, type: TYPES.json, body: JSON.stringify(ids) };
  if (format === 'csv')
    return {
      status: 200,
      type: TYPES.csv,
      body: writeCsv(
        ['id'],
        ids.map((id) => [id]),
      ),
    };
  return {
    status: 200,
    type: TYPES.xml,
    body: `${XML_HEAD}<ids>${ids.map((id) => `<id>${escapeXml(id)}</id>`).join('')}</ids>`,
  };
}

function jsonCell(value: unknown, key: string): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return String(value);
  if (typeof value === 'boolean') return value ? '1' : '0';
  throw new ApiError(400, `The value of "${key}" is not a text or a number.`);
}

/**
 * The rows of an import's `data`. A JSON object instead of an array gives no row and no error, as the real system
 * does: callers lose data by it, so theirs must notice the count.
 */
export function parseImportData(data: string, format: Format, delimiter: string): Record<string, string>[] {
  if (format === 'json') {
    let parsed: unknown;
    try {
      parsed = JSON.parse(data);
    } catch {
      throw new ApiError(
        400,
        'The data being imported is not formatted correctly. The JSON must be in an array, as in [{ ... }].',
      );
    }
    if (!Array.isArray(parsed)) return [];
    return parsed.map((row: unknown) => {
      if (typeof row !== 'object' || row === null || Array.isArray(row)) {
        throw new ApiError(
          400,
          'The data being imported is not formatted correctly. The JSON must be in an array, as in [{ ... }].',
        );
      }
      return Object.fromEntries(Object.entries(row).map(([key, value]) => [key, jsonCell(value, key)]));
    });
  }
  try {
    return format === 'csv' ? parseCsvObjects(data, delimiter) : parseXmlItems(data);
  } catch (error) {
    throw new ApiError(
      400,
      `The data being imported is not formatted correctly. ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}
