/** The thread that draws plots and builds pages, so that the API can answer meanwhile. */
import '../../../db/client/process/traces.js';
import { setPriority } from 'node:os';
import { parentPort } from 'node:worker_threads';
import type { Task } from './data.js';
import { renderPdf } from './documents.js';

// Of this thread only: on Linux each has its own priority. Elsewhere it would be the whole process's.
if (process.platform === 'linux') setPriority(0, 5);

parentPort!.on('message', ({ id, task }: { id: number; task: Task }) => {
  renderPdf(task).then(
    (result) => parentPort!.postMessage({ id, result }),
    (fault: unknown) =>
      parentPort!.postMessage({ id, fault: fault instanceof Error ? (fault.stack ?? fault.message) : String(fault) }),
  );
});
