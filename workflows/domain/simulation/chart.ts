/**
 * One chart as SVG: bars and lines over an axis of categories. Small on purpose, with all that a reader needs on it.
 */
export interface Series {
  name: string;
  color: string;
  as: 'bar' | 'line';
  values: readonly (number | null)[];
}
export interface Chart {
  title: string;
  /** What the picture shows, in a sentence or two, for those who do not see it. */
  description: string;
  xLabel: string;
  yLabel: string;
  /** How many places the x axis has. */
  places: number;
  /** Labels below places; where they come too close some are left out. */
  ticks: readonly { at: number; label: string }[];
  /** Bars of one place stand on each other; otherwise beside. */
  stacked: boolean;
  series: readonly Series[];
  /** Values are fractions: the axis goes from 0 to 100 %. */
  percent?: boolean;
}

/** Blue, vermilion, green, orange, grey of the Okabe–Ito palette: told apart by everybody. */
export const colors = {
  blue: '#0072b2',
  vermilion: '#d55e00',
  green: '#009e73',
  orange: '#e69f00',
  sky: '#56b4e9',
  grey: '#767b85',
} as const;

const WIDTH = 960,
  HEIGHT = 440;
const LEFT = 76,
  RIGHT = 28,
  TOP = 92;
const FONT = 13,
  WIDE = 7.2;

