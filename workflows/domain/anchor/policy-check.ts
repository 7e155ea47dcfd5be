import { isZone } from '../util/dates.js';
import { checkExpression } from '../expressions/expressions.js';
import { expressionsOf } from './policy.js';
import type { Policy } from './policy-schema.js';
import { sameJson } from '../util/same.js';

export interface PolicyFault {
  path: string;
  code: string;
  message: string;
}

/** The faults of a policy that fits its schema; each with its path. */
export function policyFaults(policy: Policy): PolicyFault[] {
  const faults: PolicyFault[] = [];
  const fault = (path: string, code: string, message: string) =>
    faults.push({ path, code, message: `${path} ${message}` });

  policy.sources.forEach((source, i) => {
    const at = `sources.${i}`;
    if (source.type === 'form_item' && !source.form_mapping)
      fault(`${at}.form_mapping`, 'MISSING', 'is required for a form_item');
    if (source.type !== 'form_item' && source.form_mapping)
      fault(`${at}.form_mapping`, 'NOT_ALLOWED', `is not allowed for ${source.type}`);
    if (source.type === 'computed_rule' && !source.computed_rule)
      fault(`${at}.computed_rule`, 'MISSING', 'is required for a computed_rule');
    if (source.type !== 'computed_rule' && source.computed_rule)
      fault(`${at}.computed_rule`, 'NOT_ALLOWED', `is not allowed for ${source.type}`);
    policy.sources.slice(0, i).forEach((earlier, j) => {
      if (
        earlier.type === source.type &&
        sameJson(earlier.form_mapping ?? null, source.form_mapping ?? null) &&
        sameJson(earlier.computed_rule?.expression ?? null, source.computed_rule?.expression ?? null)
      ) {
        fault(`${at}.type`, 'DUPLICATE', `${source.type} reads the same as sources.${j}`);
      }
    });
  });
  if (policy.anchor_type === 'custom') {
    if (policy.sources.length === 0) fault('sources', 'MISSING', 'must name at least one source for a custom anchor');
    if (!policy.custom_anchor_definition)
      fault('custom_anchor_definition', 'MISSING', 'is required for a custom anchor');
  } else if (policy.custom_anchor_definition) {
    fault('custom_anchor_definition', 'NOT_ALLOWED', 'is allowed only for a custom anchor');
  }
  if (
    policy.multi_consent.anchor_consent === 'specific_version' &&
    policy.multi_consent.specific_consent_version_id === undefined
  ) {
    fault('multi_consent.specific_consent_version_id', 'MISSING', 'is required for anchor_consent specific_version');
  }
  const zone = policy.time_precision.study_timezone;
  if (zone !== undefined && !isZone(zone))
    fault('time_precision.study_timezone', 'UNKNOWN_ZONE', `is not an IANA time zone: "${zone}"`);
  const ids = new Map<string, number>();
  policy.validation.custom_rules?.forEach((rule, i) => {
    if (ids.has(rule.id))
      fault(
        `validation.custom_rules.${i}.id`,
        'DUPLICATE',
        `"${rule.id}" is the id of custom_rules.${ids.get(rule.id)} already`,
      );
    ids.set(rule.id, i);
  });
  for (const { path, expression, kind } of expressionsOf(policy)) {
    const wrong = checkExpression(expression, kind);
    if (wrong) fault(path, 'INVALID_EXPRESSION', wrong.message);
  }
  return faults;
}
