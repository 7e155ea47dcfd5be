import type { Static } from 'typebox';
import { invalidFields } from '../http/errors.js';
import type { FaultEntry } from '../http/errors.js';
import type { Actor } from '../http/access.js';
import type { ConfigPatch } from './datacapture.schemas.js';
import type { Dependencies } from '../dependencies.js';
import type { RequestContext } from '../http/request-context.js';

export type ConfigChangeRequest = Static<typeof ConfigPatch>;

export interface Saving {
  services: Dependencies;
  actor: Actor;
  context: RequestContext;
  studyId: string;
  strict: boolean;
  /** The change has the event mapping as a whole: what was added to it meanwhile goes, too. */
  replacesEvents?: boolean;
  assertIfMatch: (record: Record<string, unknown> | undefined) => void;
}

export interface ConfigWarning {
  code: string;
  path?: string;
  message: string;
}

const NAMES = [
  'api_url',
  'api_token',
  'webhook_secret',
  'project_id',
  'enrollment_instrument',
  'enrollment_event',
] as const;

/**
 * A change without blanks at the ends of its names, ids, token and secret: they come from copying, and no capture
 * system has any that begin with them. `redcap_instrument` becomes `datacapture_instrument`.
 * @throws 422 for one of blanks alone
 */
export function withoutBlanks(change: ConfigChangeRequest): ConfigChangeRequest {
  const faults: FaultEntry[] = [];
  const trimmed = (value: string, path: string): string => {
    const text = value.trim();
    if (text === '') faults.push({ path, code: 'REQUIRED', message: `${path} must not be blank` });
    return text;
  };
  const each = <T>(mapping: Record<string, T | null>, path: string, of: (value: T, at: string) => T) =>
    Object.fromEntries(
      Object.entries(mapping).map(([key, value]) => {
        const name = trimmed(key, `${path}.${key}`);
        return [name, value === null ? null : of(value, `${path}.${name}`)];
      }),
    );
  const { participant_field_mapping: fields, event_battery_mapping: events, data_field_mapping: results } = change;
  const plain = Object.fromEntries(
    NAMES.flatMap((name) => (typeof change[name] === 'string' ? [[name, trimmed(change[name], name)]] : [])),
  );
  const clean: ConfigChangeRequest = {
    ...change,
    ...plain,
    ...(fields && { participant_field_mapping: each(fields, 'participant_field_mapping', trimmed) }),
    ...(events && { event_battery_mapping: each(events, 'event_battery_mapping', (entry) => entry) }),
    ...(results && {
      data_field_mapping: each(results, 'data_field_mapping', ({ redcap_instrument, ...entry }, at) => {
        const instrument = entry.datacapture_instrument ?? redcap_instrument;
        return {
          ...entry,
          ...(instrument !== undefined && {
            datacapture_instrument: trimmed(instrument, `${at}.datacapture_instrument`),
          }),
          ...(entry.fields && { fields: each(entry.fields, `${at}.fields`, trimmed) }),
        };
      }),
    }),
  };
  if (faults.length > 0) throw invalidFields(faults);
  return clean;
}
