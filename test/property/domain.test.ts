import { expect } from 'chai';
import fc from 'fast-check';
import { addDays } from '../../workflows/domain/util/dates.js';
import { evaluate } from '../../workflows/domain/anchor/decide.js';
import { nextVersion } from '../../workflows/domain/anchor/regeneration.js';
import type { PolicyInput } from '../../workflows/domain/anchor/policy-schema.js';
import { Participant, dayNumber, windowOn } from './model.js';

const RUNS = Number(process.env.PROPERTY_RUNS ?? 2500);
const consentFirst: PolicyInput = {};
const handFirst: PolicyInput = { sources: [{ type: 'manual_entry' }, { type: 'consent_workflow' }] };
const policies: PolicyInput[] = [
  consentFirst,
  handFirst,
  { ...consentFirst, schedule_on_provisional: true },
  { ...handFirst, schedule_on_provisional: true, prerequisites: { require_eligibility_confirmed: true } },
  {
    sources: [{ type: 'consent_workflow' }],
    multi_consent: { anchor_consent: 'latest', reconsent_updates_anchor: true },
  },
  {
    sources: [
      { type: 'computed_rule', computed_rule: { expression: 'addDays(latest(consent.date, eligibility.date), 7)' } },
      { type: 'manual_entry' },
    ],
    validation: { max_days_from_consent: 90 },
  },
  {
    ...handFirst,
    prerequisites: { require_consent_signed: false },
    time_precision: { precision: 'datetime', timezone_policy: 'site_local' },
    validation: { cannot_precede_consent: false },
  },
];

const day = fc.integer({ min: 0, max: 500 }).map(dayNumber);
const instant = fc
  .tuple(day, fc.integer({ min: 0, max: 23 }))
  .map(([date, hour]) => `${date}T${String(hour).padStart(2, '0')}:30:00.000000Z`);
const index = fc.nat({ max: 20 });
const windows = fc
  .uniqueArray(fc.integer({ min: 0, max: 9 }), { maxLength: 8 })
  .chain((codes) =>
    fc.tuple(...codes.map((code) => fc.integer({ min: 0, max: 200 }).map((on) => windowOn(`W${code}`, on)))),
  )
  .map((list) => [...list]);

interface Step {
  name: string;
  run: (p: Participant) => void;
}
const step = <T>(name: string, value: fc.Arbitrary<T>, run: (p: Participant, value: T) => void): fc.Arbitrary<Step> =>
  value.map((v) => ({
    name: `${name} ${JSON.stringify(v)}`,
    run: (p) => run(p, v),
    toString: () => `${name} ${JSON.stringify(v)}`,
  }));
const fact = (change: Partial<Participant['facts']>) => (p: Participant) => {
  p.facts = { ...p.facts, ...change };
};

const steps: fc.Arbitrary<Step> = fc.oneof(
  step('consent signed', instant, (p, at) => {
    fact({
      consents: [
        ...p.facts.consents,
        { id: `c${p.facts.consents.length}`, consent_version_id: null, status: 'signed', signed_at: at },
      ],
    })(p);
    p.evaluate();
  }),
  step('consent revoked', index, (p, i) => {
    fact({ consents: p.facts.consents.map((c, at) => (at === i ? { ...c, status: 'revoked' } : c)) })(p);
    p.evaluate();
  }),
  step('eligible', instant, (p, at) => {
    fact({ eligibility: { id: 'e', status: 'eligible', confirmed_at: at } })(p);
    p.evaluate();
  }),
  step('deferred', fc.constant(null), (p) => {
    fact({ eligibility: { id: 'e', status: 'deferred', confirmed_at: null } })(p);
    p.evaluate();
  }),
  step('date by hand', day, (p, date) => {
    fact({ manual: { enrollment_date: date, entered_by_user_id: 'u' } })(p);
    p.evaluate();
  }),
  step('override', day, (p, date) => {
    p.override(date);
  }),
  step('override back', fc.constant(null), (p) => {
    p.overrideBack();
  }),
  step('cancel', fc.constant(null), (p) => {
    p.cancel();
  }),
  step('evaluate', fc.constant(null), (p) => {
    p.evaluate();
  }),
  step('windows', windows, (p, list) => {
    p.windowsChanged(list);
  }),
  {
    weight: 2,
    arbitrary: step('complete', index, (p, i) => {
      p.complete(i);
    }),
  },
  step('miss', index, (p, i) => {
    p.miss(i);
  }),
  step(
    'zone moves',
    fc.constantFrom('Pacific/Auckland', 'America/New_York', 'Europe/Berlin', 'Pacific/Kiritimati'),
    (p, zone) => {
      fact({ zone })(p);
      p.evaluate();
    },
  ),
  step('policy', fc.constantFrom(...policies), (p, policy) => {
    p.policy = new Participant(policy, []).policy;
    p.evaluate();
  }),
);

/** What must hold after every step, whatever came before. */
function consistent(p: Participant): void {
  const { anchor } = p.facts;
  const currents = p.versions.filter((v) => v.current);
  expect(currents.length, 'current versions').to.be.at.most(1);
  if (anchor.status === 'finalized') expect(currents, 'a final date has its schedule').to.have.length(1);
  if (anchor.status === 'unset') expect(currents, 'no date, no schedule').to.have.length(0);
  expect(
    p.versions.map((v) => v.number),
    'version numbers',
  ).to.deep.equal(p.versions.map((_, i) => i + 1));
  const keys = p.live.map((r) => r.visit_key);
  expect(new Set(keys).size, 'one live visit per visit_key').to.equal(keys.length);
  expect(anchor.status === 'unset', 'unset means no date').to.equal(anchor.date === null);
  expect(anchor.version, 'version = 1 + entries').to.equal(1 + p.history.length);
  const due = new Map(p.windows.map((w) => [p.keyOf(`window:${w.id}`), w.target_day]));
  const current = currents[0];
  if (current) {
    for (const row of p.pending) {
      const day = due.get(row.visit_key);
      expect(
        day === undefined ? undefined : addDays(current.date, day),
        'what is pending is planned, on these days',
      ).to.equal(row.target_date);
      if (row.status !== 'missed')
        expect(row.schedule_version_id, 'what is to do is of the current version').to.equal(current.id);
    }
    for (const key of due.keys()) expect(keys, 'what is planned is there').to.include(key);
  }
}

