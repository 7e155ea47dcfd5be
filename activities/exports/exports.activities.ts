import { createHash, randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
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
import { writeExport } from '../../db/exports/write.js';
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
/** A sign of life while the database has nothing to send yet: without one for a minute another attempt begins. */
const ALIVE_MS = 10_000;
const refused = (message: string) => ApplicationFailure.create({ type: 'ExportRefused', nonRetryable: true, message });

/**
 * The activities of a background export; a retry starts writing over. An attempt that was given up may go on: each
 * writes a file of its own, and the one that completes the export puts its file in place.
 */
export function createExportActivities({ database, settings }: { database: Database; settings: Settings }) {
  const folder = exportsFolder(settings.DATA_DIR);
  return {
    /** Writes the file under its requester's current rights. @returns for how many milliseconds it is kept */
    async writeExportFile({ export_id, study_id }: StudyExportStart): Promise<number> {
      const context = Context.current();
      const kept = settings.EXPORT_RETENTION_HOURS * 3_600_000;
      const left = async () => leftOf(await readInScope(database, study_id, (tx) => exportById(tx, export_id)));
      const order = await withStudyScope(database, study_id, ({ tx }) => beginExport(tx, export_id));
      // Written earlier, by a lost run: its remaining lifetime.
      if (!order) return left();
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const draft = join(folder, `${export_id}.${randomUUID()}${DRAFT}`);
      const alive = setInterval(() => {
        context.heartbeat();
      }, ALIVE_MS);
      try {
        const written = await write(database, order, draft, context);
        const taken = await withStudyScope(database, study_id, async ({ tx }) => {
          const hours = settings.EXPORT_RETENTION_HOURS;
          if (!(await completeExport(tx, export_id, { ...written, hours }))) return false;
          // Before the commit: a caller that sees the export as completed finds its file.
          await rename(draft, exportFile(settings.DATA_DIR, export_id, order.format));
          return true;
        });
        // Another attempt has completed it; or it was cancelled meanwhile, and its file may contain removed data.
        return taken ? kept : await left();
      } catch (fault) {
        throw asFailure(fault, context.cancellationSignal.aborted);
      } finally {
        clearInterval(alive);
        await rm(draft, { force: true });
      }
    },

    /** What was written of it goes too. */
    async failExport({ export_id, study_id }: StudyExportStart, reason: string): Promise<void> {
      await withStudyScope(database, study_id, ({ tx }) => failExport(tx, export_id, reason));
      const found = await readInScope(database, study_id, (tx) => exportById(tx, export_id));
      await removeFiles(folder, export_id, found?.status === 'completed' ? isDraft : () => true);
    },

    /** The record stays, marked as expired; it has gone with a study that was deleted meanwhile. */
    async removeExportFile({ export_id, study_id }: StudyExportStart): Promise<void> {
      const found = await readInScope(database, study_id, (tx) => exportById(tx, export_id));
      if (found) await withStudyScope(database, study_id, ({ tx }) => expireExport(tx, export_id));
      await removeFiles(folder, export_id, () => true);
    },
  };
}

/** The end of the name of a file that is being written. */
const DRAFT = '.part';
const isDraft = (name: string): boolean => name.endsWith(DRAFT);

/** Removes files of an export, also those that attempts of a killed worker have left. */
async function removeFiles(folder: string, id: string, which: (name: string) => boolean): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  for (const name of await readdir(folder))
    if (name.startsWith(`${id}.`) && which(name)) await rm(join(folder, name), { force: true });
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
