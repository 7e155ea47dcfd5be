import { Instant, IsoDate, Type, Uuid, extension, nullable, oneOf, record } from '../http/common.schemas.js';
export const VersionSummary = record('ScheduleVersionSummary', {
  id: Uuid,
  version_number: Type.Integer(),
  is_current: Type.Boolean(),
  anchor_date_used: IsoDate,
  anchor_version: extension(Type.Integer(), 'the version of the anchor that it was made from'),
  scheduling_mode: oneOf('legacy', 'edc'),
  status: oneOf('active', 'superseded', 'reconciled'),
  visits_generated: Type.Integer(),
  generation_warnings: extension(Type.Array(Type.String()), 'what deserves a look'),
  generated_at: Instant,
  superseded_at: extension(nullable(Instant), 'when the next version took its place'),
  supersede_reason: extension(nullable(Type.String()), 'what made the next version'),
});
