import pg from 'pg';
import { datasetOf } from './datasets.js';
import type { DatasetColumn, Dataset } from './columns.js';
import type { DatasetName } from './datasets.js';
import { wideSummaries } from './wide.js';
import type { WideMetric } from './wide.js';
import { query } from '../client/query.js';
import type { Tx } from '../client/database.js';

export interface ExportFilters {
  from?: string | undefined;
  to?: string | undefined;
  site_code?: string | undefined;
  participant_ids?: readonly string[] | undefined;
  deidentify?: boolean | undefined;
  layout?: 'long' | 'wide' | undefined;
}
export interface ExportRequest extends ExportFilters {
  study_id: string;
  dataset: DatasetName;
}

/**
 * The data set of a request with its columns, in their fixed order. A wide one has a column for each metric of its
 * rows; a de-identified one omits those that identify a person.
 * @throws TooManyColumns
 */
export async function shapeOf(tx: Tx, request: ExportRequest): Promise<Dataset> {
  const dataset = request.layout === 'wide' ? wideSummaries(await metricsOf(tx, request)) : datasetOf(request.dataset);
  if (!request.deidentify) return dataset;
  return { ...dataset, columns: dataset.columns.filter(({ personal, type }) => !personal && type !== 'json') };
}

/** The metrics that are columns of a wide export. */
export async function metricsOf(tx: Tx, { dataset: _dataset, ...filters }: ExportRequest): Promise<WideMetric[]> {
  const long = datasetOf('task_summaries');
  return query<WideMetric>(
    tx,
    `select distinct k.task, m.key as metric from ${fromSql(long, filters)}
      where ${conditions(long, filters).join(' and ')}`,
  );
}

/**
 * COPY of the columns of `shapeOf`. Such statements take no parameters: every value is escaped here. `csv` yields
 * cells, `json` an object a line. Runs under row-level security like every other query, and also filters by study.
 */
export function copySql(dataset: Dataset, request: ExportRequest, as: 'csv' | 'json'): string {
  if (dataset.each) return `copy (${bundledSql(dataset, dataset.each, request, as)}) to stdout with (${VERBATIM})`;
  const select = selectSql(dataset, request, as);
  // JSON has no control characters: a line is the output of to_json, unescaped.
  return as === 'csv'
    ? `copy (${select}) to stdout with (format csv)`
    : `copy (select row_to_json(x)::text from (${select}) x) to stdout with (${VERBATIM})`;
}

/** Delimiter and quote that no text contains; a multi-line value is quoted. */
const VERBATIM = `format csv, delimiter e'\\x02', quote e'\\x01'`;

/**
 * Many rows as one multi-line value: the cost for each row sent and received was two thirds of an export. The common
 * part of the rows is computed once.
 */
function bundledSql(
  dataset: Dataset,
  each: string,
  { dataset: _dataset, ...filters }: ExportRequest,
  as: 'csv' | 'json',
): string {
  const { columns } = dataset;
  const deidentify = filters.deidentify === true;
  const own = columns.filter(({ sql }) => OWN.test(sql));
  const common = columns.filter(({ sql }) => !OWN.test(sql));
  const [head, line] =
    as === 'csv'
      ? [
          `concat(${common.map((column) => `${cellSql(column, deidentify)}, ','`).join(', ')}) as head`,
          `concat(h.head, ${own.map((column) => cellSql(column, deidentify)).join(", ',', ")})`,
        ]
      : [common.map((column) => named(column, as, deidentify)).join(', '), `row_to_json(x)::text`];
  const rows =
    as === 'csv'
      ? `(${each}) r`
      : `(select h.*, ${own.map((column) => named(column, as, deidentify)).join(', ')} from (${each}) r) x`;
  return `select l.lines from ${fromSql(dataset, filters)}
    cross join lateral (select ${head} offset 0) h cross join lateral (select string_agg(${line}, e'\\n') as lines
      from ${rows}) l
    where ${conditions(dataset, filters).join(' and ')} and l.lines is not null`;
}

/** Matches an expression of a row `r`, which differs among the rows of one value; others are computed once. */
const OWN = /\br\./;

