import { createHash, randomUUID } from 'node:crypto';
import { withKeepAlive } from '../../db/client/connection/keep-alive.js';
import { completeImport, holdImport, importById, importedBefore } from '../../db/imports/imports.queries.js';
import type { NewImport } from '../../db/imports/imports.queries.js';
import { rehearse } from '../../db/imports/participant-import.queries.js';
import { lockImports } from '../../db/participants/import-lock.queries.js';
import { DateCodes } from './files/date-codes.js';
import { FailedRows } from './files/failed-rows.js';
import { readCsv } from './files/csv.js';
import { ImportProgress } from './files/progress.js';
import { ImportLists } from './files/result.js';
import type { ImportOverview } from './files/result.js';
import { outlineOf, portionsOf } from './files/rows.js';
import type { Sheet } from './files/sheet.js';
import { readXlsx } from './files/xlsx.js';
import type { Dependencies } from '../dependencies.js';
import { problem } from '../http/errors.js';
import { auditActor } from '../http/audit-actor.js';
import { PlacesPerUser } from '../util/places-per-user.js';
import type { JsonStream } from '../http/json/json-stream.js';
import { ImportPlanner } from './participant-import-plan.js';
import { ImportWriter } from './participant-import-write.js';
import type { RequestScope } from '../http/state.js';

export interface ImportOptions {
  skip_duplicates: boolean;
  create_missing_sites: boolean;
  dry_run: boolean;
  mode: 'insert' | 'upsert';
  /** `overview`: counts and the first failed rows, for a page. */
  answer: 'result' | 'failed_rows' | 'overview';
}

/** Roles that may create sites: an import creates sites only for them. */
const MAKES_SITES = ['admin', 'researcher', 'data_manager'];
/**
 * Rows that are read, planned and written at a time: memory does not grow with the file, and a statement for a thousand
 * rows costs no more per row than one for all.
 */
const PORTION = 1_000;

/**
 * Imports a file's participants: valid rows are imported although others fail, all in one transaction, each with the
 * same audit record, anchor and workflow as by POST …/participants. A dry run does the same and rolls back. The same
 * file again finds all participants, and is reported as the same.
 * @param open reads the file, after the import was allowed
 * @returns the requested answer: the result of each row, or a CSV file of the failed ones
 * @throws 400 an unreadable file, 403 create_missing_sites without the required role, 409 the import_id of another
 * import, or of one that was completed
 */
export async function importParticipants(
  change: RequestScope,
  studyId: string,
  open: () => Promise<Sheet>,
  options: ImportOptions,
  progress: ImportProgress,
): Promise<JsonStream | ImportOverview | string> {
  const { tx, audit, actor, context } = change;
  const { sha256 } = progress.made;
  await holdImport(tx, progress.made.id);
  await requireFreeId(tx, progress.made);
  if (options.create_missing_sites && !MAKES_SITES.includes(actor.role))
    throw problem('FORBIDDEN', { detail: `The role ${actor.role} does not create sites.` });
  const before = await importedBefore(tx, studyId, sha256);
  progress.note('reading', 0, null);
  const sheet = await withKeepAlive(tx, open);
  const outline = await outlineOf(sheet);
  const total = outline.rows;
  progress.note('deciding', 0.2, total);
  const lists = new ImportLists();
  const dateCodes = new DateCodes();
  const failed = options.answer === 'failed_rows' ? new FailedRows(outline.headerCells) : undefined;
  const work = async () => {
    await lockImports(tx, studyId);
    // The first attempt of this one may have gone on until now.
    await requireFreeId(tx, progress.made);
    const planner = await ImportPlanner.of(tx, studyId, options);
    const writer = new ImportWriter(change, studyId, options);
    let done = 0;
    for await (const rows of portionsOf(sheet, outline, PORTION)) {
      progress.note('writing', 0.3 + 0.5 * (done / total), total);
      const plan = await planner.plan(rows);
      await writer.write(plan);
      lists.add(plan);
      dateCodes.add(rows);
      failed?.add(rows, plan);
      done += rows.length;
    }
    progress.note('recording', 0.85, total);
    return [...planner.newSites].sort();
  };
  const created_sites = options.dry_run ? await rehearse(tx, work) : await work();
  const counts = lists.counts();
  if (!options.dry_run) {
    audit.record({
      ...auditActor(actor, context),
      study_id: studyId,
      action: 'participants_imported',
      resource_type: 'study',
      resource_id: studyId,
      metadata: {
        rows: total,
        imported: counts.imported_count,
        updated: counts.updated_count,
        skipped: counts.skipped_count,
        errors: counts.error_count,
        sha256,
      },
    });
  }
  // A dry run is recorded only if its progress was requested.
  if (!options.dry_run || progress.asked) await completeImport(tx, progress.made, { total_rows: total, ...counts });
  if (failed) return failed.text();
  const warnings = [
    ...(before === undefined
      ? []
      : [
          {
            code: 'FILE_IMPORTED_BEFORE',
            message: `The same file was imported at ${before}: what it brought is there`,
          },
        ]),
    ...outline.header.unknown.map((column) => ({
      code: 'UNKNOWN_COLUMN',
      message: `The column ${column} is not known and was left out`,
    })),
    ...(sheet.warnings ?? []),
    ...dateCodes.warnings(),
  ];
  const summary = { dry_run: options.dry_run, total_rows: total, created_sites, warnings, file: sheet.notes };
  return options.answer === 'overview' ? lists.overview(summary) : lists.answer(summary);
}

