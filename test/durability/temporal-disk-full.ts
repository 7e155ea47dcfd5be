import { expect } from 'chai';
import { brokenInvariants } from '../anchor/invariants.js';
import { DAY, Stage } from '../anchor/stage.js';
import type { Cluster } from '../support/cluster.js';
import { newStudy } from '../support/http.js';
import type { Loose } from '../support/http.js';
import { asMuchAs } from '../support/in-full.js';
import type { SmallDisk } from '../support/small-disk.js';
import { until } from '../support/until.js';

/** What is left when the traffic begins: more takes more dates, until nothing is left all the same. */
const ROOM = asMuchAs(768, 1024) * 1024;
const CLIENTS = 8,
  REFUSALS = asMuchAs(8, 12),
  MOST = 1_500;
/** What a request that needs Temporal waits for its answer, and what it may take beside that on a busy machine. */
export const PATIENCE_SECONDS = 2;
const BESIDE_MS = 4_000;
const SIGNED = { status: 'signed', signed_at: '2024-03-01T09:00:00Z' };
const LONG = { timeout: 90_000, interval: 250 };

interface Refusal {
  id: string;
  status: number;
  again: string | null;
  text: string;
  ms: number;
}

/**
 * Tests of a Temporal server without room.
 * @param of a cluster whose Temporal server has its file on the disk, and whose requests wait PATIENCE_SECONDS
 */
export function temporalDiskIsFull(of: () => { disk: SmallDisk; cluster: Cluster }): void {
  let disk: SmallDisk, cluster: Cluster, stage: Stage;
  before(async () => {
    ({ disk, cluster } = of());
    stage = await Stage.open(cluster.run);
  });
  after(() => stage?.close());

  /**
   * Dates are entered and consents signed until many dates were refused. A consent needs no Temporal: it is taken as on
   * any day.
   */
  async function worked(path: string) {
    const dated: string[] = [],
      refused: Refusal[] = [],
      hurried: string[] = [];
    let n = 0;
    const plainly = async (status: number, method: string, at: string, body?: unknown) => {
      const began = performance.now();
      const answer = await stage.admin.expect<Loose>(status, method, at, body);
      if (performance.now() - began > BESIDE_MS)
        hurried.push(`${method} ${at} took ${Math.round(performance.now() - began)} ms`);
      return answer;
    };
    await Promise.all(
      Array.from({ length: CLIENTS }, async () => {
        while (refused.length < REFUSALS && n < MOST) {
          const { id } = await plainly(201, 'POST', path, { participant_code: `D-${(n += 1)}` });
          const began = performance.now(),
            answer = await dateOf(path, id),
            ms = performance.now() - began;
          if (answer.status === 200) dated.push(id);
          else {
            refused.push({
              id,
              status: answer.status,
              again: answer.headers.get('retry-after'),
              text: answer.text,
              ms,
            });
          }
          await plainly(201, 'POST', `${path}/${id}/consents`, SIGNED);
          await plainly(200, 'GET', `${path}/${id}/anchor-date`);
        }
      }),
    );
    expect(hurried, 'slow, though they need no Temporal').to.deep.equal([]);
    return { dated, refused };
  }
  const dateOf = (path: string, id: string) =>
    stage.admin.post<Loose>(
      `${path}/${id}/anchor-date`,
      { enrollment_date: DAY, reason: 'first visit' },
      { headers: { 'Idempotency-Key': `date-${id}` } },
    );
  const waiting = () => stage.sql<{ subject: string }>('select subject from outbox');

  for (const [what, again] of Object.entries({
    'there is room again': async () => disk.empty(),
    'it is started again where there is room': async () => {
      await cluster.member('temporal').kill();
      disk.empty();
      await cluster.member('temporal').start();
    },
  })) {
    it(`is told in time, as 503 with Retry-After, where Temporal is needed, and not felt elsewhere; when ${what}, all is delivered, once`, async () => {
      const { admin } = stage;
      const study = await newStudy(admin, {
        config: { enrollment_date_policy: { sources: [{ type: 'manual_entry', priority: 1, is_active: true }] } },
      });
      const path = `/api/studies/${study.id}/participants`;
      disk.fill(ROOM);
      expect(disk.room(), 'room').to.be.below(2 * ROOM);
      const { dated, refused } = await worked(path);
      expect(dated.length, 'some were taken').to.be.above(0);
      expect(refused.length, 'the disk was felt').to.be.at.least(REFUSALS);
      for (const { status, again: after, text, ms } of refused) {
        expect(status, text).to.equal(503);
        expect(Number(after), text).to.be.at.least(1);
        expect(text).to.not.match(/disk|space|sql|persistence/i);
        expect(ms, 'in time').to.be.below(PATIENCE_SECONDS * 1000 + BESIDE_MS);
      }
      await again();
      for (const { id } of refused)
        await until(async () => (await dateOf(path, id)).status === 200, {
          ...LONG,
          what: 'a date that was refused to be taken',
        });
      await until(async () => (await waiting()).length === 0, { ...LONG, what: 'the outbox to be empty' });
      await until(
        async () => {
          const open = await stage.sql(
            `select participant_id from anchor_dates where study_id = ? and status <> 'finalized'`,
            [study.id],
          );
          if (open.length > 0) throw new Error(`${open.length} of ${dated.length + refused.length} are not final`);
          return true;
        },
        { ...LONG, what: 'each date to be final' },
      );
      const history = await stage.sql<{ id: string; types: string[] }>(
        'select participant_id as id, array_agg(event_type order by seq) as types from anchor_date_history where study_id = ? group by participant_id',
        [study.id],
      );
      expect(history.map(({ id }) => id).sort(), 'nobody is lost').to.deep.equal(
        [...dated, ...refused.map(({ id }) => id)].sort(),
      );
      for (const { id, types } of history)
        expect(String(types), `${id}: nothing twice`).to.be.oneOf(['PROPOSED,FINALIZED', 'SET']);
      expect(await brokenInvariants(stage, study.id)).to.deep.equal([]);
      expect(
        (await admin.expect<{ valid: boolean }>(200, 'GET', `/api/audit/verify?study_id=${study.id}`)).valid,
      ).to.equal(true);
    });
  }
}
