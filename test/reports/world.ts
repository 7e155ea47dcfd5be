import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import pg from 'pg';
import { admin, newStudy } from '../support/http.js';
import type { Http } from '../support/http.js';
import { service } from '../support/service.js';
import { until } from '../support/until.js';

/** The reports of a study, as their paths name them. */
export const STUDY_REPORTS = ['summary', 'enrollment', 'completion', 'modules', 'sites', 'visits'] as const;

/** On one side of the date line and on the other: somewhere it is another day than in UTC. */
export const ZONES = { study: 'Pacific/Kiritimati', site: 'Pacific/Pago_Pago' } as const;
const DAY = 86_400_000;

export interface VisitGiven {
  window: number | null;
  offset: number;
  before: number;
  after: number;
  fate: 'time' | 'completed' | 'superseded' | 'cancelled';
  shift: number;
}
export interface SessionGiven {
  status: 'active' | 'completed' | 'expired' | 'abandoned';
  rt: number;
  days: number;
}
export interface PersonGiven {
  site: boolean;
  arm: 'A' | 'B' | null;
  withdrawn: boolean;
  enrolled: number | null;
  visits: VisitGiven[];
  sessions: SessionGiven[];
}

const days = fc.integer({ min: -70, max: 30 });
const visit: fc.Arbitrary<VisitGiven> = fc.record({
  window: fc.constantFrom(0, 1, 2, null),
  offset: days,
  before: fc.nat({ max: 5 }),
  after: fc.nat({ max: 5 }),
  fate: fc.constantFrom(
    'time' as const,
    'time' as const,
    'completed' as const,
    'completed' as const,
    'superseded' as const,
    'cancelled' as const,
  ),
  shift: fc.integer({ min: -9, max: 9 }),
});
const session: fc.Arbitrary<SessionGiven> = fc.record({
  status: fc.constantFrom(
    'active' as const,
    'completed' as const,
    'completed' as const,
    'expired' as const,
    'abandoned' as const,
  ),
  rt: fc.integer({ min: 200, max: 900 }),
  days,
});
export const people: fc.Arbitrary<PersonGiven[]> = fc.array(
  fc.record({
    site: fc.boolean(),
    arm: fc.constantFrom('A' as const, 'B' as const, null),
    withdrawn: fc.boolean(),
    enrolled: fc.option(days, { nil: null }),
    visits: fc.array(visit, { maxLength: 5 }),
    sessions: fc.array(session, { maxLength: 3 }),
  }),
  { minLength: 1, maxLength: 8 },
);

export const dayAt = (zone: string, at = Date.now()): string =>
  new Intl.DateTimeFormat('en-CA', { timeZone: zone, year: 'numeric', month: '2-digit', day: '2-digit' }).format(at);
export const plus = (date: string, by: number): string =>
  new Date(Date.parse(`${date}T00:00:00Z`) + by * DAY).toISOString().slice(0, 10);
export const utcDay = (by: number): string => new Date(Date.now() + by * DAY).toISOString().slice(0, 10);

/** Longer than a world is made and looked at. */
const LOOK_MS = 20_000;
/**
 * Not before the end of a day, anywhere that counts: what is worked out on one day would be compared with what is said
 * on the next.
 */
export async function whileTheDayLasts(): Promise<void> {
  const zones = [...Object.values(ZONES), 'UTC'];
  await until(() => zones.every((zone) => dayAt(zone) === dayAt(zone, Date.now() + LOOK_MS)), {
    timeout: LOOK_MS + 10_000,
    what: 'the day to have begun',
  });
}

/** A visit as it was stored, with what a report must say of it, worked out here by itself. */
export interface VisitKnown {
  person: PersonKnown;
  window: string | null;
  target: string;
  status: string;
  adherence: string | null;
  off: number | null;
}
export interface PersonKnown {
  id: string;
  given: PersonGiven;
  zone: string;
  enrolled: string | null;
}

/** A study whose rows are written by SQL: any state that the service may come into, without its ways into it. */
export class World {
  readonly people: PersonKnown[] = [];
  readonly visits: VisitKnown[] = [];
  private constructor(
    readonly http: Http,
    readonly study: string,
    private readonly sql: pg.Client,
    readonly windows: string[],
    readonly site: string,
  ) {}

  static async open(): Promise<World> {
    const http = await admin();
    const study = await newStudy(http, { timezone: ZONES.study, consent_mode: 'external' });
    const site = await http.expect(201, 'POST', `/api/studies/${study.id}/sites`, {
      site_code: 'S1',
      timezone: ZONES.site,
    });
    const windows = [];
    for (const [at, code] of ['W0', 'W1', 'W2'].entries()) {
      windows.push(
        (
          await http.expect(201, 'POST', '/api/schedules/windows', {
            study_id: study.id,
            code,
            name: `Window ${at}`,
            target_day: at * 28,
            sort_order: at,
          })
        ).id,
      );
    }
    const sql = new pg.Client({ connectionString: (await service()).database_url, options: '-c timezone=UTC' });
    await sql.connect();
    return new World(http, study.id, sql, windows, site.id);
  }

