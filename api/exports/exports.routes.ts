import { contentTypes, exportFormats } from '../../db/exports/write.js';
import type { ExportFormat } from '../../db/exports/write.js';
import { exporterAccess } from '../http/access.js';
import { route, withContentTag, response } from '../http/route.js';
import { Type } from '../http/common.schemas.js';
import { ExportAccepted, ExportRows, ExportStatus, NewExport } from './exports.schemas.js';
import { exportDownload, exportStatus } from './export-files.service.js';
import { exportData } from './exports.service.js';

const tag = 'Exports';
const summaries: Record<ExportFormat, string> = {
  csv: 'Export a dataset as CSV',
  json: 'Export a dataset as one JSON document',
  ndjson: 'Export a dataset as NDJSON',
  xlsx: 'Export a dataset as an Excel workbook',
  zip: 'Export a dataset as a zip of CSV, data dictionary and README',
};
const operations: Record<ExportFormat, string> = {
  csv: 'exportCsv',
  json: 'exportJson',
  ndjson: 'exportNdjson',
  xlsx: 'exportXlsx',
  zip: 'exportZip',
};
const description =
  'Streamed, under the caller’s rights. `from` and `to` are inclusive dates (UTC) of the session’s start, the ' +
  'visit’s target, else of the record’s creation. ' +
  'Columns keep their order. In CSV a text that a spreadsheet would run as a formula begins with an ' +
  'apostrophe. `mode: background` writes a file instead: 202 with its status_url. Exports are audited.';

const typeOf = (format: ExportFormat): string => contentTypes[format].split(';', 1)[0]!;

const exporting = (format: ExportFormat) =>
  route({
    method: 'POST',
    path: `/api/exports/${format}`,
    operationId: operations[format],
    tag,
    summary: summaries[format],
    description,
    access: exporterAccess,
    body: NewExport,
    responses: {
      200: response(format === 'json' ? ExportRows : undefined, {
        mediaTypes: format === 'json' ? [] : [typeOf(format)],
      }),
      202: ExportAccepted,
      400: undefined,
    },
    handle: ({ services, actor, context, studyId, siteId, body, disconnected }) =>
      exportData({ services, actor, context, studyId, siteId, gone: disconnected() }, format, body),
  });

export const exportRoutes = [
  ...exportFormats.map(exporting),
  route({
    method: 'GET',
    path: '/api/exports/{export_id}',
    operationId: 'getExport',
    tag,
    summary: 'Get the progress of a background export',
    description:
      '`status` is pending, running, completed, failed, or expired; a completed one has the size and the digest of ' +
      'its file until it expires.',
    access: exporterAccess,
    transaction: 'read',
    responses: { 200: response(ExportStatus, { etag: true }) },
    handle: async ({ tx, params, services }) =>
      withContentTag(await exportStatus(tx, services.settings, params.export_id)),
  }),
  route({
    method: 'GET',
    path: '/api/exports/{export_id}/download',
    operationId: 'downloadExport',
    tag,
    summary: 'Download the file of a background export',
    access: exporterAccess,
    transaction: 'change',
    description:
      'With `Range` a part of it (206), so that a broken download goes on. 409 while it is not written, 404 when ' +
      'it has expired.',
    headers: Type.Object({ range: Type.Optional(Type.String()), 'if-range': Type.Optional(Type.String()) }),
    responses: {
      200: response(undefined, { etag: true, mediaTypes: exportFormats.map(typeOf) }),
      206: response(undefined, { etag: true, mediaTypes: exportFormats.map(typeOf) }),
      409: undefined,
      416: undefined,
    },
    handle: ({ tx, audit, actor, context, params, services, headers, sendsBody }) =>
      exportDownload(
        { tx, audit, actor, context },
        params.export_id,
        services.settings.DATA_DIR,
        headers.range,
        headers['if-range'] as string | undefined,
        sendsBody,
      ),
  }),
];
