import { factItems, mapParticipant } from './participant.js';
import type { MappedParticipant } from './participant.js';
import type { RecordValues } from './record.js';

/** A capture-system record's data about its participant, from a trigger, a sync or a poll. */
export interface Reading {
  record: string;
  form_complete: boolean;
  mapped: MappedParticipant;
  /** The record's data access group, by its unique name. */
  group: string | null;
  items: RecordValues;
  /** The arm of the event in which the record is enrolled; missing if the project has one arm only. */
  datacapture_arm?: number;
}

export interface ReadingRules {
  /** The enrollment instrument. */
  instrument: string;
  /** participant_field_mapping */
  mapping: Record<string, string>;
  /** The study's enrollment policy, as stored: it names items that become facts. */
  policy: unknown;
  missing: ReadonlySet<string>;
  /** As `Reading.datacapture_arm`. */
  arm?: number | undefined;
}

/** Reads an enrolled record (`enrollmentOf`). `group` is used if the export lacks the data access group. */
export function readingOf(
  record: string,
  values: RecordValues,
  rules: ReadingRules,
  group: string | null = null,
): Reading {
  const { instrument, mapping, policy, missing, arm } = rules;
  return {
    record,
    form_complete: values[`${instrument}_complete`] === '2',
    mapped: mapParticipant(values, mapping, missing),
    group: values['redcap_data_access_group'] ?? group,
    items: factItems(values, { mapping, enrollmentInstrument: instrument, policy }, missing),
    ...(arm !== undefined && { datacapture_arm: arm }),
  };
}
