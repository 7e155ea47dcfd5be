import { sourcesInOrder } from '../../../workflows/domain/anchor/policy.js';
import type { Policy, PolicySource } from '../../../workflows/domain/anchor/policy-schema.js';
import type { PolicyWords } from '../words/studies/policy.js';

export interface PolicySection {
  title: string;
  sentences: string[];
  /** Ordered lines after the sentences. */
  steps?: string[];
}

const yes = (value: boolean): 'true' | 'false' => (value ? 'true' : 'false');
const some = (...lines: (string | false | undefined)[]): string[] =>
  lines.filter((line): line is string => typeof line === 'string');

/** An enrollment-date policy in sentences. Pure: every option is described, also one that is off. */
export function policyInWords(policy: Policy, words: PolicyWords): PolicySection[] {
  return [
    { title: words.sections.what, sentences: whatItIs(policy, words) },
    { title: words.sections.sources, ...sources(policy, words) },
    { title: words.sections.consent, sentences: consents(policy, words) },
    { title: words.sections.refused, sentences: refusals(policy, words) },
    { title: words.sections.final, sentences: finality(policy, words) },
    { title: words.sections.who, sentences: people(policy, words) },
    { title: words.sections.moving, sentences: moving(policy, words) },
  ];
}

function whatItIs({ anchor_type, custom_anchor_definition: custom, time_precision: time }: Policy, words: PolicyWords) {
  return some(
    words.anchorType[anchor_type],
    custom && words.custom(custom.name),
    custom?.description !== undefined && words.customDescription(custom.description),
    custom?.semantic_type !== undefined && words.customSemantic(custom.semantic_type),
    words.precision[time.precision],
    words.timezone[time.timezone_policy],
    time.study_timezone !== undefined && words.studyTimezone(time.study_timezone),
  );
}

function sources(policy: Policy, words: PolicyWords): Pick<PolicySection, 'sentences' | 'steps'> {
  const steps = sourcesInOrder(policy).map((source) => sourceLine(source, words));
  if (steps.length === 0) return { sentences: [words.noSources] };
  return {
    sentences: some(policy.sources.length === 0 && words.impliedSources, steps.length > 1 && words.order),
    steps,
  };
}

function sourceLine({ type, priority, is_active, form_mapping, computed_rule }: PolicySource, words: PolicyWords) {
  const more = some(
    form_mapping && words.formItem(form_mapping.form_oid, form_mapping.item_oid),
    form_mapping && words.partial[form_mapping.partial_date_handling],
    computed_rule && words.rule(computed_rule.expression),
    computed_rule?.description !== undefined && words.ruleDescription(computed_rule.description),
  );
  const marks = some(words.priority(priority), !is_active && words.inactive);
  return `${words.source[type]}${more.length > 0 ? `: ${more.join('; ')}` : ''} (${marks.join(', ')})`;
}

const consents = ({ multi_consent: consent }: Policy, words: PolicyWords) =>
  some(
    words.consent[consent.anchor_consent],
    consent.specific_consent_version_id !== undefined && words.consentVersion(consent.specific_consent_version_id),
    words.reconsent[yes(consent.reconsent_updates_anchor)],
  );

function refusals({ validation }: Policy, words: PolicyWords) {
  const rules = validation.custom_rules ?? [];
  return some(
    words.notFuture[yes(validation.cannot_be_future)],
    words.notBeforeConsent[yes(validation.cannot_precede_consent)],
    words.notBeforeStart[yes(validation.cannot_precede_study_start)],
    validation.max_days_from_consent === undefined
      ? words.fromConsentAny
      : words.fromConsent(validation.max_days_from_consent),
    ...rules.map(({ id, name, expression, error_message, severity }) =>
      (severity === 'error' ? words.customRule : words.customWarning)(name, id, expression, error_message),
    ),
    rules.length === 0 && words.noCustomRules,
  );
}

function finality({ prerequisites, schedule_on_provisional }: Policy, words: PolicyWords) {
  const { custom_rule: rule, ...required } = prerequisites;
  const names = Object.keys(words.prerequisites) as (keyof typeof words.prerequisites)[];
  const needed = names.filter((name) => required[name]).map((name) => words.prerequisites[name]);
  if (rule !== undefined) needed.push(words.prerequisiteRule(rule));
  return [
    needed.length === 0 ? words.requiresNothing : words.requires(needed),
    words.provisional[yes(schedule_on_provisional)],
  ];
}

function people({ permissions, override_approval_timeout_hours: hours }: Policy, words: PolicyWords) {
  const named = (roles: readonly (keyof PolicyWords['roles'])[]) => roles.map((role) => words.roles[role]);
  const approvers = permissions.override_approver_roles ?? [];
  return [
    words.canSet(named(permissions.can_set)),
    words.participantSets[yes(permissions.participant_can_set)],
    words.canOverride(named(permissions.can_override)),
    words.needsReason[yes(permissions.override_requires_reason)],
    words.needsApproval[yes(permissions.override_requires_approval)],
    approvers.length > 0 ? words.approvers(named(approvers)) : words.approversAsOverride,
    words.timeout(hours),
  ];
}

function moving({ re_anchoring: rules }: Policy, words: PolicyWords) {
  const guards = Object.keys(words.guards) as (keyof PolicyWords['guards'])[];
  return [
    ...guards.map((guard) => words.guards[guard][yes(rules[guard])]),
    words.shift(rules.max_shift_days),
    words.completed[rules.completed_visit_handling],
  ];
}
