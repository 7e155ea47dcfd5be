import type { TimelineSubject } from '../../db/timeline/timeline.queries.js';
import type { TimelineItem } from './timeline.service.js';

const WIDTH = 1000,
  LEFT = 132,
  RIGHT = 24,
  PLOT = WIDTH - LEFT - RIGHT;
const ROW = 22,
  GAP = 12,
  TOP = 74,
  FOOT = 34;
const DAY = 86_400_000;

/** Colours that people who see red and green alike tell apart (Okabe and Ito); shapes differ as well. */
const lanes = [
  { label: 'Visits', kinds: ['visit'], color: '#0072b2', shape: 'diamond' },
  { label: 'Enrollment date', kinds: ['anchor'], color: '#d55e00', shape: 'circle' },
  { label: 'Schedules', kinds: ['schedule'], color: '#009e73', shape: 'square' },
  { label: 'Approvals', kinds: ['approval'], color: '#cc79a7', shape: 'triangle' },
  {
    label: 'Facts',
    kinds: ['participant', 'consent', 'eligibility', 'randomization', 'form'],
    color: '#444444',
    shape: 'circle',
  },
  { label: 'Sessions, pushes', kinds: ['session', 'push'], color: '#56b4e9', shape: 'square' },
  { label: 'Triggers', kinds: ['trigger'], color: '#b07d00', shape: 'triangle' },
  { label: 'Messages', kinds: ['reminder'], color: '#7a5195', shape: 'circle' },
] as const;
type Shape = (typeof lanes)[number]['shape'];

export const escape = (text: string): string =>
  text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');
const n = (value: number): string => String(Math.round(value * 10) / 10);
const dayOf = (date: string): number => Date.parse(`${date.slice(0, 10)}T00:00:00Z`);

interface Scale {
  x: (ms: number) => number;
  from: number;
  to: number;
}

