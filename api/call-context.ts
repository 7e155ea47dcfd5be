import type { AsyncLocalStorage } from 'node:async_hooks';

/**
 * Has a storage that only holds something during calls cost nothing between them. From its first `run` on Node tells it
 * of every promise of the process: an eighth of the processor time of a request that has nothing to do with it.
 */
export function disableWhenUnused<Store>(storage: AsyncLocalStorage<Store>): void {
  const run = storage.run.bind(storage) as (store: Store, work: () => unknown) => unknown;
  let running = 0;
  const ended = () => {
    running -= 1;
    // It is enabled again by the next run.
    if (running === 0) storage.disable();
  };
  const counted = (store: Store, work: (...args: unknown[]) => unknown, ...args: unknown[]): unknown => {
    running += 1;
    let result: unknown;
    try {
      result = run(store, () => work(...args));
    } catch (fault) {
      ended();
      throw fault;
    }
    if (!(result instanceof Promise)) ended();
    else result.then(ended, ended);
    return result;
  };
  storage.run = counted as typeof storage.run;
}
