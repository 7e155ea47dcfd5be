import { trials } from '../assessment/stage.js';
import { dayIn } from '../notifications/stage.js';
import { addDays } from '../../workflows/domain/util/dates.js';
import type { Loose } from '../support/http.js';
import { Random } from '../support/random.js';
import { until } from '../support/until.js';
import { CarefulClient } from './client.js';
import type { Call } from './client.js';
import type { Ledger } from './ledger.js';
import { EVENT } from './setting.js';
import type { Setting } from './setting.js';

const FIRST_DAY = '2024-03-10',
  SIGNED = '2024-03-01T09:00:00Z';
const LONG = { timeout: 240_000, interval: 300 };

/**
 * Participants as their staff, their devices and their capture system handle them; what is acknowledged goes into the
 * ledger.
 */
export class Lives {
  readonly client: CarefulClient;
  constructor(
    private readonly setting: Setting,
    private readonly ledger: Ledger,
    private readonly seed: number,
  ) {
    this.client = new CarefulClient(setting.cluster.run.api);
  }

  /** Leads participant number `n` through its life. */
  async lead(n: number): Promise<void> {
    const random = new Random(this.seed * 100_003 + n);
    if (n % 3 === 2) await this.captured(n, random);
    else await this.byHand(n, random, n % 4 === 1);
  }

  private call(n: number, what: string, by = this.setting.admin): Call {
    return { token: by.token!, key: `${this.seed}-${n}-${what}` };
  }
  private post<T = Loose>(path: string, body: unknown, fine: number[], call: Call) {
    return this.client.insist<T>('POST', path, body, fine, call);
  }

  private async byHand(n: number, random: Random, approved: boolean): Promise<void> {
    const { ledger, setting } = this,
      study = setting.studies[approved ? 'approved' : 'hand'];
    const code = `H-${n}`,
      email = `h-${this.seed}-${n}@example.org`;
    const {
      body: { id },
    } = await this.post(
      `/api/studies/${study}/participants`,
      { participant_code: code, email },
      [201],
      this.call(n, 'participant'),
    );
    ledger.participants.push({ study, id, code });
    const path = `/api/studies/${study}/participants/${id}`;
    const anchor = {
      participant: id,
      date: addDays(FIRST_DAY, random.whole(0, 20)),
      overridden: false,
      requested: approved,
    };
    await this.post(
      `${path}/anchor-date`,
      { enrollment_date: anchor.date, reason: 'first visit' },
      [200],
      this.call(n, 'anchor'),
    );
    ledger.anchors.push(anchor);
    const { body: consent } = await this.post(
      `${path}/consents`,
      { status: 'signed', signed_at: SIGNED },
      [201],
      this.call(n, 'consent'),
    );
    ledger.consents.push({ participant: id, id: consent.id });
    if (random.chance(0.7)) await this.override(n, path, anchor, approved, random);
    if (!approved) await this.remindedVisit(n, id, email);
    await this.offline(n, id, study, random);
  }

  private async override(
    n: number,
    path: string,
    anchor: Ledger['anchors'][number],
    approved: boolean,
    random: Random,
  ): Promise<void> {
    const { admin, researcher } = this.setting;
    await until(
      async () =>
        (await this.client.once<Loose>('GET', `${path}/anchor-date`, undefined, { token: admin.token! }))?.body
          .status === 'finalized',
      { ...LONG, what: `the anchor of ${n} to be final` },
    );
    const date = addDays(anchor.date, random.whole(1, 9));
    const body = { new_enrollment_date: date, reason: 'the form was misread' };
    if (approved) {
      const {
        body: { override_request_id },
      } = await this.post<{ override_request_id: string }>(
        `${path}/anchor-date/override`,
        body,
        [202],
        this.call(n, 'override', researcher),
      );
      await this.post(
        `${path}/anchor-date/override-requests/${override_request_id}/approve`,
        { reason: 'seen' },
        [200],
        this.call(n, 'approve'),
      );
    } else {
      await this.post(`${path}/anchor-date/override`, body, [200], this.call(n, 'override'));
    }
    Object.assign(anchor, { date, overridden: true });
  }

  /** A visit of tomorrow, whose reminder is due. */
  private async remindedVisit(n: number, participant: string, email: string): Promise<void> {
    const day = dayIn(this.setting.zone, 1);
    const {
      body: { id },
    } = await this.post(
      '/api/schedules/visits',
      { participant_id: participant, name: 'A visit', target_date: day, window_open: day, window_close: day },
      [201],
      this.call(n, 'visit'),
    );
    this.ledger.visits.push({ participant, id, email });
  }

