import { RateLimiter } from '../../activities/notifications/rate-limiter.js';
import { pushGateway } from '../../activities/notifications/push.js';
import { createReminderActivities } from '../../activities/notifications/reminders/reminders.activities.js';
import type { SweepReport } from '../../activities/notifications/reminders/reminders.activities.js';
import { AnchorStudy, Stage } from '../anchor/stage.js';
import type { Person } from '../anchor/stage.js';
import { runSchedule, withoutSchedule } from '../assessment/stage.js';
import { until } from '../support/until.js';
import { unique } from '../support/http.js';
import type { Loose } from '../support/http.js';

export interface NotificationView {
  id: string;
  participant_id: string | null;
  visit_id: string | null;
  kind: string;
  channel: string;
  status: string;
  days_before: number | null;
  due_at: string;
  sent_at: string | null;
  attempts: number;
  last_error: string | null;
  reason: string | null;
  resend_of: string | null;
  fallback_of: string | null;
  delivery_status: string | null;
}
export interface Mail {
  subject: string;
  text: string;
  html: string;
  messageId: string;
  to: { address: string }[];
  headers: Record<string, string>;
  attachments: { fileName: string; contentType: string }[];
  repeated?: number;
}
/** In a study whose date is taken by hand and needs nothing else. */
export const byHand = {
  prerequisites: { require_consent_signed: false },
  sources: [{ type: 'manual_entry', priority: 1, is_active: true }],
  validation: { cannot_be_future: false, cannot_precede_consent: false, cannot_precede_study_start: false },
};

/** The calendar date in a zone, `offset` days from today. */
export const dayIn = (zone: string, offset = 0): string =>
  new Intl.DateTimeFormat('en-CA', { timeZone: zone }).format(new Date(Date.now() + offset * 86_400_000));
/** The clock time in a zone, `minutes` from now. */
export const clockIn = (zone: string, minutes = 0): string =>
  new Intl.DateTimeFormat('en-GB', { timeZone: zone, hour: '2-digit', minute: '2-digit' }).format(
    new Date(Date.now() + minutes * 60_000),
  );

/**
 * A zone in which it is between 04:00 and 20:00 now: some hours to either side are of the same day. (Etc/GMT-5 is five
 * hours ahead of UTC.)
 */
export function daytimeZone(): string {
  const shift = 12 - new Date().getUTCHours();
  return shift === 0 ? 'UTC' : `Etc/GMT${shift > 0 ? '-' : '+'}${Math.abs(shift)}`;
}

/** The running service as tests of messages need it. */
export class Desk {
  private constructor(readonly stage: Stage) {}
  static async open(...run: Parameters<typeof Stage.open>): Promise<Desk> {
    return new Desk(await Stage.open(...run));
  }
  close(): Promise<void> {
    return this.stage.close();
  }

  study(
    notifications: Record<string, unknown> | undefined,
    fields: Record<string, unknown> = {},
  ): Promise<AnchorStudy> {
    const { timezone = 'UTC', ...more } = fields;
    return this.stage.study(
      {},
      {
        days: [],
        fields: {
          timezone,
          config: { enrollment_date_policy: byHand, ...(notifications && { notifications }) },
          ...more,
        },
      },
    );
  }

  person(study: AnchorStudy, fields: Record<string, unknown> = {}): Promise<Person & { email?: string }> {
    return study.person({ email: `${unique('p')}@example.org`, ...fields });
  }

  /** A visit by hand on a day, which is also its window unless it says otherwise. */
  visit(who: { id: string }, target_date: string, fields: Record<string, unknown> = {}): Promise<Loose> {
    return this.stage.admin.expect(201, 'POST', '/api/schedules/visits', {
      participant_id: who.id,
      name: 'Visit 1',
      target_date,
      window_open: target_date,
      window_close: target_date,
      ...fields,
    });
  }

  /**
   * So many participants with a visit tomorrow. No workflow is begun for them: the sweep for those without one leaves
   * participants of tomorrow alone.
   */
  async visitors(studyId: string, count: number): Promise<void> {
    await this.stage.sql(
      `with s as (select id, (now() at time zone timezone)::date + 1 as day from studies where id = ?),
       p as (insert into participants (study_id, participant_code, email, created_at)
         select s.id, 'MANY-' || n, 'many-' || n || '@example.org', now() + interval '1 day'
           from s, generate_series(1, ?::integer) n returning id, study_id)
       insert into scheduled_visits (visit_key, study_id, participant_id, name, target_date, window_open, window_close)
       select gen_random_uuid(), p.study_id, p.id, 'Visit 1', s.day, s.day, s.day from p, s`,
      [studyId, count],
    );
  }

  async of(who: { id: string }, more = ''): Promise<NotificationView[]> {
    return (
      await this.stage.admin.expect<{ items: NotificationView[] }>(
        200,
        'GET',
        `/api/notifications?participant_id=${who.id}&limit=500${more}`,
      )
    ).items;
  }

  /** The messages to somebody, when there are so many and none is pending. */
  settled(who: { id: string }, count = 1, timeout = 60_000): Promise<NotificationView[]> {
    return until(
      async () => {
        const rows = await this.of(who);
        if (rows.length < count || rows.some(({ status }) => status === 'pending'))
          throw new Error(JSON.stringify(rows));
        return rows;
      },
      { what: 'the reminders to be settled', timeout },
    );
  }

  /** Whether nothing is sent to somebody's address any more. */
  async isDead({ id }: { id: string }): Promise<boolean> {
    return (await this.stage.sql('select 1 from dead_addresses where participant_id = ?', [id])).length === 1;
  }

  /** Runs the sweep now, and waits for what it does. */
  sweep<T>(look: () => Promise<T>, what: string): Promise<NonNullable<T>> {
    return runSchedule('process_pending_reminders', look, what);
  }

  /** Works while the service sends no reminders: those that are due are left for the sweeps of the test's own. */
  alone<T>(work: () => Promise<T>): Promise<T> {
    return withoutSchedule('process_pending_reminders', work);
  }

  /** A worker's sweep in this process, beside the service's own. */
  sweepHere(of: { pushUrl: string; pushPerMinute: number }): () => Promise<SweepReport> {
    const { database } = this.stage;
    const activities = createReminderActivities({
      database,
      channels: { email: null, sms: null, push: pushGateway(of.pushUrl) },
      messages: { publicUrl: 'https://study.example.org', secret: 'a secret of this test, long enough' },
      pace: new RateLimiter(database, { email: 0, sms: 0, push: of.pushPerMinute }),
      maxLatenessHours: 12,
      retrySeconds: 1,
      log: { warn: () => undefined },
      heartbeat: () => undefined,
    });
    return () => activities.sweepReminders();
  }

  async caught<T>(path: string): Promise<T> {
    return (await fetch(`${this.stage.run.mail_ui}${path}`)).json() as Promise<T>;
  }
  async mailsTo(address: string): Promise<Mail[]> {
    return (await this.caught<Mail[]>(`/email?to.address=${encodeURIComponent(address)}`)).filter((mail) =>
      mail.to.some((to) => to.address === address),
    );
  }
  async addressOf(who: { id: string }): Promise<string> {
    return (await this.stage.admin.expect<{ email: string }>(200, 'GET', `/api/participants/${who.id}`)).email;
  }
  async explain(
    visitId: string,
  ): Promise<
    (NotificationView & { outcome: string; why: string; rule: string; due_local: string; target_date: string | null })[]
  > {
    return (
      await this.stage.admin.expect<{ items: never[] }>(200, 'GET', `/api/visits/${visitId}/notifications/explain`)
    ).items;
  }
}
