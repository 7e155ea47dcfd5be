import { randomInt, randomUUID } from 'node:crypto';
import type { Fault } from '../capture-simulator/schemas.js';
import { startSimulator } from '../capture-simulator/server.js';
import type { Simulator } from '../capture-simulator/server.js';
import { Http, admin, unique, user } from '../support/http.js';
import type { Loose } from '../support/http.js';
import { service, startService, until } from '../support/service.js';
import type { RunJson, Service } from '../support/service.js';
import { compared } from './compared.js';

export const EVENT = 'baseline_arm_1',
  SECOND = 'month_3_arm_1';
export interface AttemptView {
  status: string;
  error_type: string | null;
  message: string | null;
  at: string;
  next_attempt_at: string | null;
  records_imported: number | null;
  already_there: boolean;
  warnings: { code: string; field: string; message: string }[];
  number: number;
}
export interface StatusView {
  breaker: {
    state: string;
    consecutive_failures: number;
    opened_at: string | null;
    next_attempt_at: string | null;
    last_error: string | null;
  };
  pushes: { pending: number; synced: number; failed: number };
}

const DICTIONARY = [
  'field_name,form_name,field_type,field_label,select_choices_or_calculations,text_validation_type_or_show_slider_number,text_validation_min,text_validation_max',
  'subject_id,enroll,text,Subject,,,,',
  'mean_rt,cognition,text,Mean,,,,',
  'median_rt,cognition,text,Median,,number_1dp,,',
  'accuracy,cognition,text,Accuracy,,number,0,1',
  'trials,cognition,text,Trials,,integer,1,5000',
  'span,memory,text,Span,,number_1dp,,',
  'grade,memory,radio,Grade,"1, low | 2, high",,,',
  'score,memory,calc,Score,1,,,',
].join('\n');

export const EVENTS = [
  { event_name: 'Baseline', day_offset: 0, offset_min: 0, offset_max: 7, forms: ['enroll', 'cognition', 'memory'] },
  { event_name: 'Month 3', day_offset: 90, offset_min: 7, offset_max: 14, forms: ['cognition'] },
];

export const MAPPING = {
  stroop: {
    datacapture_instrument: 'cognition',
    fields: { mean_rt: 'mean_rt', median_rt: 'median_rt', accuracy: 'accuracy', total_trials: 'trials' },
  },
  digit_span: { datacapture_instrument: 'memory', fields: { span: 'span' } },
};
export const SUMMARY = { mean_rt: 412.34567, median_rt: 22, accuracy: 0.96666, total_trials: 40 };

/** Settings under which an outage is over in seconds. */
export const QUICK = {
  DATACAPTURE_BREAKER_FAILURES: '3',
  DATACAPTURE_BREAKER_COOLDOWN_SECONDS: '1',
  PUSH_RETRY_INITIAL_SECONDS: '0.2',
  DATACAPTURE_PUSHES_PER_MINUTE: '6000',
  DATACAPTURE_TIMEOUT_SECONDS: '20',
};

/** A service and a capture system, for tests of what is pushed from one to the other. */
export class PushStage {
  private constructor(
    readonly run: RunJson,
    readonly http: Http,
    readonly simulator: Simulator,
    readonly own: Service | undefined,
  ) {}

  /** @param overrides settings: a service of one's own; without them the shared one */
  static async set(overrides?: Record<string, string>): Promise<PushStage> {
    const own = overrides ? await startService(overrides) : undefined;
    const run = own?.run ?? (await service());
    return new PushStage(run, own ? await loginOf(run) : await admin(), await startSimulator({ projects: [] }), own);
  }

  async clear(): Promise<void> {
    await this.own?.stop();
    await this.simulator.stop();
  }

