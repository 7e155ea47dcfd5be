/** What the work below takes of a processor that is this service's alone, milliseconds. */
const USUAL_MS = 4;
const TRIES = 10;

/**
 * `ms` of processor time that were used a moment ago, in milliseconds of a usual processor. The speed is measured with
 * each of them: it changes by the minute where others use the core.
 */
export const usualMs = (ms: number): number => ms / slowness();

/**
 * How many times as long as usual this machine's processor takes for the same work, at least 1. A virtual machine whose
 * core serves others as well takes twice as much processor time for everything; bounds of processor time grow with it.
 */
export function slowness(): number {
  const rows = Array.from({ length: 2_000 }, (_, i) => ({ id: i, at: '2026-01-05T10:00:00Z', values: [i / 3, true] }));
  const text = JSON.stringify(rows);
  let least = Infinity;
  // What is no slower than usual needs no further try: it is as usual.
  for (let i = 0; i < TRIES && least > USUAL_MS; i += 1) {
    const before = process.cpuUsage();
    for (let j = 0; j < 5; j += 1) JSON.stringify(JSON.parse(text));
    const { user, system } = process.cpuUsage(before);
    least = Math.min(least, (user + system) / 1_000);
  }
  return Math.max(1, least / USUAL_MS);
}
