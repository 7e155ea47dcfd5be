import { setTimeout as sleep } from 'node:timers/promises';
import { trials } from '../assessment/stage.js';
import { Cluster } from '../support/cluster.js';
import { login } from '../support/http.js';
import type { Http, Loose } from '../support/http.js';
import { Random } from '../support/random.js';
import { CarefulClient } from './client.js';
import { SETTINGS } from './setting.js';

/** A fact that was acknowledged: `read` answers what does not hold of it any more. */
interface Fact {
  what: string;
  read: () => Promise<string | undefined>;
}
export interface KillReport {
  kills: { api: number; postgres: number };
  faults: string[];
}

/**
 * Facts of every kind, each acknowledged, then API or PostgreSQL killed by SIGKILL before anything is read. What was
 * acknowledged must be read back then, and all of it at the end.
 * @param options cluster: one with the SETTINGS of `setting.ts` that runs already; otherwise one of its own
 */
export async function killRun({
  seed,
  kills,
  say,
  cluster: running,
}: {
  seed: number;
  kills: number;
  say: (line: string) => void;
  cluster?: Cluster;
}): Promise<KillReport> {
  const cluster = running ?? (await Cluster.start({ settings: SETTINGS, say }));
  const random = new Random(seed),
    report: KillReport = { kills: { api: 0, postgres: 0 }, faults: [] };
  try {
    const { http } = await login(cluster.run.api, cluster.run.admin_email, cluster.run.admin_password ?? '');
    const maker = await Maker.open(http, seed);
    const facts: Fact[] = [];
    for (let n = 0; n < kills; n += 1) {
      const victim = random.oneOf(['api', 'postgres'] as const);
      const strike = () => cluster.member(victim === 'api' ? 'api1' : 'postgres').kill();
      const fact = random.oneOf(maker.kinds);
      // The blow falls at once after the acknowledgement, or in the middle of the request, which is then repeated.
      const during = random.chance(0.4);
      const early = during ? sleep(random.between(0, 30)).then(strike) : undefined;
      const back = early?.then(() => cluster.member(victim === 'api' ? 'api1' : 'postgres').start());
      const made = await fact(n);
      await early;
      if (!during) await strike();
      await (back ?? cluster.member(victim === 'api' ? 'api1' : 'postgres').start());
      report.kills[victim] += 1;
      facts.push(made);
      const lost = await made.read();
      say(`${n + 1} ${victim} killed ${during ? 'during' : 'after'} ${made.what}: ${lost ?? 'there'}`);
      if (lost !== undefined) report.faults.push(`kill ${n + 1} (${victim}): ${lost}`);
    }
    for (const fact of facts) {
      const lost = await fact.read();
      if (lost !== undefined) report.faults.push(`at the end: ${lost}`);
    }
    const verdict = await http.expect<{ valid: boolean }>(200, 'GET', '/api/audit/verify');
    if (!verdict.valid) report.faults.push(`the audit does not verify: ${JSON.stringify(verdict).slice(0, 300)}`);
    report.faults.push(...maker.client.offences.map(({ what, status, text }) => `${what} answered ${status}: ${text}`));
    return report;
  } finally {
    if (!running) await cluster.stop();
  }
}

/** Makes facts as a careful client does. */
class Maker {
  readonly client: CarefulClient;
  private constructor(
    private readonly http: Http,
    private readonly study: string,
    private readonly seed: number,
  ) {
    this.client = new CarefulClient(http.base);
  }

  static async open(http: Http, seed: number): Promise<Maker> {
    const { id } = await http.expect<Loose>(201, 'POST', '/api/studies', {
      study_code: `KILL-${seed}`,
      study_name: 'Kills',
      config: {
        enrollment_date_policy: {
          sources: [{ type: 'manual_entry', priority: 1, is_active: true }],
          prerequisites: { require_consent_signed: false },
        },
      },
    });
    return new Maker(http, id, seed);
  }

  readonly kinds = [
    (n: number) => this.enrolled(n),
    (n: number) => this.dated(n),
    (n: number) => this.online(n),
    (n: number) => this.offline(n),
  ];

  private post<T = Loose>(path: string, body: unknown, fine: number[], n: number, what: string) {
    return this.client.insist<T>('POST', path, body, fine, {
      token: this.http.token!,
      key: `${this.seed}-${n}-${what}`,
    });
  }
  private async get<T = Loose>(path: string): Promise<T> {
    return (await this.client.insist<T>('GET', path, undefined, [200, 404], { token: this.http.token! })).body;
  }
  private async participant(n: number): Promise<string> {
    return (
      await this.post(
        `/api/studies/${this.study}/participants`,
        { participant_code: `K-${n}` },
        [201],
        n,
        'participant',
      )
    ).body.id;
  }

