import { Client, Connection } from '@temporalio/client';
import type { ScheduleHandle } from '@temporalio/client';
import { seesEverything } from '../support/everything.js';
import { admin, newParticipant, newStudy, unique } from '../support/http.js';
import { Http } from '../support/http.js';
import type { Answer, Loose } from '../support/http.js';
import { clearOfMidnight } from '../support/midnight.js';
import { service, until } from '../support/service.js';
import { readingSealed } from '../support/temporal.js';

/** The calendar date in UTC, `offset` days from today. */
export const day = (offset = 0): string => new Date(Date.now() + offset * 86_400_000).toISOString().slice(0, 10);
export const instant = (offsetMs = 0): string => new Date(Date.now() + offsetMs).toISOString();
export const HOUR = 3_600_000;
export const DAY_MS = 24 * HOUR;

export interface TrialGiven {
  task: string;
  trial_index: number;
  rt: number | null;
  correct: boolean | null;
  timestamp: string;
  data?: Record<string, unknown>;
}
export const trials = (task: string, count: number, fields: Partial<TrialGiven> = {}): TrialGiven[] =>
  Array.from({ length: count }, (_, i) => ({
    task,
    trial_index: i,
    rt: 300 + i,
    correct: i % 4 !== 0,
    timestamp: instant(-60_000 + i * 10),
    ...fields,
  }));

export interface Started {
  sessionId: string;
  expiresAt: string;
  visitId: string | null;
  batteryId: number | null;
  batteryVersion: number | null;
  warnings: { code: string }[];
}
export interface ItemView {
  kind: string;
  local_id: string | null;
  server_id: string | null;
  status: string;
  conflict_type?: string;
  resolution?: string;
  code?: string;
  message?: string;
}
export interface BulkView {
  results: ItemView[];
  created: number;
  duplicates: number;
  conflicts: number;
  rejected: number;
}

/** A study with a participant, and what tests do with sessions in it. */
export class Site {
  private constructor(
    readonly http: Http,
    readonly study: Loose,
    readonly participant: Loose,
  ) {}

  /**
   * Early enough on the day, so that `day` is the same until a test ends, here and where a day begins first and last.
   * @param by another caller than the shared service's admin
   */
  static async open(fields: Record<string, unknown> = {}, by?: Http): Promise<Site> {
    await clearOfMidnight('UTC', 'Pacific/Kiritimati', 'Pacific/Pago_Pago');
    const http = by ?? (await admin());
    const study = await newStudy(http, fields);
    return new Site(http, study, await newParticipant(http, study.id));
  }

  newParticipant(fields: Record<string, unknown> = {}): Promise<Loose> {
    return newParticipant(this.http, this.study.id, fields);
  }

  /** A visit by hand, open from `open` to `close` days from today: unless told else, a day that ends closes none. */
  visit(fields: Record<string, unknown> = {}, [open, close] = [0, 1]): Promise<Loose> {
    return this.http.expect(201, 'POST', '/api/schedules/visits', {
      participant_id: this.participant.id,
      name: 'A visit',
      target_date: day(open),
      window_open: day(open),
      window_close: day(close),
      ...fields,
    });
  }

  battery(
    modules: object[] = [{ task: 'stroop' }],
    fields: Record<string, unknown> = {},
  ): Promise<Loose & { id: never }> {
    return this.http.expect(201, 'POST', '/api/batteries', {
      study_id: this.study.id,
      code: unique('B'),
      name: 'A battery',
      modules,
      ...fields,
    });
  }

  start(fields: Record<string, unknown> = {}): Promise<Answer<Started & Loose>> {
    return this.http.post('/api/session/start', { participant_id: this.participant.id, language: 'en', ...fields });
  }

  async session(fields: Record<string, unknown> = {}): Promise<string> {
    const answer = await this.start(fields);
    if (answer.status !== 201) throw new Error(answer.text);
    return answer.body.sessionId;
  }