/**
 * The id of an import may be that of an earlier attempt of which nothing was stored: its process or its connection to
 * the database was lost, and who gets no answer, or a 503, sends the same again. @throws 409
 */
async function requireFreeId(tx: RequestScope['tx'], made: NewImport): Promise<void> {
  const known = await importById(tx, made.study_id, made.id);
  const same = ['requested_by_id', 'format', 'sha256', 'mode', 'dry_run'] as const;
  if (!known || (known.status !== 'completed' && same.every((what) => known[what] === made[what]))) return;
  throw problem('CONFLICT', {
    detail: 'import_id is that of another import.',
    errors: [{ path: 'query.import_id', code: 'TAKEN', message: 'import_id is that of another import' }],
  });
}

/** An uploaded file. */
export interface SentFile {
  format: 'csv' | 'excel';
  bytes: Buffer;
  /** The character set that its part names. */
  charset?: string | undefined;
  /** Aborted when the client disconnects. */
  signal: AbortSignal;
  /** The id for requesting its progress. */
  import_id: string | undefined;
}
const readers = { csv: readCsv, excel: readXlsx };

/** Imports of one study run one after another, each on a connection of its own: one user's leave others theirs. */
const places = new PlacesPerUser(10);

/** Imports a file and stores its progress. @throws as `importParticipants`; 429 for a user who waits for many */
export async function importFile(
  ...[services, change, ...rest]: Parameters<typeof importInPlace>
): Promise<JsonStream | ImportOverview | string> {
  const leave = places.take(change.actor.id);
  if (!leave)
    throw problem('QUOTA_EXCEEDED', {
      detail: `You wait for ${places.each} imports already: send this one again once one is done.`,
      headers: { 'Retry-After': '5' },
    });
  try {
    return await importInPlace(services, change, ...rest);
  } finally {
    leave();
  }
}

async function importInPlace(
  services: Pick<Dependencies, 'database' | 'log'>,
  change: RequestScope,
  studyId: string,
  { format, bytes, charset, signal, import_id }: SentFile,
  options: ImportOptions,
): Promise<JsonStream | ImportOverview | string> {
  const progress = new ImportProgress(
    services,
    {
      id: import_id?.toLowerCase() ?? randomUUID(),
      study_id: studyId,
      requested_by_id: change.actor.id,
      format,
      sha256: sha256Of(bytes),
      dry_run: options.dry_run,
      mode: options.mode,
    },
    import_id !== undefined,
  );
  const open = async () => readers[format](bytes, { gone: signal, charset });
  return importParticipants(change, studyId, open, options, progress).catch(async (fault: unknown) => {
    await progress.failed();
    throw fault;
  });
}

export const sha256Of = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');
