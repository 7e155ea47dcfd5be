/** One measured figure: a ratio against a baseline of the same run, or against a limit. */
export interface Figure {
  name: string;
  ratio: number;
  /** Without one the figure is only reported. */
  goal?: { is: '>=' | '<='; value: number };
  ours: number;
  /** What ours is compared with: the bare program's number, or the limit itself. */
  baseline: number;
  unit: string;
  /** One phrase: under which conditions. */
  what: string;
}

const digits = (value: number): string => (value >= 100 ? value.toFixed(0) : value.toFixed(value >= 10 ? 1 : 2));

/** `P1 ratio=0.83 goal>=0.70 ours=… baseline=… unit=…`. */
export const lineOf = ({ name, ratio, goal, ours, baseline, unit }: Figure): string =>
  `${name} ratio=${ratio.toFixed(2)} ${goal ? `goal${goal.is}${goal.value.toFixed(2)} ` : ''}ours=${digits(ours)} baseline=${digits(baseline)} unit=${unit}`;

/** The same as a row of a Markdown table. */
export const rowOf = (figure: Figure): string =>
  `| ${figure.name} | ${figure.what} | ${digits(figure.ours)} ${figure.unit} | ${digits(figure.baseline)} ${figure.unit} | ${figure.ratio.toFixed(2)} | ${figure.goal ? `${figure.goal.is === '>=' ? '≥' : '≤'} ${figure.goal.value.toFixed(2)}` : 'none'} | ${judged(figure)} |`;

function judged({ ratio, goal }: Figure): string {
  if (!goal) return 'no goal';
  return (goal.is === '>=' ? ratio >= goal.value : ratio <= goal.value) ? 'yes' : 'no';
}

/** A figure against a limit: how much of it is used. */
export const ofLimit = (name: string, ours: number, limit: number, unit: string, what: string): Figure => ({
  name,
  ratio: ours / limit,
  goal: { is: '<=', value: 1 },
  ours,
  baseline: limit,
  unit,
  what,
});

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

export const percentile = (values: readonly number[], share: number): number =>
  [...values].sort((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))]!;
