import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { exportFile } from '../../db/exports/files.js';
import { contentTypes } from '../../db/exports/write.js';
import { exportById } from '../../db/exports/exports.queries.js';
import type { ExportRecord } from '../../db/exports/exports.queries.js';
import type { Settings } from '../../settings.js';
import { auditActor } from '../http/audit-actor.js';
import { problem } from '../http/errors.js';
import type { RequestScope } from '../http/state.js';
import { publicUrl } from '../public-url.js';
import { attachment } from '../http/conventions/file-names.js';
import { reply } from '../http/route.js';
import type { Reply } from '../http/route.js';
import { exportFileName } from './exports.service.js';
import type { Tx } from '../../db/client/database.js';

const downloadPath = (id: string): string => `/api/exports/${id}/download`;

/** The progress of a background export. @throws 404 */
export async function exportStatus(tx: Tx, settings: Pick<Settings, 'PUBLIC_URL'>, id: string) {
  const {
    study_id,
    dataset,
    format,
    status,
    progress,
    rows,
    size,
    sha256,
    error,
    created_at,
    completed_at,
    expires_at,
  } = await existingExport(tx, id);
  return {
    export_id: id,
    study_id,
    dataset,
    format,
    status,
    progress,
    rows,
    size,
    sha256,
    error,
    created_at,
    completed_at,
    expires_at,
    download_url: status === 'completed' ? publicUrl(settings, downloadPath(id)) : null,
  };
}

/**
 * The file, whole or the requested range, so that a broken download can resume. Who downloads it is recorded: others
 * than who requested it may.
 * @throws 404, 409 not written yet, 416
 */
export async function exportDownload(
  { tx, audit, actor, context }: RequestScope,
  id: string,
  dataDir: string,
  range: string | undefined,
  ifRange: string | undefined,
  sendsBody: (tag: string) => boolean,
): Promise<Reply> {
  const found = await existingExport(tx, id);
  if (found.status === 'expired')
    throw problem('NOT_FOUND', { detail: 'The file of this export has expired: ask for it again.' });
  if (found.status !== 'completed')
    throw problem('CONFLICT', { detail: `The export is ${found.status}: there is no file.` });
  const path = exportFile(dataDir, id, found.format);
  const size = await stat(path).then(
    (file) => file.size,
    () => undefined,
  );
  if (size === undefined) throw problem('NOT_FOUND', { detail: 'The file of this export is gone: ask for it again.' });
  const tag = `"${found.sha256}"`;
  const headers = {
    'Content-Type': contentTypes[found.format],
    'Accept-Ranges': 'bytes',
    ETag: tag,
    'Content-Disposition': attachment(
      exportFileName(found.study_code, { ...found.filters, dataset: found.dataset }),
      found.format,
      found.completed_at ?? found.created_at,
      id,
    ),
  };
  const part = range === undefined || (ifRange !== undefined && ifRange !== tag) ? undefined : rangeOf(range, size);
  if (part === 'outside') throw problem('RANGE_NOT_SATISFIABLE', { headers: { 'Content-Range': `bytes */${size}` } });
  if (sendsBody(tag))
    audit.record({
      ...auditActor(actor, context),
      study_id: found.study_id,
      action: 'export_downloaded',
      resource_type: 'export',
      resource_id: id,
      metadata: { dataset: found.dataset, format: found.format, ...(part && { from_byte: part.start }) },
    });
  if (!part) return reply(200, createReadStream(path), { ...headers, 'Content-Length': String(size) });
  return reply(206, createReadStream(path, part), {
    ...headers,
    'Content-Length': String(part.end - part.start + 1),
    'Content-Range': `bytes ${part.start}-${part.end}/${size}`,
  });
}

/** The single range of a Range header (RFC 9110, 14.2); several, or another unit, get the whole file. */
function rangeOf(header: string, size: number): { start: number; end: number } | 'outside' | undefined {
  const [, first = '', last = ''] = /^bytes=(\d*)-(\d*)$/.exec(header.trim()) ?? [];
  if (first === '' && last === '') return undefined;
  const start = first === '' ? Math.max(0, size - Number(last)) : Number(first);
  const end = first === '' || last === '' ? size - 1 : Math.min(Number(last), size - 1);
  if (first !== '' && last !== '' && Number(last) < start) return undefined;
  return start >= size || end < start ? 'outside' : { start, end };
}

async function existingExport(tx: Tx, id: string): Promise<ExportRecord> {
  const found = await exportById(tx, id);
  if (!found) throw problem('NOT_FOUND', { detail: 'There is no such export.' });
  return found;
}
