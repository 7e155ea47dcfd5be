import { startThread } from '../../db/client/start-thread.js';
import type { SimulationInputs } from '../../workflows/domain/simulation/inputs.js';
import type { SimulationThreadMessage } from './thread.js';

/** Enough for the largest accepted simulation; more could affect the worker. */
const MEMORY_MB = 2048;

/**
 * Computes a simulation in a separate thread, so that the worker's other activities continue. Returns the result as
 * JSON.
 * @param stop ends the thread
 * @throws Error when the thread dies, for example at its memory limit, or is stopped
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
