import { factItems, mapParticipant } from './participant.js';
import type { MappedParticipant } from './participant.js';
import type { RecordValues } from './record.js';

/** What a record of the capture system says of its participant, whether a trigger, a sync or a poll has read it. */
export interface Reading {
  record: string;
  form_complete: boolean;
  mapped: MappedParticipant;
  /** The record's data access group, by its unique name. */
  group: string | null;
  items: RecordValues;
  /** The arm of the event in which the record is enrolled; absent where the project has one arm only. */
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

/**
 * Reads what an enrolled record says (`enrollmentOf`). `group` stands in where the export does not name the data access
 * group.
 */
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
