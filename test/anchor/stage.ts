import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import { openDatabase } from '../../db/client/knex.js';
import { cancelProposal, participantAnchorId } from '../../workflows/contract.js';
import { admin, login, newParticipant, newStudy, unique, user } from '../support/http.js';
import type { Answer, Http, Loose, Options, Role } from '../support/http.js';
import { service, until } from '../support/service.js';
import { readingSealed } from '../support/temporal.js';
import type { RunJson } from '../support/service.js';
import type { Database } from '../../db/client/database.js';

export interface AnchorView {
  participant_id: string;
  enrollment_date: string | null;
  enrollment_datetime: string | null;
  precision: string;
  partial_value: string | null;
  timezone: string | null;
  status: string;
  source_type: string | null;
  source_ref: Record<string, unknown> | null;
  is_override: boolean;
  override_reason: string | null;
  version: number;
  current_schedule_version_id: string | null;
  updated_at: string;
}
export interface FaultView {
  code: string;
  message: string;
  rule?: string;
}
export interface SetView extends AnchorView {
  evaluation: { result: string; source_type: string | null; errors: FaultView[]; warnings: FaultView[] };
}
export interface HistoryView {
  id: string;
  event_type: string;
  enrollment_date_value: string | null;
  status_before: string | null;
  status_after: string;
  source_type: string;
  source_ref: Record<string, unknown> | null;
  previous_enrollment_date: string | null;
  change_delta_days: number | null;
  actor_user_id: string | null;
  actor_type: string;
  reason: string | null;
  request_id: string | null;
  anchor_version: number;
  schedule_version_created_id: string | null;
  created_at: string;
}
export interface VersionView {
  id: string;
  version_number: number;
  is_current: boolean;
  status: string;
  anchor_date_used: string;
  anchor_version: number;
  supersede_reason: string | null;
  visits_generated: number;
  generation_warnings: string[];
}
export interface VisitView {
  id: string;
  visit_key: string;
  name: string;
  status: string;
  target_date: string;
  window_open: string;
  window_close: string;
  schedule_version_id: string | null;
  visit_window_id: string | null;
  anchor_reconciled: boolean;
  anchor_reconciled_at: string | null;
  needs_review: boolean;
  reporting_target_date: string | null;
  completed_at: string | null;
  status_reason: string | null;
  updated_at: string;
}
export interface EventView {
  type: string;
  participant_id: string;
  data: Record<string, unknown>;
}
export interface AuditView {
  action: string;
  user_id: string | null;
  resource_id: string;
  request_id: string | null;
  audit_metadata: Record<string, unknown>;
}

/** A day that is long past for every rule that looks at today. */
export const DAY = '2024-03-10';

/** 503 says: not now, send it again; with its key it happens once. */
export async function patiently(send: () => Promise<{ status: number }>): Promise<number> {
  for (;;) {
    const { status } = await send();
    if (status !== 503) return status;
    await sleep(500);
  }
}

/** The running service as tests of anchors need it: HTTP as its admin, its database, a Temporal client of their own. */
export class Stage {
  private constructor(
    readonly run: RunJson,
    readonly admin: Http,
    readonly database: Database,
    private readonly connection: Connection,
    readonly temporal: Client,
  ) {}

  /** @param run another service than the shared one */
  static async open(run?: RunJson): Promise<Stage> {
    const at = run ?? (await service());
    const connection = await Connection.connect({ address: at.temporal });
    const http = run ? (await login(run.api, run.admin_email, run.admin_password ?? '')).http : await admin();
    return new Stage(
      at,
      http,
      openDatabase({ url: at.database_url, name: 'anchor-tests', poolMax: 4, asOwner: true }),
      connection,
      new Client({ connection, namespace: at.temporal_namespace, ...readingSealed(at) }),
    );
  }

  async close(): Promise<void> {
    await this.connection.close();
    await this.database.destroy();
  }

  /** Rows of the whole database, for what no endpoint shows. */
  async sql<T>(statement: string, values: readonly unknown[] | Record<string, unknown> = []): Promise<T[]> {
    return (await this.database.raw(statement, values as never)).rows as T[];
  }

