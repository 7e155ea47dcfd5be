import { expect } from 'chai';
import fc from 'fast-check';
import { dueAt, quietUntil } from '../../workflows/domain/notifications/planning.js';
import { Desk } from './stage.js';

const ZONES = [
  'UTC',
  'Europe/Berlin',
  'Europe/Dublin',
  'America/New_York',
  'America/St_Johns',
  'Australia/Lord_Howe',
  'Pacific/Kiritimati',
  'Asia/Kathmandu',
  'America/Santiago',
  'Africa/Casablanca',
];
const clock = fc
  .tuple(fc.nat(23), fc.nat(59))
  .map(([h, m]) => `${String(h).padStart(2, '0')}:${String(m).padStart(2, '0')}`);
const date = fc
  .integer({ min: 0, max: 5_000 })
  .map((days) => new Date(Date.UTC(2024, 0, 1) + days * 86_400_000).toISOString().slice(0, 10));
/** Around the days on which clocks change in many zones. */
const changing = fc.constantFrom(
  '2026-03-29',
  '2026-10-25',
  '2026-03-08',
  '2026-11-01',
  '2026-04-05',
  '2026-10-04',
  '2026-04-04',
  '2026-09-06',
);
const one = fc.record({
  date: fc.oneof(date, changing),
  send_at: fc.oneof(clock, fc.constantFrom('02:30', '01:30', '00:00')),
  quiet: fc.option(fc.record({ from: clock, to: clock })),
  zone: fc.constantFrom(...ZONES),
});

/** What a clock on the wall of a zone shows at an instant, to the minute. */
const wall = (at: number, zone: string): string => walls.get(zone)!.format(at);
const walls = new Map(
  ZONES.map((timeZone) => [
    timeZone,
    new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'short' }),
  ]),
);

describe('When a reminder is due', function due() {
  let desk: Desk;
  /**
   * Days of a zone that PostgreSQL and this Node.js know differently: governments change rules, releases lag behind.
   */
  const disputed = new Set<string>();
  before(async () => {
    desk = await Desk.open();
    const known = await desk.stage.sql<{ zone: string; at: string; wall: string }>(
      `select zone, at, to_char(at at time zone zone, 'YYYY-MM-DD HH24:MI') as wall
         from unnest(?::text[]) zone, generate_series('2023-12-30Z'::timestamptz, '2037-09-15Z', '6 hours') at`,
      [ZONES],
    );
    for (const { zone, at, wall: theirs } of known)
      if (wall(Date.parse(at), zone) !== theirs)
        for (const days of [-2, -1, 0, 1, 2])
          disputed.add(`${zone} ${new Date(Date.parse(at) + days * 86_400_000).toISOString().slice(0, 10)}`);
  });
  after(() => desk.close());

  it('is the same in the plan of one and in the database’s plan of many, whatever zone, clock change and quiet hours', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(one, { minLength: 200, maxLength: 200 }), async (all) => {
        const cases = all.filter((c) => !disputed.has(`${c.zone} ${c.date}`));
        expect(cases.length).to.be.greaterThan(all.length / 2);
        const rows = await desk.stage.sql<{ due: string }>(
          `select reminder_due(x.date, x.send_at, x.quiet_from, x.quiet_to, x.zone) as due
         from jsonb_to_recordset(?::jsonb) as x(n integer, date date, send_at time, quiet_from time, quiet_to time, zone text) order by x.n`,
          [
            JSON.stringify(
              cases.map((c, n) => ({
                n,
                date: c.date,
                send_at: c.send_at,
                quiet_from: c.quiet?.from ?? null,
                quiet_to: c.quiet?.to ?? null,
                zone: c.zone,
              })),
            ),
          ],
        );
        cases.forEach((c, i) => {
          expect(Date.parse(rows[i]!.due), JSON.stringify(c)).to.equal(
            Date.parse(dueAt(c.date, { send_at: c.send_at, quiet_hours: c.quiet }, c.zone)),
          );
        });
      }),
      { numRuns: 25, endOnFailure: true },
    );
  });

  it('of a local time that comes twice is the first; a skipped one counts as if the clock had not changed yet', async () => {
    for (const [day, send_at, zone, due] of [
      ['2026-10-25', '02:30', 'Europe/Berlin', '2026-10-25T00:30:00Z'],
      ['2026-10-25', '02:00', 'Europe/Berlin', '2026-10-25T00:00:00Z'],
      ['2026-10-25', '03:00', 'Europe/Berlin', '2026-10-25T02:00:00Z'],
      ['2026-11-01', '01:15', 'America/New_York', '2026-11-01T05:15:00Z'],
      ['2026-04-05', '01:45', 'Australia/Lord_Howe', '2026-04-04T14:45:00Z'],
      ['2026-03-29', '02:30', 'Europe/Berlin', '2026-03-29T01:30:00Z'],
    ] as const) {
      expect(dueAt(day, { send_at, quiet_hours: null }, zone), `${day} ${send_at}`).to.equal(due);
      const [row] = await desk.stage.sql<{ due: string }>('select reminder_due(?, ?, null, null, ?) as due', [
        day,
        send_at,
        zone,
      ]);
      expect(Date.parse(row!.due), `${day} ${send_at} in the database`).to.equal(Date.parse(due));
    }
  });

  it('never lies within quiet hours, and not a day off', () => {
    fc.assert(
      fc.property(one, ({ date: day, send_at, quiet, zone }) => {
        const at = dueAt(day, { send_at, quiet_hours: quiet }, zone);
        // A skipped hour may push a time that is allowed into one that is not: the sweep looks at the clock again.
        if (quietUntil(at, quiet, zone) !== null) return fc.pre(false);
        const off = (Date.parse(at) - Date.parse(`${day}T${send_at}:00Z`)) / 3_600_000;
        expect(off).to.be.within(-15, 39);
      }),
      { numRuns: 2_000 },
    );
  });
});