  close(): Promise<void> {
    return this.sql.end();
  }

  report<T>(name: string, query = ''): Promise<T> {
    return this.http.expect<T>(200, 'GET', `/api/reports/studies/${this.study}/${name}${query}`);
  }

  async add(given: readonly PersonGiven[]): Promise<void> {
    for (const person of given) await this.person(person);
  }

  private async person(given: PersonGiven): Promise<void> {
    const zone = given.site ? ZONES.site : ZONES.study;
    const known: PersonKnown = {
      id: randomUUID(),
      given,
      zone,
      enrolled: given.enrolled === null ? null : utcDay(given.enrolled),
    };
    await this.sql.query(
      `insert into participants (id, study_id, participant_code, site_id, status, withdrawn_at, enrollment_date, arm) values ($1, $2, $3, $4, $5, $6, $7, $8)`,
      [
        known.id,
        this.study,
        `P-${known.id.slice(0, 8)}`,
        given.site ? this.site : null,
        given.withdrawn ? 'withdrawn' : 'enrolled',
        given.withdrawn ? new Date() : null,
        known.enrolled,
        given.arm,
      ],
    );
    await this.sql.query('insert into anchor_dates (participant_id, study_id) values ($1, $2)', [known.id, this.study]);
    this.people.push(known);
    for (const visit of given.visits) await this.visit(known, visit);
    for (const session of given.sessions) await this.session(known, session);
  }

  private async visit(person: PersonKnown, given: VisitGiven): Promise<void> {
    const today = dayAt(person.zone);
    const target = plus(today, given.offset),
      open = plus(target, -given.before),
      close = plus(target, given.after);
    const closed = close < today;
    // The hourly move keeps the enrolled's statuses with the calendar; the withdrawn's stay as they were.
    const byTime = person.given.withdrawn ? 'open' : closed ? 'missed' : open <= today ? 'open' : 'scheduled';
    const status = given.fate === 'time' ? byTime : given.fate;
    const done = plus(target, given.shift);
    const noon = status === 'completed' ? new Date(Date.parse(`${done}T12:00:00Z`) - offsetOf(person.zone)) : null;
    await this.sql.query(
      `insert into scheduled_visits (visit_key, study_id, participant_id, visit_window_id, name, target_date, window_open, window_close, status, completed_at)
       values (gen_random_uuid(), $1, $2, $3, 'A visit', $4, $5, $6, $7, $8)`,
      [
        this.study,
        person.id,
        given.window === null ? null : this.windows[given.window],
        target,
        open,
        close,
        status,
        noon,
      ],
    );
    const adherence =
      status === 'superseded'
        ? null
        : status === 'cancelled'
          ? 'cancelled'
          : status === 'completed'
            ? done < open
              ? 'early'
              : done > close
                ? 'late'
                : 'in_window'
            : closed
              ? 'missed'
              : 'pending';
    // What a report says of it: also the withdrawn's is missed once its window has closed.
    const said = closed && (status === 'scheduled' || status === 'open') ? 'missed' : status;
    this.visits.push({
      person,
      window: given.window === null ? null : `W${given.window}`,
      target,
      status: said,
      adherence,
      off: status === 'completed' ? given.shift : null,
    });
  }

  private async session(person: PersonKnown, given: SessionGiven): Promise<void> {
    const id = randomUUID();
    const at = new Date(Date.now() + given.days * DAY);
    await this.sql.query(
      `insert into assessment_sessions (id, study_id, participant_id, status, started_at, expires_at, completed_at) values ($1, $2, $3, $4, $5, now() + interval '1 day', $6)`,
      [id, this.study, person.id, given.status, at, given.status === 'completed' ? at : null],
    );
    await this.sql.query(
      `insert into session_tasks (session_id, task, study_id, summary, computed_summary, trial_count, content_hash) values ($1, 'stroop', $2, $3, '{}', 0, repeat('0', 64))`,
      [id, this.study, JSON.stringify({ mean_rt: given.rt })],
    );
  }
}

const offsetOf = (zone: string): number => (zone === ZONES.study ? 14 : -11) * 3_600_000;

/** Those that a filter takes, as the contract says it. */
export interface Narrowed {
  from?: string;
  to?: string;
  site_code?: string;
  arm?: string;
}
export function within({ from, to, site_code, arm }: Narrowed) {
  const inTime = (date: string | null) =>
    (from === undefined && to === undefined) || (date !== null && date >= (from ?? '') && date <= (to ?? '9999'));
  const takes = ({ given }: PersonKnown) =>
    (site_code === undefined || given.site) && (arm === undefined || given.arm === arm);
  return {
    person: (p: PersonKnown) => takes(p) && inTime(p.enrolled),
    visit: (v: VisitKnown) => takes(v.person) && inTime(v.target),
    session: (p: PersonKnown, s: SessionGiven) => takes(p) && inTime(utcDay(s.days)),
  };
}
