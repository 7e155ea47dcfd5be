import { randomBytes } from 'node:crypto';
import { expect } from 'chai';
import { trials } from '../assessment/stage.js';
import { Cluster } from '../support/cluster.js';
import { login, newParticipant, newStudy } from '../support/http.js';
import type { Http, Loose } from '../support/http.js';
import { SmallDisk } from '../support/small-disk.js';
import { until } from '../support/until.js';
import { PATIENCE_SECONDS, temporalDiskIsFull } from './temporal-disk-full.js';

/** What is left when the traffic begins. */
const ROOM = 4 * 1024 * 1024;

describe('A full disk', function () {
  this.timeout(300_000);
  const disks: SmallDisk[] = [];
  let cluster: Cluster, http: Http;
  before(async function () {
    for (const size of ['320m', '64m']) {
      const disk = SmallDisk.mount(size);
      if (!disk) return this.skip();
      disks.push(disk);
    }
    const [postgres, temporal] = disks;
    cluster = await Cluster.start({
      postgresAt: postgres!.path,
      temporalAt: temporal!.path,
      settings: { REQUEST_TIMEOUT_SECONDS: String(PATIENCE_SECONDS) },
    });
    ({ http } = await login(cluster.run.api, cluster.run.admin_email, cluster.run.admin_password ?? ''));
  });
  after(async () => {
    await cluster?.stop();
    for (const disk of disks) disk.unmount();
  });

  // First: what is written before uses up the room of the file that PostgreSQL writes to.
  describe('The disk of PostgreSQL is full', () => {
    it('is told as 503 with Retry-After, never as a fault; when there is room again the service goes on with all that it had acknowledged', async () => {
      const study = await newStudy(http);
      const person = await newParticipant(http, study.id);
      const disk = disks[0]!;
      disk.fill(ROOM);
      expect(disk.room(), 'room').to.be.below(2 * ROOM);

      const kept: { session: string; trials: number }[] = [],
        refused: { status: number; again: string | null; text: string }[] = [];
      for (let n = 0; n < 400 && refused.length < 10; n += 1) {
        const started = await http.post<Loose & { sessionId: string }>('/api/session/start', {
          participant_id: person.id,
          language: 'en',
        });
        if (started.status !== 201) {
          refused.push({ status: started.status, again: started.headers.get('retry-after'), text: started.text });
          continue;
        }
        const session = started.body.sessionId;
        const answer = await http.post(
          '/api/submit',
          { session_id: session, task_summaries: { stroop: { accuracy: 1 } }, raw_trials: noted(2_000) },
          { headers: { 'X-Session-ID': session } },
        );
        if (answer.status === 200) kept.push({ session, trials: 2_000 });
        else refused.push({ status: answer.status, again: answer.headers.get('retry-after'), text: answer.text });
      }
      expect(kept.length, 'some were taken').to.be.above(0);
      expect(refused.length, 'the disk was felt').to.be.above(0);
      for (const { status, again, text } of refused) {
        expect(status, text).to.equal(503);
        expect(Number(again), text).to.be.at.least(1);
        expect(text).to.not.match(/space|disk|pg_|relation/i);
      }

      disk.empty();
      await until(
        async () =>
          (
            await http.post(
              `/api/studies/${study.id}/participants`,
              { participant_code: 'AFTER' },
              { headers: { 'Idempotency-Key': 'after' } },
            )
          ).status === 201,
        { timeout: 90_000, interval: 250, what: 'the service to take something again' },
      );
      for (const { session, trials: count } of kept)
        expect((await http.get(`/api/sessions/${session}`)).body.trial_count, session).to.equal(count);
      expect(
        (await http.expect<{ valid: boolean }>(200, 'GET', `/api/audit/verify?study_id=${study.id}`)).valid,
      ).to.equal(true);
    });
  });

  describe('The disk of the Temporal server is full', () => temporalDiskIsFull(() => ({ disk: disks[1]!, cluster })));
});

/** Trials with something that does not compress. */
const noted = (count: number) =>
  trials('stroop', count).map((trial) => ({ ...trial, data: { note: randomBytes(100).toString('base64') } }));
