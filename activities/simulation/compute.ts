import { startThread } from '../../db/client/start-thread.js';
import type { SimulationInputs } from '../../workflows/domain/simulation/inputs.js';
import type { SimulationThreadMessage } from './thread.js';

/** Enough for the largest simulation that is taken; more would be at the cost of the worker beside it. */
const MEMORY_MB = 2048;

/**
 * Computes a simulation in a thread of its own, so that the worker's other activities go on. Answers the result as
 * JSON.
 * @param stop ends the thread
 * @throws Error when the thread dies, of its memory's limit for example, or is ended
 */
export async function compute(
  inputs: SimulationInputs,
  stop: AbortSignal,
  onProgress: (progress: number) => void,
): Promise<string> {
  stop.throwIfAborted();
  const worker = startThread('./thread', import.meta.url, {
    workerData: inputs,
    resourceLimits: { maxOldGenerationSizeMb: MEMORY_MB },
  });
  const end = () => {
    void worker.terminate();
  };
  stop.addEventListener('abort', end, { once: true });
  try {
    return await new Promise<string>((resolve, reject) => {
      worker.on('message', (message: SimulationThreadMessage) => {
        if ('result' in message) resolve(message.result);
        else onProgress(message.progress);
      });
      worker.on('error', reject);
      worker.on('exit', (code) => reject(new Error(`the simulation's thread ended with code ${code}`)));
    });
  } finally {
    stop.removeEventListener('abort', end);
    await worker.terminate();
  }
}
