import { performance } from 'node:perf_hooks';

/**
 * Callers that come while a probe runs share its result: anybody may ask, as often as they like.
 * @param keptMs how long a result is given to later callers as well
 */
export function sharedProbe<K extends object, T>(
  probe: (of: K) => Promise<T>,
  keptMs: (result: T) => number = () => 0,
): (of: K) => Promise<T> {
  const probes = new WeakMap<K, { result: Promise<T>; until: number }>();
  return (of) => {
    const known = probes.get(of);
    if (known && known.until > performance.now()) return known.result;
    const entry = { result: probe(of), until: Infinity };
    probes.set(of, entry);
    const end = (ms: number) => {
      entry.until = performance.now() + ms;
    };
    entry.result.then(
      (result) => end(keptMs(result)),
      () => end(0),
    );
    return entry.result;
  };
}
