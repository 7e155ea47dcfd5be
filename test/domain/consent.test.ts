import { expect } from 'chai';
import { chooseConsent } from '../../workflows/domain/anchor/consent.js';
import { evaluate } from '../../workflows/domain/anchor/decide.js';
import { completePolicy } from '../../workflows/domain/anchor/policy.js';
import type { Facts } from '../../workflows/domain/util/types.js';
import { emptyFacts } from '../property/model.js';

const signed = (id: string, day: string, consent_version_id: string | null = null) => ({
  id,
  consent_version_id,
  status: 'signed',
  signed_at: `${day}T10:00:00.000000Z`,
});
const consents = [
  signed('b', '2024-04-01', 'v2'),
  signed('a', '2024-03-01', 'v1'),
  { ...signed('r', '2024-01-01', 'v0'), status: 'revoked' },
  { id: 'p', consent_version_id: 'v3', status: 'pending', signed_at: null },
];
type Multi = Record<string, unknown>;
const policyOf = (multi_consent: Multi) => completePolicy({ sources: [{ type: 'consent_workflow' }], multi_consent });
const takenFrom = (id: string, date: string, more: Partial<Facts['anchor']> = {}): Facts => ({
  ...emptyFacts(),
  consents,
  anchor: {
    ...emptyFacts().anchor,
    status: 'finalized',
    date,
    source_type: 'consent_workflow',
    source_ref: { consent_instance_id: id },
    version: 2,
    ...more,
  },
});

const overridden = (facts: Facts, date: string): Facts => {
  const { anchor } = facts;
  return {
    ...facts,
    beforeOverride: { ...anchor, date: anchor.date!, source_type: anchor.source_type!, source_ref: anchor.source_ref },
    anchor: { ...anchor, date, is_override: true, source_type: 'override', source_ref: {}, version: 3 },
  };
};

describe('several consents', () => {
  const rows: [name: string, multi: Multi, facts: Facts, chosen: string | null][] = [
    ['first: the earliest that is signed', { anchor_consent: 'first' }, { ...emptyFacts(), consents }, 'a'],
    ['latest: the last that is signed', { anchor_consent: 'latest' }, { ...emptyFacts(), consents }, 'b'],
    [
      'specific_version: that one',
      { anchor_consent: 'specific_version', specific_consent_version_id: 'v2' },
      { ...emptyFacts(), consents },
      'b',
    ],
    [
      'specific_version that was revoked: none',
      { anchor_consent: 'specific_version', specific_consent_version_id: 'v0' },
      { ...emptyFacts(), consents },
      null,
    ],
    [
      'specific_version that is pending: none',
      { anchor_consent: 'specific_version', specific_consent_version_id: 'v3' },
      { ...emptyFacts(), consents },
      null,
    ],
    ['none signed: none', { anchor_consent: 'latest' }, { ...emptyFacts(), consents: consents.slice(2) }, null],
    [
      'latest, date taken from the first, re-consent does not count: the first',
      { anchor_consent: 'latest', reconsent_updates_anchor: false },
      takenFrom('a', '2024-03-01'),
      'a',
    ],
    [
      'latest, date taken from the first, re-consent counts: the last',
      { anchor_consent: 'latest', reconsent_updates_anchor: true },
      takenFrom('a', '2024-03-01'),
      'b',
    ],
    [
      'latest, date taken from the first and overridden, re-consent does not count: the first',
      { anchor_consent: 'latest', reconsent_updates_anchor: false },
      overridden(takenFrom('a', '2024-03-01'), '2024-03-20'),
      'a',
    ],
    [
      'latest, the one that the date was taken from revoked: the last',
      { anchor_consent: 'latest', reconsent_updates_anchor: false },
      takenFrom('r', '2024-01-01'),
      'b',
    ],
  ];
  for (const [name, multi, facts, chosen] of rows)
    it(name, () => expect(chooseConsent(facts, policyOf(multi))?.id ?? null).to.equal(chosen));

  const reconsent: [name: string, multi: Multi, facts: Facts, result: string, date: string | undefined][] = [
    [
      'first: finalized stays',
      { anchor_consent: 'first', reconsent_updates_anchor: true },
      takenFrom('a', '2024-03-01'),
      'unchanged',
      undefined,
    ],
    [
      'latest, counts: the final date moves by itself',
      { anchor_consent: 'latest', reconsent_updates_anchor: true },
      takenFrom('a', '2024-03-01'),
      'changed',
      '2024-04-01',
    ],
    [
      'latest, does not count: finalized stays',
      { anchor_consent: 'latest', reconsent_updates_anchor: false },
      takenFrom('a', '2024-03-01'),
      'unchanged',
      undefined,
    ],
    [
      'latest, counts, but the date was overridden: override_required',
      { anchor_consent: 'latest', reconsent_updates_anchor: true },
      takenFrom('a', '2024-03-05', { is_override: true, source_type: 'override' }),
      'override_required',
      undefined,
    ],
    [
      'latest, counts, but a form was signed and the policy forbids it',
      { anchor_consent: 'latest', reconsent_updates_anchor: true },
      {
        ...takenFrom('a', '2024-03-01'),
        stored: { has_schedule: true, data_entered: false, signed: true, locked: false },
      },
      'validation_failed',
      undefined,
    ],
  ];
  for (const [name, multi, facts, result, date] of reconsent) {
    it(`re-consent, ${name}`, () => {
      const decision = evaluate(policyOf(multi), facts);
      expect([decision.result, decision.transitions.at(-1)?.value?.date]).to.deep.equal([result, date]);
    });
  }
});
