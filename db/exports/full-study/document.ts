import { createHash } from 'node:crypto';
import { Transform } from 'node:stream';
import type { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import pg from 'pg';
import type { AuditSigner } from '../../audit/audit-signing.js';
import { shownSession } from '../../scheduling/effective-status.js';
import { copyOut } from '../stream.js';
import { columnsForJson } from '../../client/instants.js';
import { latestRevision } from '../../migrations/index.js';
import { manifestText } from './claims.js';
import type { Manifest } from './claims.js';
import { FORMAT, FORMAT_VERSION } from './format.js';
import { EXPORTED_STUDY_COLUMNS, studyTables } from './tables.js';
import { execute } from '../../client/query.js';
import type { Tx } from '../../client/database.js';

const AUDIT = 'audit_log';
/** Left out: active sessions, whose ids are credentials. The document has their public ids. */
const ACTIVE = 'active';

/** A study as one document; rows as stored. */
export interface StudyDocument {
  format: typeof FORMAT;
  format_version: number;
  schema_revision: string;
  exported_at: string;
  study: Record<string, unknown>;
  tables: Record<string, Record<string, unknown>[]>;
  /** For reading only: it is not loaded again. */
  audit?: unknown[];
  manifest?: Manifest;
}

/**
 * Writes all data of a study as one JSON document into `sink` and ends it. One statement reads it row by row, so that
 * it has one snapshot.
 * @param signer signs the document's manifest
 */
export async function writeStudyDocument(
  tx: Tx,
  studyId: string,
  exportedAt: string,
  sink: Writable,
  signer?: AuditSigner,
): Promise<number> {
  // Parallel parts would come in any order.
  await execute(tx, 'set local max_parallel_workers_per_gather = 0');
  const head = JSON.stringify({
    format: FORMAT,
    format_version: FORMAT_VERSION,
    schema_revision: latestRevision,
    exported_at: exportedAt,
  }).slice(0, -1);
  sink.write(head);
  return copyOut(
    tx,
    `copy (${await allSql(tx, studyId)}) to stdout with (format csv, delimiter e'\\x02', quote e'\\x01')`,
    (source) => pipeline(source, assembled(head, signer), sink),
  );
}

async function allSql(tx: Tx, studyId: string): Promise<string> {
  const columns = await columnsForJson(tx, ['studies', ...studyTables.map(({ name }) => name), AUDIT]);
  const part = (name: string, table: string, key: string, order: string, only?: readonly string[]) => {
    const list = only
      ? only.map((column) => columns.get(table)!.find(({ name: known }) => known === column)!)
      : columns.get(table)!;
    // Sorted by the table's columns: the selected ones are JSON, which has no order.
    const by = order
      .split(', ')
      .map((column) => `t.${column}`)
      .join(', ');
    return `(select '${name}' as part, row_to_json(x)::text as row from (select ${list.map(({ sql }) => sql).join(', ')}
      from ${table} t where t.${key} = ${pg.escapeLiteral(studyId)}::uuid order by ${by}) x)`;
  };
  return [
    `(select '${ACTIVE}' as part, row_to_json(x)::text as row from (select s.id, ${shownSession('s')} as shown
      from assessment_sessions s where s.study_id = ${pg.escapeLiteral(studyId)}::uuid and s.status = 'active') x)`,
    part('study', 'studies', 'id', 'id', EXPORTED_STUDY_COLUMNS),
    ...studyTables.map(({ name, order }) => part(name, name, 'study_id', order)),
    part(AUDIT, AUDIT, 'study_id', 'seq'),
  ].join(' union all ');
}

const withouts = new Map(
  studyTables.filter(({ without }) => without).map(({ name, without }) => [name, new Set(without)]),
);

const ID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/gi;

/** Turns lines of `part` and row into the document's body; a part without rows is an empty list. */
function assembled(head: string, signer: AuditSigner | undefined): Transform {
  const written = createHash('sha256').update(head);
  const parts = ['study', ...studyTables.map(({ name }) => name), AUDIT];
  const shown = new Map<string, string>();
  const renamed = (row: string) =>
    shown.size === 0 ? row : row.replaceAll(ID, (id) => shown.get(id.toLowerCase()) ?? id);
  let at = -1,
    rows = 0,
    rest = '';
  const opening = (name: string) =>
    name === 'study'
      ? ',"study":'
      : name === parts[1]
        ? `,"tables":{"${name}":[`
        : name === AUDIT
          ? '},"audit":['
          : `,"${name}":[`;
  const closing = (name: string | undefined) => (name === undefined || name === 'study' ? '' : ']');
  const upTo = (name: string): string => {
    let text = '';
    while (parts[at] !== name) {
      text += closing(parts[at]);
      at += 1;
      rows = 0;
      text += `\n${opening(parts[at]!)}`;
    }
    return text;
  };
  const element = (line: string): string => {
    const cut = line.indexOf('\u0002');
    const name = line.slice(0, cut);
    if (name === ACTIVE) {
      const session = JSON.parse(line.slice(cut + 1)) as { id: string; shown: string };
      shown.set(session.id, session.shown);
      return '';
    }
    const begun = upTo(name);
    const hidden = withouts.get(name);
    const row = hidden
      ? JSON.stringify(
          Object.fromEntries(
            Object.entries(JSON.parse(line.slice(cut + 1)) as object).filter(([key]) => !hidden.has(key)),
          ),
        )
      : line.slice(cut + 1);
    return `${begun}${rows++ === 0 ? '' : ',\n'}${renamed(row)}`;
  };
  return new Transform({
    decodeStrings: true,
    transform(chunk: Buffer, _encoding, done) {
      // One character for each byte: a multi-byte character may span two chunks.
      const lines = (rest + chunk.toString('latin1')).split('\n');
      rest = lines.pop()!;
      const piece = Buffer.from(lines.map(element).join(''), 'latin1');
      written.update(piece);
      done(null, piece.length === 0 ? undefined : piece);
    },
    flush(done) {
      const last = `${upTo(AUDIT)}]`;
      const end = signer ? manifestText(written.update(last).digest('hex'), signer) : '}\n';
      done(null, `${last}${end}`);
    },
  });
}
