/**
 * Runs statements of one transaction while `work` goes on: each starts when the one before has ended; after a failure
 * of one, or of the work, none starts. Returns when all have ended, so that a rollback comes after them.
 * @throws the error of the failed statement, before that of the work: it may be the cause
 */
export async function sequentialWrites(
  work: (add: (statement: () => Promise<unknown>) => void) => Promise<void>,
): Promise<void> {
  let last: Promise<unknown> = Promise.resolve();
  let stopped = false;
  try {
    await work((statement) => {
      last = last.then(() => (stopped ? undefined : statement()));
      // It is thrown below; until then nobody awaits it.
      last.catch(() => {
        stopped = true;
      });
    });
  } catch (fault) {
    stopped = true;
    await last;
    throw fault;
  }
  await last;
}
