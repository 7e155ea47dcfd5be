import { setImmediate as others } from 'node:timers/promises';

/** Work that may be long: it yields where other requests may be served. */
export type YieldingWork<T> = Generator<undefined, T>;

/** Does the work without serving others in between: it is short. */
export function atOnce<T>(work: YieldingWork<T>): T {
  for (;;) {
    const step = work.next();
    if (step.done) return step.value;
  }
}

/** Does the work with other requests in between. */
export async function inTurns<T>(work: YieldingWork<T>): Promise<T> {
  for (;;) {
    const step = work.next();
    if (step.done) return step.value;
    await others();
  }
}
