import { Temporal } from 'temporal-polyfill';
import { dueAt } from '../../workflows/domain/notifications/planning.js';
import type { Rule } from '../../workflows/domain/notifications/planning.js';
import { evaluateReminder } from '../../workflows/domain/notifications/reminder-state.js';
import type { ReminderState, ReminderDecision } from '../../workflows/domain/notifications/reminder-state.js';

const MINUTE = 60_000,
  HOUR = 60 * MINUTE;
export const MAX_LATENESS_HOURS = 12;
const LEASE_MS = 45_000;

/** How a provider, or the worker that calls it, behaves in one run of the sweep. */
export type Run = 'well' | 'provider down' | 'answer lost' | 'refuses' | 'dies before sending' | 'dies before the note';
interface Row {
  status: 'pending' | 'sent' | 'failed' | 'cancelled' | 'suppressed';
  due: number;
  attempt: number;
  claimed: { until: number; due: number } | null;
  target: string;
}

/**
 * One visit's one reminder, held in memory and moved by the pure functions alone: `dueAt` plans it, `judge` says what
 * becomes of it; rows are kept as the database keeps them (migration 0056: what was sent for a target date stays sent;
 * what moves to another date is planned again; what a provider refused waits for another time). The provider collapses
 * what it has under one key.
 */
export class ReminderLife {
  now: number;
  visit: ReminderState['visit'] & object = { status: 'scheduled', window_close: '' };
  participant: ReminderState['participant'];
  study_status = 'active';
  /** What was delivered, once for each key that the provider has not seen: when, and for which target date. */
  readonly delivered: { at: number; target: string }[] = [];
  /** Target dates that it was sent for before the visit moved on. */
  private readonly archived = new Set<string>();
  /** Each time that it was handed to the provider, and how things stood. */
  readonly handed: { at: number; zone: string; due: number; optedOut: boolean }[] = [];
  private readonly keys = new Set<string>();
  private row: Row | undefined;

  constructor(
    readonly rule: Rule,
    readonly daysBefore: number,
    private readonly windowAfter: number,
    zone: string,
    public target: string,
    start: string,
  ) {
    this.now = Temporal.Instant.from(start).epochMilliseconds;
    this.participant = { status: 'enrolled', zone, has_address: true, opted_out: false, address_dead: false };
    this.visit.window_close = this.date(windowAfter);
    this.plan();
  }

  get due(): number {
    return Temporal.Instant.from(dueAt(this.date(-this.daysBefore), this.rule, this.participant.zone))
      .epochMilliseconds;
  }
  private date(offset: number): string {
    return Temporal.PlainDate.from(this.target).add({ days: offset }).toString();
  }

  /** As plan_reminders does after any change of visit, zone, address or participant. */
  plan(): void {
    const { due } = this;
    if (this.participant.status === 'withdrawn') return this.stop();
    if (this.visit.status === 'completed') return this.stop();
    const today = Temporal.Instant.fromEpochMilliseconds(this.now)
      .toZonedDateTimeISO(this.participant.zone)
      .toPlainDate()
      .toString();
    const status =
      this.visit.window_close < today
        ? 'cancelled'
        : due < this.now - MAX_LATENESS_HOURS * HOUR
          ? 'suppressed'
          : 'pending';
    if (this.row?.status === 'sent' && this.row.target !== this.target) {
      this.archived.add(this.row.target);
      this.row = undefined;
    }
    const { row, target } = this;
    if (this.archived.has(target)) return this.stop();
    if (!row) this.row = { status, due, attempt: due, claimed: null, target };
    else if (row.status !== 'sent' && !(row.status === 'failed' && row.due === due)) {
      const keeps = row.status === 'pending' && row.due === due;
      Object.assign(row, { status, due, attempt: keeps ? row.attempt : due, target });
    }
  }

  private stop(): void {
    if (this.row?.status === 'pending') this.row.status = 'cancelled';
  }

  move(days: number): void {
    if (this.visit.status === 'completed') return;
    this.target = this.date(days);
    this.visit.window_close = this.date(this.windowAfter);
    this.plan();
  }

  /** One run of the sweep. */
  sweep(run: Run): void {
    const row = this.row;
    if (row?.status !== 'pending' || row.attempt > this.now || (row.claimed && row.claimed.until > this.now)) return;
    row.claimed = { until: this.now + LEASE_MS, due: row.due };
    row.attempt = this.now + LEASE_MS;
    const verdict = evaluateReminder(this.standing(), this.iso(this.now), MAX_LATENESS_HOURS);
    if (verdict.what !== 'send') return this.settle(verdict);
    if (run === 'dies before sending') return;
    if (run === 'provider down') return this.again();
    if (run === 'refuses') return void Object.assign(row, { status: 'failed', claimed: null });
    this.deliver();
    if (run === 'dies before the note') return;
    if (run === 'answer lost') return this.again();
    Object.assign(row, { status: 'sent', claimed: null });
  }

  private settle(verdict: Exclude<ReminderDecision, { what: 'send' }>): void {
    const row = this.row!;
    row.claimed = null;
    if (verdict.what === 'wait') row.attempt = Temporal.Instant.from(verdict.until).epochMilliseconds;
    else row.status = verdict.what;
  }

  private again(): void {
    Object.assign(this.row!, { claimed: null, attempt: this.now + MINUTE });
  }

  private deliver(): void {
    this.handed.push({
      at: this.now,
      zone: this.participant.zone,
      due: this.row!.due,
      optedOut: this.participant.opted_out || this.participant.status === 'withdrawn',
    });
    const { target } = this.row!;
    if (this.keys.has(target)) return;
    this.keys.add(target);
    this.delivered.push({ at: this.now, target });
  }

  private standing(): ReminderState {
    return {
      kind: 'visit_reminder',
      channel: 'email',
      due_at: this.iso(this.row!.due),
      visit: this.visit,
      visit_zone: this.participant.zone,
      participant: this.participant,
      study_status: this.study_status,
      quiet_hours: this.rule.quiet_hours,
    };
  }

  private iso(ms: number): string {
    return Temporal.Instant.fromEpochMilliseconds(ms).toString();
  }
  pass(minutes: number): void {
    this.now += minutes * MINUTE;
  }
}