  /**
   * An integrated study, connected to a project of its own. @param config null: no configuration @param key the field
   * of the record id @param events none: a classic project
   */
  async study(
    config: Record<string, unknown> | null = {},
    fields: Record<string, unknown> = {},
    key = 'subject_id',
    events: object[] = EVENTS,
  ): Promise<PushStudy> {
    const projectId = randomInt(100_000, 2_000_000_000),
      token = randomUUID().replaceAll('-', '').toUpperCase();
    const source = {
      project: {
        project_id: projectId,
        title: 'A study of memory',
        arms: [{ arm_num: 1, name: 'Arm 1' }],
        events,
        instruments: [
          { name: 'enroll', label: 'Enrollment' },
          { name: 'cognition', label: 'Cognition' },
          { name: 'memory', label: 'Memory' },
        ],
        users: [{ username: 'api', token }],
      },
      dictionary: DICTIONARY.replace('subject_id', key),
      data: '',
    };
    this.simulator.control.addProject(source);
    const study = await this.http.expect(201, 'POST', '/api/studies', {
      study_code: unique('PUSH'),
      study_name: 'Push',
      datacapture_enabled: true,
      integration_mode: 'datacapture',
      consent_mode: 'external',
      ...fields,
    });
    const made = new PushStudy(this, study.id, projectId, token, source, events.length > 0);
    if (config !== null) {
      const path = `/api/datacapture/config/${study.id}`;
      const mapping = { data_field_mapping: MAPPING, ...config };
      const whole = { api_url: this.simulator.apiUrl, api_token: token, poll_interval_minutes: 0, ...mapping };
      const saved = await this.http.expect<Loose>(201, 'PATCH', path, whole);
      // A comparison that is still to come would meet what a test does to the calls of its pushes.
      if (JSON.stringify(saved.warnings)?.includes('MAPPING_NOT_CHECKED'))
        await compared(() => this.http.patch(path, mapping));
    }
    return made;
  }
}

async function loginOf(run: RunJson): Promise<Http> {
  const { tokens, user: who } = await new Http(run.api).expect<{ tokens: { access_token: string }; user: Loose }>(
    200,
    'POST',
    '/api/auth/login',
    { email: run.admin_email, password: run.admin_password },
  );
  return new Http(run.api, tokens.access_token, who.id);
}

export interface Person {
  id: string;
  record: string | null;
}
export interface Ended {
  session: string;
  visit: string;
  record: string | null;
}

export class PushStudy {
  private readonly records = new Set<string>();
  constructor(
    readonly stage: PushStage,
    readonly id: string,
    readonly projectId: number,
    readonly token: string,
    private source: { project: object; dictionary: string; data: string },
    private longitudinal: boolean,
  ) {}
  get http(): Http {
    return this.stage.http;
  }

  async configure(change: Record<string, unknown>, status = 200): Promise<void> {
    await this.http.expect(status, 'PATCH', `/api/datacapture/config/${this.id}`, {
      poll_interval_minutes: 0,
      ...change,
    });
  }

  async person(fields: Record<string, unknown> = {}): Promise<Person> {
    const record = `R/${randomUUID().slice(0, 8)} β`;
    const made = await this.http.expect<Loose & { external_id: string | null }>(
      201,
      'POST',
      `/api/studies/${this.id}/participants`,
      { participant_code: unique('P'), external_id: record, ...fields },
    );
    if (made.external_id !== null) this.exists(made.external_id);
    return { id: made.id, record: made.external_id };
  }

  /** Has the capture system make the record, as anyone who enrolls somebody there does. */
  exists(record: string): void {
    this.records.add(record);
    const key = this.source.dictionary.split('\n')[1]!.split(',', 1)[0]!;
    this.stage.simulator.control.load(this.projectId, [
      { [key]: record, ...(this.longitudinal && { redcap_event_name: EVENT }) },
    ]);
  }

  /** Deletes a record there. */
  delete(record: string): void {
    this.records.delete(record);
    this.stage.simulator.control.deleteRecord(this.projectId, record);
  }

  /** A visit of the capture system's event, open today. */
  visit(person: Person, fields: Record<string, unknown> = {}): Promise<Loose> {
    const today = new Date().toISOString().slice(0, 10);
    return this.http.expect(201, 'POST', '/api/schedules/visits', {
      participant_id: person.id,
      name: 'A visit',
      target_date: today,
      window_open: today,
      window_close: today,
      datacapture_event: EVENT,
      ...fields,
    });
  }

  /** A session for a new visit, submitted and ended. */
  async ended(
    options: {
      person?: Person;
      visit?: Record<string, unknown>;
      summaries?: Record<string, Record<string, number>>;
    } = {},
  ): Promise<Ended> {
    const person = options.person ?? (await this.person());
    const visit = await this.visit(person, options.visit);
    const { sessionId } = await this.http.expect<Loose & { sessionId: string }>(201, 'POST', '/api/session/start', {
      participant_id: person.id,
      language: 'en',
      visit_id: visit.id,
    });
    const device = new Http(this.stage.run.api),
      headers = { headers: { 'X-Session-ID': sessionId } };
    const summaries = options.summaries ?? { stroop: SUMMARY };
    if (Object.keys(summaries).length > 0)
      await device.expect(
        200,
        'POST',
        '/api/submit',
        { session_id: sessionId, task_summaries: summaries, raw_trials: [] },
        headers,
      );
    await device.expect(200, 'POST', '/api/session/end', { session_id: sessionId }, headers);
    return { session: sessionId, visit: visit.id, record: person.record };
  }

