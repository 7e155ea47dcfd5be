import { addDays, dateIn } from '../util/dates.js';
import { evaluate, judgeOverride } from '../anchor/decide.js';
import { factsOf } from '../anchor/facts.js';
import type { StoredFacts } from '../anchor/facts.js';
import { scheduleFollows } from '../anchor/regeneration.js';
import { ofDate } from '../anchor/sources.js';
import type { Facts, Transition } from '../util/types.js';
import { validateCandidate } from '../anchor/validation.js';
import { instantOf } from './days.js';
import { Random } from './random.js';
import { Visits } from './visits.js';
import type { SimulatedVisit } from './visits.js';
import { workingDayNear } from './world.js';
import type { SimulatedClinic, World } from './world.js';

/** The first and the last minute of a day with events. */
const MORNING = 7 * 60,
  EVENING = 22 * 60;

/**
 * A simulated participant: facts occur by the configured behaviour; anchor, schedule and visits follow from the
 * service's own functions. Nothing is decided here.
 */
export class SimulatedPerson {
  readonly visits: Visits;
  readonly site: SimulatedClinic;
  arrivedDay: number | null = null;
  finalDay: number | null = null;
  withdrawnDay: number | null = null;
  private readonly random: Random;
  private readonly stored: StoredFacts;
  private clock = { day: -1, minute: 0 };

  constructor(
    private readonly world: World,
    readonly index: number,
  ) {
    this.random = new Random(world.inputs.seed, index);
    this.site = world.sites[this.random.below(world.sites.length)]!;
    this.stored = emptyFacts(world, this.site);
    this.visits = new Visits(world, this.site, this.random, {
      index,
      frozen: () => this.withdrawnDay !== null,
      completed: (visit) => this.visitCompleted(visit),
    });
    const arrival = this.random.below(world.behaviour.enrolment_days);
    world.agenda.at(this.workday(arrival), () => this.arrive());
  }

  get anchor(): StoredFacts['anchor'] {
    return this.stored.anchor;
  }

  // --- events of a participant

  private arrive(): void {
    const { behaviour, agenda, inputs, forms } = this.world;
    const { random } = this;
    const day = this.now;
    this.arrivedDay = day;
    const econsent = inputs.study.consent_mode === 'econsent';
    const consents = random.chance(behaviour.consent_rate);
    const consentDay = this.workday(day + random.days(behaviour.consent_delay_days));
    if (econsent && consents) agenda.at(consentDay, () => this.consent());
    if (econsent && consents && random.chance(behaviour.reconsent_rate))
      agenda.at(consentDay + 1 + random.below(365), () => this.consent());
    for (const [form, items] of forms)
      agenda.at(this.workday(day + random.days(behaviour.form_delay_days)), () => this.fillForm(form, items));
    if (consents) {
      const assessed = this.workday(consentDay + random.days(behaviour.eligibility_delay_days));
      const eligible = random.chance(behaviour.eligibility_rate);
      agenda.at(assessed, () => this.assess(eligible));
      if (eligible)
        agenda.at(this.workday(assessed + random.days(behaviour.randomization_delay_days)), () => this.randomize());
      if (this.world.takesManualDates)
        agenda.at(this.workday(consentDay + random.days(behaviour.manual_entry_delay_days)), () =>
          this.enterByHand(consentDay),
        );
    }
    this.willWithdraw(day);
    this.reevaluate(this.instant());
  }

  private consent(): void {
    const signed_at = this.instant();
    const { consents } = this.stored;
    consents.push({
      id: `consent-${consents.length + 1}`,
      consent_version_id: `${consents.length + 1}`,
      status: 'signed',
      signed_at,
    });
    this.fact(signed_at);
  }

  private assess(eligible: boolean): void {
    const at = this.instant();
    this.stored.eligibility = {
      id: 'eligibility',
      status: eligible ? 'eligible' : 'ineligible',
      confirmed_at: eligible ? at : null,
    };
    this.fact(at);
  }

  private randomize(): void {
    const at = this.instant();
    const arm = this.random.chance(0.5) ? 'A' : 'B';
    this.stored.randomization = { id: 'randomization', arm, randomized_at: at };
    this.stored.participant.arm = arm;
    this.fact(at);
  }

