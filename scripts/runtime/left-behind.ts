import type { PartName } from './part.js';
import { end, lives, signal, type Identity } from './processes.js';
import { StartError } from './start-error.js';

const ORDER: PartName[][] = [['api', 'worker'], ['temporal', 'mail'], ['postgres']];

/**
 * Ends the processes that a killed supervisor left behind, in the order of an ordinary stop. They are identified by pid
 * and start time: an unrelated process with a reused pid is not touched.
 * @throws StartError when one of them cannot be ended
 */
export async function endLeftBehind(parts: Record<string, Identity>): Promise<void> {
  for (const names of ORDER) {
    await Promise.all(
      names.map(async (name) => {
        const process = parts[name];
        if (!process || !lives(process)) return;
        // SIGTERM would make PostgreSQL wait until every session has ended.
        const ended = await end(process, [
          [name === 'postgres' ? 'SIGINT' : 'SIGTERM', 10],
          ['SIGKILL', 5],
        ]);
        if (!ended)
          throw new StartError(
            `The ${name} process ${process.pid} of an earlier start cannot be ended: end it by hand.`,
          );
        signal(-process.pid, 'SIGKILL');
      }),
    );
  }
}