  private async enrolled(n: number): Promise<Fact> {
    const id = await this.participant(n);
    return {
      what: 'an enrollment',
      read: async () => {
        const { items } = await this.get(`/api/studies/${this.study}/participants?search=K-${n}&limit=500`);
        const found = items.filter((p) => p.participant_code === `K-${n}`);
        return found.length === 1 && found[0]!.id === id
          ? undefined
          : `participant K-${n} is there ${found.length} times`;
      },
    };
  }

  private async dated(n: number): Promise<Fact> {
    const id = await this.participant(n),
      path = `/api/studies/${this.study}/participants/${id}/anchor-date`,
      date = `2024-03-${String(1 + (n % 28)).padStart(2, '0')}`;
    await this.post(path, { enrollment_date: date, reason: 'first visit' }, [200], n, 'date');
    return {
      what: 'an anchor date',
      read: async () => {
        const [anchor, history] = [await this.get(path), await this.get<Loose[]>(`${path}/history`)];
        return anchor.enrollment_date === date && anchor.status === 'finalized' && history.length === 1
          ? undefined
          : `the anchor of K-${n} is ${JSON.stringify(anchor)} with ${history.length} entries`;
      },
    };
  }

  private async online(n: number): Promise<Fact> {
    // A day that ends while something is away closes no visit.
    const id = await this.participant(n),
      [today, tomorrow] = [0, 1].map((days) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10));
    const visit = await this.post(
      '/api/schedules/visits',
      { participant_id: id, name: 'A visit', target_date: today, window_open: today, window_close: tomorrow },
      [201],
      n,
      'visit',
    );
    const {
      body: { sessionId },
    } = await this.post<{ sessionId: string }>(
      '/api/session/start',
      { participant_id: id, language: 'en', visit_id: visit.body.id },
      [201],
      n,
      'session',
    );
    const headers = { headers: { 'X-Session-ID': sessionId } },
      summaries = { stroop: { accuracy: (1 + (n % 60)) / 100 } };
    await this.client.insist(
      'POST',
      '/api/submit',
      { session_id: sessionId, task_summaries: summaries, raw_trials: trials('stroop', 1 + (n % 60)) },
      [200],
      headers,
    );
    await this.client.insist('POST', '/api/session/end', { session_id: sessionId }, [200], headers);
    return this.session('a session', sessionId, summaries, 1 + (n % 60), visit.body.id);
  }

  private async offline(n: number): Promise<Fact> {
    const participant = await this.participant(n),
      summaries = { stroop: { accuracy: (1 + (n % 60)) / 100 } };
    const item = {
      id: `s-${n}`,
      participantId: participant,
      studyId: this.study,
      status: 'completed',
      startedAt: '2024-05-01T10:00:00Z',
      completedAt: '2024-05-01T11:00:00Z',
      syncStatus: 'pending',
      syncAttempts: 0,
    };
    const bulk = {
      sessions: [item],
      responses: [
        {
          id: `r-${n}`,
          sessionId: item.id,
          task: 'stroop',
          summary: summaries.stroop,
          trials: trials('stroop', 1 + (n % 60), { timestamp: item.startedAt }),
        },
      ],
    };
    const { body } = await this.client.insist<{ results: { status: string; server_id: string }[] }>(
      'POST',
      '/api/sync/bulk',
      bulk,
      [200],
      { token: this.http.token! },
    );
    return this.session('an offline sync', body.results[0]!.server_id, summaries, 1 + (n % 60));
  }

  private session(what: string, id: string, summaries: object, count: number, visit?: string): Fact {
    return {
      what,
      read: async () => {
        const session = await this.get(`/api/sessions/${id}`),
          kept = await this.get(`/api/sessions/${id}/trials`);
        const told = visit === undefined ? undefined : await this.get(`/api/visits/${visit}`);
        const whole =
          session.status === 'completed' &&
          session.trial_count === count &&
          JSON.stringify(session.task_summaries) === JSON.stringify(summaries) &&
          kept.items?.length === count;
        const visited = told === undefined || (told.status === 'completed' && told.session_id === id);
        return whole && visited
          ? undefined
          : `session ${id} is ${JSON.stringify(session).slice(0, 300)} with ${kept.items?.length} of ${count} trials; its visit ${told?.status}`;
      },
    };
  }
}
