import { createHmac, randomInt, randomUUID } from 'node:crypto';
import { openDatabase } from '../../db/client/knex.js';
import { withStudyScope } from '../../db/client/transaction.js';
import { startSimulator } from '../capture-simulator/server.js';
import type { Simulator } from '../capture-simulator/server.js';
import { holdAgainstContract } from '../support/contract.js';
import { beginning, collect } from '../support/examples.js';
import { ask } from '../support/request.js';
import { service, until } from '../support/service.js';
import type { RunJson } from '../support/service.js';
import { CONFIG, DICTIONARY, EVENTS, projectFile } from './usual-project.js';
import type { Database } from '../../db/client/database.js';
export interface Reply<T = Record<string, unknown>> {
  status: number;
  body: T;
  headers: Headers;
}
export interface EventView {
  id: string;
  record: string;
  instrument: string;
  status: string;
  outcome: string | null;
  error: string | null;
  duplicate_of_id: string | null;
  participant_id: string | null;
  attempt: number;
  warnings: { code: string; message: string }[];
}
export interface ParticipantRow {
  id: string;
  participant_code: string;
  external_id: string;
  status: string;
  site_id: string | null;
  enrollment_date: string | null;
  email: string | null;
  preferred_language: string | null;
  date_of_birth: string | null;
  arm: string | null;
  timezone: string | null;
}

/** The service, a simulator of its own for the test file, and the database as the system itself sees it. */
export class Stage {
  private constructor(
    readonly run: RunJson,
    readonly simulator: Simulator,
    readonly database: Database,
    readonly token: string,
    readonly polls: boolean,
  ) {}

  /** @param polls false: no schedule is made for each study, which nobody waits for */
  static async set({ polls = true } = {}): Promise<Stage> {
    return Stage.on(await service(), { polls });
  }

  /** On a service that the test has started for itself. */
  static async on(run: RunJson, { polls = true } = {}): Promise<Stage> {
    const simulator = await startSimulator({ projects: [] });
    const admin = await login(run, run.admin_email, run.admin_password ?? '');
    const database = openDatabase({ url: run.database_url, name: 'capture-tests', poolMax: 3 });
    return new Stage(run, simulator, database, admin, polls);
  }

  async clear(): Promise<void> {
    await this.simulator.stop();
    await this.database.destroy();
  }

  call<T = Record<string, unknown>>(
    method: string,
    path: string,
    body?: unknown,
    token = this.token,
  ): Promise<Reply<T>> {
    return call(this.run, method, path, body, token);
  }

  /** A user of a role in some studies; answers the access token. */
  async user(
    role: string,
    studyIds: string[],
  ): Promise<{ id: string; email: string; password: string; token: string }> {
    const email = `${role}-${randomUUID()}@example.org`,
      password = `long enough ${randomUUID()}`;
    const { status, body } = await this.call<{ id: string }>('POST', '/api/auth/register', {
      email,
      name: role,
      password,
      role,
      study_ids: studyIds,
    });
    if (status !== 201) throw new Error(`the user was not made: ${status} ${JSON.stringify(body)}`);
    return { id: body.id, email, password, token: await login(this.run, email, password) };
  }

  /** Rows of the whole database, for what no endpoint shows. */
  sql<T>(statement: string, values: unknown[] = []): Promise<T[]> {
    return withStudyScope(this.database, '*', async ({ tx }) => (await tx.raw(statement, values as never)).rows as T[]);
  }

  /** What the mail catcher has for an address. */
  async mailsTo(address: string): Promise<{ subject: string; text: string; html?: string }[]> {
    const found = await fetch(`${this.run.mail_ui}/email?to.address=${encodeURIComponent(address)}`);
    return (await found.json()) as { subject: string; text: string; html?: string }[];
  }

  /** A study with a capture system of its own, connected and tested. */
  async study(
    options: {
      config?: Record<string, unknown>;
      project?: Record<string, unknown>;
      dictionary?: string;
      study?: Record<string, unknown>;
      connect?: boolean;
    } = {},
  ): Promise<CaptureStudy> {
    const projectId = randomInt(100_000, 2_000_000_000);
    const token = randomUUID().replaceAll('-', '').toUpperCase();
    this.simulator.control.addProject({
      project: { ...projectFile(projectId, token), ...options.project },
      dictionary: options.dictionary ?? DICTIONARY,
      data: '',
    });
    const made = await this.call<{ id: string }>('POST', '/api/studies', {
      study_code: `CAP-${randomUUID().slice(0, 8)}`,
      study_name: 'Capture',
      datacapture_enabled: true,
      integration_mode: 'datacapture',
      consent_mode: 'external',
      timezone: 'Europe/Berlin',
      start_date: '2020-01-01',
      ...options.study,
    });
    if (made.status !== 201) throw new Error(`the study was not made: ${made.status} ${JSON.stringify(made.body)}`);
    const battery = await this.call<{ id: number }>('POST', '/api/batteries', {
      study_id: made.body.id,
      code: 'VISITS',
      name: 'What each visit asks for',
      modules: [{ task: 'stroop' }],
    });
    if (battery.status !== 201) throw new Error(`the battery was not made: ${battery.status}`);
    const study = new CaptureStudy(this, made.body.id, String(projectId), token, battery.body.id);
    if (options.connect !== false) await study.connect(options.config);
    return study;
  }
}

