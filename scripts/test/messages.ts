/** What `npm test` and its runners say to each other, over the channel between the processes. */

/** To a runner: run this file. Its channel's end means: there are no more. */
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

/** From a runner: what became of the file. */
export interface FileResult {
  file: string;
  tests: TestResult[];
  /** Milliseconds from the order to run it until everything that it started has ended. */
  ms: number;
  /** Of these, loading and hooks. */
  setUpMs: number;
  /** Of these, polling for something that the service does (`until`). */
  waitingMs: number;
}

/** From a runner: a test failed just now; the service's logs are read while they are fresh. */
export interface TestFailed {
  failed: string;
}
