import type { Static } from 'typebox';
import { ConfigPatch } from './datacapture.schemas.js';
import { check } from '../http/validation/validation.js';
import { configValue } from '../../db/studies/study-config.queries.js';
import type { Tx } from '../../db/client/database.js';

/** The `config` key of a template's mappings until a capture system is configured, which then adopts them. */
export const CAPTURE_DEFAULTS = 'capture_defaults';
/** The settings with names of the capture system. */
export const MAPPING_FIELDS = [
  'enrollment_instrument',
  'enrollment_event',
  'participant_field_mapping',
  'event_battery_mapping',
  'data_field_mapping',
] as const;

/**
 * The capture-system settings of a study's template; a new configuration's own settings take precedence. They may have
 * been edited since: they are validated again.
 * @throws 422
 */
export async function captureDefaults(tx: Tx, studyId: string): Promise<Static<typeof ConfigPatch>> {
  const kept = (await configValue(tx, studyId, CAPTURE_DEFAULTS)) as Record<string, unknown> | null;
  const defaults = Object.fromEntries(
    MAPPING_FIELDS.flatMap((name) => (kept?.[name] === undefined ? [] : [[name, kept[name]]])),
  );
  check(ConfigPatch, defaults, 'body');
  return defaults;
}
