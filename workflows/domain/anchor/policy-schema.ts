import Type from 'typebox';
import type { Static } from 'typebox';

/** Roles of staff. */
const roles = ['admin', 'researcher', 'coordinator', 'investigator', 'data_manager'] as const;
/** `$id`: its name in the contract, which also shows its type. */
export const Role = Type.Enum([...roles], { $id: 'Role', 'x-shown': { type: 'string', enum: roles } });
export type RoleName = Static<typeof Role>;

const closed = { additionalProperties: false };
const expression = Type.String({
  minLength: 1,
  maxLength: 4000,
  description: 'CEL expression: names and functions at /docs/expressions',
});
/** One of some words, under its name in the contract. */
const oneOf = <Values extends string[]>($id: string, ...values: [...Values]) => Type.Enum<Values>(values, { $id });
const SourceType = oneOf(
  'PolicySourceType',
  'consent_workflow',
  'eligibility_workflow',
  'randomization',
  'form_item',
  'computed_rule',
  'manual_entry',
);
const PartialDates = oneOf('PartialDateHandling', 'reject', 'first_of_month', 'last_of_month', 'middle_of_month');
const FormMapping = Type.Object(
  {
    // As a form's own: blanks are cut off, and letters composed.
    form_oid: Type.String({ minLength: 1, maxLength: 200, 'x-nfc': true, 'x-trimmed': true }),
    item_oid: Type.String({ minLength: 1, maxLength: 200 }),
    partial_date_handling: PartialDates,
  },
  { ...closed, $id: 'PolicyFormMapping' },
);
const ComputedRule = Type.Object(
  { expression, description: Type.Optional(Type.String({ maxLength: 2000 })) },
  { ...closed, $id: 'PolicyComputedRule' },
);

export const PolicySource = Type.Object(
  {
    type: SourceType,
    priority: Type.Integer({ minimum: 0, maximum: 1000, description: 'lower wins' }),
    is_active: Type.Boolean(),
    form_mapping: Type.Optional(FormMapping),
    computed_rule: Type.Optional(ComputedRule),
  },
  { ...closed, $id: 'PolicySource' },
);

const CustomRule = Type.Object(
  {
    id: Type.String({ minLength: 1, maxLength: 100 }),
    name: Type.String({ maxLength: 200 }),
    expression,
    error_message: Type.String({ maxLength: 1000 }),
    severity: oneOf('RuleSeverity', 'error', 'warning'),
  },
  { ...closed, $id: 'PolicyRule' },
);

/** The complete anchor policy, as stored and returned. */
export const Policy = Type.Object(
  {
    anchor_type: oneOf(
      'AnchorType',
      'enrollment',
      'consent',
      'eligibility',
      'randomization',
      'baseline_visit',
      'custom',
    ),
    sources: Type.Array(PolicySource, { maxItems: 50 }),
    prerequisites: Type.Object(
      {
        require_consent_signed: Type.Boolean(),
        require_eligibility_confirmed: Type.Boolean(),
        require_randomization: Type.Boolean(),
        require_baseline_visit: Type.Boolean(),
        custom_rule: Type.Optional(expression),
      },
      { ...closed, $id: 'PolicyPrerequisites' },
    ),
    permissions: Type.Object(
      {
        can_set: Type.Array(Role, { uniqueItems: true }),
        can_override: Type.Array(Role, { uniqueItems: true }),
        participant_can_set: Type.Boolean(),
        override_requires_reason: Type.Boolean(),
        override_requires_approval: Type.Boolean(),
        override_approver_roles: Type.Optional(Type.Array(Role, { uniqueItems: true })),
      },
      { ...closed, $id: 'PolicyPermissions' },
    ),
    re_anchoring: Type.Object(
      {
        allow_after_scheduling: Type.Boolean(),
        allow_after_data_entered: Type.Boolean(),
        allow_after_signature: Type.Boolean(),
        allow_after_lock: Type.Boolean(),
        max_shift_days: Type.Integer({ minimum: 0, maximum: 36500, description: '0: any shift' }),
        completed_visit_handling: oneOf(
          'CompletedVisitHandling',
          'preserve_original',
          'recalculate_reporting',
          'flag_for_review',
        ),
      },
      { ...closed, $id: 'PolicyReAnchoring' },
    ),
    multi_consent: Type.Object(
      {
        anchor_consent: oneOf('AnchorConsent', 'first', 'latest', 'specific_version'),
        specific_consent_version_id: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
        reconsent_updates_anchor: Type.Boolean(),
      },
      { ...closed, $id: 'PolicyMultiConsent' },
    ),
    time_precision: Type.Object(
      {
        precision: oneOf('AnchorPrecision', 'date', 'datetime'),
        timezone_policy: oneOf('TimezonePolicy', 'site_local', 'study_timezone', 'utc'),
        study_timezone: Type.Optional(Type.String({ minLength: 1, maxLength: 50 })),
      },
      { ...closed, $id: 'PolicyTimePrecision' },
    ),
    validation: Type.Object(
      {
        cannot_precede_consent: Type.Boolean(),
        cannot_be_future: Type.Boolean(),
        cannot_precede_study_start: Type.Boolean(),
        max_days_from_consent: Type.Optional(Type.Integer({ minimum: 0, maximum: 36500 })),
        custom_rules: Type.Optional(Type.Array(CustomRule, { maxItems: 50 })),
      },
      { ...closed, $id: 'PolicyValidation' },
    ),
    custom_anchor_definition: Type.Optional(
      Type.Object(
        {
          name: Type.String({ minLength: 1, maxLength: 200 }),
          description: Type.Optional(Type.String({ maxLength: 2000 })),
          semantic_type: Type.Optional(Type.String({ maxLength: 200 })),
        },
        { ...closed, $id: 'PolicyAnchorDefinition' },
      ),
    ),
    schedule_on_provisional: Type.Boolean(),
    override_approval_timeout_hours: Type.Number({ exclusiveMinimum: 0, maximum: 8760 }),
  },
  { ...closed, $id: 'EnrollmentDatePolicy' },
);
export type Policy = Static<typeof Policy>;
export type PolicySource = Static<typeof PolicySource>;