/** The number of rows: for the progress of a long export, and of a sheet, which has a limit. */
export async function countRows(tx: Tx, request: ExportRequest): Promise<number> {
  const dataset = await shapeOf(tx, request);
  const { dataset: _dataset, ...filters } = request;
  const [counted] = await query<{ n: number }>(
    tx,
    `select ${dataset.eachTotal ? `coalesce(sum(${dataset.eachTotal}), 0)` : 'count(*)'} as n
      from ${fromSql(dataset, filters)} where ${conditions(dataset, filters).join(' and ')}`,
  );
  return counted!.n;
}

function selectSql(dataset: Dataset, { dataset: _dataset, ...filters }: ExportRequest, as: 'csv' | 'json'): string {
  const columns = dataset.columns.map((column) => named(column, as, filters.deidentify === true));
  return `select ${columns.join(', ')} from ${fromSql(dataset, filters)}
    where ${conditions(dataset, filters).join(' and ')}${orderSql(dataset, filters.deidentify)}`;
}

/**
 * Ordered by code or by time, the n-th row of a de-identified list would be the n-th of the identified one:
 * de-identified rows are ordered by pseudonym first.
 */
const orderSql = ({ order }: Dataset, deidentify = false): string =>
  order === '' ? '' : ` order by ${deidentify ? 'pseudonym(p.id::text), ' : ''}${order}`;

const named = (column: DatasetColumn, as: 'csv' | 'json', deidentify: boolean): string =>
  `${valueSql(column, as, deidentify)} as ${pg.escapeIdentifier(column.name)}`;

const fromSql = (dataset: Dataset, { study_id, site_code, participant_ids }: Omit<ExportRequest, 'dataset'>): string =>
  dataset.from
    .replaceAll(':study', `${pg.escapeLiteral(study_id)}::uuid`)
    .replaceAll(':filtered', String(site_code !== undefined || participant_ids !== undefined));

function conditions(
  dataset: Dataset,
  { study_id, from, to, site_code, participant_ids, deidentify }: Omit<ExportRequest, 'dataset'>,
): string[] {
  return [
    `${dataset.study} = ${pg.escapeLiteral(study_id)}::uuid`,
    // A user restricted to sites sees no rows without a participant; a de-identified export has none.
    deidentify ? 'p.id is not null' : '(p.id is not null or app_all_sites())',
    ...(from ? [`${dataset.date} >= ${pg.escapeLiteral(from)}::date`] : []),
    ...(to ? [`${dataset.date} <= ${pg.escapeLiteral(to)}::date`] : []),
    ...(site_code ? [`st.site_code = ${pg.escapeLiteral(site_code)}`] : []),
    ...(participant_ids
      ? [`p.id = any (array[${participant_ids.map((id) => pg.escapeLiteral(id)).join(', ')}]::uuid[])`]
      : []),
  ];
}

function valueSql({ type, sql: own, anonymous }: DatasetColumn, as: 'csv' | 'json', deidentify: boolean): string {
  const sql = deidentify ? (anonymous ?? own) : own;
  if (deidentify) {
    if (type === 'code' || type === 'id') return `pseudonym(${sql}::text)`;
    if (type === 'date') return `${sql} + pseudonym_shift(p.id)`;
    if (type === 'instant') return `export_instant(${sql} + pseudonym_shift(p.id) * interval '1 day')`;
  }
  switch (type) {
    case 'text':
    case 'code':
      return as === 'csv' ? `csv_text(${sql}::text)` : sql;
    case 'instant':
      return `export_instant(${sql})`;
    case 'boolean':
      return as === 'csv' ? `(${sql})::text` : sql;
    case 'json':
      // Only texts in it have a semicolon, which a spreadsheet of another locale takes for the end of the cell.
      return as === 'csv' ? `replace((${sql})::text, ';', '\\u003b')` : sql;
    default:
      return sql;
  }
}

/** A value as COPY would write it into a line of CSV; null becomes an empty string in concatenations. */
function cellSql(column: DatasetColumn, deidentify: boolean): string {
  const value = valueSql(column, 'csv', deidentify);
  if (deidentify && column.type !== 'text' && column.type !== 'word') return value;
  switch (column.type) {
    // An object without a quote is empty.
    case 'json':
      return `'"' || replace(${value}, '"', '""') || '"'`;
    case 'text':
    case 'word':
    case 'code':
      return (
        `case when ${value} = '' or ${value} ~ '[",\\r\\n]' then '"' || replace(${value}, '"', '""') || '"' else ` +
        `${value} end`
      );
    default:
      return value;
  }
}
