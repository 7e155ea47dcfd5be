/** A raw trial for the checks. */
export interface Trial {
  trial_index: number;
  rt: number | null;
  correct: boolean | null;
  data?: Record<string, unknown> | null | undefined;
  /** A practice trial: kept, and excluded from computed values. */
  practice?: boolean | null | undefined;
}
export type Summary = Record<string, number>;

/** A remark on the data; it changes nothing: everything sent is kept. */
export interface Remark {
  code: string;
  task: string;
  message: string;
  count: number;
}