  see(session: string): Promise<Loose & { sync_status: string | null; synced_at: string | null }> {
    return this.http.expect(200, 'GET', `/api/sessions/${session}`);
  }
  seeVisit(visit: string): Promise<Loose & { data_sync_status: string | null; synced_at: string | null }> {
    return this.http.expect(200, 'GET', `/api/visits/${visit}`);
  }
  /** Oldest first. */
  async attempts(session: string): Promise<AttemptView[]> {
    return (
      await this.http.expect<{ items: AttemptView[] }>(200, 'GET', `/api/sessions/${session}/pushes?sort=at&limit=500`)
    ).items;
  }
  push(session: string): Promise<Loose> {
    return this.http.expect(202, 'POST', `/api/sessions/${session}/push`);
  }
  status(): Promise<StatusView> {
    return this.http.expect(200, 'GET', `/api/datacapture/status/${this.id}`);
  }
  failures(query = ''): Promise<Loose> {
    return this.http.expect(200, 'GET', `/api/studies/${this.id}/push-failures${query}`);
  }

  async synced(session: string, timeout?: number): Promise<void> {
    await until(async () => (await this.see(session)).sync_status === 'synced', {
      ...(timeout !== undefined && { timeout }),
      what: 'the session to be synced',
    });
  }
  /** Waits for an attempt that is as described. */
  attempt(session: string, fits: (attempt: AttemptView) => boolean, what: string): Promise<AttemptView> {
    return until(async () => (await this.attempts(session)).find(fits), { what });
  }

  /** What the capture system does to the calls of this project from now on; nothing named: nothing any more. */
  fault(...faults: Fault[]): void {
    this.stage.simulator.control.setFaults(faults.map((fault) => ({ ...fault, project_id: this.projectId })));
  }
  calls(content?: string): number {
    return this.stage.simulator.control
      .calls(this.projectId)
      .filter(
        (call) => content === undefined || `${call.content}:${call.action}` === content || call.content === content,
      ).length;
  }
  /** The same project on another server, with its records without values. */
  copyTo(simulator: Simulator): void {
    simulator.control.addProject(this.source);
    for (const record of this.records)
      simulator.control.load(this.projectId, [{ subject_id: record, redcap_event_name: EVENT }]);
  }
  /** The same project with events instead of none, and its records without values. */
  convert(events: object[]): void {
    this.longitudinal = events.length > 0;
    this.source = { ...this.source, project: { ...this.source.project, events } };
    this.redesign((dictionary) => dictionary);
  }
  /** The same project with another dictionary, and its records without values. */
  redesign(change: (dictionary: string) => string): void {
    this.stage.simulator.control.removeProject(this.projectId);
    this.stage.simulator.control.addProject({ ...this.source, dictionary: change(this.source.dictionary) });
    for (const record of this.records) this.exists(record);
  }
  /** Accepted changes of a record, in order. */
  writes(record: string) {
    return this.stage.simulator.control
      .writes(this.projectId)
      .filter((write) => write.record === record && write.via !== 'load');
  }
  /** What stands in the record at an event. */
  standing(record: string, event = EVENT): Record<string, string> | undefined {
    const values = this.stage.simulator.control
      .record(this.projectId, record)
      ?.rows.find((row) => row.event === event)?.values;
    return values && Object.keys(values).length > 0 ? values : undefined;
  }
  /** What the participant's own portal says: has_failed_sync. */
  async portal(person: Person): Promise<() => Promise<boolean>> {
    const email = `${person.id}@example.org`;
    await this.http.expect(200, 'PATCH', `/api/participants/${person.id}`, { email });
    await this.http.expect(202, 'POST', '/api/portal/magic-link', { participant_id: person.id, channel: 'email' });
    const mail = await until(
      async () =>
        (
          (await (await fetch(`${this.stage.run.mail_ui}/email?to.address=${encodeURIComponent(email)}`)).json()) as {
            text: string;
            to: { address: string }[];
          }[]
        ).find(({ to }) => to.some(({ address }) => address === email)),
      { what: 'the mail with the link' },
    );
    const { portal_token } = await new Http(this.stage.run.api).expect<{ portal_token: string }>(
      200,
      'POST',
      '/api/portal/session',
      { token: /token=([\w-]+)/.exec(mail.text)![1] },
    );
    const portal = new Http(this.stage.run.api, portal_token);
    return async () =>
      (await portal.expect<{ has_failed_sync: boolean }>(200, 'GET', '/api/portal/data-status')).has_failed_sync;
  }
  role(role: Parameters<typeof user>[1]) {
    return user(this.http, role, { study_ids: [this.id] });
  }
}
