import { randomUUID } from 'node:crypto';
import { visitKey } from '../../db/audit/hashing.js';
import { addDays, dateIn } from '../../workflows/domain/util/dates.js';
import { cancelTransition, evaluate, judgeOverride, judgeOverrideBack } from '../../workflows/domain/anchor/decide.js';
import { completePolicy } from '../../workflows/domain/anchor/policy.js';
import type { Policy, PolicyInput } from '../../workflows/domain/anchor/policy-schema.js';
import { nextVersion } from '../../workflows/domain/anchor/regeneration.js';
import type { ScheduleInputs } from '../../workflows/domain/anchor/regeneration.js';
import type { StandingVisit, WindowDefinition } from '../../workflows/domain/scheduling/schedule.js';
import { cancelledFacts } from '../../workflows/domain/anchor/kept-facts.js';
import type { Facts, Transition } from '../../workflows/domain/util/types.js';

export interface Row extends StandingVisit {
  completed_on: string | null;
}
export interface Version {
  id: string;
  number: number;
  current: boolean;
  date: string;
}

/**
 * One participant held in memory, moved by the pure functions alone: what they say is written down as the database
 * would keep it, and nothing else is decided here.
 */
export class Participant {
  readonly id = randomUUID();
  policy: Policy;
  windows: WindowDefinition[];
  rows: Row[] = [];
  versions: Version[] = [];
  history: Transition[] = [];
  facts: Facts;

  constructor(policy: PolicyInput, windows: WindowDefinition[]) {
    this.policy = completePolicy(policy);
    this.windows = windows;
    this.facts = emptyFacts();
  }

  get current(): Version | undefined {
    return this.versions.find((v) => v.current);
  }
  get live(): Row[] {
    return this.rows.filter((r) => r.status !== 'superseded' && r.status !== 'cancelled');
  }
  get pending(): Row[] {
    return this.live.filter((r) => r.status !== 'completed');
  }
  get completed(): Row[] {
    return this.rows.filter((r) => r.status === 'completed');
  }

  inputs(): ScheduleInputs {
    return {
      windows: this.windows,
      mapping: {},
      standing: this.live,
      latest_number: this.versions.at(-1)?.number ?? 0,
      current_date: this.current?.date ?? null,
      latest_date: this.versions.at(-1)?.date ?? null,
    };
  }

  keyOf = (identity: string) => visitKey(this.id, identity);

  /** Evaluates all sources; answers the transitions that were taken. */
  evaluate(): Transition[] {
    const { transitions } = evaluate(this.policy, this.facts);
    this.write(transitions);
    const { status, date } = this.facts.anchor;
    if (
      transitions.length > 0 &&
      (status === 'finalized' || this.policy.schedule_on_provisional || this.current) &&
      this.current?.date !== date
    )
      this.regenerate(date!);
    return transitions;
  }

  override(date: string): boolean {
    if (this.facts.anchor.status !== 'finalized' || this.facts.participant.status === 'withdrawn') return false;
    const { errors, transition } = judgeOverride(this.policy, this.facts, date, this.id);
    if (errors.length > 0) return false;
    const { anchor } = this.facts;
    const before = anchor.is_override
      ? this.facts.beforeOverride
      : {
          date: anchor.date!,
          datetime: anchor.datetime,
          partial: anchor.partial,
          precision: anchor.precision,
          timezone: anchor.timezone,
          source_type: anchor.source_type!,
          source_ref: anchor.source_ref,
        };
    this.write([transition]);
    this.facts = { ...this.facts, beforeOverride: before };
    this.regenerate(date);
    return true;
  }

  overrideBack(): boolean {
    if (this.facts.anchor.status !== 'finalized' || this.facts.participant.status === 'withdrawn') return false;
    const { errors, transition } = judgeOverrideBack(this.policy, this.facts);
    if (!transition || errors.length > 0) return false;
    this.write([transition], { reopened: true });
    this.regenerate(transition.value!.date);
    return true;
  }

