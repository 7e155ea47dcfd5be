import type { Policy, PolicyInput, PolicySource } from './policy-schema.js';

/** The default policy. */
export const defaultPolicy: Policy = {
  anchor_type: 'enrollment',
  sources: [
    { type: 'consent_workflow', priority: 1, is_active: true },
    { type: 'manual_entry', priority: 2, is_active: true },
  ],
  prerequisites: {
    require_consent_signed: true,
    require_eligibility_confirmed: false,
    require_randomization: false,
    require_baseline_visit: false,
  },
  permissions: {
    can_set: ['admin', 'coordinator'],
    can_override: ['admin'],
    participant_can_set: false,
    override_requires_reason: true,
    override_requires_approval: false,
  },
  re_anchoring: {
    allow_after_scheduling: true,
    allow_after_data_entered: true,
    allow_after_signature: false,
    allow_after_lock: false,
    max_shift_days: 0,
    completed_visit_handling: 'flag_for_review',
  },
  multi_consent: { anchor_consent: 'first', reconsent_updates_anchor: false },
  time_precision: { precision: 'date', timezone_policy: 'site_local' },
  validation: { cannot_precede_consent: true, cannot_be_future: true, cannot_precede_study_start: true },
  schedule_on_provisional: false,
  override_approval_timeout_hours: 168,
};

/**
 * Completes a policy as sent with the defaults. Missing `sources` mean the default list for an enrollment anchor and
 * none otherwise: an empty list implies the source that anchor_type names.
 */
export function completePolicy(input: PolicyInput): Policy {
  const anchorType = input.anchor_type ?? 'enrollment';
  const sources = input.sources ?? (anchorType === 'enrollment' ? defaultPolicy.sources : []);
  const policy: Policy = {
    anchor_type: anchorType,
    sources: prioritized(sources).map((source) => ({
      ...source,
      is_active: source.is_active ?? true,
      ...(source.form_mapping && {
        form_mapping: {
          ...source.form_mapping,
          partial_date_handling: source.form_mapping.partial_date_handling ?? 'reject',
        },
      }),
    })) as PolicySource[],
    prerequisites: { ...defaultPolicy.prerequisites, ...input.prerequisites },
    permissions: { ...defaultPolicy.permissions, ...input.permissions },
    re_anchoring: { ...defaultPolicy.re_anchoring, ...input.re_anchoring },
    multi_consent: { ...defaultPolicy.multi_consent, ...input.multi_consent },
    time_precision: { ...defaultPolicy.time_precision, ...input.time_precision },
    validation: { ...defaultPolicy.validation, ...input.validation },
    schedule_on_provisional: input.schedule_on_provisional ?? defaultPolicy.schedule_on_provisional,
    override_approval_timeout_hours:
      input.override_approval_timeout_hours ?? defaultPolicy.override_approval_timeout_hours,
  };
  if (input.custom_anchor_definition) policy.custom_anchor_definition = input.custom_anchor_definition;
  return policy;
}

/** A source without a priority has the one of its place in the list. Equal ones are tried in the list's order. */
const prioritized = <S extends { priority?: number }>(sources: readonly S[]): (S & { priority: number })[] =>
  sources.map((source, index) => ({ ...source, priority: source.priority ?? index + 1 }));

const implied: Record<Exclude<Policy['anchor_type'], 'custom'>, PolicySource[]> = {
  enrollment: defaultPolicy.sources,
  consent: [{ type: 'consent_workflow', priority: 1, is_active: true }],
  eligibility: [{ type: 'eligibility_workflow', priority: 1, is_active: true }],
  randomization: [{ type: 'randomization', priority: 1, is_active: true }],
  baseline_visit: [
    {
      type: 'computed_rule',
      priority: 1,
      is_active: true,
      computed_rule: {
        expression: 'visits.baseline.completed_date',
        description: 'the day on which the baseline visit was completed',
      },
    },
  ],
};

/** A policy is immutable once read, and one serves thousands of decisions. */
const ordered = new WeakMap<Policy, readonly PolicySource[]>();

/** The sources in the order of trial: by priority, then by the list's order. */
export function sourcesInOrder(policy: Policy): readonly PolicySource[] {
  let found = ordered.get(policy);
  if (!found) {
    const sources =
      policy.sources.length > 0 || policy.anchor_type === 'custom' ? policy.sources : implied[policy.anchor_type];
    found = [...sources].sort((a, b) => a.priority - b.priority);
    ordered.set(policy, found);
  }
  return found;
}

/** The expressions of a policy, each with its path for errors. */
export function expressionsOf(policy: Policy): { path: string; expression: string; kind: 'rule' | 'date' }[] {
  const found: { path: string; expression: string; kind: 'rule' | 'date' }[] = [];
  policy.sources.forEach((source, i) => {
    if (source.computed_rule)
      found.push({
        path: `sources.${i}.computed_rule.expression`,
        expression: source.computed_rule.expression,
        kind: 'date',
      });
  });
  if (policy.prerequisites.custom_rule)
    found.push({ path: 'prerequisites.custom_rule', expression: policy.prerequisites.custom_rule, kind: 'rule' });
  policy.validation.custom_rules?.forEach((rule, i) => {
    found.push({ path: `validation.custom_rules.${i}.expression`, expression: rule.expression, kind: 'rule' });
  });
  return found;
}