  /** Works while a transaction of another connection holds what the statement locks. */
  async holding(statement: string, values: readonly unknown[], work: () => Promise<void>): Promise<void> {
    await this.database.transaction(async (holder) => {
      await holder.raw(statement, values as never);
      await work();
    });
  }

  /**
   * A study with this policy and a window on each of these days, which are there from the start: no change of them is
   * on its way to anybody.
   */
  async study(
    policy: Record<string, unknown> = {},
    more: { fields?: Record<string, unknown>; days?: readonly number[] } = {},
  ): Promise<AnchorStudy> {
    const made = await newStudy(this.admin, { config: { enrollment_date_policy: policy }, ...more.fields });
    const study = new AnchorStudy(this, made.id);
    await this.sql(
      `insert into visit_windows (study_id, code, name, target_day, window_before, window_after, is_baseline)
       select ?, 'D' || day, 'Day ' || day, day, 3, 3, day = 0 from unnest(?::int[]) as day`,
      [made.id, more.days ?? [0, 30]],
    );
    return study;
  }

  handle(participantId: string) {
    return this.temporal.workflow.getHandle(participantAnchorId(participantId));
  }
}

export class AnchorStudy {
  private readonly known = new Map<string, Promise<Http>>();
  constructor(
    readonly stage: Stage,
    readonly id: string,
  ) {}

  window(day: number, fields: Record<string, unknown> = {}): Promise<Loose> {
    return this.stage.admin.expect(201, 'POST', '/api/schedules/windows', {
      study_id: this.id,
      code: `D${day}`,
      name: `Day ${day}`,
      target_day: day,
      window_before: 3,
      window_after: 3,
      is_baseline: day === 0,
      ...fields,
    });
  }

  policy(policy: Record<string, unknown>): Promise<unknown> {
    return this.stage.admin.expect(200, 'POST', `/api/studies/${this.id}/config/enrollment-policy`, policy);
  }

  /** A user of a role in this study; the same one for the same `name`. */
  as(role: Role, name = ''): Promise<Http> {
    const key = `${role} ${name}`;
    const http = this.known.get(key) ?? user(this.stage.admin, role, role === 'admin' ? {} : { study_ids: [this.id] });
    this.known.set(key, http);
    return http;
  }

  async person(fields: Record<string, unknown> = {}): Promise<Person> {
    const { id } = await newParticipant(this.stage.admin, this.id, { participant_code: unique('P'), ...fields });
    return new Person(this, id);
  }

  async events(): Promise<EventView[]> {
    return (
      await this.stage.admin.expect<{ items: EventView[] }>(200, 'GET', `/api/studies/${this.id}/events?limit=500`)
    ).items;
  }

  /** Audit records of the study in the order in which they were sealed. */
  audit(action: string): Promise<AuditView[]> {
    return this.stage.sql(
      'select action, user_id, resource_id, request_id, audit_metadata from audit_log where study_id = ? and action = ? order by seq',
      [this.id, action],
    );
  }

  /** Waits until what was changed about the study has gone through, and nothing of its participants is on its way. */
  async settled(): Promise<void> {
    const { stage, id } = this;
    await until(
      async () => {
        const [open] = await stage.sql<{ n: number }>(
          `select (select count(*) from open_study_changes where study_id = :id)
             + (select count(*) from outbox where study_id = :id and topic not in ('notification', 'user-link')) as n`,
          { id },
        );
        return open!.n === 0;
      },
      { what: 'the changes of the study to have gone through' },
    );
  }

  async chainVerifies(): Promise<boolean> {
    return (await this.stage.admin.expect<{ valid: boolean }>(200, 'GET', `/api/audit/verify?study_id=${this.id}`))
      .valid;
  }
}

/** One participant with its anchor, by HTTP. */
export class Person {
  readonly path: string;
  constructor(
    readonly study: AnchorStudy,
    readonly id: string,
  ) {
    this.path = `/api/studies/${study.id}/participants/${id}`;
  }
  private get admin(): Http {
    return this.study.stage.admin;
  }