  private fillForm(form_oid: string, items: readonly string[]): void {
    const at = this.instant();
    const date = this.world.days.date(this.now);
    const value = this.random.chance(this.world.behaviour.partial_date_rate) ? date.slice(0, 7) : date;
    this.stored.forms.push({
      id: form_oid,
      form_oid,
      status: 'complete',
      origin: 'service',
      created_at: at,
      items: Object.fromEntries(items.map((item) => [item, value])),
    });
    this.stored.stored.data_entered = true;
    this.fact(at);
  }

  /** A coordinator enters the date if none is final by then, as the service accepts or refuses it. */
  private enterByHand(consentDay: number): void {
    const { anchor } = this.stored;
    if (this.gone || anchor.status === 'finalized') return;
    const at = this.instant();
    const manual = { enrollment_date: this.world.days.date(Math.min(consentDay, this.now)), entered_by_user_id: null };
    const { policy } = this.world.inputs;
    const facts: Facts = { ...this.facts(at), manual };
    const faults = validateCandidate(
      {
        ...ofDate(manual.enrollment_date, facts),
        source_type: 'manual_entry',
        source_ref: { entered_by_user_id: null },
      },
      policy,
      facts,
    ).errors;
    for (const fault of faults) this.world.tally.refusedByHand.add(fault.code);
    if (faults.length > 0) return;
    this.stored.manual = manual;
    this.fact(at);
  }

  private willWithdraw(day: number): void {
    const { behaviour, agenda, days } = this.world;
    const daily = behaviour.withdrawal_rate_per_year / 365;
    for (let at = day + 1; at < days.count; at++) {
      if (!this.random.chance(daily)) continue;
      agenda.at(at, () => {
        this.withdrawnDay = at;
        this.stored.participant.status = 'withdrawn';
      });
      return;
    }
  }

  private visitCompleted(visit: SimulatedVisit): void {
    this.stored.stored.data_entered = true;
    if (!visit.planned.is_baseline) return;
    const at = this.instant();
    visit.completedAt = at;
    this.reevaluate(at);
  }

  // --- consequences

  /** A fact occurred: all sources are evaluated again, as by the service. */
  private fact(instant: string): void {
    if (!this.gone) this.reevaluate(instant);
  }

  private reevaluate(instant: string): void {
    const {
      inputs: { policy },
      tally,
    } = this.world;
    const before = this.stored.anchor;
    const decision = evaluate(policy, this.facts(instant));
    tally.evaluations += 1;
    tally.results.add(decision.result);
    for (const fault of decision.errors) tally.faults.add(fault.code);
    if (decision.transitions.length === 0) return;
    this.take(decision.transitions);
    if (decision.result === 'changed' && before.status === 'finalized') {
      tally.byReconsent += 1;
      this.shifted(decision.transitions[0]!);
    } else if (decision.transitions.some((t) => t.event_type === 'CHANGED')) {
      tally.changedWhileProvisional += 1;
    }
    const date = this.stored.anchor.enrollment_date_value!;
    if (scheduleFollows(decision, policy, this.visits.hasVersion) && this.visits.anchorDate !== date)
      this.regenerate(date);
    if (before.status !== 'finalized' && this.stored.anchor.status === 'finalized') this.becameFinal();
  }

  /** Applies transitions to the anchor. */
  private take(transitions: readonly Transition[]): void {
    for (const { value, status_after, is_override } of transitions) {
      const { anchor } = this.stored;
      this.stored.anchor = {
        ...anchor,
        status: status_after,
        is_override,
        version: anchor.version + 1,
        enrollment_date_value: value!.date,
        enrollment_datetime_value: value!.datetime,
        partial_value: value!.partial,
        precision: value!.precision,
        timezone: value!.timezone,
        source_type: value!.source_type,
        source_ref: value!.source_ref,
      };
    }
  }

  private regenerate(date: string): void {
    this.visits.regenerate(date, this.now);
    this.stored.stored.has_schedule = true;
  }

  // --- corrections of a final date

  private becameFinal(): void {
    const { behaviour, agenda } = this.world;
    this.finalDay ??= this.now;
    if (!this.random.chance(behaviour.reanchor_rate)) return;
    const size = 1 + this.random.below(behaviour.reanchor_max_shift_days);
    const shift = this.random.chance(0.5) ? size : -size;
    agenda.at(this.workday(this.now + 1 + this.random.below(behaviour.reanchor_within_days)), () =>
      this.requestOverride(shift),
    );
  }

