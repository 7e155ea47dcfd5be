import { ApplicationFailure } from '@temporalio/common';

export interface OverrunBounds {
  /** The activity's startToCloseTimeout. */
  limitMs: number;
  tries: number;
  /** Reports that it was given up. */
  report: (message: string, details: Record<string, unknown>) => void;
}

/**
 * Fails an activity permanently after several timeouts. Other faults are retried indefinitely, since their cause may
 * pass; work that exceeds its timeout does so at every attempt, and occupies the worker each time.
 * @param idOf the same for each attempt
 */
export function givenUpAfterOverruns<Input, Output>(
  { limitMs, tries, report }: OverrunBounds,
  idOf: (input: Input) => string,
  activity: (input: Input) => Promise<Output>,
): (input: Input) => Promise<Output> {
  const overruns = new Map<string, number>();
  return async (input) => {
    const id = idOf(input);
    const before = overruns.get(id) ?? 0;
    if (before >= tries) {
      overruns.delete(id);
      report('an activity was given up: it overran its time at every attempt', { id, tries, limit_ms: limitMs });
      throw ApplicationFailure.nonRetryable(
        `given up: it took more than ${limitMs / 1000} seconds at each of ${tries} attempts`,
        'Overrun',
      );
    }
    const began = performance.now();
    const counted = () => {
      if (performance.now() - began >= limitMs) overruns.set(id, (overruns.get(id) ?? 0) + 1);
      else overruns.delete(id);
    };
    try {
      return await activity(input);
    } finally {
      counted();
    }
  };
}
