import pg from 'pg';
import type { Tx } from '../knex.js';
import { datasetOf } from './datasets.js';
import type { Column, Dataset, DatasetName } from './datasets.js';
import { wideSummaries } from './wide.js';
import type { WideMetric } from './wide.js';

export interface ExportFilters { from?: string | undefined; to?: string | undefined; site_code?: string | undefined; participant_ids?: readonly string[] | undefined; deidentify?: boolean | undefined; layout?: 'long' | 'wide' | undefined }
export interface ExportRequest extends ExportFilters { study_id: string; dataset: DatasetName }

/** Columns of an export, in their order, which stays: de-identified ones are without those that tell who it is. */
export const columnsOf = (of: Dataset, deidentify = false): Column[] => of.columns.filter((column) => !(deidentify && (column.personal || column.type === 'json')));

/**
 * What a request is an export of. A wide one has a column for each metric that its rows have.
 * @throws TooManyColumns
 */
export async function shapeOf(tx: Tx, request: ExportRequest): Promise<Dataset> {
  return request.layout === 'wide' ? wideSummaries(await metricsOf(tx, request)) : datasetOf(request.dataset);
}

/** The metrics that a wide export has columns for. */
export async function metricsOf(tx: Tx, { dataset: _dataset, ...filters }: ExportRequest): Promise<WideMetric[]> {
  const long = datasetOf('task_summaries');
  return (await tx.raw(plain(`select distinct k.task, m.key as metric from ${fromSql(long, filters.study_id)} where ${conditions(long, filters).join(' and ')}`))).rows;
}

/**
 * COPY statements take no parameters: every value is escaped here. `csv` yields cells, `json` an object a line.
 * Runs under row-level security like every other query, and names the study besides.
 */
export function copySql(of: Dataset, request: ExportRequest, as: 'csv' | 'json'): string {
  const select = selectSql(of, request, as);
  // JSON has no control characters: with these two as delimiter and quote a line is what to_json wrote, unescaped.
  return as === 'csv' ? `copy (${select}) to stdout with (format csv)` : `copy (select row_to_json(x)::text from (${select}) x) to stdout with (format csv, delimiter e'\\x02', quote e'\\x01')`;
}

/** How many rows there are, for the progress of a long export. */
export async function countRows(tx: Tx, of: Dataset, { dataset: _dataset, ...filters }: ExportRequest): Promise<number> {
  return (await tx.raw(plain(`select count(*) as n from ${fromSql(of, filters.study_id)} where ${conditions(of, filters).join(' and ')}`))).rows[0].n;
}

/** The query builder takes a question mark for a value that is to come, also inside a literal. */
const plain = (sql: string): string => sql.replaceAll('?', '\\?');

function selectSql(of: Dataset, { dataset: _dataset, ...filters }: ExportRequest, as: 'csv' | 'json'): string {
  const columns = columnsOf(of, filters.deidentify).map((column) => `${valueSql(column, as, filters.deidentify === true)} as ${pg.escapeIdentifier(column.name)}`);
  return `select ${columns.join(', ')} from ${fromSql(of, filters.study_id)} where ${conditions(of, filters).join(' and ')}${of.order === '' ? '' : ` order by ${of.order}`}`;
}

const fromSql = (of: Dataset, studyId: string): string => of.from.replaceAll(':study', `${pg.escapeLiteral(studyId)}::uuid`);

function conditions(of: Dataset, { study_id, from, to, site_code, participant_ids, deidentify }: Omit<ExportRequest, 'dataset'>): string[] {
  return [
    `${of.study} = ${pg.escapeLiteral(study_id)}::uuid`,
    // Who is narrowed to sites sees of what has no participant nothing, and nothing de-identified has none.
    deidentify ? 'p.id is not null' : '(p.id is not null or app_all_sites())',
    ...(from ? [`${of.date} >= ${pg.escapeLiteral(from)}::date`] : []),
    ...(to ? [`${of.date} <= ${pg.escapeLiteral(to)}::date`] : []),
    ...(site_code ? [`st.site_code = ${pg.escapeLiteral(site_code)}`] : []),
    ...(participant_ids ? [`p.id = any (array[${participant_ids.map((id) => pg.escapeLiteral(id)).join(', ')}]::uuid[])`] : []),
  ];
}

function valueSql({ type, sql }: Column, as: 'csv' | 'json', deidentify: boolean): string {
  if (deidentify) {
    if (type === 'code' || type === 'id') return `pseudonym(${sql}::text)`;
    if (type === 'date') return `${sql} + pseudonym_shift(p.id)`;
    if (type === 'instant') return `export_instant(${sql} + pseudonym_shift(p.id) * interval '1 day')`;
  }
  switch (type) {
    case 'text': case 'code': return as === 'csv' ? `csv_text(${sql}::text)` : sql;
    case 'instant': return `export_instant(${sql})`;
    case 'boolean': return as === 'csv' ? `(${sql})::text` : sql;
    case 'json': return as === 'csv' ? `(${sql})::text` : sql;
    default: return sql;
  }
}
