import type { ComponentChildren } from 'preact';
import type { TimelineSubject } from '../../db/timeline/timeline.queries.js';
import { FONTS, figureColors } from '../../activities/html/palette.js';
import type { PictureTheme } from '../../activities/html/picture-theme.js';
import { Picture, px } from '../../activities/html/picture.js';
import { isolated } from '../../workflows/domain/util/text-direction.js';
import type { LaneName, TimelineWords } from './page-words.js';
import type { TimelineItem } from './timeline.service.js';
import { titleIn } from './titles-in.js';
import { DAY, LEFT, WIDTH, dayOf, scaleOf, ticksOf } from './scale.js';
import type { Scale } from './scale.js';

const ROW = 22,
  GAP = 12,
  TOP = 74,
  FOOT = 34;
const MISSED = '#a11d1d';

/** The colours are distinguishable for everyone; shapes differ as well. */
const lanes = [
  { name: 'visits', kinds: ['visit'], color: figureColors.blue, shape: 'diamond' },
  { name: 'date', kinds: ['anchor'], color: figureColors.vermilion, shape: 'circle' },
  { name: 'schedules', kinds: ['schedule'], color: figureColors.green, shape: 'square' },
  { name: 'approvals', kinds: ['approval'], color: figureColors.purple, shape: 'triangle' },
  {
    name: 'facts',
    kinds: ['participant', 'consent', 'eligibility', 'randomization', 'form'],
    color: '#444444',
    shape: 'circle',
  },
  { name: 'sessions', kinds: ['session', 'push'], color: figureColors.sky, shape: 'square' },
  { name: 'triggers', kinds: ['trigger'], color: '#b07d00', shape: 'triangle' },
  { name: 'messages', kinds: ['reminder'], color: '#7a5195', shape: 'circle' },
] as const satisfies readonly { name: LaneName; [key: string]: unknown }[];
type Lane = (typeof lanes)[number];

/** Text stands out from the lines behind it. */
const WORDS = {
  fill: '#222222',
  stroke: '#ffffff',
  'stroke-width': 3,
  'stroke-opacity': 0.85,
  'paint-order': 'stroke',
};

interface MarkProps {
  shape: Lane['shape'];
  x: number;
  y: number;
  color: string;
  filled: boolean;
}

function Mark({ shape, x, y, color, filled }: MarkProps) {
  const paint = { fill: filled ? color : '#ffffff', stroke: color, 'stroke-width': 1.6 };
  switch (shape) {
    case 'circle':
      return <circle cx={px(x)} cy={px(y)} r="5.5" {...paint} />;
    case 'square':
      return <rect x={px(x - 5)} y={px(y - 5)} width="10" height="10" rx="1.5" {...paint} />;
    case 'triangle':
      return <path d={`M${px(x)} ${px(y - 6)}L${px(x + 6)} ${px(y + 5)}L${px(x - 6)} ${px(y + 5)}Z`} {...paint} />;
    case 'diamond':
      return (
        <path
          d={`M${px(x)} ${px(y - 6.5)}L${px(x + 6.5)} ${px(y)}L${px(x)} ${px(y + 6.5)}L${px(x - 6.5)} ${px(y)}Z`}
          {...paint}
        />
      );
  }
}

/** The first row in which the range from `start` to `end` overlaps nothing. */
function rowFor(ends: number[], start: number, end: number): number {
  const free = ends.findIndex((taken) => taken + 6 < start);
  const row = free === -1 ? ends.length : free;
  ends[row] = end;
  return row;
}

const textWidth = (text: string): number => text.length * 6.1;
const shortened = (text: string): string => (text.length > 34 ? `${text.slice(0, 33)}…` : text);

