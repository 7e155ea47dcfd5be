import { FONTS } from './palette.js';
import { Picture, px } from './picture.js';
import type { PictureTheme } from './picture-theme.js';
import { renderSvg } from './render.js';

/**
 * One chart as SVG: bars and lines over an axis of categories. Deliberately small, with everything that a reader needs
 * on it.
 */
export interface Series {
  name: string;
  color: string;
  as: 'bar' | 'line';
  values: readonly (number | null)[];
}
export interface Chart {
  title: string;
  /** A description of the image in a sentence or two, for screen readers. */
  description: string;
  xLabel: string;
  yLabel: string;
  /** The number of positions on the x axis. */
  places: number;
  /** Labels below positions; overlapping ones are omitted. */
  ticks: readonly { at: number; label: string }[];
  /** Bars of one position are stacked; otherwise side by side. */
  stacked: boolean;
  series: readonly Series[];
  /** Values are fractions: the axis goes from 0 to 100 %. */
  percent?: boolean;
}

const WIDTH = 960,
  HEIGHT = 440;
const LEFT = 76,
  RIGHT = 28,
  TOP = 92;
const FONT = 13,
  WIDE = 7.2;

/** The chart as an element. */
export function ChartPicture({ chart, theme }: { chart: Chart; theme?: PictureTheme | undefined }) {
  const { ticks, slanted } = spaced(chart);
  const bottom = HEIGHT - (slanted ? 118 : 64);
  const plot = { left: LEFT, right: WIDTH - RIGHT, top: TOP, bottom };
  const axis = yAxis(chart);
  const band = (plot.right - plot.left) / Math.max(1, chart.places);
  const x = (index: number) => plot.left + band * (index + 0.5);
  const y = (value: number) => plot.bottom - ((plot.bottom - plot.top) * value) / axis.max;
  const middle = { x: px((plot.left + plot.right) / 2), y: px((plot.top + plot.bottom) / 2) };
  return (
    <Picture
      id="chart"
      title={chart.title}
      description={chart.description}
      width={WIDTH}
      height={HEIGHT}
      theme={theme}
      font-family={FONTS}
      font-size={FONT}
      fill="#1f2933"
    >
      <text x={plot.left} y="32" font-size="19" font-weight="600">
        {chart.title}
      </text>
      <Legend series={chart.series} left={plot.left} top={62} />
      {axis.steps.map((value) => (
        <g key={value}>
          <line
            x1={plot.left}
            x2={plot.right}
            y1={px(y(value))}
            y2={px(y(value))}
            stroke={value === 0 ? '#4b5563' : '#e2e5ea'}
          />
          <text x={plot.left - 8} y={px(y(value) + 4)} text-anchor="end">
            {chart.percent ? `${Math.round(value * 100)} %` : thousands(value)}
          </text>
        </g>
      ))}
      {ticks.map(({ at, label }) => (
        <g key={at}>
          <line x1={px(x(at))} x2={px(x(at))} y1={plot.bottom} y2={plot.bottom + 5} stroke="#4b5563" />
          {slanted ? (
            <text transform={`translate(${px(x(at) + 4)} ${plot.bottom + 16}) rotate(-40)`} text-anchor="end">
              {label}
            </text>
          ) : (
            <text x={px(x(at))} y={plot.bottom + 20} text-anchor="middle">
              {label}
            </text>
          )}
        </g>
      ))}
      <text x={middle.x} y={HEIGHT - 12} text-anchor="middle" fill="#4b5563">
        {chart.xLabel}
      </text>
      <text transform={`translate(18 ${middle.y}) rotate(-90)`} text-anchor="middle" fill="#4b5563">
        {chart.yLabel}
      </text>
      {isEmpty(chart) ? (
        <text x={middle.x} y={middle.y} text-anchor="middle" fill="#4b5563" font-size="16">
          Nothing to show
        </text>
      ) : (
        <>
          <Bars chart={chart} band={band} x={x} y={y} />
          {chart.series
            .filter((s) => s.as === 'line')
            .map((s) => (
              <Line key={s.name} series={s} x={x} y={y} />
            ))}
        </>
      )}
    </Picture>
  );
}

/** The chart as a file, which follows the reader's screen. */
export const chartSvg = (chart: Chart): string => renderSvg(<ChartPicture chart={chart} theme="auto" />);

interface Axes {
  x: (index: number) => number;
  y: (value: number) => number;
}