  cancel(): boolean {
    if (this.facts.anchor.status !== 'provisional' || this.facts.participant.status === 'withdrawn') return false;
    this.facts = { ...this.facts, manual: null };
    this.write([cancelTransition(this.facts.anchor)], { cancelled_facts: cancelledFacts(this.policy, this.facts) });
    for (const version of this.versions) version.current = false;
    for (const row of this.pending) row.status = 'cancelled';
    return true;
  }

  /** What a changed window of the study does. */
  windowsChanged(windows: WindowDefinition[]): void {
    this.windows = windows;
    if (this.facts.participant.status === 'withdrawn' || !this.current) return;
    if (nextVersion(this.current.date, this.inputs(), this.keyOf).change.changes) this.regenerate(this.current.date);
  }

  complete(index: number): void {
    const row = this.pending[index % Math.max(this.pending.length, 1)];
    if (row) Object.assign(row, { status: 'completed', completed_on: row.target_date });
  }

  miss(index: number): void {
    const row = this.pending[index % Math.max(this.pending.length, 1)];
    if (row) row.status = 'missed';
  }

  private write(transitions: readonly Transition[], more: { reopened?: boolean; cancelled_facts?: string } = {}): void {
    const last = transitions.at(-1);
    if (!last) return;
    this.history.push(...transitions);
    const value = last.value ?? {
      date: null,
      datetime: null,
      partial: null,
      precision: 'date' as const,
      timezone: null,
      source_type: null,
      source_ref: null,
    };
    this.facts = {
      ...this.facts,
      beforeOverride: last.is_override ? this.facts.beforeOverride : null,
      anchor: {
        ...value,
        status: last.status_after,
        is_override: last.is_override,
        version: this.facts.anchor.version + transitions.length,
        reopened: more.reopened ?? false,
        reopened_facts: null,
        cancelled_facts: more.cancelled_facts ?? null,
      },
    };
  }

  private regenerate(date: string): void {
    const { change, version_number } = nextVersion(date, this.inputs(), this.keyOf);
    for (const version of this.versions) version.current = false;
    const id = randomUUID();
    this.versions.push({ id, number: version_number, current: true, date });
    for (const gone of change.supersede) this.rows.find((r) => r.id === gone.id)!.status = 'superseded';
    for (const { identity: _identity, visit_window_id: _window, is_baseline: _baseline, ...visit } of change.create) {
      this.rows.push({
        ...visit,
        id: randomUUID(),
        status: 'scheduled',
        schedule_version_id: id,
        needs_review: false,
        reporting_target_date: null,
        completed_on: null,
      });
    }
    this.facts = { ...this.facts, stored: { ...this.facts.stored, has_schedule: true } };
  }
}

const NOW = '2025-06-01T12:00:00.000000Z';

export function emptyFacts(zone = 'UTC', now = NOW): Facts {
  return {
    anchor: {
      date: null,
      datetime: null,
      partial: null,
      precision: 'date',
      timezone: null,
      status: 'unset',
      source_type: null,
      source_ref: null,
      is_override: false,
      version: 1,
      reopened: false,
      reopened_facts: null,
      cancelled_facts: null,
    },
    zone,
    now,
    today: dateIn(now, zone),
    study: { start_date: null, consent_mode: 'econsent', timezone: zone },
    participant: { status: 'enrolled', site_code: null, arm: null, preferred_language: null, age_years: null },
    consents: [],
    eligibility: null,
    randomization: null,
    forms: [],
    baseline: [],
    manual: null,
    captureMapping: null,
    stored: { has_schedule: false, data_entered: false, signed: false, locked: false },
    beforeOverride: null,
  };
}

export const windowOn = (code: string, day: number): WindowDefinition => ({
  id: `window-${code}`,
  code,
  name: code,
  battery_id: null,
  target_day: day,
  window_before: 3,
  window_after: 7,
  is_baseline: day === 0,
  datacapture_event: null,
  sort_order: day,
});

/** A day of 2024 or 2025, over both of their leap and clock changes. */
export const dayNumber = (days: number): string => addDays('2024-01-01', days);
