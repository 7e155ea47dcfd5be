import type { StudyShape, Subject, ValueKind } from '../../../../db/exports/standards.queries.js';

export type DataType = 'text' | 'integer' | 'float' | 'date' | 'datetime' | 'boolean';
/** `key`: the key of its value; names are user input, and may equal one of the service's own items. */
export interface OdmItem {
  oid: string;
  name: string;
  key: string;
  type: DataType;
  length?: number;
  codes?: readonly string[];
}
export interface OdmForm {
  oid: string;
  name: string;
  repeating: boolean;
  items: readonly OdmItem[];
}
export type OdmValues = Record<string, unknown>;

type Given = readonly [name: string, type: DataType, more?: number | readonly string[]];
const form = (code: string, name: string, repeating: boolean, items: readonly Given[]): OdmForm => ({
  oid: `F.${code}`,
  name,
  repeating,
  items: items.map(([item, type, more]) => ({
    oid: `I.${code}.${item}`,
    name: item,
    key: item,
    type,
    ...(typeof more === 'number'
      ? { length: more }
      : more && { codes: more, length: Math.max(...more.map((one) => one.length)) }),
  })),
});

/** The forms of every study. Names are those of the record's own fields. */
export const SUBJECT = form('SUBJECT', 'Participant', false, [
  ['status', 'text', ['enrolled', 'withdrawn']],
  ['arm', 'text', 100],
  ['preferred_language', 'text', 35],
  ['enrollment_date', 'date'],
  ['withdrawn_at', 'datetime'],
  ['anchor_status', 'text', ['unset', 'provisional', 'finalized']],
  ['anchor_precision', 'text', 20],
  ['anchor_source_type', 'text', 40],
  ['anchor_is_override', 'boolean'],
  ['anchor_version', 'integer', 10],
]);
export const RANDOMIZATION = form('RANDOMIZATION', 'Randomization', false, [
  ['arm', 'text', 100],
  ['stratum', 'text', 200],
  ['randomized_at', 'datetime'],
]);
export const ELIGIBILITY = form('ELIGIBILITY', 'Eligibility', false, [
  ['status', 'text', ['pending', 'eligible', 'ineligible', 'deferred']],
  ['confirmed_at', 'datetime'],
]);
export const CONSENT = form('CONSENT', 'Consent', true, [
  ['status', 'text', ['pending', 'signed', 'declined', 'revoked']],
  ['consent_version_id', 'text', 200],
  ['purpose', 'text', 200],
  ['signed_at', 'datetime'],
  ['revoked_at', 'datetime'],
]);
export const VISIT = form('VISIT', 'Visit', false, [
  ['name', 'text', 300],
  ['status', 'text', ['scheduled', 'open', 'completed', 'missed', 'cancelled']],
  ['adherence', 'text', ['early', 'in_window', 'late', 'missed', 'pending', 'cancelled']],
  ['target_date', 'date'],
  ['window_open', 'date'],
  ['window_close', 'date'],
  ['completed_at', 'datetime'],
]);
const OF_SESSION: readonly Given[] = [
  ['session_id', 'text', 36],
  ['session_status', 'text', ['active', 'completed', 'expired', 'abandoned']],
  ['source', 'text', ['online', 'offline']],
  ['language', 'text', 35],
  ['started_at', 'datetime'],
  ['completed_at', 'datetime'],
];
const OF_FORM: readonly Given[] = [
  ['form_status', 'text', ['draft', 'complete', 'signed', 'locked']],
  ['signed_at', 'datetime'],
  ['signer_name', 'text', 200],
  ['signature_meaning', 'text', 200],
  ['signature_proved_by', 'text', ['password', 'totp', 'session', 'claimed']],
];

export const COMMON = [SUBJECT, RANDOMIZATION, ELIGIBILITY, CONSENT] as const;

export const measuredValue = (metric: string): string => `metric ${metric}`;
export const filledIn = (item: string): string => `item ${item}`;
/** Values under the keys of their items. */
export const itemsByKey = (values: OdmValues, key: (name: string) => string): OdmValues =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [key(name), value]));

/** The narrowest type for all of an item's values. */
function typeOf(kinds: readonly ValueKind[]): DataType {
  const [first, ...others] = kinds;
  if (first === undefined) return 'text';
  if (others.length === 0) return first === 'number' ? 'float' : first;
  return kinds.every((kind) => kind === 'integer' || kind === 'number') ? 'float' : 'text';
}
/** Texts and integers state their length. */
const lengthOf = (type: DataType, length: number): { length?: number } =>
  type === 'text' || type === 'integer' ? { length: Math.max(1, length) } : {};
const groups = <T>(rows: readonly T[], key: (row: T) => string): Map<string, T[]> => {
  const found = new Map<string, T[]>();
  for (const row of rows) found.set(key(row), [...(found.get(key(row)) ?? []), row]);
  return found;
};

/** A study's own forms and tasks, from submitted and measured values; the service's items come first. */
export function formsOf(shape: StudyShape): { tasks: Map<string, OdmForm>; forms: Map<string, OdmForm> } {
  const tasks = [...groups(shape.metrics, ({ task }) => task)].map(([task, metrics]) => {
    const base = form(`TASK.${task}`, task, true, OF_SESSION);
    return [
      task,
      {
        ...base,
        items: [
          ...base.items,
          ...metrics.map(({ metric, kinds, length }): OdmItem => ({
            oid: `I.TASK.${task}.METRIC.${metric}`,
            name: metric,
            key: measuredValue(metric),
            type: typeOf(kinds),
            ...lengthOf(typeOf(kinds), length),
          })),
        ],
      },
    ] as const;
  });
  const forms = [...groups(shape.items, ({ form_oid }) => form_oid)].map(([oid, items]) => {
    const base = form(`FORM.${oid}`, oid, true, OF_FORM);
    return [
      oid,
      {
        ...base,
        items: [
          ...base.items,
          ...items.map(({ item_oid, kinds, length }): OdmItem => ({
            oid: `I.FORM.${oid}.ITEM.${item_oid}`,
            name: item_oid,
            key: filledIn(item_oid),
            type: typeOf(kinds),
            ...lengthOf(typeOf(kinds), length),
          })),
        ],
      },
    ] as const;
  });
  return { tasks: new Map(tasks), forms: new Map(forms) };
}

/** The values of a participant's own form, by item name. */
export const subjectValues = ({
  status,
  arm,
  preferred_language,
  enrollment_date,
  withdrawn_at,
  anchor,
}: Subject): OdmValues => ({
  status,
  arm,
  preferred_language,
  enrollment_date,
  withdrawn_at,
  ...(anchor && {
    anchor_status: anchor.status,
    anchor_precision: anchor.precision,
    anchor_source_type: anchor.source_type,
    anchor_is_override: anchor.is_override,
    anchor_version: anchor.version,
  }),
});
