/** The thread in which plots are drawn and pages put together: the API answers meanwhile. */
import { setPriority } from 'node:os';
import { parentPort } from 'node:worker_threads';
import type { Task } from './data.js';
import { renderPdf } from './documents.js';

// Of this thread alone: on Linux each has a priority of its own. Elsewhere it would be the whole process's.
if (process.platform === 'linux') setPriority(0, 5);

parentPort!.on('message', ({ id, task }: { id: number; task: Task }) => {
  renderPdf(task).then(
    (result) => parentPort!.postMessage({ id, result }),
    (fault: unknown) =>
      parentPort!.postMessage({ id, fault: fault instanceof Error ? (fault.stack ?? fault.message) : String(fault) }),
  );
});