  /** Without a bearer token: the session id is the credential. */
  submit(sessionId: string, body: Record<string, unknown>, header = sessionId): Promise<Answer<Loose>> {
    return new Http(this.http.base).post(
      '/api/submit',
      { session_id: sessionId, raw_trials: [], ...body },
      { headers: header === '' ? {} : { 'X-Session-ID': header } },
    );
  }

  end(sessionId: string, header = sessionId): Promise<Answer<Loose>> {
    return new Http(this.http.base).post(
      '/api/session/end',
      { session_id: sessionId },
      { headers: header === '' ? {} : { 'X-Session-ID': header } },
    );
  }

  see(sessionId: string): Promise<Loose> {
    return this.http.expect(200, 'GET', `/api/sessions/${sessionId}`);
  }

  async trials(sessionId: string): Promise<TrialGiven[]> {
    return (await this.http.expect<{ items: TrialGiven[] }>(200, 'GET', `/api/sessions/${sessionId}/trials`)).items;
  }

  seeVisit(id: string): Promise<Loose> {
    return this.http.expect(200, 'GET', `/api/visits/${id}`);
  }

  bulk(body: { sessions?: unknown[]; responses?: unknown[] }): Promise<BulkView> {
    return this.http.expect(200, 'POST', '/api/sync/bulk', body);
  }

  /** An offline session item, an hour long, a day ago. */
  item(id: string, fields: Record<string, unknown> = {}): Record<string, unknown> {
    return {
      id,
      participantId: this.participant.id,
      studyId: this.study.id,
      status: 'completed',
      startedAt: instant(-DAY_MS).slice(0, 19) + 'Z',
      completedAt: instant(-DAY_MS + HOUR).slice(0, 19) + 'Z',
      syncStatus: 'pending',
      syncAttempts: 0,
      ...fields,
    };
  }

  conflicts(query = ''): Promise<Loose> {
    return this.http.expect(200, 'GET', `/api/studies/${this.study.id}/sync-conflicts${query}`);
  }
}

/** The time of a session that goes on is over now: nobody has to be quick, or to wait for it. */
export async function endTimeOf(sessionId: string): Promise<void> {
  const database = await seesEverything();
  try {
    await database.query(`update assessment_sessions set expires_at = clock_timestamp() where id = $1`, [sessionId]);
  } finally {
    await database.end();
  }
}

async function withSchedule<T>(id: string, work: (handle: ScheduleHandle) => Promise<T>): Promise<T> {
  const run = await service();
  const connection = await Connection.connect({ address: run.temporal });
  try {
    return await work(
      new Client({ connection, namespace: run.temporal_namespace, ...readingSealed(run) }).schedule.getHandle(id),
    );
  } finally {
    await connection.close();
  }
}

const ASK_AGAIN_MS = 5_000;
/** Runs a Temporal Schedule of the shared service now, and waits for what it does. */
export const runSchedule = <T>(id: string, look: () => Promise<T>, what: string): Promise<NonNullable<T>> =>
  withSchedule(id, (handle) => {
    let askedAt = -Infinity;
    return until(
      async () => {
        // A run that is under way may have looked already: ours comes after it. A run is named by its second: one that
        // is asked for in the second of another is left out, and is asked for again.
        if (performance.now() - askedAt > ASK_AGAIN_MS) {
          await handle.trigger('BUFFER_ONE');
          askedAt = performance.now();
        }
        return look();
      },
      { what },
    );
  });

/** Works while a Temporal Schedule of the shared service does nothing, neither by its time nor from before. */
export const withoutSchedule = <T>(id: string, work: () => Promise<T>): Promise<T> =>
  withSchedule(id, async (handle) => {
    await handle.pause('a test does this work itself');
    try {
      await until(
        async () => {
          const { info, raw } = await handle.describe();
          return info.runningActions.length === 0 && Number(raw.info?.bufferSize ?? 0) === 0;
        },
        { what: `the last run of ${id} to end` },
      );
      return await work();
    } finally {
      await handle.unpause();
    }
  });