  post<T = Loose>(suffix: string, body?: unknown, by: Http = this.admin, options?: Options): Promise<Answer<T>> {
    return by.post<T>(`${this.path}/anchor-date${suffix}`, body, options);
  }
  set(
    enrollment_date: string,
    by: Http = this.admin,
    more: Record<string, unknown> = {},
  ): Promise<Answer<SetView & Loose>> {
    return this.post('', { enrollment_date, ...more }, by);
  }
  override(new_enrollment_date: string, by: Http = this.admin, more: Record<string, unknown> = {}) {
    return this.post<
      Loose & {
        anchor: AnchorView;
        override_request_id: string;
        schedule_version: VersionView | null;
        impact: Loose;
        warnings: FaultView[];
      }
    >('/override', { new_enrollment_date, reason: 'the form was misread', ...more }, by);
  }
  decide(
    requestId: string,
    decision: 'approve' | 'deny',
    by: Http,
    body: Record<string, unknown> = { reason: 'looked at it' },
  ) {
    return this.post(`/override-requests/${requestId}/${decision}`, body, by);
  }
  anchor(): Promise<AnchorView> {
    return this.admin.expect(200, 'GET', `${this.path}/anchor-date`);
  }
  history(): Promise<HistoryView[]> {
    return this.admin.expect(200, 'GET', `${this.path}/anchor-date/history`);
  }
  versions(): Promise<VersionView[]> {
    return this.admin.expect(200, 'GET', `${this.path}/schedule-versions`);
  }
  /** The visits as they were planned: the hourly job writes down what the calendar says, and when it did. */
  async plans(): Promise<Record<string, unknown>[]> {
    return (await this.visits()).map(({ updated_at: _written, ...plan }) => plan);
  }
  async visits(): Promise<VisitView[]> {
    return (
      await this.admin.expect<{ items: VisitView[] }>(
        200,
        'GET',
        `/api/schedules/visits?participant_id=${this.id}&limit=500`,
        undefined,
        { headers: { 'X-Study-ID': this.study.id } },
      )
    ).items;
  }
  /** Visits that count: neither superseded nor cancelled. */
  async standing(): Promise<VisitView[]> {
    return (await this.visits()).filter((v) => v.status !== 'superseded' && v.status !== 'cancelled');
  }
  async events(): Promise<EventView[]> {
    return (await this.study.events()).filter((e) => e.participant_id === this.id);
  }

  consent(signed_at: string, fields: Record<string, unknown> = {}): Promise<Loose> {
    return this.admin.expect(201, 'POST', `${this.path}/consents`, { status: 'signed', signed_at, ...fields });
  }
  form(form_oid: string, items: Record<string, unknown>, status = 'complete'): Promise<Loose> {
    return this.admin.expect(201, 'POST', `${this.path}/forms`, { form_oid, status, items });
  }
  eligible(confirmed_at: string, status = 'eligible'): Promise<Loose> {
    return this.admin.expect(200, 'PUT', `${this.path}/eligibility`, { status, confirmed_at });
  }
  withdraw(): Promise<Loose> {
    return this.admin.expect(200, 'POST', `/api/participants/${this.id}/withdraw`, { reason: 'moved away' });
  }
  complete(visitId: string): Promise<Loose> {
    return this.admin.expect(200, 'POST', `/api/visits/${visitId}/complete`, {});
  }

  /** Waits until the anchor is as wanted. */
  becomes(wanted: Partial<AnchorView>): Promise<AnchorView> {
    return until(
      async () => {
        const anchor = await this.anchor();
        const fits = Object.entries(wanted).every(([key, value]) => anchor[key as keyof AnchorView] === value);
        if (!fits) throw new Error(`the anchor is ${JSON.stringify(anchor)}`);
        return anchor;
      },
      { what: `the anchor to be ${JSON.stringify(wanted)}` },
    );
  }

  /**
   * Waits until everything that was sent about this participant has been worked off, so that "nothing happened" can be
   * told.
   */
  async settled(): Promise<void> {
    const { stage } = this.study;
    await until(async () => (await stage.sql('select id from outbox where subject = ?', [this.id])).length === 0, {
      what: 'messages to be delivered',
    });
    // Messages are carried out one after the other: an update that nobody may send is refused after all before it.
    await stage.handle(this.id).executeUpdate(cancelProposal, { args: [{}] });
  }
}