/** A visit: its window as a bar, its target as a diamond, filled when completed, with its name beside it. */
function visitOf(
  item: TimelineItem,
  number: number,
  scale: Scale,
  color: string,
  ends: number[],
  words: TimelineWords,
): ComponentChildren {
  const { window_open, window_close, target_date, status, name } = item.data as Record<string, string>;
  if (status === 'cancelled') return null;
  const [open, close, target] = [
    scale.x(dayOf(window_open!)),
    scale.x(dayOf(window_close!) + DAY),
    scale.x(dayOf(target_date!) + DAY / 2),
  ];
  const missed = status === 'missed';
  const shown = shortened(String(name));
  const note = missed ? `, ${words.missed}` : '';
  const width = textWidth(`${number} ${shown}${note}`);
  const outside = close + 8 + width > WIDTH - 4;
  const [start, end] = outside ? [open - 10 - width, close] : [open, close + 8 + width];
  const y = rowFor(ends, start, end) * ROW;
  const paint = missed ? MISSED : color;
  return (
    <g key={number}>
      <title>{titleIn(words.language, item)}</title>
      <rect
        x={px(open)}
        y={px(y - 6)}
        width={px(Math.max(close - open, 3))}
        height="12"
        rx="3"
        fill={paint}
        fill-opacity="0.22"
        stroke={paint}
        stroke-opacity="0.6"
      />
      {missed ? (
        <path d={`M${px(target - 4)} ${px(y - 4)}l8 8m0 -8l-8 8`} stroke={MISSED} stroke-width="2" fill="none" />
      ) : (
        <Mark shape="diamond" x={target} y={y} color={paint} filled={status === 'completed'} />
      )}
      <text
        x={px(outside ? open - 6 : close + 6)}
        y={px(y + 4)}
        font-size="11.5"
        {...WORDS}
        text-anchor={outside ? 'end' : undefined}
      >
        {`${number} ${isolated(shown)}${note}`}
      </text>
    </g>
  );
}

function momentOf(
  item: TimelineItem,
  number: number,
  scale: Scale,
  lane: Lane,
  ends: number[],
  words: TimelineWords,
): ComponentChildren {
  const x = scale.x(Date.parse(item.at));
  const y = rowFor(ends, x - 7, x + 9 + textWidth(String(number))) * ROW;
  return (
    <g key={number}>
      <title>{titleIn(words.language, item)}</title>
      <Mark shape={lane.shape} x={x} y={y} color={lane.color} filled={item.data.planned !== true} />
      <text x={px(x + 9)} y={px(y + 4)} font-size="11" {...WORDS}>
        {number}
      </text>
    </g>
  );
}

interface Row {
  lane: Lane;
  top: number;
  height: number;
  marks: ComponentChildren[];
}

/** The non-empty lanes, one below the other. */
function rowsOf(items: readonly TimelineItem[], scale: Scale, words: TimelineWords): Row[] {
  let top = TOP;
  return lanes.flatMap((lane) => {
    const own = items
      .map((item, index) => ({ item, number: index + 1 }))
      .filter(({ item }) => (lane.kinds as readonly string[]).includes(item.kind));
    if (own.length === 0) return [];
    const ends: number[] = [];
    const marks = own.map(({ item, number }) =>
      lane.shape === 'diamond'
        ? visitOf(item, number, scale, lane.color, ends, words)
        : momentOf(item, number, scale, lane, ends, words),
    );
    const row = { lane, top, height: Math.max(1, ends.length) * ROW + GAP, marks };
    top += row.height;
    return [row];
  });
}

/** A line across all lanes, with its name below. */
function DayLine({
  x,
  to,
  lower,
  label,
  color,
  dash,
}: {
  x: number;
  to: number;
  /** How much lower the name is placed. */
  lower: number;
  label: string;
  color: string;
  dash?: string;
}) {
  return (
    <>
      <path
        d={`M${px(x)} ${TOP - 4}V${px(to + 6)}`}
        stroke={color}
        stroke-width="1.6"
        {...(dash && { 'stroke-dasharray': dash })}
      />
      <text
        x={px(x)}
        y={px(to + 20 + lower)}
        font-size="11.5"
        font-weight="600"
        fill={color}
        text-anchor={x > WIDTH - 150 ? 'end' : x < LEFT + 60 ? 'start' : 'middle'}
      >
        {label}
      </text>
    </>
  );
}

