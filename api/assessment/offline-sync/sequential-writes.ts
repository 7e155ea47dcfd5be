/**
 * Statements of one transaction that run while `work` goes on: each begins when the one before has ended, and after one
 * that fails, or a fault of the work itself, none begins. It ends when all have ended, so that a rollback comes after
 * them.
 * @throws the fault of the statement that failed, before that of the work: it may be what came of it
 */
export async function sequentialWrites(
  work: (add: (statement: () => Promise<unknown>) => void) => Promise<void>,
): Promise<void> {
  let last: Promise<unknown> = Promise.resolve();
  let stopped = false;
  try {
    await work((statement) => {
      last = last.then(() => (stopped ? undefined : statement()));
      // It is told below; until then nobody waits for it.
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
