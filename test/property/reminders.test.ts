import { expect } from 'chai';
import fc from 'fast-check';
import { quietUntil } from '../../workflows/domain/notifications/planning.js';
import { MAX_LATENESS_HOURS, ReminderLife } from './reminder-life.js';
import type { Run } from './reminder-life.js';

const RUNS = Number(process.env.PROPERTY_RUNS ?? 4000);
/** Clocks that change by an hour, by half an hour, in either half of the year, and some that never do. */
const ZONES = [
  'Europe/Berlin',
  'America/New_York',
  'Australia/Lord_Howe',
  'America/Santiago',
  'Africa/Casablanca',
  'Pacific/Auckland',
  'Asia/Kathmandu',
  'Pacific/Kiritimati',
  'UTC',
];
const zone = fc.constantFrom(...ZONES);
const clockOf = (minutes: number): string =>
  `${String(Math.floor(minutes / 60) % 24).padStart(2, '0')}:${String(minutes % 60).padStart(2, '0')}`;
const clock = fc.oneof(
  fc.integer({ min: 0, max: 1439 }).map(clockOf),
  fc.constantFrom('02:30', '01:30', '00:00', '23:59'),
);
/** Up to ten hours: who is quiet for longer than a message may be late gets none. */
const quiet = fc.option(
  fc
    .tuple(fc.integer({ min: 0, max: 1439 }), fc.integer({ min: 1, max: 600 }))
    .map(([from, length]) => ({ from: clockOf(from), to: clockOf(from + length) })),
);
/** Days on which clocks change somewhere, forward or back, and days around them. */
const target = fc
  .tuple(
    fc.constantFrom(
      '2026-03-29',
      '2026-10-25',
      '2026-03-08',
      '2026-11-01',
      '2026-04-05',
      '2026-10-04',
      '2026-09-06',
      '2026-07-15',
    ),
    fc.integer({ min: -2, max: 3 }),
  )
  .map(([day, off]) => new Date(Date.parse(`${day}T00:00:00Z`) + off * 86_400_000).toISOString().slice(0, 10));
const runs: fc.Arbitrary<Run> = fc.constantFrom(
  'well',
  'provider down',
  'answer lost',
  'refuses',
  'dies before sending',
  'dies before the note',
);

interface Step {
  what: string;
  run: (life: ReminderLife) => void;
}
const step = <T>(
  what: string,
  value: fc.Arbitrary<T>,
  run: (life: ReminderLife, value: T) => void,
): fc.Arbitrary<Step> =>
  value.map((v) => ({
    what: `${what} ${JSON.stringify(v)}`,
    run: (life: ReminderLife) => run(life, v),
    toString: () => `${what} ${JSON.stringify(v)}`,
  }));
const steps: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: step(
      'pass minutes',
      fc.oneof(fc.integer({ min: 1, max: 90 }), fc.integer({ min: 60, max: 3000 })),
      (life, minutes) => life.pass(minutes),
    ),
  },
  { weight: 5, arbitrary: step('sweep', runs, (life, run) => life.sweep(run)) },
  {
    weight: 3,
    arbitrary: step('anchor moves by days', fc.integer({ min: -4, max: 6 }), (life, days) => life.move(days)),
  },
  {
    weight: 2,
    arbitrary: step('zone', zone, (life, to) => {
      life.participant.zone = to;
      life.plan();
    }),
  },
  {
    weight: 2,
    arbitrary: step('opted out', fc.boolean(), (life, out) => {
      life.participant.opted_out = out;
    }),
  },
  step('address', fc.boolean(), (life, has) => {
    life.participant.has_address = has;
    life.plan();
  }),
  step('study', fc.constantFrom('active', 'paused'), (life, status) => {
    life.study_status = status;
  }),
  step('participant', fc.constantFrom('enrolled', 'withdrawn'), (life, status) => {
    life.participant.status = status;
    life.plan();
  }),
  step('visit', fc.constantFrom('completed', 'scheduled'), (life, status) => {
    life.visit.status = status;
    life.plan();
  }),
);

interface Begin {
  rule: { send_at: string; quiet_hours: { from: string; to: string } | null };
  daysBefore: number;
  windowAfter: number;
  in: string;
  on: string;
  early: number;
}
const begin: fc.Arbitrary<Begin> = fc.record({
  rule: fc.record({ send_at: clock, quiet_hours: quiet }),
  daysBefore: fc.integer({ min: 0, max: 3 }),
  windowAfter: fc.integer({ min: 1, max: 4 }),
  in: zone,
  on: target,
  early: fc.integer({ min: 0, max: 120 }),
});
const lifeOf = (of: Begin): ReminderLife =>
  new ReminderLife(
    of.rule,
    of.daysBefore,
    of.windowAfter,
    of.in,
    of.on,
    new Date(Date.parse(`${of.on}T00:00:00Z`) - of.early * 3_600_000).toISOString(),
  );

/** Runs as they come every five minutes, until nothing can be sent any more. */
function calm(life: ReminderLife): void {
  const end = Math.max(life.now, life.due) + (MAX_LATENESS_HOURS + 2) * 3_600_000;
  // Nothing is looked at before its time: the days until then need not be walked through.
  if (life.due > life.now + 3_600_000) life.now = life.due - 3_600_000;
  while (life.now < end) {
    life.sweep('well');
    life.pass(5);
  }
}

describe('properties of reminders, over random moves of anchors, zones and clocks, opt-outs and crashes', function () {
  this.timeout(120_000);

  it('each visit’s reminder is delivered once at most for each target date; exactly once where it is true at its time and the provider takes it', () => {
    let once = 0;
    fc.assert(
      fc.property(begin, fc.array(steps, { maxLength: 25 }), (of, taken) => {
        const life = lifeOf(of);
        for (const { run } of taken) run(life);
        const changedLast = life.now;
        calm(life);
        const dates = life.delivered.map(({ target }) => target);
        expect(new Set(dates).size, 'at most once for each date').to.equal(dates.length);
        const isTrue =
          life.study_status === 'active' &&
          life.visit.status === 'scheduled' &&
          life.participant.status === 'enrolled' &&
          life.participant.has_address &&
          !life.participant.opted_out;
        if (isTrue && life.due > changedLast) {
          expect(dates, 'exactly once').to.include(life.target);
          once += 1;
        }
      }),
      { numRuns: RUNS },
    );
    // The property says something of a good part of the lives.
    expect(once).to.be.greaterThan(RUNS / 10);
  });

  it('none is handed to a provider before its time, too late, in quiet hours, or for who does not want it', () => {
    fc.assert(
      fc.property(begin, fc.array(steps, { maxLength: 25 }), (of, taken) => {
        const life = lifeOf(of);
        for (const { run } of taken) run(life);
        calm(life);
        for (const { at, due, zone: there, optedOut } of life.handed) {
          expect(optedOut).to.equal(false);
          expect(at - due, 'after its time').to.be.within(0, MAX_LATENESS_HOURS * 3_600_000);
          expect(quietUntil(new Date(at).toISOString(), of.rule.quiet_hours, there), 'not in quiet hours').to.equal(
            null,
          );
        }
      }),
      { numRuns: RUNS },
    );
  });
});
