import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdir, rename, rm, stat } from 'node:fs/promises';
import { PassThrough, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Context, log } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { nowMs, nowIso } from '../../db/client/clock.js';
import { exportFile, exportsFolder } from '../../db/exports/files.js';
import { TooManyRows } from '../../db/exports/sheet.js';
import { countRows } from '../../db/exports/statement.js';
import type { ExportRequest } from '../../db/exports/statement.js';
import { TooManyColumns } from '../../db/exports/wide.js';
import { exportFormats, writeExport } from '../../db/exports/write.js';
import {
  beginExport,
  completeExport,
  expireExport,
  exportById,
  failExport,
  noteExportProgress,
} from '../../db/exports/exports.queries.js';
import type { ExportRecord } from '../../db/exports/exports.queries.js';
import { readAsCaller } from '../../db/client/request.js';
import type { CallerRow } from '../../db/client/request.js';
import { withStudyScope, readInScope } from '../../db/client/transaction.js';
import type { Settings } from '../../settings.js';
import type { StudyExportStart } from '../../workflows/contract.js';
import type { Database } from '../../db/client/database.js';
import { faultCode } from '../../db/client/connection/driver-faults.js';

const NOTE_MS = 1_000;
const refused = (message: string) => ApplicationFailure.create({ type: 'ExportRefused', nonRetryable: true, message });

/** The activities of a background export; a retry starts writing over. */
export function createExportActivities({ database, settings }: { database: Database; settings: Settings }) {
  return {
    /** Writes the file under its requester's current rights. @returns for how many milliseconds it is kept */
    async writeExportFile({ export_id, study_id }: StudyExportStart): Promise<number> {
      const context = Context.current();
      const kept = settings.EXPORT_RETENTION_HOURS * 3_600_000;
      const order = await withStudyScope(database, study_id, ({ tx }) => beginExport(tx, export_id));
      // Written earlier, by a lost run: its remaining lifetime.
      if (!order) return leftOf(await readInScope(database, study_id, (tx) => exportById(tx, export_id)));
      await mkdir(exportsFolder(settings.DATA_DIR), { recursive: true, mode: 0o700 });
      const file = exportFile(settings.DATA_DIR, export_id, order.format);
      try {
        const written = await write(database, order, `${file}.part`, context);
        await rename(`${file}.part`, file);
        const taken = await withStudyScope(database, study_id, ({ tx }) =>
          completeExport(tx, export_id, { ...written, hours: settings.EXPORT_RETENTION_HOURS }),
        );
        // It was cancelled meanwhile: its file may contain removed data.
        if (!taken) await rm(file, { force: true });
        return taken ? kept : 0;
      } catch (fault) {
        await rm(`${file}.part`, { force: true });
        throw asFailure(fault, context.cancellationSignal.aborted);
      }
    },

    async failExport({ export_id, study_id }: StudyExportStart, reason: string): Promise<void> {
      await withStudyScope(database, study_id, ({ tx }) => failExport(tx, export_id, reason));
    },

    /** The record stays, marked as expired; it has gone with a study that was deleted meanwhile. */
    async removeExportFile({ export_id, study_id }: StudyExportStart): Promise<void> {
      const found = await readInScope(database, study_id, (tx) => exportById(tx, export_id));
      if (found) await withStudyScope(database, study_id, ({ tx }) => expireExport(tx, export_id));
      for (const format of found ? [found.format] : exportFormats)
        await rm(exportFile(settings.DATA_DIR, export_id, format), { force: true });
    },
  };
}
export type ExportActivities = ReturnType<typeof createExportActivities>;

const leftOf = (written: ExportRecord | undefined): number =>
  written?.expires_at ? Math.max(0, Date.parse(written.expires_at) - nowMs()) : 0;

const MAY = ['admin', 'researcher', 'data_manager'];

async function write(
  database: Database,
  order: ExportRecord,
  path: string,
  context: Context,
): Promise<{ rows: number; size: number; sha256: string }> {
  const { study_id, dataset, filters, format, study_code } = order;
  const request: ExportRequest = { ...filters, study_id, dataset };
  const hash = createHash('sha256');
  const admit = (row: CallerRow | undefined) => {
    if (!row || row.status !== 'active' || !MAY.includes(row.role) || !row.study_seen || !row.site_seen)
      throw refused('The user who requested the export may no longer have it.');
  };
  const rows = await readAsCaller(
    database,
    { userId: order.requested_by_id, studyId: study_id, siteId: order.site_id ?? undefined },
    admit,
    async (tx) => {
      const sink = new PassThrough();
      const meter = meterOf(database, order, await countRows(tx, request), hash, context);
      const filed = pipeline(sink, meter, createWriteStream(path, { mode: 0o600 }), {
        signal: context.cancellationSignal,
      });
      const [count] = await Promise.all([
        writeExport(tx, request, format, { study_code, exported_at: nowIso() }, sink).catch((fault: unknown) => {
          sink.destroy();
          throw fault;
        }),
        filed,
      ]);
      return count;
    },
  );
  return { rows, size: (await stat(path)).size, sha256: hash.digest('hex') };
}

/** Hashes the stream and periodically stores the progress: rows are counted by line ends, which is accurate enough. */
function meterOf(
  database: Database,
  { id, study_id }: ExportRecord,
  total: number,
  hash: ReturnType<typeof createHash>,
  context: Context,
): Transform {
  let lines = 0,
    next = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      hash.update(chunk);
      for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1)) lines += 1;
      const now = performance.now();
      if (now >= next) {
        next = now + NOTE_MS;
        context.heartbeat({ lines });
        withStudyScope(database, study_id, ({ tx }) =>
          noteExportProgress(tx, id, Math.min(0.99, lines / Math.max(1, total)), Math.min(lines, total)),
        ).catch((fault: unknown) => {
          log.warn('the progress of an export was not written', {
            fault: fault instanceof Error ? fault.name : 'fault',
          });
        });
      }
      done(null, chunk);
    },
  });
}

/** Class 22 of SQLSTATE: a stored or requested value is invalid, also in a retry. */
const BAD_VALUE = /^22[0-9A-Z]{3}$/;

/** A stopping worker or an unavailable database is retried; content errors of the database recur every time. */
function asFailure(fault: unknown, stopping: boolean): Error {
  if (fault instanceof ApplicationFailure) return fault;
  if (fault instanceof TooManyColumns) return refused(`The export is too wide: ${fault.message}.`);
  if (fault instanceof TooManyRows) return refused(`The export does not fit a workbook: ${fault.message}.`);
  if (stopping)
    return ApplicationFailure.create({ type: 'Stopped', message: 'The export was stopped with its worker.' });
  const code = faultCode(fault);
  log.error('an export was not written', {
    fault: fault instanceof Error ? fault.name : 'fault',
    code: code ?? null,
  });
  if (code !== undefined && BAD_VALUE.test(code))
    return refused(
      `The export cannot be written: the database refuses a value of its filters or of its rows (${code}).`,
    );
  return ApplicationFailure.create({
    type: 'NotWritten',
    message: `The export was not written${code === undefined ? '' : ` (${code})`}.`,
  });
}