function scaleOf(items: readonly TimelineItem[], subject: TimelineSubject): Scale {
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

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** Days or first days of months, as many as there is room for. */
function ticksOf({ from, to }: Scale): { ms: number; label: string }[] {
  const span = (to - from) / DAY;
  const ticks: { ms: number; label: string }[] = [];
  if (span <= 70) {
    const step = Math.max(1, Math.ceil(span / 10));
    for (let ms = Math.ceil(from / DAY) * DAY; ms <= to; ms += step * DAY) {
      const day = new Date(ms);
      ticks.push({ ms, label: `${day.getUTCDate()} ${MONTHS[day.getUTCMonth()]}` });
    }
    return ticks;
  }
  const every = [1, 2, 3, 6, 12, 24, 60, 120].find((months) => span / 30.4 / months <= 12) ?? 240;
  const start = new Date(from);
  for (let month = Math.ceil((start.getUTCFullYear() * 12 + start.getUTCMonth()) / every) * every; ; month += every) {
    const ms = Date.UTC(Math.floor(month / 12), month % 12, 1);
    if (ms > to) return ticks;
    if (ms >= from) ticks.push({ ms, label: `${MONTHS[month % 12]} ${Math.floor(month / 12)}` });
  }
}

function mark(shape: Shape, x: number, y: number, color: string, filled: boolean): string {
  const paint = `fill="${filled ? color : '#ffffff'}" stroke="${color}" stroke-width="1.6"`;
  switch (shape) {
    case 'circle':
      return `<circle cx="${n(x)}" cy="${n(y)}" r="5.5" ${paint}/>`;
    case 'square':
      return `<rect x="${n(x - 5)}" y="${n(y - 5)}" width="10" height="10" rx="1.5" ${paint}/>`;
    case 'triangle':
      return `<path d="M${n(x)} ${n(y - 6)}L${n(x + 6)} ${n(y + 5)}L${n(x - 6)} ${n(y + 5)}Z" ${paint}/>`;
    case 'diamond':
      return `<path d="M${n(x)} ${n(y - 6.5)}L${n(x + 6.5)} ${n(y)}L${n(x)} ${n(y + 6.5)}L${n(x - 6.5)} ${n(y)}Z" ${paint}/>`;
  }
}

/** The first row in which something from `start` to `end` touches nothing. */
function rowFor(ends: number[], start: number, end: number): number {
  const free = ends.findIndex((taken) => taken + 6 < start);
  const row = free === -1 ? ends.length : free;
  ends[row] = end;
  return row;
}

const textWidth = (text: string): number => text.length * 6.1;
const shortened = (text: string): string => (text.length > 34 ? `${text.slice(0, 33)}…` : text);

interface Placed {
  svg: string;
  row: number;
}

/** A visit: its window as a bar, its target as a diamond, filled when it was completed, its name beside it. */
function visitOf(item: TimelineItem, number: number, scale: Scale, color: string, ends: number[]): Placed | undefined {
  const { window_open, window_close, target_date, status, name } = item.data as Record<string, string>;
  if (status === 'cancelled') return undefined;
  const [open, close, target] = [
    scale.x(dayOf(window_open!)),
    scale.x(dayOf(window_close!) + DAY),
    scale.x(dayOf(target_date!) + DAY / 2),
  ];
  const label = shortened(`${number} ${String(name)}${status === 'missed' ? ', missed' : ''}`);
  const outside = close + 8 + textWidth(label) > WIDTH - 4;
  const [start, end] = outside ? [open - 10 - textWidth(label), close] : [open, close + 8 + textWidth(label)];
  const row = rowFor(ends, start, end);
  const y = row * ROW;
  const paint = status === 'missed' ? '#a11d1d' : color;
  const cross =
    status === 'missed'
      ? `<path d="M${n(target - 4)} ${n(y - 4)}l8 8m0 -8l-8 8" stroke="#a11d1d" stroke-width="2" fill="none"/>`
      : '';
  return {
    row,
    svg: `<g><title>${escape(item.title)}</title><rect x="${n(open)}" y="${n(y - 6)}" width="${n(Math.max(close - open, 3))}" height="12" rx="3" fill="${paint}" fill-opacity="0.22" stroke="${paint}" stroke-opacity="0.6"/>${cross || mark('diamond', target, y, paint, status === 'completed')}<text x="${n(outside ? open - 6 : close + 6)}" y="${n(y + 4)}" font-size="11.5" fill="#222222"${outside ? ' text-anchor="end"' : ''}>${escape(label)}</text></g>`,
  };
}

function momentOf(
  item: TimelineItem,
  number: number,
  scale: Scale,
  lane: (typeof lanes)[number],
  ends: number[],
): Placed {
  const x = scale.x(Date.parse(item.at));
  const label = String(number);
  const row = rowFor(ends, x - 7, x + 9 + textWidth(label));
  const y = row * ROW;
  return {
    row,
    svg: `<g><title>${escape(item.title)}</title>${mark(lane.shape, x, y, lane.color, item.data.planned !== true)}<text x="${n(x + 9)}" y="${n(y + 4)}" font-size="11" fill="#222222">${label}</text></g>`,
  };
}

/**
 * A participant's timeline as a picture: a lane for each kind of thing, visits with their windows, numbers that are
 * those of the list. Needs nothing from elsewhere: system fonts, no scripts, no styles.
 */
export function timelineSvg(subject: TimelineSubject, items: readonly TimelineItem[]): string {
  const scale = scaleOf(items, subject);
  const parts: string[] = [];
  let y = TOP;
  for (const lane of lanes) {
    const own = items
      .map((item, index) => ({ item, number: index + 1 }))
      .filter(({ item }) => (lane.kinds as readonly string[]).includes(item.kind));
    if (own.length === 0) continue;
    const ends: number[] = [];
    const placed = own.flatMap(
      ({ item, number }) =>
        (lane.shape === 'diamond'
          ? visitOf(item, number, scale, lane.color, ends)
          : momentOf(item, number, scale, lane, ends)) ?? [],
    );
    const rows = Math.max(1, ends.length);
    const height = rows * ROW + GAP;
    parts.push(
      `<rect x="0" y="${n(y)}" width="${WIDTH}" height="${n(height)}" fill="${parts.length % 2 === 0 ? '#f5f7f9' : '#ffffff'}"/>`,
      `<text x="12" y="${n(y + GAP / 2 + ROW / 2 + 4)}" font-size="12.5" font-weight="600" fill="#333333">${lane.label}</text>`,
      `<g transform="translate(0 ${n(y + GAP / 2 + ROW / 2)})">${placed.map(({ svg }) => svg).join('')}</g>`,
    );
    y += height;
  }
  const bottom = y;
  const ticks = ticksOf(scale).map(
    ({ ms, label }) =>
      `<path d="M${n(scale.x(ms))} ${TOP - 6}V${n(bottom)}" stroke="#d5dade"/><text x="${n(scale.x(ms))}" y="${TOP - 12}" font-size="11" fill="#555555" text-anchor="middle">${label}</text>`,
  );
  // Of two lines close to each other the second has its name a line higher.
  const today = scale.x(dayOf(subject.today) + DAY / 2);
  const anchorAt = subject.enrollment_date === null ? undefined : scale.x(dayOf(subject.enrollment_date) + DAY / 2);
  const line = (x: number, label: string, color: string, dash: string) => {
    const side = x > WIDTH - 150 ? 'end' : x < LEFT + 60 ? 'start' : 'middle';
    return `<path d="M${n(x)} ${TOP - 4}V${n(bottom + 6)}" stroke="${color}" stroke-width="1.6"${dash}/><text x="${n(x)}" y="${n(bottom + 20)}" font-size="11.5" font-weight="600" fill="${color}" text-anchor="${side}">${escape(label)}</text>`;
  };
  const close = anchorAt !== undefined && Math.abs(today - anchorAt) < 170;
  const heading = `${subject.participant_code} · ${subject.study_code}`;
  const height = bottom + FOOT + (close ? 14 : 0);
  const describe = `Timeline of ${subject.participant_code} in ${subject.study_name}: ${items.length} entries${items.length > 0 ? `, from ${items[0]!.at.slice(0, 10)} to ${items.at(-1)!.at.slice(0, 10)}` : ''}. Bars are visit windows, filled diamonds completed visits, hollow marks what is still to come.`;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${n(height)}" width="${WIDTH}" height="${n(height)}" role="img" aria-labelledby="timeline-title timeline-about" font-family="system-ui, -apple-system, 'Segoe UI', 'Open Sans', Roboto, Arial, sans-serif"><title id="timeline-title">Timeline of ${escape(subject.participant_code)}</title><desc id="timeline-about">${escape(describe)}</desc><rect width="${WIDTH}" height="${n(height)}" fill="#ffffff"/><text x="12" y="26" font-size="16" font-weight="700" fill="#111111">${escape(heading)}</text><text x="12" y="44" font-size="11.5" fill="#555555">${escape(`Enrollment date ${subject.enrollment_date ?? 'not known yet'} (${subject.anchor_status}) · days of ${subject.zone}`)}</text>${parts.filter((part) => part.startsWith('<rect')).join('')}${ticks.join('')}${anchorAt === undefined ? '' : line(anchorAt, `enrollment date ${subject.enrollment_date}`, '#d55e00', '')}<g${close ? ' transform="translate(0 0)"' : ''}>${line(today, `today ${subject.today}`, '#333333', ' stroke-dasharray="4 3"').replace(`y="${n(bottom + 20)}"`, `y="${n(bottom + 20 + (close ? 14 : 0))}"`)}</g>${parts.filter((part) => !part.startsWith('<rect')).join('')}</svg>`;
}
