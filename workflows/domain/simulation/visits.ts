import { addDays } from '../util/dates.js';
import { nextVersion } from '../anchor/regeneration.js';
import type { ScheduleInputs } from '../anchor/regeneration.js';
import type { KeyedVisit, StandingVisit } from '../scheduling/schedule.js';
import type { Random } from './random.js';
import { workingDayNear } from './world.js';
import type { SimulatedClinic, World } from './world.js';

/** A row as the service would store it, with its day numbers and its completion. */
export interface SimulatedVisit extends StandingVisit {
  planned: KeyedVisit;
  openDay: number;
  closeDay: number;
  completedDay: number | null;
  completedAt: string | null;
}

/**
 * A simulated participant's visits over all schedule versions, moved and superseded by the same functions as real ones.
 */
export class Visits {
  readonly all: SimulatedVisit[] = [];
  private standing: SimulatedVisit[] = [];
  private number = 0;
  private date: string | null = null;

  constructor(
    private readonly world: World,
    private readonly site: SimulatedClinic,
    private readonly random: Random,
    private readonly owner: { index: number; frozen: () => boolean; completed: (visit: SimulatedVisit) => void },
  ) {}

  get hasVersion(): boolean {
    return this.date !== null;
  }
  get anchorDate(): string | null {
    return this.date;
  }

  /** The live baseline visits. */
  baseline(): SimulatedVisit[] {
    return this.standing.filter((visit) => visit.planned.is_baseline);
  }

  /** Creates the next schedule version from `date`. */
  regenerate(date: string, today: number): void {
    const { inputs, tally } = this.world;
    const sources: ScheduleInputs = {
      windows: inputs.windows,
      mapping: inputs.mapping,
      standing: this.standing,
      latest_number: this.number,
      latest_date: this.date,
      current_date: this.date,
      edc: inputs.scheduling_mode === 'edc' ? { events: inputs.events, calendar: this.site.calendar } : null,
    };
    const { change, warnings, version_number } = nextVersion(
      date,
      sources,
      (identity) => `${this.owner.index}/${identity}`,
    );
    tally.schedulesGenerated += 1;
    for (const warning of warnings) tally.generationWarnings.add(warning.split(':')[0]!);
    if (this.number > 0) {
      tally.completedCarried += change.completed.length;
      tally.carriedOffTarget += change.completed.filter(
        (c) => c.planned && c.planned.target_date !== c.visit.target_date,
      ).length;
    }
    const former = new Map(change.supersede.map((visit) => [visit.visit_key, visit]));
    for (const visit of change.supersede) visit.status = 'superseded';
    const kept = this.standing.filter((visit) => visit.status !== 'superseded');
    const made = change.create.map((planned) => {
      const was = former.get(planned.visit_key);
      if (was && was.target_date !== planned.target_date) tally.visitsMoved += 1;
      return this.schedule(planned, version_number, today);
    });
    this.standing = [...kept, ...made];
    this.number = version_number;
    this.date = date;
  }

  private schedule(planned: KeyedVisit, version: number, today: number): SimulatedVisit {
    const { days, agenda } = this.world;
    const visit: SimulatedVisit = {
      id: `${planned.visit_key}@${version}`,
      visit_key: planned.visit_key,
      status: 'scheduled',
      name: planned.name,
      target_date: planned.target_date,
      window_open: planned.window_open,
      window_close: planned.window_close,
      battery_id: planned.battery_id,
      datacapture_event: planned.datacapture_event,
      schedule_version_id: `v${version}`,
      needs_review: false,
      reporting_target_date: null,
      planned,
      openDay: days.number(planned.window_open),
      closeDay: days.number(planned.window_close),
      completedDay: null,
      completedAt: null,
    };
    this.all.push(visit);
    agenda.at(visit.openDay, () => this.move(visit, ['scheduled'], 'open'));
    agenda.at(Math.max(visit.closeDay + 1, today), () => this.move(visit, ['scheduled', 'open'], 'missed'));
    const day = this.dayOfCompletion(visit, today);
    if (day !== null) agenda.at(day, () => this.complete(visit, day));
    return visit;
  }

  /** The hourly job's change of a visit by date; a withdrawn participant's visits stay. */
  private move(visit: SimulatedVisit, from: readonly string[], to: 'open' | 'missed'): void {
    if (!this.owner.frozen() && from.includes(visit.status)) visit.status = to;
  }

  private complete(visit: SimulatedVisit, day: number): void {
    if (this.owner.frozen() || visit.status === 'superseded' || visit.status === 'completed') return;
    visit.status = 'completed';
    visit.completedDay = day;
    this.owner.completed(visit);
  }

  /** The day on which the participant will come, as far as known when the visit is scheduled; null: never. */
  private dayOfCompletion(visit: SimulatedVisit, today: number): number | null {
    const { behaviour, days } = this.world;
    // All numbers are drawn in any case, so that one rate does not affect other decisions.
    const [fate, onTarget, where, avoids, late] = [
      this.random.next(),
      this.random.next(),
      this.random.next(),
      this.random.next(),
      this.random.below(behaviour.late_days),
    ];
    if (fate >= behaviour.completion_rate) {
      return fate < behaviour.completion_rate + behaviour.late_rate ? Math.max(today, visit.closeDay + 1 + late) : null;
    }
    const first = Math.max(visit.openDay, today);
    if (first > visit.closeDay) return null;
    const target = Math.max(first, days.number(visit.target_date));
    const day = onTarget < behaviour.on_target_rate ? target : first + Math.floor(where * (visit.closeDay - first + 1));
    if (avoids >= behaviour.avoid_days_off) return day;
    const near = workingDayNear(this.site.daysOff, addDays(days.first, day), {
      first: addDays(days.first, first),
      last: visit.window_close,
    });
    return near === null ? day : days.number(near);
  }
}
