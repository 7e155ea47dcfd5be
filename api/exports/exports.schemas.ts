import { datasetNames } from '../../db/exports/datasets.js';
import { exportFormats } from '../../db/exports/write.js';
import {
  SoughtCode,
  Instant,
  IsoDate,
  Type,
  Uuid,
  nullable,
  oneOf,
  named,
  input,
  record,
  Rows,
} from '../http/common.schemas.js';

export const DatasetName = named('DatasetName', oneOf(...datasetNames));
export const NewExport = input('ExportCreate', {
  study_id: Type.Optional(Uuid),
  dataset: DatasetName,
  from: Type.Optional(nullable(IsoDate)),
  to: Type.Optional(nullable(IsoDate)),
  site_code: Type.Optional(nullable(SoughtCode)),
  participant_ids: Type.Optional(nullable(Type.Array(Uuid, { maxItems: 10_000 }))),
  deidentify: Type.Optional(
    Type.Boolean({
      description:
        'pseudonyms for codes and ids, each participant’s dates moved by days of its own, nothing that names a person',
    }),
  ),
  layout: Type.Optional(
    Type.Unsafe<'long' | 'wide'>({
      type: 'string',
      enum: ['long', 'wide'],
      default: 'long',
      description:
        '`wide`, of task_summaries alone: a row for each session with its visit, a column `task.metric` for each ' +
        'metric, then `task.summary_source` for each task',
    }),
  ),
  mode: Type.Optional(oneOf('stream', 'background')),
});
export const ExportRows = record('ExportRows', {
  dataset: DatasetName,
  study_code: Type.String(),
  exported_at: Instant,
  rows: Rows,
});
export const ExportAccepted = record('ExportAccepted', { export_id: Uuid, status_url: Type.String() });
export const ExportStatus = record('Export', {
  export_id: Uuid,
  study_id: Uuid,
  dataset: DatasetName,
  format: oneOf(...exportFormats),
  status: oneOf('pending', 'running', 'completed', 'failed', 'expired'),
  progress: Type.Number({ minimum: 0, maximum: 1 }),
  rows: nullable(Type.Integer()),
  size: nullable(Type.Integer({ description: 'bytes' })),
  sha256: nullable(Type.String()),
  download_url: nullable(Type.String()),
  error: nullable(Type.String()),
  created_at: Instant,
  completed_at: nullable(Instant),
  expires_at: nullable(Instant),
});