/** The completions so far: each stays the one row that it is. */
function keepsCompletions(
  before: { id: string; visit_key: string; target_date: string; completed_on: string | null }[],
  p: Participant,
): void {
  const after = new Map(p.completed.map((r) => [r.id, r]));
  for (const row of before) {
    const kept = after.get(row.id);
    expect(
      kept && {
        id: kept.id,
        visit_key: kept.visit_key,
        target_date: kept.target_date,
        completed_on: kept.completed_on,
      },
      'a completed visit',
    ).to.deep.equal(row);
  }
}

describe('properties of the anchor and its schedules, over random lives', function () {
  this.timeout(120_000);

  it('one current version, no completed visit lost or doubled, stable visit_key, gap-free versions, evaluation at its fixed point', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...policies),
        windows,
        fc.array(steps, { minLength: 1, maxLength: 25 }),
        (policy, list, life) => {
          const p = new Participant(policy, list);
          for (const { name, run } of life) {
            const completed = p.completed.map(({ id, visit_key, target_date, completed_on }) => ({
              id,
              visit_key,
              target_date,
              completed_on,
            }));
            const entries = p.history.length;
            run(p);
            consistent(p);
            keepsCompletions(completed, p);
            for (const taken of p.history.slice(entries)) {
              if (taken.previous_date && taken.value)
                expect(addDays(taken.previous_date, taken.delta_days!), `delta of ${name}`).to.equal(taken.value.date);
            }
            // After an override_back the anchor rests until somebody or something asks.
            if (!p.facts.anchor.reopened)
              expect(evaluate(p.policy, p.facts).transitions, `evaluated again after ${name}`).to.deep.equal([]);
          }
        },
      ),
      { numRuns: RUNS },
    );
  });

  it('history is a path through the state table', () => {
    const allowed = new Set([
      'SET unset finalized',
      'PROPOSED unset provisional',
      'FINALIZED provisional finalized',
      'CHANGED provisional provisional',
      'CHANGED provisional unset',
      'OVERRIDE_GRANTED finalized finalized',
      'CHANGED finalized provisional',
      'CHANGED finalized finalized',
    ]);
    fc.assert(
      fc.property(fc.constantFrom(...policies), fc.array(steps, { minLength: 1, maxLength: 25 }), (policy, life) => {
        const p = new Participant(policy, [windowOn('A', 0), windowOn('B', 30)]);
        for (const { run } of life) run(p);
        let status = 'unset';
        for (const entry of p.history) {
          expect(entry.status_before).to.equal(status);
          expect(allowed).to.include(`${entry.event_type} ${entry.status_before} ${entry.status_after}`);
          status = entry.status_after;
        }
        expect(p.facts.anchor.status).to.equal(status);
      }),
      { numRuns: RUNS },
    );
  });

  it('a withdrawn participant moves no more, whatever becomes known', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...policies),
        windows,
        fc.array(steps, { maxLength: 10 }),
        fc.array(steps, { minLength: 1, maxLength: 10 }),
        (policy, list, life, after) => {
          const p = new Participant(policy, list);
          for (const { run } of life) run(p);
          fact({ participant: { ...p.facts.participant, status: 'withdrawn' } })(p);
          const frozen = JSON.stringify([p.facts.anchor, p.versions, p.history]);
          for (const { run } of after) run(p);
          expect(JSON.stringify([p.facts.anchor, p.versions, p.history])).to.equal(frozen);
        },
      ),
      { numRuns: Math.ceil(RUNS / 5) },
    );
  });

  it('a regeneration at the same date and windows would change nothing', () => {
    fc.assert(
      fc.property(windows, day, fc.array(index, { maxLength: 5 }), (list, date, done) => {
        const p = new Participant({ ...handFirst, prerequisites: { require_consent_signed: false } }, list);
        fact({ manual: { enrollment_date: date, entered_by_user_id: null } })(p);
        p.evaluate();
        for (const i of done) p.complete(i);
        fc.pre(p.current !== undefined);
        expect(nextVersion(p.current!.date, p.inputs(), p.keyOf).change.changes).to.equal(false);
      }),
      { numRuns: Math.ceil(RUNS / 5) },
    );
  });

  it('moving there and back gives the same pending visits on the same days', () => {
    fc.assert(
      fc.property(windows, day, day, (list, from, to) => {
        fc.pre(from !== to && from < '2025-06-01' && to < '2025-06-01');
        const p = new Participant({ ...handFirst, prerequisites: { require_consent_signed: false } }, list);
        fact({ manual: { enrollment_date: from, entered_by_user_id: null } })(p);
        p.evaluate();
        const shape = () => p.pending.map((r) => [r.visit_key, r.target_date, r.window_open, r.window_close]).sort();
        const before = shape();
        expect(p.override(to)).to.equal(true);
        expect(p.override(from)).to.equal(true);
        expect(shape()).to.deep.equal(before);
      }),
      { numRuns: Math.ceil(RUNS / 5) },
    );
  });
});