  private requestOverride(shift: number): void {
    if (this.gone || this.stored.anchor.status !== 'finalized') return;
    const {
      inputs: { policy },
      behaviour,
      tally,
      agenda,
    } = this.world;
    const date = addDays(this.stored.anchor.enrollment_date_value!, shift);
    tally.overrides.add('requested');
    if (!policy.permissions.override_requires_approval) return this.override(date);
    const { errors } = judgeOverride(policy, this.facts(this.instant()), date, null);
    if (errors.length > 0) return this.refused(errors);
    const wait = this.random.days(behaviour.approval_delay_days);
    const approved = this.random.chance(behaviour.approval_rate);
    if (wait * 24 > policy.override_approval_timeout_hours) {
      agenda.at(this.now + Math.ceil(policy.override_approval_timeout_hours / 24), () =>
        tally.overrides.add('expired'),
      );
    } else {
      agenda.at(this.now + wait, () => {
        if (approved && !this.gone) this.override(date);
        else tally.overrides.add('denied');
      });
    }
  }

  private override(date: string): void {
    const at = this.instant();
    const { errors, transition } = judgeOverride(this.world.inputs.policy, this.facts(at), date, null);
    if (errors.length > 0) return this.refused(errors);
    this.take([transition]);
    this.world.tally.overrides.add('granted');
    this.shifted(transition);
    this.regenerate(date);
  }

  private refused(errors: readonly { code: string }[]): void {
    this.world.tally.overrides.add('refused');
    this.world.tally.overrideRefusals.add(errors[0]!.code);
  }

  private shifted(transition: Transition): void {
    this.world.tally.shifts.push({ day: this.now, days: transition.delta_days! });
  }

  // --- time

  /** The current day. */
  private get now(): number {
    return this.world.agenda.today;
  }
  private get gone(): boolean {
    return this.withdrawnDay !== null;
  }
  private facts(instant: string): Facts {
    const baseline = this.visits
      .baseline()
      .map((v) => ({ id: v.id, status: v.status, completed_at: v.completedAt, is_baseline: true }));
    return factsOf({ ...this.stored, baseline, now: instant }, this.world.inputs.policy);
  }

  /** Whether the anchor's date differs from the source's local date in the participant's time zone. */
  dateIsOffLocal(): boolean {
    const { anchor, consents, eligibility, randomization } = this.stored;
    const source =
      anchor.source_type === 'consent_workflow'
        ? consents.find((c) => c.id === anchor.source_ref?.consent_instance_id)?.signed_at
        : anchor.source_type === 'eligibility_workflow'
          ? eligibility?.confirmed_at
          : anchor.source_type === 'randomization'
            ? randomization?.randomized_at
            : null;
    return source != null && dateIn(source, this.site.zone) !== anchor.enrollment_date_value;
  }

  /** A time today in the participant's time zone, later than every earlier one. */
  private instant(): string {
    const drawn = MORNING + this.random.below(EVENING - MORNING);
    const minute = this.clock.day === this.now ? Math.min(24 * 60 - 1, Math.max(drawn, this.clock.minute + 1)) : drawn;
    this.clock = { day: this.now, minute };
    return instantOf(this.world.days.date(this.now), minute, this.site.zone);
  }

  /** `day`, or the next working day, for participants who keep to working days. */
  private workday(day: number): number {
    if (!this.random.chance(this.world.behaviour.avoid_days_off)) return day;
    const date = this.world.days.date(day);
    const near = workingDayNear(this.site.daysOff, date, { first: date, last: addDays(date, 14) });
    return near === null ? day : this.world.days.number(near);
  }
}

const emptyFacts = ({ inputs }: World, site: SimulatedClinic): StoredFacts => ({
  now: '',
  policy: inputs.policy,
  study: inputs.study,
  site_timezone: site.site_timezone,
  participant: {
    status: 'enrolled',
    site_code: site.site_code,
    arm: null,
    preferred_language: null,
    date_of_birth: null,
  },
  anchor: {
    enrollment_date_value: null,
    enrollment_datetime_value: null,
    partial_value: null,
    precision: 'date',
    timezone: null,
    source_type: null,
    source_ref: null,
    status: 'unset',
    is_override: false,
    version: 1,
    reopened: false,
    reopened_facts: null,
    cancelled_facts: null,
  },
  consents: [],
  eligibility: null,
  randomization: null,
  forms: [],
  baseline: [],
  manual: null,
  capture: null,
  before_override: null,
  stored: { has_schedule: false, data_entered: false, signed: false, locked: false },
});
