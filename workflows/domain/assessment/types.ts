/** A raw trial as the checks see it. */
export interface Trial {
  trial_index: number;
  rt: number | null;
  correct: boolean | null;
  data?: Record<string, unknown> | undefined;
  /** It was for practice: kept, and no part of what is worked out. */
  practice?: boolean | undefined;
}
export type Summary = Record<string, number>;

/** Something about the data that is reported and changes nothing: everything sent is kept. */
export interface Remark {
  code: string;
  task: string;
  message: string;
  count: number;
}
