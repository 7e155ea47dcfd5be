import { nameText, Code, IsoDate, Json, Type, Uuid, nullable, record, Remark, Rows } from '../http/common.schemas.js';
import { FORMAT } from '../../db/exports/full-study/format.js';

/** Rows as in their tables; the database refuses what a table cannot hold. */
export const StudyDocument = record('StudyDocument', {
  format: Type.Unsafe<typeof FORMAT>({ type: 'string', enum: [FORMAT] }),
  format_version: Type.Integer(),
  schema_revision: Type.Optional(Type.String()),
  exported_at: Type.Optional(Type.String()),
  study: Type.Object({
    id: Uuid,
    config: Type.Optional(Json),
    start_date: Type.Optional(nullable(IsoDate)),
    end_date: Type.Optional(nullable(IsoDate)),
  }),
  tables: Type.Record(Type.String(), Rows),
  audit: Type.Optional(Rows),
  manifest: Type.Optional(
    Type.Object(
      { sha256: Type.String(), key_id: Type.String(), signature: Type.String() },
      { description: 'the service’s signature (Ed25519, the key of the audit’s checkpoints) of all bytes before it' },
    ),
  ),
});
export const StudyTarget = Type.Object({
  study_id: Type.Optional(Uuid),
  study_code: Type.Optional(Code),
  study_name: Type.Optional(nameText(300)),
});
export const StudyLoaded = record('StudyImported', {
  study_id: Uuid,
  study_code: Type.String(),
  study_name: Type.String(),
  rows: Type.Record(Type.String(), Type.Integer()),
  content_sha256: Type.String(),
  warnings: Type.Array(Remark),
});