/** One study, its project in the simulator, and its triggers. */
export class CaptureStudy {
  readonly secret = `s-${randomUUID()}`;
  constructor(
    readonly stage: Stage,
    readonly id: string,
    readonly projectId: string,
    readonly token: string,
    /** The study's battery. */
    readonly battery: number,
  ) {}

  /** An event mapping of the study's battery. */
  mapped(events: Record<string, object>): Record<string, object> {
    return Object.fromEntries(
      Object.entries(events).map(([event, days]) => [event, { battery_id: this.battery, ...days }]),
    );
  }

  async connect(config: Record<string, unknown> = {}): Promise<void> {
    const saved = await this.configure({
      ...CONFIG,
      event_battery_mapping: this.mapped(EVENTS),
      api_url: this.stage.simulator.apiUrl,
      api_token: this.token,
      webhook_secret: this.secret,
      webhook_enabled: true,
      ...(!this.stage.polls && { poll_interval_minutes: 0 }),
      ...config,
    });
    if (saved.status !== 201)
      throw new Error(`the configuration was not saved: ${saved.status} ${JSON.stringify(saved.body)}`);
    // Where a worker has just asked the capture system, what its test of the connection stores is written as well.
    if (JSON.stringify(saved.body).includes('MAPPING_NOT_CHECKED')) await this.test();
    else
      await this.stage.sql(
        `update datacapture_configs set project_id = ?, sync_status = 'active', sync_error_message = null where study_id = ?`,
        [this.projectId, this.id],
      );
    this.stage.simulator.control.setTrigger(Number(this.projectId), {
      url: `${this.stage.run.api}/api/webhooks/datacapture/det`,
      secret: this.secret,
      signing: 'header',
      prefix: 'redcap_',
    });
  }

  /** Has a worker test the connection. */
  async test(): Promise<void> {
    // 503: come again, as any client would; only what is tested here must answer at once.
    const tested = await until(
      async () => {
        const reply = await this.stage.call('POST', `/api/datacapture/config/${this.id}/test-connection`);
        return reply.status === 503 ? undefined : reply;
      },
      { timeout: 90_000, what: 'a worker to test the connection' },
    );
    if (tested.status !== 200)
      throw new Error(`the connection does not work: ${tested.status} ${JSON.stringify(tested.body)}`);
  }

  configure(change: Record<string, unknown>, query = ''): Promise<Reply> {
    return this.stage.call('PATCH', `/api/datacapture/config/${this.id}${query}`, change);
  }

  /** Saves the enrollment form in the capture system, which sends its trigger. */
  async enroll(
    record: string,
    values: Record<string, string>,
    more: { instrument?: string; event?: string; trigger?: boolean; data_access_group?: string } = {},
  ): Promise<void> {
    await this.stage.simulator.control.saveForm(Number(this.projectId), {
      record,
      instrument: 'enroll',
      event: 'baseline_arm_1',
      values,
      ...more,
    });
  }

  /** A trigger with these form fields, signed with the study's secret unless told otherwise. */
  async trigger(
    fields: Record<string, string>,
    sign: { secret?: string; headers?: Record<string, string>; query?: string; body?: string | FormData } = {},
  ): Promise<Reply> {
    const body =
      sign.body ?? new URLSearchParams({ project_id: this.projectId, instrument: 'enroll', ...fields }).toString();
    const request = new Request(`${this.stage.run.api}/api/webhooks/datacapture/det${sign.query ?? ''}`, {
      method: 'POST',
      body,
      ...(typeof body === 'string' && { headers: { 'content-type': 'application/x-www-form-urlencoded' } }),
    });
    const raw = Buffer.from(await request.clone().arrayBuffer());
    const headers = sign.headers ?? this.signature(raw, sign.secret);
    for (const [name, value] of Object.entries(headers)) request.headers.set(name, value);
    const response = await fetch(request);
    const answer = (await response.json()) as Record<string, unknown>;
    const { pathname } = new URL(request.url);
    holdAgainstContract('POST', pathname, response.status, 'application/json', answer);
    if (typeof body === 'string')
      collect('POST', pathname, response.status, () => ({
        given: beginning('application/x-www-form-urlencoded', body),
        answered: { body: answer },
      }));
    return { status: response.status, body: answer, headers: response.headers };
  }

