import { dateIn } from '../util/dates.js';
import type { Policy } from './policy-schema.js';
import type { ConsentFact, Facts } from '../util/types.js';

/** The consents, signed or not, of which one may count: with `specific_version` those of that version. */
export function consentsThatMayCount(facts: Facts, { multi_consent }: Policy): ConsentFact[] {
  return multi_consent.anchor_consent === 'specific_version'
    ? facts.consents.filter(
        ({ consent_version_id }) => consent_version_id === multi_consent.specific_consent_version_id,
      )
    : facts.consents;
}

/**
 * The signed consent whose date counts (`multi_consent` of the policy). With `reconsent_updates_anchor` false a date
 * already taken from a consent stays with that consent, also while it is overridden.
 */
export function chooseConsent(facts: Facts, policy: Policy): ConsentFact | null {
  const { anchor_consent, reconsent_updates_anchor } = policy.multi_consent;
  const signed = consentsThatMayCount(facts, policy)
    .filter((consent) => consent.status === 'signed' && consent.signed_at !== null)
    .sort((a, b) => (a.signed_at! < b.signed_at! ? -1 : a.signed_at! > b.signed_at! ? 1 : a.id < b.id ? -1 : 1));
  if (anchor_consent === 'latest') {
    const { anchor, beforeOverride } = facts;
    const source = anchor.is_override ? beforeOverride : anchor;
    if (!reconsent_updates_anchor && source?.source_type === 'consent_workflow') {
      const taken = signed.find((consent) => consent.id === source.source_ref?.consent_instance_id);
      if (taken) return taken;
    }
    return signed.at(-1) ?? null;
  }
  return signed[0] ?? null;
}

export interface ChosenConsent {
  consent: ConsentFact | null;
  date: string | null;
}
/** The consent that counts, and its day in the policy's time zone. */
export function chosenConsent(facts: Facts, policy: Policy): ChosenConsent {
  const consent = chooseConsent(facts, policy);
  return { consent, date: consent?.signed_at ? dateIn(consent.signed_at, facts.zone) : null };
}