function Bars({ chart, band, x, y }: Axes & { chart: Chart; band: number }) {
  const series = chart.series.filter((s) => s.as === 'bar');
  // Hundreds of days leave no room for gaps between them.
  const room = band < 4 ? band : band * 0.72;
  const width = chart.stacked ? room : room / series.length;
  const below: number[] = new Array<number>(chart.places).fill(0);
  return (
    <>
      {series.map((s, index) => {
        const paths = s.values.map((value, place) => {
          if (!value) return '';
          const from = chart.stacked ? below[place]! : 0;
          if (chart.stacked) below[place] = from + value;
          const left = x(place) - room / 2 + (chart.stacked ? 0 : width * index);
          return `M${px(left)} ${px(y(from))}V${px(y(from + value))}h${px(Math.max(0.6, width))}V${px(y(from))}z`;
        });
        return <path key={s.name} d={paths.join('')} fill={s.color} />;
      })}
    </>
  );
}

/** A line that breaks at missing values; a single value is a dot. */
function Line({ series, x, y }: Axes & { series: Series }) {
  let path = '';
  const dots: number[] = [];
  series.values.forEach((value, index) => {
    if (value === null) return;
    const [before, after] = [series.values[index - 1] ?? null, series.values[index + 1] ?? null];
    path += `${before === null ? 'M' : 'L'}${px(x(index))} ${px(y(value))}`;
    if ((before === null && after === null) || series.values.length <= 60) dots.push(index);
  });
  return (
    <>
      <path d={path} fill="none" stroke={series.color} stroke-width="2.2" stroke-linejoin="round" />
      {dots.map((index) => (
        <circle key={index} cx={px(x(index))} cy={px(y(series.values[index]!))} r="3.2" fill={series.color} />
      ))}
    </>
  );
}

function Legend({ series, left, top }: { series: readonly Series[]; left: number; top: number }) {
  let next = left;
  return (
    <>
      {series.map(({ name, color, as }) => {
        const at = next;
        next += 22 + name.length * WIDE + 26;
        return (
          <g key={name}>
            {as === 'bar' ? (
              <rect x={px(at)} y={top - 10} width="12" height="12" fill={color} />
            ) : (
              <line x1={px(at)} x2={px(at + 16)} y1={top - 4} y2={top - 4} stroke={color} stroke-width="3" />
            )}
            <text x={px(at + 22)} y={top}>
              {name}
            </text>
          </g>
        );
      })}
    </>
  );
}

function yAxis(chart: Chart): { max: number; steps: number[] } {
  if (chart.percent) return { max: 1, steps: [0, 0.2, 0.4, 0.6, 0.8, 1] };
  const stacks = Array.from({ length: chart.places }, (_, index) =>
    chart.series.filter((s) => s.as === 'bar').reduce((sum, s) => sum + (s.values[index] ?? 0), 0),
  );
  const single = chart.series
    .filter((s) => s.as === 'line' || !chart.stacked)
    .flatMap((s) => s.values.map((value) => value ?? 0));
  const highest = [...(chart.stacked ? stacks : []), ...single].reduce((most, value) => Math.max(most, value), 0);
  const step = niceStep(highest / 5);
  const count = Math.max(1, Math.ceil(highest / step));
  return { max: step * count, steps: Array.from({ length: count + 1 }, (_, i) => i * step) };
}

/** 1, 2 or 5 times a power of ten, at least one: counts have no fractions. */
function niceStep(least: number): number {
  let power = 1;
  for (;;) {
    for (const digit of [1, 2, 5]) if (digit * power >= least) return digit * power;
    power *= 10;
  }
}

/** Ticks with room for their labels: long ones are slanted; if that is not enough, only every n-th is shown. */
function spaced({ ticks, places }: Chart): { ticks: Chart['ticks']; slanted: boolean } {
  const cut = ticks.map(({ at, label }) => ({ at, label: shortened(label) }));
  if (cut.length < 2) return { ticks: cut, slanted: false };
  const gap = (((WIDTH - LEFT - RIGHT) / places) * (cut.at(-1)!.at - cut[0]!.at)) / (cut.length - 1);
  const longest = cut.reduce((most, { label }) => Math.max(most, label.length), 0) * WIDE + 12;
  if (longest <= gap) return { ticks: cut, slanted: false };
  const everyFlat = Math.ceil(longest / gap);
  // Slanted labels need only a line's height; a time axis rather omits months than slants them.
  if (everyFlat <= 4) return { ticks: cut.filter((_, i) => i % everyFlat === 0), slanted: false };
  const every = Math.max(1, Math.ceil(24 / gap));
  return { ticks: cut.filter((_, i) => i % every === 0), slanted: true };
}

/** The beginning and the end, which contains the number of a repeated event. */
const shortened = (label: string) => (label.length > 14 ? `${label.slice(0, 9)}…${label.slice(-4)}` : label);

const isEmpty = ({ series }: Chart) => series.every((s) => s.values.every((value) => !value));
const thousands = (value: number): string => String(value).replace(/\B(?=(\d{3})+$)/g, ' ');