/** The image's description in two sentences. */
const described = (
  { participant_code, study_name }: TimelineSubject,
  items: readonly TimelineItem[],
  words: TimelineWords,
): string =>
  words.described(
    isolated(participant_code),
    isolated(study_name),
    words.entries(items.length),
    items.length > 0 ? [words.day(items[0]!.at.slice(0, 10)), words.day(items.at(-1)!.at.slice(0, 10))] : undefined,
  );

/**
 * A participant's timeline as an image: a lane for each kind of entry, visits with their windows, and the numbers of
 * the list. It loads nothing: system fonts, no scripts.
 */
export function TimelinePicture({
  subject,
  items,
  words,
  theme,
}: {
  subject: TimelineSubject;
  items: readonly TimelineItem[];
  words: TimelineWords;
  theme?: PictureTheme | undefined;
}) {
  const scale = scaleOf(items, subject);
  const rows = rowsOf(items, scale, words);
  const bottom = rows.reduce((end, { height }) => end + height, TOP);
  const today = scale.x(dayOf(subject.today) + DAY / 2);
  const anchor = subject.enrollment_date === null ? undefined : scale.x(dayOf(subject.enrollment_date) + DAY / 2);
  // If two lines are close, the second one's name is a line lower.
  const lower = anchor !== undefined && Math.abs(today - anchor) < 220 ? 14 : 0;
  const code = isolated(subject.participant_code);
  const { enrollment_date, anchor_status } = subject;
  const dated = words.dated(
    enrollment_date && words.day(enrollment_date),
    words.dateStatuses[anchor_status] ?? anchor_status,
  );
  return (
    <Picture
      id="timeline"
      title={words.title(code)}
      description={described(subject, items, words)}
      width={WIDTH}
      height={bottom + FOOT + lower}
      theme={theme}
      font-family={FONTS}
    >
      <text x="12" y="26" font-size="16" font-weight="700" fill="#111111">
        {`${code} · ${isolated(subject.study_code)}`}
      </text>
      <text x="12" y="44" font-size="11.5" fill="#555555">
        {`${words.date} ${dated} · ${words.daysOf(subject.zone)}`}
      </text>
      {rows.map(({ lane, top, height }, index) => (
        <rect
          key={lane.name}
          x="0"
          y={px(top)}
          width={WIDTH}
          height={px(height)}
          fill={index % 2 === 0 ? '#f5f7f9' : '#ffffff'}
        />
      ))}
      {ticksOf(scale, words).map(({ ms, label }) => (
        <g key={ms}>
          <path d={`M${px(scale.x(ms))} ${TOP - 6}V${px(bottom)}`} stroke="#d5dade" />
          <text x={px(scale.x(ms))} y={TOP - 12} font-size="11" fill="#555555" text-anchor="middle">
            {label}
          </text>
        </g>
      ))}
      {anchor !== undefined && (
        <DayLine
          x={anchor}
          to={bottom}
          lower={0}
          label={words.theDate(words.day(subject.enrollment_date!))}
          color={figureColors.vermilion}
        />
      )}
      <DayLine
        x={today}
        to={bottom}
        lower={lower}
        label={words.today(words.day(subject.today))}
        color="#333333"
        dash="4 3"
      />
      {rows.map(({ lane, top, marks }) => (
        <g key={lane.name}>
          <text x="12" y={px(top + GAP / 2 + ROW / 2 + 4)} font-size="12.5" font-weight="600" fill="#333333">
            {words.lanes[lane.name]}
          </text>
          <g transform={`translate(0 ${px(top + GAP / 2 + ROW / 2)})`}>{marks}</g>
        </g>
      ))}
    </Picture>
  );
}
