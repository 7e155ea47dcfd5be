import { AsyncLocalStorage } from '@temporalio/workflow';

type Run = <T>(work: () => T) => T;

/**
 * Binds the current async context: the returned function runs later work in it, so that a trace leads from a message to
 * its processing. It does not affect histories.
 */
export function bindAsyncContext(): Run {
  const storage = AsyncLocalStorage as unknown as { snapshot?: () => Run };
  return storage.snapshot ? storage.snapshot() : (work) => work();
}
