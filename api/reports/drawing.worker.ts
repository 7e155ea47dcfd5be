/** The thread in which plots are drawn and pages put together: the API answers meanwhile. */
import { parentPort } from 'node:worker_threads';
import type { Task } from './data.js';
import { made } from './documents.js';

parentPort!.on('message', ({ id, task }: { id: number; task: Task }) => {
  made(task).then(
    (result) => parentPort!.postMessage({ id, result }),
    (fault: unknown) => parentPort!.postMessage({ id, fault: fault instanceof Error ? fault.stack ?? fault.message : String(fault) }),
  );
});
