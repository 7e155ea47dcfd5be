/** What `npm test` and its runners say to each other, over the channel between the processes. */

/** To a runner: run this file. The end of the channel means that there are no more. */
export interface RunFile {
  /** Of the checkout, as `test/api/account.test.ts`. */
  file: string;
  grep: string | null;
  forbidOnly: boolean;
}

export interface TestResult {
  /** The titles of its suites and its own. */
  path: string[];
  state: 'passed' | 'failed' | 'skipped';
  ms: number;
  /** Message, difference and stack of a failure. */
  fault?: string;
}

/** From a runner: the result of the file. */
export interface FileResult {
  file: string;
  tests: TestResult[];
  /** Milliseconds from the order until everything that it started has ended. */
  ms: number;
  /** Of these, loading and hooks. */
  setUpMs: number;
  /** Of these, polling the service (`until`). */
  waitingMs: number;
  /**
   * Processor time of the runner, of its service, and of all their children, milliseconds. Undefined if the system does
   * not report it.
   */
  processorMs?: number;
}

/** From a runner: a test has just failed; the service's logs are read at once. */
export interface TestFailed {
  failed: string;
}