  /** The header that signs a body. */
  signature(raw: string | Buffer, secret = this.secret): Record<string, string> {
    return { 'x-datacapture-signature': `sha256=${createHmac('sha256', secret).update(raw).digest('hex')}` };
  }

  async events(query = ''): Promise<EventView[]> {
    return (
      await this.stage.call<{ items: EventView[] }>('GET', `/api/studies/${this.id}/webhook-events?limit=500${query}`)
    ).body.items;
  }

  /** Waits until so many triggers are there and none of them is open; oldest first. */
  async settled(count: number, timeout = 60_000): Promise<EventView[]> {
    return until(
      async () => {
        const events = await this.events();
        return events.length >= count && events.every((e) => ['processed', 'duplicate', 'failed'].includes(e.status))
          ? events.reverse()
          : undefined;
      },
      { timeout, what: `${count} settled triggers` },
    );
  }

  participants(): Promise<ParticipantRow[]> {
    return this.stage.sql('select * from participants where study_id = ? order by created_at, external_id', [this.id]);
  }

  /** The path of the anchor of the study's first participant. */
  async anchorPath(): Promise<string> {
    return `/api/studies/${this.id}/participants/${(await this.participants())[0]!.id}/anchor-date`;
  }

  anchor(participantId: string): Promise<Record<string, unknown>> {
    return this.stage
      .sql<Record<string, unknown>>('select * from anchor_dates where participant_id = ?', [participantId])
      .then((rows) => rows[0]!);
  }

  versions(
    participantId: string,
  ): Promise<{ version_number: number; is_current: boolean; status: string; anchor_date_used: string }[]> {
    return this.stage.sql('select * from schedule_versions where participant_id = ? order by version_number', [
      participantId,
    ]);
  }
}

async function call<T>(run: RunJson, method: string, path: string, body?: unknown, token?: string): Promise<Reply<T>> {
  const headers = {
    ...(body !== undefined && { 'content-type': 'application/json' }),
    ...(token && { authorization: `Bearer ${token}` }),
  };
  const content = body === undefined ? undefined : JSON.stringify(body);
  const reply = await ask(`${run.api}${path}`, method, headers, content);
  const { status, text } = reply;
  const parsed: unknown = text === '' ? undefined : JSON.parse(text);
  holdAgainstContract(method, new URL(path, run.api).pathname, status, reply.header('content-type') ?? '', parsed);
  collect(method, path, status, () => ({ given: { body }, answered: { body: parsed } }));
  return {
    status,
    body: (parsed ?? {}) as T,
    get headers() {
      return reply.headers;
    },
  };
}

async function login(run: RunJson, email: string, password: string): Promise<string> {
  const { status, body } = await call<{ tokens: { access_token: string } }>(run, 'POST', '/api/auth/login', {
    email,
    password,
  });
  if (status !== 200) throw new Error(`login failed: ${status} ${JSON.stringify(body)}`);
  return body.tokens.access_token;
}

export interface SyncReport {
  id: string;
  kind: string;
  status: string;
  changed_since: string | null;
  progress: Record<string, number>;
  error: { code: string; message: string } | null;
  issues: {
    items: {
      record: string;
      outcome: string;
      participant_id: string | null;
      issues: { code: string; message: string }[];
    }[];
    total: number;
  };
}
export const syncReport = async (study: CaptureStudy, id: string): Promise<SyncReport> =>
  (await study.stage.call<SyncReport>('GET', `/api/datacapture/syncs/${id}?limit=500`)).body;

/** Has every record read, and waits for the end of it. */
export async function synced(study: CaptureStudy, timeout = 90_000): Promise<SyncReport> {
  const started = await study.stage.call<{ status: string; sync_id: string }>(
    'POST',
    `/api/datacapture/sync/${study.id}`,
  );
  if (started.status !== 202)
    throw new Error(`the sync was not started: ${started.status} ${JSON.stringify(started.body)}`);
  return until(
    async () => {
      const report = await syncReport(study, started.body.sync_id);
      return report.status === 'running' ? undefined : report;
    },
    { timeout, interval: 200, what: 'the sync to end' },
  );
}
