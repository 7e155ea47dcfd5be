import { PassThrough } from 'node:stream';
import type { Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Dataset } from './columns.js';
import { copySql, shapeOf } from './statement.js';
import type { ExportRequest } from './statement.js';
import { commaSeparator, copyOut, unwrapLines } from './stream.js';
import { csvHeader, dictionaryCsv, readme } from './about.js';
import type { About } from './about.js';
import { writeSheet } from './sheet.js';
import { execute } from '../client/query.js';
import { pseudonymKey } from './pseudonyms.queries.js';
import { pseudonymOf } from './pseudonyms.queries.js';
import type { Tx } from '../client/database.js';

export const exportFormats = ['csv', 'json', 'ndjson', 'xlsx', 'zip'] as const;
export type ExportFormat = (typeof exportFormats)[number];
export const contentTypes: Record<ExportFormat, string> = {
  csv: 'text/csv; charset=utf-8',
  json: 'application/json; charset=utf-8',
  ndjson: 'application/x-ndjson; charset=utf-8',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  zip: 'application/zip',
};

/**
 * Writes an export into `sink` and ends it. `tx`: a read-only transaction narrowed to the requester.
 * @returns the number of rows
 */
export async function writeExport(
  tx: Tx,
  request: ExportRequest,
  format: ExportFormat,
  about: About,
  sink: Writable,
): Promise<number> {
  if (request.deidentify)
    await execute(tx, `select set_config('app.pseudonym_key', $1, true)`, [await pseudonymKey(tx, request.study_id)]);
  const of = await shapeOf(tx, request);
  switch (format) {
    case 'csv':
      return writeCsv(tx, of, request, sink);
    case 'ndjson':
      return copyRows(tx, of, request, 'json', (source) => pipeline(source, sink));
    case 'json':
      return writeJson(
        tx,
        of,
        request,
        request.deidentify ? { ...about, study_code: await pseudonymOf(tx, about.study_code) } : about,
        sink,
      );
    case 'xlsx':
      return copyRows(tx, of, request, 'json', (source) => writeSheet(source, of.columns, request.dataset, sink));
    case 'zip':
      return writeZip(tx, of, request, about, sink);
  }
}

/** The rows as lines; bundled ones are unwrapped. */
async function copyRows(
  tx: Tx,
  dataset: Dataset,
  request: ExportRequest,
  as: 'csv' | 'json',
  through: (lines: Readable) => Promise<void>,
): Promise<number> {
  if (!dataset.each) return copyOut(tx, copySql(dataset, request, as), through);
  let rows = 0;
  const lines = unwrapLines((more) => {
    rows += more;
  });
  await copyOut(tx, copySql(dataset, request, as), async (source) => {
    await Promise.all([pipeline(source, lines), through(lines)]);
  });
  return rows;
}

/** The header is sent before the first row is found. */
async function writeCsv(tx: Tx, dataset: Dataset, request: ExportRequest, sink: Writable): Promise<number> {
  sink.write(csvHeader(dataset.columns));
  return copyRows(tx, dataset, request, 'csv', (source) => pipeline(source, sink));
}

async function writeJson(
  tx: Tx,
  dataset: Dataset,
  request: ExportRequest,
  about: About,
  sink: Writable,
): Promise<number> {
  const head = { dataset: request.dataset, study_code: about.study_code, exported_at: about.exported_at };
  sink.write(`${JSON.stringify(head).slice(0, -1)},"rows":[\n`);
  const rows = await copyRows(tx, dataset, request, 'json', (source) =>
    pipeline(source, commaSeparator(), sink, { end: false }),
  );
  await ended(sink, '\n]}\n');
  return rows;
}

/** The data with its data dictionary and a README. */
async function writeZip(
  tx: Tx,
  dataset: Dataset,
  request: ExportRequest,
  about: About,
  sink: Writable,
): Promise<number> {
  const { default: yazl } = await import('yazl');
  const zip = new yazl.ZipFile();
  const data = new PassThrough();
  zip.addBuffer(Buffer.from(readme(request, about)), 'README.txt');
  zip.addBuffer(Buffer.from(dictionaryCsv(dataset)), 'data-dictionary.csv');
  zip.addReadStream(data, `${request.dataset}.csv`);
  zip.end();
  const archived = pipeline(zip.outputStream as unknown as Readable, sink);
  const [rows] = await Promise.all([
    writeCsv(tx, dataset, request, data).catch((fault: unknown) => {
      sink.destroy();
      throw fault;
    }),
    archived.catch((fault: unknown) => {
      data.destroy();
      throw fault;
    }),
  ]);
  return rows;
}

const ended = (sink: Writable, tail: string): Promise<void> =>
  new Promise((resolve, reject) => {
    sink.once('error', reject);
    sink.end(tail, () => {
      resolve();
    });
  });
