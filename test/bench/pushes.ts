import { randomInt, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { startSimulator } from '../capture-simulator/server.js';
import type { Simulator } from '../capture-simulator/server.js';
import { startService } from '../support/service.js';
import type { Service } from '../support/service.js';
import type { Figure } from './figure.js';

const RESULTS = 500,
  AT_ONCE = 16;
/** At most so long for all of them, the outages included. */
const PATIENCE_SECONDS = 600;
const EVENT = 'baseline_arm_1',
  TODAY = () => new Date().toISOString().slice(0, 10);

/**
 * PUSH: results through a capture system that is down, flaps, answers web pages and drops answers after the write. Each
 * is to land exactly once, counted at the capture system; 1.00 is all of them.
 */
export async function pushFigures(): Promise<Figure[]> {
  const simulator = await startSimulator({ port: 0, projects: [] });
  const service = await startService({
    RATE_LIMIT_PER_MINUTE: '100000000',
    AUTH_RATE_LIMIT_PER_MINUTE: '100000000',
    DATACAPTURE_BREAKER_COOLDOWN_SECONDS: '2',
    PUSH_RETRY_INITIAL_SECONDS: '0.5',
    DATACAPTURE_PUSHES_PER_MINUTE: '6000',
  });
  try {
    const study = await Study.open(service, simulator);
    // Down, while the first tenth comes in.
    simulator.control.setFaults({ status: 503 });
    const records = await study.results(RESULTS / 10);
    // Up and away again, and in every way wrong.
    const ways = [
      { status: 503 },
      { html: true },
      { drop: 'before' as const },
      { drop: 'after' as const },
      { html: true, after_write: true },
      { truncate_json: true },
    ];
    simulator.control.setFaults(ways.map((way, i) => ({ ...way, content: ['record:import'], skip: i, every: 12 })));
    records.push(...(await study.results(RESULTS - records.length)));
    const flaps = setInterval(() => {
      simulator.control.setFaults(simulator.control.faults().length > 0 ? [] : { status: 503 });
    }, 5_000);
    let synced = 0;
    try {
      for (
        const deadline = performance.now() + PATIENCE_SECONDS * 1_000;
        synced < RESULTS && performance.now() < deadline;
        await sleep(500)
      ) {
        const { pushes } = await study.call<{ pushes: { pending: number; synced: number; failed: number } }>(
          'GET',
          `/api/datacapture/status/${study.id}`,
        );
        if (pushes.pending + pushes.synced + pushes.failed !== RESULTS)
          throw new Error(`the status told of ${JSON.stringify(pushes)}, of ${RESULTS} results`);
        synced = pushes.synced;
        if (arrived(simulator, study).size < synced)
          throw new Error('more results were called synced than had arrived');
      }
    } finally {
      clearInterval(flaps);
    }
    const landed = new Map<string, number>();
    for (const { record, changed, via } of simulator.control.writes(study.projectId))
      if (changed && via !== 'load') landed.set(record, (landed.get(record) ?? 0) + 1);
    const once = records.filter((record) => landed.get(record) === 1).length;
    return [
      {
        name: 'PUSH',
        what: `${RESULTS} results through a capture system that is down, flaps, answers web pages and drops answers: landed exactly once`,
        ratio: once / RESULTS,
        goal: { is: '>=', value: 1 },
        ours: once,
        baseline: RESULTS,
        unit: 'results',
      },
    ];
  } finally {
    await service.stop();
    await simulator.stop();
  }
}

/** The records that results were written to. */
const arrived = (simulator: Simulator, { projectId }: Study): Set<string> =>
  new Set(
    simulator.control
      .writes(projectId)
      .filter(({ via }) => via !== 'load')
      .map(({ record }) => record),
  );

/** An integrated study whose participants come with a session each. */
class Study {
  private constructor(
    private readonly base: string,
    private readonly token: string,
    readonly id: string,
    readonly projectId: number,
    private readonly simulator: Simulator,
  ) {}

  static async open(service: Service, simulator: Simulator): Promise<Study> {
    const { api, admin_email, admin_password } = service.run;
    const login = new Study(api, '', '', 0, simulator);
    const { tokens } = await login.call<{ tokens: { access_token: string } }>('POST', '/api/auth/login', {
      email: admin_email,
      password: admin_password,
    });
    const projectId = randomInt(100_000, 2_000_000_000),
      token = randomUUID().replaceAll('-', '').toUpperCase();
    simulator.control.addProject({
      project: {
        project_id: projectId,
        title: 'Bench',
        arms: [{ arm_num: 1, name: 'Arm 1' }],
        events: [
          { event_name: 'Baseline', day_offset: 0, offset_min: 0, offset_max: 7, forms: ['enroll', 'cognition'] },
        ],
        instruments: [
          { name: 'enroll', label: 'Enrollment' },
          { name: 'cognition', label: 'Cognition' },
        ],
        users: [{ username: 'api', token }],
      },
      dictionary:
        'field_name,form_name,field_type,field_label,text_validation_type_or_show_slider_number\nsubject_id,enroll,text,Subject,\nmean_rt,cognition,text,Mean,number_1dp',
      data: '',
    });
    const admin = new Study(api, tokens.access_token, '', projectId, simulator);
    const { id } = await admin.call<{ id: string }>('POST', '/api/studies', {
      study_code: `BENCH-${randomUUID().slice(0, 8)}`,
      study_name: 'Bench',
      datacapture_enabled: true,
      integration_mode: 'datacapture',
      consent_mode: 'external',
    });
    await admin.call('PATCH', `/api/datacapture/config/${id}`, {
      api_url: simulator.apiUrl,
      api_token: token,
      poll_interval_minutes: 0,
      data_field_mapping: { stroop: { datacapture_instrument: 'cognition', fields: { mean_rt: 'mean_rt' } } },
    });
    return new Study(api, tokens.access_token, id, projectId, simulator);
  }

  async call<T>(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<T> {
    const response = await fetch(`${this.base}${path}`, {
      method,
      headers: {
        'content-type': 'application/json',
        ...(this.token && { authorization: `Bearer ${this.token}` }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text.slice(0, 500)}`);
    return JSON.parse(text) as T;
  }

  /** Participants with a finished session each. @returns their records */
  async results(count: number): Promise<string[]> {
    const records = Array.from({ length: count }, () => `R-${randomUUID()}`);
    const queue = [...records];
    await Promise.all(
      Array.from({ length: AT_ONCE }, async () => {
        for (let record = queue.shift(); record !== undefined; record = queue.shift()) await this.result(record);
      }),
    );
    return records;
  }

  private async result(record: string): Promise<void> {
    this.simulator.control.load(this.projectId, [{ subject_id: record, redcap_event_name: 'baseline_arm_1' }]);
    const day = TODAY();
    const person = await this.call<{ id: string }>('POST', `/api/studies/${this.id}/participants`, {
      participant_code: record,
      external_id: record,
    });
    const visit = await this.call<{ id: string }>('POST', '/api/schedules/visits', {
      participant_id: person.id,
      name: 'Baseline',
      target_date: day,
      window_open: day,
      window_close: day,
      datacapture_event: EVENT,
    });
    const { sessionId } = await this.call<{ sessionId: string }>('POST', '/api/session/start', {
      participant_id: person.id,
      language: 'en',
      visit_id: visit.id,
    });
    const headers = { 'x-session-id': sessionId };
    await this.call(
      'POST',
      '/api/submit',
      { session_id: sessionId, task_summaries: { stroop: { mean_rt: 300 + Math.random() * 300 } }, raw_trials: [] },
      headers,
    );
    await this.call('POST', '/api/session/end', { session_id: sessionId }, headers);
  }
}