  /** A session that a device kept while it was off line: no key, the items' own ids make it happen once. */
  private async offline(n: number, participant: string, study: string, random: Random): Promise<void> {
    const count = random.whole(1, 40),
      summaries = { stroop: { accuracy: count / 100 } };
    const session = {
      id: `s-${n}`,
      participantId: participant,
      studyId: study,
      status: 'completed',
      startedAt: '2024-05-01T10:00:00Z',
      completedAt: '2024-05-01T11:00:00Z',
      syncStatus: 'pending',
      syncAttempts: 0,
      deviceId: `d-${n}`,
    };
    const bulk = {
      sessions: [session],
      responses: [
        {
          id: `r-${n}`,
          sessionId: session.id,
          task: 'stroop',
          summary: summaries.stroop,
          trials: trials('stroop', count, { timestamp: session.startedAt }),
        },
      ],
    };
    const { body } = await this.post<{ results: { status: string; server_id: string }[] }>(
      '/api/sync/bulk',
      bulk,
      [200],
      { token: this.setting.admin.token! },
    );
    const [first, second] = body.results;
    if (![first, second].every((item) => item && ['created', 'duplicate'].includes(item.status)))
      throw new Error(`the bulk of ${n} was not taken: ${JSON.stringify(body.results)}`);
    this.ledger.sessions.push({
      participant,
      id: first!.server_id,
      visit: null,
      trials: count,
      summaries,
      offline: true,
    });
  }

  /** Enrolled in the capture system, tested on line, its results pushed back. */
  private async captured(n: number, random: Random): Promise<void> {
    const {
        ledger,
        setting: {
          admin,
          studies: { capture },
        },
      } = this,
      token = admin.token!;
    const record = `R-${n}`,
      today = new Date().toISOString().slice(0, 10);
    const { body, headers } = await this.setting.saved(record, today);
    await this.post('/api/webhooks/datacapture/det', undefined, [200], {
      raw: { type: 'application/x-www-form-urlencoded', content: body },
      headers,
    });
    ledger.triggers.push({ record, date: today });
    const participant = await until(
      async () => {
        const found = await this.client.once<{ items: { id: string; external_id: string }[] }>(
          'GET',
          `/api/studies/${capture}/participants?search=${record}&limit=500`,
          undefined,
          { token },
        );
        return found?.body.items?.find(({ external_id }) => external_id === record)?.id;
      },
      { ...LONG, what: `the participant of ${record}` },
    );
    const visit = await until(
      async () => {
        const found = await this.client.once<{ items: { id: string; datacapture_event: string }[] }>(
          'GET',
          `/api/schedules/visits?participant_id=${participant}&limit=50`,
          undefined,
          { token, headers: { 'X-Study-ID': capture } },
        );
        return found?.body.items?.find(({ datacapture_event }) => datacapture_event === EVENT)?.id;
      },
      { ...LONG, what: `the visit of ${record}` },
    );
    // A repeated trigger must be read before the results change the record: afterwards it is no repetition any more.
    await until(
      async () => {
        const found = await this.client.once<{ items: { status: string }[] }>(
          'GET',
          `/api/studies/${capture}/webhook-events?record=${record}&limit=500`,
          undefined,
          { token },
        );
        const all = found?.body.items ?? [];
        return all.length > 0 && all.every(({ status }) => status !== 'received' && status !== 'processing');
      },
      { ...LONG, what: `the triggers of ${record} to be worked off` },
    );
    const count = random.whole(1, 60),
      summaries = { stroop: { mean_rt: 300 + (n % 500), total_trials: count } };
    const {
      body: { sessionId },
    } = await this.post<{ sessionId: string }>(
      '/api/session/start',
      { participant_id: participant, language: 'en', visit_id: visit },
      [201],
      this.call(n, 'session'),
    );
    const device = { headers: { 'X-Session-ID': sessionId } };
    await this.post(
      '/api/submit',
      { session_id: sessionId, task_summaries: summaries, raw_trials: trials('stroop', count) },
      [200],
      device,
    );
    await this.post('/api/session/end', { session_id: sessionId }, [200], device);
    ledger.sessions.push({ participant, id: sessionId, visit, trials: count, summaries, offline: false });
    ledger.pushes.push({
      session: sessionId,
      record,
      values: { mean_rt: String(summaries.stroop.mean_rt), trials: String(count), cognition_complete: '2' },
    });
  }
}
