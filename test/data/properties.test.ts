import { expect } from 'chai';
import fc from 'fast-check';
import { contentHash } from '../../db/exports/full-study/content.js';
import type { StudyDocument } from '../../db/exports/full-study/document.js';
import { unique } from '../support/http.js';
import { World, people, whileTheDayLasts } from '../reports/world.js';
import type { PersonGiven } from '../reports/world.js';

type Row = Record<string, string | number | boolean | null>;
const RUNS = 3,
  DAY = 86_400_000;
const DATASETS = ['participants', 'visits', 'sessions', 'task_summaries', 'anchors'] as const;
type Exports = Record<(typeof DATASETS)[number], Row[]>;

const count = (rows: readonly Row[], column: string, value: unknown): number =>
  rows.filter((row) => row[column] === value).length;
const days = (later: unknown, earlier: unknown): number =>
  (Date.parse(String(later)) - Date.parse(String(earlier))) / DAY;

describe('Data out of any study', function () {
  this.timeout(180_000);

  /** Runs `claim` on studies with people, visits and sessions of every kind. */
  const ofAny = (claim: (world: World) => Promise<void>) =>
    fc.assert(
      fc.asyncProperty(people, async (given: PersonGiven[]) => {
        await whileTheDayLasts();
        const world = await World.open();
        try {
          await world.add(given);
          await claim(world);
        } finally {
          await world.close();
        }
      }),
      { numRuns: RUNS },
    );

  async function exported(world: World, more: object = {}): Promise<Exports> {
    const found = {} as Exports;
    for (const dataset of DATASETS)
      found[dataset] = (
        await world.http.expect<{ rows: Row[] }>(200, 'POST', '/api/exports/json', {
          study_id: world.study,
          dataset,
          ...more,
        })
      ).rows;
    return found;
  }

  it('goes into an empty study and comes out of it with the same content, whatever it is', async () => {
    await ofAny(async ({ http, study }) => {
      const full = (id: string) => http.expect<StudyDocument>(200, 'GET', `/api/exports/studies/${id}/full`);
      const document = await full(study);
      const loaded = await http.expect<{ study_id: string; content_sha256: string }>(
        201,
        'POST',
        `/api/studies/import/full?study_code=${unique('RT')}&study_name=again`,
        document,
      );
      const again = await full(loaded.study_id);
      expect(loaded.content_sha256).to.equal(contentHash(document));
      expect(contentHash(again)).to.equal(contentHash(document));
      for (const [table, rows] of Object.entries(document.tables))
        expect(again.tables[table]!.length, table).to.equal(rows.length);
    });
  });

  it('says in its exports what its reports say, site by site too', async () => {
    await ofAny(async (world) => {
      for (const site_code of [undefined, 'S1']) {
        const narrowed: Record<string, string> = site_code === undefined ? {} : { site_code };
        const query = `?${new URLSearchParams(narrowed)}`;
        const rows = await exported(world, narrowed);
        const summary = await world.report<
          Record<'participants' | 'sessions' | 'visits' | 'anchors' | 'adherence', Record<string, number>>
        >('summary', query);
        expect(rows.participants.length).to.equal(summary.participants.total);
        expect(count(rows.participants, 'status', 'withdrawn')).to.equal(summary.participants.withdrawn);
        expect(rows.anchors.length).to.equal(summary.anchors.unset);
        expect(rows.sessions.length).to.equal(summary.sessions.total);
        for (const status of ['completed', 'expired'])
          expect(count(rows.sessions, 'status', status), status).to.equal(summary.sessions[status]);
        expect(rows.visits.length).to.equal(summary.visits.total);
        for (const status of ['scheduled', 'open', 'completed', 'missed', 'superseded', 'cancelled'])
          expect(count(rows.visits, 'status', status), status).to.equal(summary.visits[status]);
        expect(count(rows.visits, 'adherence', 'in_window')).to.equal(summary.adherence.completed_in_window);
        const { by_task } = await world.report<{
          by_task: { task: string; sessions: number; metrics: Record<string, { n: number; mean: number }> }[];
        }>('modules', query);
        const values = rows.task_summaries.map(({ value }) => value as number);
        expect(by_task[0]?.metrics.mean_rt!.n ?? 0).to.equal(values.length);
        if (values.length > 0)
          expect(by_task[0]!.metrics.mean_rt!.mean).to.be.closeTo(
            values.reduce((sum, value) => sum + value, 0) / values.length,
            1e-6,
          );
      }
    });
  });

  it('de-identified names nobody, gives each person one pseudonym everywhere, and keeps what lies between the dates of each', async () => {
    await ofAny(async (world) => {
      const [real, hidden, again] = [
        await exported(world),
        await exported(world, { deidentify: true }),
        await exported(world, { deidentify: true }),
      ];
      expect(again).to.deep.equal(hidden);
      const text = JSON.stringify(hidden);
      for (const secret of [
        world.study,
        ...Object.values(real).flatMap((rows) =>
          rows.flatMap((row) => [row.id, row.participant_id, row.participant_code]),
        ),
      ]) {
        if (typeof secret === 'string') expect(text.includes(secret), secret).to.equal(false);
      }
      expect(text).not.to.include('"S1"');
      // Who is who is known by counting through both in the order of the visits' own content.
      const persons = new Set(hidden.participants.map(({ id }) => id));
      expect(persons.size).to.equal(real.participants.length);
      for (const dataset of DATASETS.slice(1))
        for (const { participant_id } of hidden[dataset]) expect(persons.has(participant_id!), dataset).to.equal(true);
      const spans = (rows: Exports) =>
        rows.participants
          .map(({ id }) => {
            const visits = rows.visits.filter(({ participant_id }) => participant_id === id),
              sessions = rows.sessions.filter(({ participant_id }) => participant_id === id);
            const [first] = visits.map(({ target_date }) => String(target_date)).sort();
            return JSON.stringify([
              visits
                .map((visit) => [
                  days(visit.target_date, first),
                  days(visit.window_close, visit.window_open),
                  visit.status,
                  visit.adherence,
                  visit.days_off_target,
                ])
                .sort(),
              // Of a person without a visit there is nothing to count from but the first session.
              sessions
                .map(({ started_at, status }) => [
                  Math.round(days(started_at, first ?? sessions[0]!.started_at) * 1e6) / 1e6,
                  status,
                ])
                .sort(),
            ]);
          })
          .sort();
      expect(spans(hidden)).to.deep.equal(spans(real));
    });
  });
});
