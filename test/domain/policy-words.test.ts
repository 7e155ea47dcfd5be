import { expect } from 'chai';
import { policyInWords } from '../../api/console/studies/policy-words.js';
import { de, en } from '../../api/console/words/studies/policy.js';
import { completePolicy } from '../../workflows/domain/anchor/policy.js';
import { Policy } from '../../workflows/domain/anchor/policy-schema.js';

interface Schema {
  type?: string;
  enum?: unknown[];
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  minimum?: number;
}
type Path = (string | number)[];

/** A policy in which every option is there. */
const whole = {
  ...completePolicy({}),
  anchor_type: 'custom' as const,
  custom_anchor_definition: { name: 'First dose', description: 'the first dose was given', semantic_type: 'dose' },
  sources: [
    {
      type: 'form_item' as const,
      priority: 3,
      is_active: true,
      form_mapping: { form_oid: 'enroll', item_oid: 'day', partial_date_handling: 'reject' as const },
      computed_rule: { expression: 'consent.date', description: 'the day of the consent' },
    },
  ],
  prerequisites: { ...completePolicy({}).prerequisites, custom_rule: 'participant.age > 18' },
  permissions: {
    ...completePolicy({}).permissions,
    override_requires_approval: true,
    override_approver_roles: ['researcher' as const],
  },
  multi_consent: {
    anchor_consent: 'specific_version' as const,
    specific_consent_version_id: 'v2',
    reconsent_updates_anchor: false,
  },
  time_precision: { ...completePolicy({}).time_precision, study_timezone: 'Europe/Berlin' },
  validation: {
    ...completePolicy({}).validation,
    max_days_from_consent: 30,
    custom_rules: [
      { id: 'r1', name: 'Weekday', expression: 'true', error_message: 'no weekend', severity: 'error' as const },
    ],
  },
} satisfies Policy;

/** Every option of a schema, with values that differ; `undefined` where it may be left out. */
function* options(schema: Schema, path: Path, optional = false): Generator<{ path: Path; values: unknown[] }> {
  if (optional) yield { path, values: [undefined, at(whole, path)] };
  if (schema.properties) {
    for (const [name, inner] of Object.entries(schema.properties))
      yield* options(inner, [...path, name], !schema.required?.includes(name));
    return;
  }
  if (schema.items?.enum)
    return yield {
      path,
      values: [[], [schema.items.enum[0]], ...schema.items.enum.map((_, i, all) => all.slice(0, i + 2))],
    };
  if (schema.items) return yield* options(schema.items, [...path, 0]);
  if (schema.enum) return yield { path, values: schema.enum };
  if (schema.type === 'boolean') return yield { path, values: [true, false] };
  if (schema.type === 'integer' || schema.type === 'number') return yield { path, values: [0, 1, 24, 25, 48, 365] };
  if (schema.type === 'string') return yield { path, values: ['one', 'another'] };
  throw new Error(`nobody knows what ${path.join('.')} may be`);
}

const at = (value: unknown, path: Path): unknown =>
  path.reduce((inner, name) => (inner as Record<string | number, unknown>)[name], value);
function withValue(path: Path, value: unknown): Policy {
  const copy = structuredClone(whole) as unknown as Record<string | number, unknown>;
  const parent = at(copy, path.slice(0, -1)) as Record<string | number, unknown>;
  const last = path.at(-1)!;
  if (value === undefined) Reflect.deleteProperty(parent, last);
  else parent[last] = value;
  return copy as unknown as Policy;
}

describe('an enrollment-date policy in words', () => {
  for (const [language, words] of Object.entries({ en, de })) {
    const told = (policy: Policy) => JSON.stringify(policyInWords(policy, words));

    for (const { path, values } of options(Policy as Schema, []))
      it(`tells ${path.join('.')} in ${language}, ${values.length} values`, () => {
        const distinct = [...new Map(values.map((value) => [JSON.stringify(value), value])).values()];
        const texts = distinct.map((value) => told(withValue(path, value)));
        expect(new Set(texts).size).to.equal(distinct.length);
      });

    it(`has a word for everything that the default policy says, in ${language}`, () => {
      const text = told(completePolicy({}));
      expect(text).not.to.match(/undefined|null|\[object|NaN/);
      expect(policyInWords(completePolicy({}), words)).to.have.length(7);
    });
  }

  it('tells the sources in the order in which they are tried, and those that are implied', () => {
    const policy = completePolicy({
      sources: [
        { type: 'manual_entry', priority: 9 },
        { type: 'randomization', priority: 2, is_active: false },
      ],
    });
    expect(policyInWords(policy, en)[1]!.steps).to.deep.equal([
      'The day of the randomization (priority 2, switched off)',
      'A date that somebody enters (priority 9)',
    ]);
    expect(policyInWords(completePolicy({ anchor_type: 'consent', sources: [] }), en)[1]).to.deep.include({
      sentences: [en.impliedSources],
      steps: ['The day of the signed consent (priority 1)'],
    });
  });
});
