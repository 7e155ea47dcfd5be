import type { Worker } from 'node:worker_threads';
import { startThread } from '../../../db/client/start-thread.js';
import type { Task } from './data.js';

const IDLE_MS = 60_000;
interface Waiting {
  resolve: (result: string) => void;
  reject: (fault: Error) => void;
}

/** Draws plots and pages in a separate thread, which starts on demand and ends after a minute of idle time. */
export class Drawing {
  private worker: Worker | undefined;
  private idle: NodeJS.Timeout | undefined;
  private last = 0;
  private readonly waiting = new Map<number, Waiting>();

  /** The SVG or page of a task. @throws Error when it cannot be drawn */
  draw(task: Task): Promise<string> {
    clearTimeout(this.idle);
    const worker = (this.worker ??= this.started());
    const id = ++this.last;
    return new Promise<string>((resolve, reject) => {
      this.waiting.set(id, { resolve, reject });
      worker.postMessage({ id, task });
    });
  }

  async close(): Promise<void> {
    clearTimeout(this.idle);
    const worker = this.worker;
    this.worker = undefined;
    await worker?.terminate();
  }

  private started(): Worker {
    const worker = startThread('./drawing.worker', import.meta.url);
    worker.unref();
    worker.on('message', ({ id, result, fault }: { id: number; result: string; fault?: string }) => {
      const one = this.waiting.get(id);
      this.waiting.delete(id);
      if (fault === undefined) one?.resolve(result);
      else one?.reject(new Error(`a report could not be drawn: ${fault}`));
      if (this.waiting.size === 0)
        this.idle = setTimeout(() => {
          void this.close();
        }, IDLE_MS).unref();
    });
    worker.on('error', (fault) => this.lost(worker, fault));
    worker.on('exit', () => this.lost(worker, new Error('the drawing thread has ended')));
    return worker;
  }

  private lost(worker: Worker, fault: Error): void {
    if (this.worker === worker) this.worker = undefined;
    for (const [id, { reject }] of this.waiting) {
      this.waiting.delete(id);
      reject(fault);
    }
  }
}
