/** The thread of one simulation: it computes without pauses, outside of the worker's event loop. */
import '../../db/client/process/traces.js';
import { parentPort, workerData } from 'node:worker_threads';
import type { SimulationInputs } from '../../workflows/domain/simulation/inputs.js';
import { simulate } from '../../workflows/domain/simulation/run.js';

/** A message of the thread: progress, and finally the result as text. */
export type SimulationThreadMessage = { progress: number } | { result: string };

const TELL_EVERY_MS = 250;
const tell = (message: SimulationThreadMessage) => parentPort!.postMessage(message);

const run = simulate(workerData as SimulationInputs);
let told = performance.now();
for (;;) {
  const step = run.next();
  if (step.done) {
    tell({ result: JSON.stringify(step.value) });
    break;
  }
  if (performance.now() - told > TELL_EVERY_MS) {
    told = performance.now();
    tell({ progress: step.value });
  }
}
