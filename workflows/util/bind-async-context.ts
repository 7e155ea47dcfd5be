import { AsyncLocalStorage } from '@temporalio/workflow';

type Run = <T>(work: () => T) => T;

/**
 * Binds the present async context: what the returned function runs later belongs to it, so that a trace leads from a
 * message to what is done for it when its time has come. It changes nothing that a history has.
 */
export function bindAsyncContext(): Run {
  const storage = AsyncLocalStorage as unknown as { snapshot?: () => Run };
  return storage.snapshot ? storage.snapshot() : (work) => work();
}