export function chartSvg(chart: Chart): string {
  const { ticks, slanted } = spaced(chart);
  const bottom = HEIGHT - (slanted ? 118 : 64);
  const plot = { left: LEFT, right: WIDTH - RIGHT, top: TOP, bottom };
  const axis = yAxis(chart);
  const band = (plot.right - plot.left) / Math.max(1, chart.places);
  const x = (at: number) => plot.left + band * (at + 0.5);
  const y = (value: number) => plot.bottom - ((plot.bottom - plot.top) * value) / axis.max;
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" width="${WIDTH}" height="${HEIGHT}" role="img" aria-labelledby="chart-title chart-description" font-family="system-ui, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif" font-size="${FONT}" fill="#1f2933">`,
    `<title id="chart-title">${escaped(chart.title)}</title>`,
    `<desc id="chart-description">${escaped(chart.description)}</desc>`,
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="#ffffff"/>`,
    `<text x="${plot.left}" y="32" font-size="19" font-weight="600">${escaped(chart.title)}</text>`,
    legend(chart.series, plot.left, 62),
    ...axis.steps.flatMap((value) => [
      `<line x1="${plot.left}" x2="${plot.right}" y1="${n(y(value))}" y2="${n(y(value))}" stroke="${value === 0 ? '#4b5563' : '#e2e5ea'}"/>`,
      `<text x="${plot.left - 8}" y="${n(y(value) + 4)}" text-anchor="end">${chart.percent ? `${Math.round(value * 100)} %` : thousands(value)}</text>`,
    ]),
    ...ticks.flatMap(({ at, label }) => [
      `<line x1="${n(x(at))}" x2="${n(x(at))}" y1="${plot.bottom}" y2="${plot.bottom + 5}" stroke="#4b5563"/>`,
      slanted
        ? `<text transform="translate(${n(x(at) + 4)} ${plot.bottom + 16}) rotate(-40)" text-anchor="end">${escaped(label)}</text>`
        : `<text x="${n(x(at))}" y="${plot.bottom + 20}" text-anchor="middle">${escaped(label)}</text>`,
    ]),
    `<text x="${n((plot.left + plot.right) / 2)}" y="${HEIGHT - 12}" text-anchor="middle" fill="#4b5563">${escaped(chart.xLabel)}</text>`,
    `<text transform="translate(18 ${n((plot.top + plot.bottom) / 2)}) rotate(-90)" text-anchor="middle" fill="#4b5563">${escaped(chart.yLabel)}</text>`,
    ...(isEmpty(chart)
      ? [
          `<text x="${n((plot.left + plot.right) / 2)}" y="${n((plot.top + plot.bottom) / 2)}" text-anchor="middle" fill="#4b5563" font-size="16">Nothing to show</text>`,
        ]
      : [bars(chart, band, x, y), ...chart.series.filter((s) => s.as === 'line').map((s) => line(s, x, y))]),
    '</svg>',
  ];
  return `${parts.filter((part) => part !== '').join('\n')}\n`;
}

function bars(chart: Chart, band: number, x: (at: number) => number, y: (value: number) => number): string {
  const series = chart.series.filter((s) => s.as === 'bar');
  if (series.length === 0) return '';
  // Hundreds of days leave no room for gaps between them.
  const room = band < 4 ? band : band * 0.72;
  const width = chart.stacked ? room : room / series.length;
  const below: number[] = new Array<number>(chart.places).fill(0);
  return series
    .map((s, index) => {
      const paths = s.values.map((value, at) => {
        if (!value) return '';
        const from = chart.stacked ? below[at]! : 0;
        if (chart.stacked) below[at] = from + value;
        const left = x(at) - room / 2 + (chart.stacked ? 0 : width * index);
        return `M${n(left)} ${n(y(from))}V${n(y(from + value))}h${n(Math.max(0.6, width))}V${n(y(from))}z`;
      });
      return `<path d="${paths.join('')}" fill="${s.color}"/>`;
    })
    .join('\n');
}

/** A line that breaks where there is no value; a value that stands alone is a dot. */
function line(series: Series, x: (at: number) => number, y: (value: number) => number): string {
  let path = '';
  let dots = '';
  series.values.forEach((value, at) => {
    if (value === null) return;
    const [before, after] = [series.values[at - 1] ?? null, series.values[at + 1] ?? null];
    path += `${before === null ? 'M' : 'L'}${n(x(at))} ${n(y(value))}`;
    if ((before === null && after === null) || series.values.length <= 60)
      dots += `<circle cx="${n(x(at))}" cy="${n(y(value))}" r="3.2" fill="${series.color}"/>`;
  });
  return `<path d="${path}" fill="none" stroke="${series.color}" stroke-width="2.2" stroke-linejoin="round"/>${dots}`;
}

function legend(series: readonly Series[], left: number, top: number): string {
  let at = left;
  return series
    .map(({ name, color, as }) => {
      const sign =
        as === 'bar'
          ? `<rect x="${n(at)}" y="${top - 10}" width="12" height="12" fill="${color}"/>`
          : `<line x1="${n(at)}" x2="${n(at + 16)}" y1="${top - 4}" y2="${top - 4}" stroke="${color}" stroke-width="3"/>`;
      const words = `<text x="${n(at + 22)}" y="${top}">${escaped(name)}</text>`;
      at += 22 + name.length * WIDE + 26;
      return sign + words;
    })
    .join('');
}

function yAxis(chart: Chart): { max: number; steps: number[] } {
  if (chart.percent) return { max: 1, steps: [0, 0.2, 0.4, 0.6, 0.8, 1] };
  const stacks = Array.from({ length: chart.places }, (_, at) =>
    chart.series.filter((s) => s.as === 'bar').reduce((sum, s) => sum + (s.values[at] ?? 0), 0),
  );
  const single = chart.series
    .filter((s) => s.as === 'line' || !chart.stacked)
    .flatMap((s) => s.values.map((value) => value ?? 0));
  const highest = [...(chart.stacked ? stacks : []), ...single].reduce((most, value) => Math.max(most, value), 0);
  const step = niceStep(highest / 5);
  const count = Math.max(1, Math.ceil(highest / step));
  return { max: step * count, steps: Array.from({ length: count + 1 }, (_, i) => i * step) };
}

/** 1, 2 or 5 times a power of ten, at least one: what is counted has no halves. */
function niceStep(least: number): number {
  let power = 1;
  for (;;) {
    for (const digit of [1, 2, 5]) if (digit * power >= least) return digit * power;
    power *= 10;
  }
}

/**
 * Ticks that have room for their labels: long ones are slanted, and where that is not enough every so many is shown.
 */
function spaced({ ticks, places }: Chart): { ticks: Chart['ticks']; slanted: boolean } {
  const cut = ticks.map(({ at, label }) => ({ at, label: shortened(label) }));
  if (cut.length < 2) return { ticks: cut, slanted: false };
  const gap = (((WIDTH - LEFT - RIGHT) / places) * (cut.at(-1)!.at - cut[0]!.at)) / (cut.length - 1);
  const longest = cut.reduce((most, { label }) => Math.max(most, label.length), 0) * WIDE + 12;
  if (longest <= gap) return { ticks: cut, slanted: false };
  const everyFlat = Math.ceil(longest / gap);
  // Slanted labels need the height of a line only; a time axis rather leaves months out than lie askew.
  if (everyFlat <= 4) return { ticks: cut.filter((_, i) => i % everyFlat === 0), slanted: false };
  const every = Math.max(1, Math.ceil(24 / gap));
  return { ticks: cut.filter((_, i) => i % every === 0), slanted: true };
}

/** The beginning and the end, where the number of a repeated event stands. */
const shortened = (label: string) => (label.length > 14 ? `${label.slice(0, 9)}…${label.slice(-4)}` : label);

const isEmpty = ({ series }: Chart) => series.every((s) => s.values.every((value) => !value));
const n = (value: number): string => String(Math.round(value * 10) / 10);
const thousands = (value: number): string => String(value).replace(/\B(?=(\d{3})+$)/g, ' ');
const escaped = (text: string): string =>
  text
    .replaceAll(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`)
    // What XML may not hold at all.
    // eslint-disable-next-line no-control-regex
    .replaceAll(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, '');
