import type { Facts } from '../util/types.js';
import { DecisionContext } from './decision-context.js';
import type { Policy } from './policy-schema.js';
import { prerequisites } from './prerequisites.js';
import { firstValidSource, sourceFingerprint } from './sources.js';

/** Facts as one text. */
type TextOf = (policy: Policy, facts: Facts) => string;

/**
 * The text as it is kept with an anchor, to tell later whether its facts have changed. It names the time zone of its
 * dates: for a participant who moves to a site in another one the same consent has another day, and has not changed.
 */
const asKept =
  (textOf: TextOf): TextOf =>
  (policy, facts) =>
    `zone=${facts.zone}|${textOf(policy, facts)}`;

/**
 * The text without sources that give no date: one that a policy comes to list, of which there is nothing yet, has not
 * changed.
 */
const withoutEmpty = (text: string): string => text.replaceAll(/(?:^|\|)[a-z_]+:-(?=[|#]|$)/g, '').replace(/^\|/, '');

/**
 * Whether the facts are those of a kept text; those of earlier releases do not name their time zone. A text with the
 * times of day is of a policy that kept them: where the policy has changed in this alone, the sources have not.
 */
function isAsKept(kept: string | null, textOf: TextOf, policy: Policy, facts: Facts): boolean {
  if (kept === null) return false;
  const [, zone = facts.zone, of = kept] = /^zone=([^|]+)\|(.*)$/s.exec(kept) ?? [];
  return (['date', 'datetime'] as const).some((precision) => {
    const time_precision = { ...policy.time_precision, precision };
    return withoutEmpty(of) === withoutEmpty(textOf({ ...policy, time_precision }, { ...facts, zone }));
  });
}

/** The facts that must change before anything is proposed after a cancel: the sources. */
const proposingFacts: TextOf = (policy, facts) => sourceFingerprint(policy, facts);
export const cancelledFacts = asKept(proposingFacts);

/** Whether a proposal was cancelled, and no source has changed since. */
export const isCancelledAndUnchanged = (policy: Policy, facts: Facts): boolean =>
  facts.anchor.status === 'unset' && isAsKept(facts.anchor.cancelled_facts, proposingFacts, policy, facts);

/** The facts that move a reopened anchor: its sources, and which prerequisites are met. */
const movingFacts: TextOf = (policy, facts) => {
  const context = new DecisionContext(policy, facts);
  const { candidate } = firstValidSource(policy, facts, context);
  return `${sourceFingerprint(policy, facts, context)}#${prerequisites(policy, facts, candidate, context)
    .map(({ name, met }) => `${name}:${met}`)
    .join()}`;
};
export const standingFacts = asKept(movingFacts);

/** Whether a reopened anchor is at rest: no source and no prerequisite has changed since the override-back. */
export const isReopenedAndUnchanged = (policy: Policy, facts: Facts): boolean =>
  facts.anchor.reopened && isAsKept(facts.anchor.reopened_facts, movingFacts, policy, facts);