/** The schema of a caller's input has the name of the stored one, plus `Input`. */
const inputOf = (schema: Type.TSchema) => ({ ...closed, $id: `${(schema as Parts).$id ?? ''}Input` });
/** Any part of it; missing fields have their defaults. */
const someOf = (section: Type.TObject) => Type.Optional(Type.Partial(section, inputOf(section)));
const definition = Policy.properties.custom_anchor_definition;
const Input = Type.Object(
  {
    anchor_type: Type.Optional(Policy.properties.anchor_type),
    sources: Type.Optional(
      Type.Array(
        Type.Object(
          {
            ...PolicySource.properties,
            priority: Type.Optional(PolicySource.properties.priority),
            is_active: Type.Optional(Type.Boolean()),
            form_mapping: Type.Optional(
              Type.Object(
                { ...FormMapping.properties, partial_date_handling: Type.Optional(PartialDates) },
                inputOf(FormMapping),
              ),
            ),
            computed_rule: Type.Optional(Type.Object(ComputedRule.properties, inputOf(ComputedRule))),
          },
          inputOf(PolicySource),
        ),
        { maxItems: 50 },
      ),
    ),
    prerequisites: someOf(Policy.properties.prerequisites),
    permissions: someOf(Policy.properties.permissions),
    re_anchoring: someOf(Policy.properties.re_anchoring),
    multi_consent: someOf(Policy.properties.multi_consent),
    time_precision: someOf(Policy.properties.time_precision),
    validation: someOf(Policy.properties.validation),
    custom_anchor_definition: Type.Optional(Type.Object(definition.properties, inputOf(definition))),
    schedule_on_provisional: Type.Optional(Type.Boolean()),
    override_approval_timeout_hours: Type.Optional(Policy.properties.override_approval_timeout_hours),
  },
  inputOf(Policy),
);
export type PolicyInput = Static<typeof Input>;

interface Parts {
  $id?: string;
  type?: string;
  enum?: unknown[];
  items?: Type.TSchema;
  properties?: Record<string, Type.TSchema>;
  required?: string[];
}
/** The schema with null allowed for every optional field. */
function nullsAsAbsent(schema: Type.TSchema): Type.TSchema {
  const { items, properties, required = [] } = schema as Parts;
  if (items) return { ...schema, items: nullsAsAbsent(items) };
  if (!properties) return schema;
  return {
    ...schema,
    properties: Object.fromEntries(
      Object.entries(properties).map(([name, property]) => {
        const inner = nullsAsAbsent(property);
        return [name, required.includes(name) ? inner : Type.Optional(orNull(inner))];
      }),
    ),
  };
}

function orNull(schema: Type.TSchema): Type.TSchema {
  const { type, enum: words, $id: name, ...rest } = schema as Type.TSchema & Parts;
  return Type.Unsafe<unknown>({
    ...rest,
    // Its definition, which the contract references.
    ...(name !== undefined && { 'x-of': schema }),
    ...(type !== undefined && { type: [type, 'null'] }),
    ...(words && { enum: [...words, null] }),
  });
}

/** A caller's input; null for a field means that it is missing (`withoutNulls`). */
export const PolicyInput = nullsAsAbsent(Input) as typeof Input;

/** The value without the fields that are null. */
export function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, field]) => field !== null)
      .map(([name, field]) => [name, withoutNulls(field)]),
  );
}
