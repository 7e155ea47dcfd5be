import type { TimelineSubject } from '../../db/timeline/timeline.queries.js';
import type { TimelineWords } from './page-words.js';
import type { TimelineItem } from './timeline.service.js';

export const WIDTH = 1000,
  LEFT = 132;
const RIGHT = 24,
  PLOT = WIDTH - LEFT - RIGHT;
export const DAY = 86_400_000;

/** Maps an instant to the time axis. */
export interface Scale {
  x: (ms: number) => number;
  from: number;
  to: number;
}

/** A calendar date as an instant of the axis. */
export const dayOf = (date: string): number => Date.parse(`${date.slice(0, 10)}T00:00:00Z`);

/** The axis from the first to the last entry, with a margin. */
export function scaleOf(items: readonly TimelineItem[], subject: TimelineSubject): Scale {
  const moments = items.flatMap(({ at, data }) => [
    Date.parse(at),
    ...(['window_open', 'window_close', 'target_date'] as const).flatMap((key) =>
      typeof data[key] === 'string' ? [dayOf(data[key])] : [],
    ),
  ]);
  if (subject.enrollment_date) moments.push(dayOf(subject.enrollment_date));
  moments.push(dayOf(subject.today));
  const first = moments.reduce((a, b) => Math.min(a, b)),
    last = moments.reduce((a, b) => Math.max(a, b));
  const margin = Math.max((last - first) * 0.03, 2 * DAY);
  const from = first - margin,
    to = last + margin;
  return { from, to, x: (ms) => LEFT + ((ms - from) / (to - from)) * PLOT };
}

/** Days or first days of months, as many as fit. */
export function ticksOf({ from, to }: Scale, { months: names, tick }: TimelineWords): { ms: number; label: string }[] {
  const span = (to - from) / DAY;
  const ticks: { ms: number; label: string }[] = [];
  if (span <= 70) {
    const step = Math.max(1, Math.ceil(span / 10));
    for (let ms = Math.ceil(from / DAY) * DAY; ms <= to; ms += step * DAY) {
      const day = new Date(ms);
      ticks.push({ ms, label: tick(day.getUTCDate(), names[day.getUTCMonth()]!) });
    }
    return ticks;
  }
  const every = [1, 2, 3, 6, 12, 24, 60, 120].find((months) => span / 30.4 / months <= 12) ?? 240;
  const start = new Date(from);
  for (let month = Math.ceil((start.getUTCFullYear() * 12 + start.getUTCMonth()) / every) * every; ; month += every) {
    const ms = Date.UTC(Math.floor(month / 12), month % 12, 1);
    if (ms > to) return ticks;
    if (ms >= from) ticks.push({ ms, label: `${names[month % 12]} ${Math.floor(month / 12)}` });
  }
}
