import type { DataFields, DatacaptureConfigRow, EventBattery } from '../../db/capture/datacapture-configs.queries.js';
import type { MappedResults } from '../../db/capture/push-requests.queries.js';
import type { FaultEntry } from '../http/errors.js';

type Entry<T> = { [K in keyof T]?: T[K] };
export interface MappingChange {
  participant_field_mapping?: Record<string, string | null>;
  event_battery_mapping?: Record<string, Entry<EventBattery> | null>;
  data_field_mapping?: Record<
    string,
    { datacapture_instrument?: string; fields?: Record<string, string | null> } | null
  >;
}
export type Mappings = Pick<
  DatacaptureConfigRow,
  'participant_field_mapping' | 'event_battery_mapping' | 'data_field_mapping'
>;

/** Merges a change into the stored mappings (JSON Merge Patch), and lists entries that are incomplete after it. */
export function mergeMappings(
  stored: Mappings,
  change: MappingChange,
): { merged: Partial<Mappings>; faults: FaultEntry[] } {
  const faults: FaultEntry[] = [];
  const merged: Partial<Mappings> = {};
  if (change.participant_field_mapping) {
    merged.participant_field_mapping = merge<string>(
      stored.participant_field_mapping,
      change.participant_field_mapping,
      (_old, value) => value,
    );
  }
  if (change.event_battery_mapping) {
    merged.event_battery_mapping = merge<EventBattery, Entry<EventBattery>>(
      stored.event_battery_mapping,
      change.event_battery_mapping,
      (old, value, event) => {
        const { battery_id, target_day, window_before = 0, window_after = 7 } = { ...old, ...value };
        if (battery_id === undefined) faults.push(required(`event_battery_mapping.${event}.battery_id`));
        if (target_day === undefined) faults.push(required(`event_battery_mapping.${event}.target_day`));
        return { battery_id: battery_id ?? 0, target_day: target_day ?? 0, window_before, window_after };
      },
    );
  }
  if (change.data_field_mapping) {
    merged.data_field_mapping = merge<
      DataFields,
      Partial<{ datacapture_instrument: string; fields: Record<string, string | null> }>
    >(stored.data_field_mapping, change.data_field_mapping, (old, value, task) => {
      const instrument = value.datacapture_instrument ?? old?.datacapture_instrument;
      if (instrument === undefined) faults.push(required(`data_field_mapping.${task}.datacapture_instrument`));
      return {
        datacapture_instrument: instrument ?? '',
        fields: merge<string>(old?.fields ?? {}, value.fields ?? {}, (_old, field) => field),
      };
    });
  }
  return { merged, faults };
}

/** The results that have a place from now on, or another one: all of a task's, or some of its metrics. */
export function newlyMapped(
  before: Mappings['data_field_mapping'],
  after: Mappings['data_field_mapping'],
): MappedResults[] {
  return Object.entries(after).flatMap(([task, { datacapture_instrument, fields }]): MappedResults[] => {
    const old = Object.hasOwn(before, task) ? before[task]! : undefined;
    if (old?.datacapture_instrument !== datacapture_instrument) return [{ task, metrics: null }];
    const had = new Map(Object.entries(old.fields));
    const metrics = Object.keys(fields).filter((metric) => had.get(metric) !== fields[metric]);
    return metrics.length > 0 ? [{ task, metrics }] : [];
  });
}

function merge<T, C = T>(
  stored: Record<string, T>,
  change: Record<string, C | null>,
  combine: (old: T | undefined, value: C, key: string) => T,
): Record<string, T> {
  // A Map, so that a key such as __proto__ is an ordinary key.
  const result = new Map(Object.entries(stored));
  for (const [key, value] of Object.entries(change)) {
    if (value === null) result.delete(key);
    else result.set(key, combine(result.get(key), value, key));
  }
  return Object.fromEntries(result);
}

const required = (path: string): FaultEntry => ({
  path,
  code: 'REQUIRED',
  message: `${path} is required for a new entry`,
});

/** A complete mapping with its defaults. */
export const withDefaults = (
  mapping: Record<string, Entry<EventBattery> & Pick<EventBattery, 'battery_id' | 'target_day'>>,
): Record<string, EventBattery> =>
  Object.fromEntries(
    Object.entries(mapping).map(([event, entry]) => [event, { window_before: 0, window_after: 7, ...entry }]),
  );
