import type { Static } from 'typebox';
import { ConfigPatch } from './datacapture.schemas.js';
import { check } from '../http/validation/validation.js';
import { configValue } from '../../db/studies/study-config.queries.js';
import type { Tx } from '../../db/client/database.js';

/**
 * Where a study keeps the mappings of its template until a capture system is configured, which then takes them over.
 */
export const CAPTURE_DEFAULTS = 'capture_defaults';
const FIELDS = [
  'enrollment_instrument',
  'enrollment_event',
  'participant_field_mapping',
  'event_battery_mapping',
  'data_field_mapping',
] as const;

/**
 * What the template that a study was made of says of its capture system; what a new configuration says itself goes
 * before it. Somebody may have written there since: it is held against the schema again.
 * @throws 422
 */
export async function captureDefaults(tx: Tx, studyId: string): Promise<Static<typeof ConfigPatch>> {
  const kept = (await configValue(tx, studyId, CAPTURE_DEFAULTS)) as Record<string, unknown> | null;
  const defaults = Object.fromEntries(
    FIELDS.flatMap((name) => (kept?.[name] === undefined ? [] : [[name, kept[name]]])),
  );
  check(ConfigPatch, defaults, 'body');
  return defaults;
}
