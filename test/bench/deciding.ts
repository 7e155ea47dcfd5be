import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readStudyFile } from '../../scripts/simulate/study-file.js';
import { evaluate } from '../../workflows/domain/anchor/decide.js';
import { completePolicy } from '../../workflows/domain/anchor/policy.js';
import type { PolicyInput } from '../../workflows/domain/anchor/policy-schema.js';
import { simulateAtOnce } from '../../workflows/domain/simulation/run.js';
import type { Facts } from '../../workflows/domain/util/types.js';
import { median, ofLimit } from './figure.js';
import type { Figure } from './figure.js';

const LIMIT = { seconds: 10, perSecond: 20_000 };
const PARTICIPANTS = 1_000,
  MONTHS = 24,
  PEOPLE = 5_000,
  MEASURED_SECONDS = 1;

/** P9: a study of two years lived through, from a policy file to the result as JSON, as `npm run simulate` does it. */
export function simulationFigures(rounds: number): Figure[] {
  const folder = mkdtempSync(join(tmpdir(), 'research-assessment-bench-'));
  try {
    const file = join(folder, 'policy.json');
    writeFileSync(
      file,
      JSON.stringify({ prerequisites: { require_consent_signed: true, require_eligibility_confirmed: true } }),
    );
    const took = Array.from({ length: rounds }, (_, round) => {
      const began = performance.now();
      const { inputs } = readStudyFile(file);
      const result = simulateAtOnce({
        ...inputs,
        participants: PARTICIPANTS,
        months: MONTHS,
        seed: round + 1,
        start_date: '2028-01-01',
      });
      const size = JSON.stringify(result).length;
      if (result.totals.participants.total !== PARTICIPANTS || size < 1_000)
        throw new Error('the simulation did not live through everybody');
      return (performance.now() - began) / 1000;
    });
    return [
      ofLimit(
        'P9',
        median(took),
        LIMIT.seconds,
        's',
        `${PARTICIPANTS.toLocaleString('en')} participants × ${MONTHS} months simulated`,
      ),
    ];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const POLICY: PolicyInput = {
  sources: [
    {
      type: 'form_item',
      priority: 1,
      is_active: true,
      form_mapping: { form_oid: 'ENROLL', item_oid: 'DATE', partial_date_handling: 'reject' },
    },
    { type: 'eligibility_workflow', priority: 2, is_active: true },
    { type: 'consent_workflow', priority: 3, is_active: true },
  ],
  prerequisites: { require_consent_signed: true, require_eligibility_confirmed: true },
  validation: {
    max_days_from_consent: 60,
    custom_rules: [
      {
        id: 'soon',
        name: 'Soon after consent',
        expression: 'daysBetween(consent.date, candidate.date) <= 30',
        error_message: 'later than 30 days after the consent',
        severity: 'error',
      },
      {
        id: 'adult',
        name: 'An adult',
        expression: 'has(participant.age_years) && participant.age_years >= 18',
        error_message: 'younger than 18',
        severity: 'warning',
      },
    ],
  },
};

/** Processor time since `began`: what other programs take of the machine does not count. */
function seconds(began: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(began);
  return (user + system) / 1_000_000;
}

/** DECIDE: the pure decision over facts that differ from one call to the next, on one core. */
export function decisionFigures(rounds: number): Figure[] {
  const policy = completePolicy(POLICY);
  const people = Array.from({ length: PEOPLE }, (_, i) => factsOf(i));
  const results = new Set(people.map((facts) => evaluate(policy, facts).result));
  for (const needed of ['proposed', 'set', 'validation_failed'] as const)
    if (!results.has(needed)) throw new Error(`no facts of the bench give the result ${needed}`);
  const perSecond = Array.from({ length: rounds + 1 }, () => {
    const began = process.cpuUsage();
    let count = 0;
    while (seconds(began) < MEASURED_SECONDS) {
      for (const facts of people) evaluate(policy, facts);
      count += PEOPLE;
    }
    return count / seconds(began);
  }).slice(1);
  const ours = median(perSecond);
  return [
    {
      name: 'DECIDE',
      what: 'decisions over three sources and two CEL rules, one core',
      ratio: ours / LIMIT.perSecond,
      goal: { is: '>=', value: 1 },
      ours,
      baseline: LIMIT.perSecond,
      unit: 'decisions/s',
    },
  ];
}

const day = (from: number, i: number, most: number): string =>
  `2024-0${from}-${String(1 + (i % most)).padStart(2, '0')}`;

/** No two at the same moment, so that nothing that was worked out for one serves another. */
const time = (i: number): string =>
  `${two(8 + (i % 9))}:${two(i % 60)}:${two(Math.floor(i / 60) % 60)}.${String(i % 1000).padStart(3, '0')}`;
const two = (value: number): string => String(value).padStart(2, '0');

/** A participant's facts: the form names a date for every third, the eligibility for every other of the rest. */
function factsOf(i: number): Facts {
  const eligible = i % 2 === 0;
  return {
    anchor: {
      date: null,
      datetime: null,
      partial: null,
      precision: 'date',
      timezone: null,
      status: 'unset',
      source_type: null,
      source_ref: null,
      is_override: false,
      version: 1,
      reopened: false,
      reopened_facts: null,
      cancelled_facts: null,
    },
    zone: i % 4 === 0 ? 'America/New_York' : 'Europe/Berlin',
    now: '2024-09-01T10:00:00.000Z',
    today: '2024-09-01',
    study: { start_date: '2023-12-01', consent_mode: 'econsent', timezone: 'Europe/Berlin' },
    participant: { status: 'enrolled', site_code: 'S1', arm: null, preferred_language: 'de', age_years: 12 + (i % 60) },
    consents: [
      { id: `consent-${i}`, consent_version_id: null, status: 'signed', signed_at: `${day(3, i, 28)}T${time(i)}Z` },
    ],
    eligibility: {
      id: `eligibility-${i}`,
      status: eligible ? 'eligible' : 'pending',
      confirmed_at: eligible ? `${day(4, i, 28)}T${time(i)}Z` : null,
    },
    randomization: null,
    forms:
      i % 3 === 0
        ? [
            {
              id: `form-${i}`,
              form_oid: 'ENROLL',
              status: 'complete',
              origin: 'service',
              created_at: '2024-04-02T10:00:00.000Z',
              items: { DATE: day(3, i + 5, 28) },
            },
          ]
        : [],
    baseline: [],
    manual: null,
    captureMapping: null,
    stored: { has_schedule: false, data_entered: false, signed: false, locked: false },
    beforeOverride: null,
  };
}
