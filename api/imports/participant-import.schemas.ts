import { Instant, Type, Uuid, nullable, oneOf, record, Remark, TextMap, about } from '../http/common.schemas.js';

const flag = (fallback: boolean, description: string) =>
  Type.Optional(Type.Boolean({ default: fallback, description }));
export const ImportQuery = Type.Object({
  skip_duplicates: flag(true, 'a row whose participant_code is there already is skipped; false: an error of its row'),
  create_missing_sites: flag(false, 'makes sites that are not there; false: an unknown site is an error of its row'),
  dry_run: flag(false, 'the same answer, nothing written'),
  mode: Type.Optional(
    Type.Unsafe<'insert' | 'upsert'>({
      type: 'string',
      enum: ['insert', 'upsert'],
      default: 'insert',
      description: '`upsert`: a participant that is there gets the row’s non-empty values',
    }),
  ),
  import_id: Type.Optional(
    Type.Unsafe<string>({
      ...Uuid,
      description: 'of the caller’s choice: …/participant-imports/{import_id} says meanwhile how far a long file is',
    }),
  ),
  answer: Type.Optional(
    Type.Unsafe<'result' | 'failed_rows'>({
      type: 'string',
      enum: ['result', 'failed_rows'],
      default: 'result',
      description: '`failed_rows`: the rows that failed as a CSV file, with reasons, to correct and resend',
    }),
  ),
});

const Brief = {
  row: Type.Integer({ description: 'the header is row 1' }),
  participant_code: Type.String(),
  external_id: nullable(Type.String()),
  site_code: nullable(Type.String()),
};
const RowFault = { field: nullable(Type.String()), code: Type.String(), message: Type.String() };
export const ImportResult = record('ParticipantImportResult', {
  success: Type.Boolean({ description: 'no row failed' }),
  dry_run: Type.Boolean(),
  total_rows: Type.Integer(),
  imported_count: Type.Integer(),
  skipped_count: Type.Integer(),
  error_count: Type.Integer({ description: 'rows that failed' }),
  updated_count: Type.Integer(),
  errors: Type.Array(
    record('ImportRowFault', {
      row: Type.Integer(),
      ...RowFault,
      others: Type.Optional(Type.Array(record('ImportFieldFault', RowFault))),
    }),
    { description: 'one a row: its first fault, the others within it' },
  ),
  imported_participants: Type.Array(record('ImportedParticipant', Brief)),
  skipped_participants: Type.Array(
    record('SkippedParticipant', {
      ...Brief,
      reason: oneOf('DUPLICATE_PARTICIPANT_CODE', 'DUPLICATE_IN_FILE', 'UNCHANGED'),
    }),
  ),
  updated_participants: Type.Array(record('UpdatedParticipant', { ...Brief, fields: Type.Array(Type.String()) })),
  created_sites: Type.Array(Type.String()),
  warnings: Type.Array(Remark),
  file: about(TextMap, 'detected: encoding, separator, sheet'),
});
export const TemplateQuery = Type.Object({ format: Type.Optional(oneOf('csv', 'xlsx')) });
export const ImportStatus = record('ParticipantImport', {
  import_id: Uuid,
  study_id: Uuid,
  requested_by_id: Uuid,
  format: oneOf('csv', 'excel'),
  sha256: Type.String({ description: 'of the file' }),
  dry_run: Type.Boolean(),
  mode: oneOf('insert', 'upsert'),
  status: oneOf('running', 'completed', 'failed'),
  phase: oneOf('reading', 'deciding', 'writing', 'recording', 'done'),
  progress: Type.Number({ minimum: 0, maximum: 1 }),
  total_rows: nullable(Type.Integer()),
  imported_count: nullable(Type.Integer()),
  updated_count: nullable(Type.Integer()),
  skipped_count: nullable(Type.Integer()),
  error_count: nullable(Type.Integer()),
  created_at: Instant,
  completed_at: nullable(Instant),
});
