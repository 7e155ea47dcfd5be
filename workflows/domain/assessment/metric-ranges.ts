/** The possible values of a metric, in any task; `whole`: it is a count. */
export interface MetricRange {
  min: number;
  max: number;
  whole: boolean;
}

const DURATION: MetricRange = { min: 0, max: Infinity, whole: false };
const SHARE: MetricRange = { min: 0, max: 1, whole: false };
const COUNT: MetricRange = { min: 0, max: Infinity, whole: true };

const RANGES: ReadonlyMap<string, MetricRange> = new Map([
  ['mean_rt', DURATION],
  ['median_rt', DURATION],
  ['sd_rt', DURATION],
  ['completion_time', DURATION],
  ['accuracy', SHARE],
  ['total_trials', COUNT],
  ['hits', COUNT],
  ['false_alarms', COUNT],
  ['lapses', COUNT],
  ['errors', COUNT],
  ['omissions', COUNT],
  ['commissions', COUNT],
  ['max_span', COUNT],
]);

/** The range of a metric of this name: times in milliseconds, shares from 0 to 1, counts; undefined: unknown. */
export const rangeOfMetric = (metric: string): MetricRange | undefined => RANGES.get(metric);

/** Whether the metric can have this value. A metric without a known range can have any. */
export function isPossible(metric: string, value: number): boolean {
  const range = rangeOfMetric(metric);
  if (!range) return true;
  return value >= range.min && value <= range.max && (!range.whole || Number.isInteger(value));
}

/** Reaction times, and what is measured as they are. */
const TIME = /(^|_)rt$|^interference$|^completion_time$/;

/** The unit of a metric of this name; undefined: it has none, or it is unknown. */
export const unitOfMetric = (metric: string): 'ms' | undefined => (TIME.test(metric) ? 'ms' : undefined);

/** A metric's name for a table or an axis: with its unit. */
export const metricWithUnit = (metric: string): string => {
  const unit = unitOfMetric(metric);
  return unit ? `${metric} (${unit})` : metric;
};
