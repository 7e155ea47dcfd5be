import { findConfig } from '../../db/capture/datacapture-configs.queries.js';
import type { DatacaptureConfigRow } from '../../db/capture/datacapture-configs.queries.js';
import { readInScope } from '../../db/client/transaction.js';
import { problem } from '../http/errors.js';
import { MAPPING_FIELDS } from './capture-defaults.js';
import { mergeMappings } from './capture-mapping.service.js';
import { askCaptureOrRefuse } from './capture-query.service.js';
import type { ConfigChangeRequest, ConfigWarning, Saving } from './config-change.js';

/** Whether a change contains mappings. */
export const namesIn = (change: ConfigChangeRequest): boolean =>
  MAPPING_FIELDS.some((name) => change[name] !== undefined);

/** Whether a configuration names anything that another connection may not have. */
export const hasNames = (config: DatacaptureConfigRow): boolean =>
  config.project_id !== null || MAPPING_FIELDS.some((name) => Object.keys(config[name] ?? {}).length > 0);

type Asked = Pick<Saving, 'services' | 'studyId'>;

/**
 * Names in an unsaved change that the capture system does not know. The stored connection is used, since a token is
 * never sent to the worker; a change of both must save the connection first.
 * @throws 400 SAVE_CONNECTION_FIRST, CONNECTION_FAILED; 503
 */
export async function unknownNames(asked: Asked, change: ConfigChangeRequest): Promise<ConfigWarning[]> {
  if (!namesIn(change) && typeof change.project_id !== 'string') return [];
  const stored = await readInScope(asked.services.database, asked.studyId, (tx) => findConfig(tx, asked.studyId));
  if (!stored || change.api_url !== undefined || change.api_token !== undefined) {
    throw problem('SAVE_CONNECTION_FIRST');
  }
  const { merged, faults } = mergeMappings(stored, {
    ...(change.participant_field_mapping && { participant_field_mapping: change.participant_field_mapping }),
    ...(change.event_battery_mapping && { event_battery_mapping: change.event_battery_mapping }),
    ...(change.data_field_mapping && { data_field_mapping: change.data_field_mapping }),
  });
  if (faults.length > 0) return []; // all are reported when the values are built
  const proposed: Record<string, unknown> = { ...merged };
  for (const name of ['project_id', 'enrollment_instrument', 'enrollment_event'] as const)
    if (change[name] !== undefined) proposed[name] = change[name]?.trim() ?? null;
  const { warnings = [] } = await askCaptureOrRefuse(asked.services, {
    kind: 'check-mapping',
    study_id: asked.studyId,
    proposed,
  });
  return warnings;
}

/** Strict saving: checks the names before anything is written. @throws 400 UNKNOWN_NAMES, each by its path */
export async function refuseUnknownNames(saving: Saving, change: ConfigChangeRequest): Promise<void> {
  const warnings = await unknownNames(saving, change);
  if (warnings.length > 0) throw problem('UNKNOWN_NAMES', { errors: warnings });
}
