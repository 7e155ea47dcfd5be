/** Progress of the preparations (install, build), on stderr so that a command's own output stays clean. */
const began = performance.now();
const seconds = (ms) => (ms / 1000).toFixed(1);

/** One line with the time since the command began. */
export const say = (line) => process.stderr.write(`[${seconds(performance.now() - began).padStart(6)} s] ${line}\n`);

/**
 * Runs one step and reports it; during a long one it reports every five seconds, so that the screen is never silent.
 * @template T
 * @param {string} what @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function step(what, work) {
  const start = performance.now();
  say(`${what} …`);
  const reminder = setInterval(() => say(`${what}: ${seconds(performance.now() - start)} s so far`), 5000);
  try {
    const result = await work();
    say(`${what}: done in ${seconds(performance.now() - start)} s`);
    return result;
  } finally {
    clearInterval(reminder);
  }
}
