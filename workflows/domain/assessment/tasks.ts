/** The cognitive tasks of a battery's modules: settings as JSON Schema, defaults, usual duration. */
export type JsonSchema = Readonly<Record<string, unknown>>;
export interface TaskDefinition {
  title: string;
  /** JSON Schema 2020-12 of the settings; unknown names are kept for the client (colours, keys, …). */
  settings: JsonSchema;
  defaults: Readonly<Record<string, unknown>>;
  estimated_minutes: number;
  /** Metrics that clients usually report, besides those computed from raw trials. */
  metrics: readonly string[];
  /**
   * Whether correct answers differ between trials: then a constant answer is flagged ONE_ANSWER. With one key there is
   * only one answer.
   */
  answers_differ: boolean;
}

const count = (maximum: number, minimum = 1): JsonSchema => ({ type: 'integer', minimum, maximum });
const milliseconds = (maximum = 600_000): JsonSchema => ({ type: 'number', minimum: 0, maximum });
const share: JsonSchema = { type: 'number', minimum: 0, maximum: 1 };
/** Text by language; compiled to the one in the requested language. */
const byLanguage: JsonSchema = {
  type: 'object',
  maxProperties: 100,
  propertyNames: { pattern: '^[A-Za-z]{2,8}([-_][A-Za-z0-9]{1,8})*$' },
  additionalProperties: { type: 'string', maxLength: 10_000 },
};
/**
 * A task's reported metrics, as JSON Schema: a metric's `title` is its label for readers of results, one text or one
 * for each language.
 */
const resultSchema: JsonSchema = {
  type: 'object',
  properties: {
    properties: {
      type: 'object',
      maxProperties: 500,
      additionalProperties: {
        type: 'object',
        properties: { title: { if: { type: 'string' }, then: { maxLength: 300 }, else: byLanguage } },
      },
    },
  },
};
/** Settings with texts by language, in every task. */
export const LOCALISED = ['title', 'instructions'] as const;

const settings = (properties: Record<string, JsonSchema>): JsonSchema => ({
  type: 'object',
  maxProperties: 100,
  properties: {
    practice_trials: count(1_000, 0),
    title: byLanguage,
    instructions: byLanguage,
    result_schema: resultSchema,
    ...properties,
  },
});
const RT = ['mean_rt', 'median_rt', 'sd_rt', 'accuracy', 'total_trials'];

export const TASKS = {
  reaction_time: {
    title: 'Simple reaction time',
    estimated_minutes: 3,
    metrics: [...RT, 'lapses'],
    answers_differ: false,
    settings: settings({
      trials: count(1_000),
      min_delay_ms: milliseconds(),
      max_delay_ms: milliseconds(),
      timeout_ms: milliseconds(),
    }),
    defaults: { trials: 40, practice_trials: 5, min_delay_ms: 1_000, max_delay_ms: 3_000, timeout_ms: 2_000 },
  },
  n_back: {
    title: 'N-back',
    estimated_minutes: 6,
    metrics: [...RT, 'hits', 'false_alarms', 'd_prime'],
    answers_differ: false,
    settings: settings({
      n: count(9),
      trials: count(1_000),
      target_ratio: share,
      stimulus_ms: milliseconds(),
      interval_ms: milliseconds(),
    }),
    defaults: { n: 2, trials: 60, practice_trials: 10, target_ratio: 0.3, stimulus_ms: 500, interval_ms: 2_500 },
  },
  stroop: {
    title: 'Stroop',
    estimated_minutes: 5,
    metrics: [...RT, 'interference'],
    answers_differ: true,
    settings: settings({ trials: count(1_000), congruent_ratio: share, timeout_ms: milliseconds() }),
    defaults: { trials: 60, practice_trials: 6, congruent_ratio: 0.5, timeout_ms: 3_000 },
  },
  flanker: {
    title: 'Flanker',
    estimated_minutes: 5,
    metrics: [...RT, 'interference'],
    answers_differ: true,
    settings: settings({
      trials: count(1_000),
      congruent_ratio: share,
      flankers: count(12),
      timeout_ms: milliseconds(),
    }),
    defaults: { trials: 60, practice_trials: 6, congruent_ratio: 0.5, flankers: 4, timeout_ms: 2_000 },
  },
  trail_making: {
    title: 'Trail making',
    estimated_minutes: 5,
    metrics: ['completion_time', 'errors', 'total_trials'],
    answers_differ: false,
    settings: settings({ part: { enum: ['A', 'B', 'both'] }, targets: count(100, 2), timeout_ms: milliseconds() }),
    defaults: { part: 'both', targets: 25, practice_trials: 8, timeout_ms: 300_000 },
  },
  digit_span: {
    title: 'Digit span',
    estimated_minutes: 5,
    metrics: ['max_span', 'accuracy', 'total_trials'],
    answers_differ: true,
    settings: settings({
      direction: { enum: ['forward', 'backward', 'both'] },
      start_length: count(20),
      max_length: count(20),
      attempts: count(10),
      digit_ms: milliseconds(),
    }),
    defaults: { direction: 'both', start_length: 3, max_length: 9, attempts: 2, digit_ms: 1_000, practice_trials: 2 },
  },
  symbol_search: {
    title: 'Symbol search',
    estimated_minutes: 3,
    metrics: RT,
    answers_differ: true,
    settings: settings({ trials: count(1_000), symbols: count(20, 2), duration_ms: milliseconds() }),
    defaults: { trials: 60, practice_trials: 4, symbols: 5, duration_ms: 120_000 },
  },
  continuous_performance: {
    title: 'Continuous performance',
    estimated_minutes: 8,
    metrics: [...RT, 'omissions', 'commissions'],
    answers_differ: false,
    settings: settings({
      trials: count(5_000),
      target_ratio: share,
      stimulus_ms: milliseconds(),
      interval_ms: milliseconds(),
    }),
    defaults: { trials: 320, practice_trials: 20, target_ratio: 0.2, stimulus_ms: 250, interval_ms: 1_000 },
  },
  custom: {
    title: 'A task of the study’s own',
    estimated_minutes: 5,
    metrics: [],
    answers_differ: false,
    settings: settings({}),
    defaults: {},
  },
} as const satisfies Record<string, TaskDefinition>;

/** A study's own task is unknown in this respect. */
export const answersDiffer = (name: string): boolean => isTask(name) && TASKS[name].answers_differ;

export type TaskName = keyof typeof TASKS;
export const taskNames = Object.keys(TASKS) as TaskName[];
export const isTask = (name: string): name is TaskName => Object.hasOwn(TASKS, name);
export const taskDefinition = (name: TaskName): TaskDefinition => TASKS[name];
