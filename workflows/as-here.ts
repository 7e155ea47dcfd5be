import { AsyncLocalStorage } from '@temporalio/workflow';

type Run = <T>(work: () => T) => T;

/**
 * Runs work later as what was begun here, so that a trace leads from a message to what is done for it in its turn. It
 * changes nothing that a history has.
 */
export function asHere(): Run {
  const storage = AsyncLocalStorage as unknown as { snapshot?: () => Run };
  return storage.snapshot ? storage.snapshot() : (work) => work();
}
