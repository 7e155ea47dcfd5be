/** Thrown if work waited in the queue until its deadline. */
export class QueueTimeoutError extends Error {}

interface Queue {
  running: number;
  waiting: (() => void)[];
}

/** Runs at most a number of tasks for each key at a time, others in order of arrival. */
export class KeyedConcurrencyLimiter {
  private readonly queues = new Map<string, Queue>();

  constructor(private readonly maxConcurrency: number) {}

  /**
   * Runs `work` as soon as fewer than the maximum of its key are running.
   * @param deadline until when it may wait, by performance.now()
   * @throws QueueTimeoutError
   */
  async run<T>(key: string, deadline: number, work: () => Promise<T>): Promise<T> {
    await this.enter(key, deadline);
    try {
      return await work();
    } finally {
      this.leave(key);
    }
  }

  private async enter(key: string, deadline: number): Promise<void> {
    const queue = this.queues.get(key) ?? { running: 0, waiting: [] };
    this.queues.set(key, queue);
    if (queue.running < this.maxConcurrency) {
      queue.running += 1;
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const start = () => {
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(
        () => {
          queue.waiting.splice(queue.waiting.indexOf(start), 1);
          reject(new QueueTimeoutError('queue timeout'));
        },
        Math.max(deadline - performance.now(), 0),
      );
      queue.waiting.push(start);
    });
  }

  /** Hands the slot to the next in the queue: no newcomer can take it. */
  private leave(key: string): void {
    const queue = this.queues.get(key)!;
    const next = queue.waiting.shift();
    if (next) return next();
    queue.running -= 1;
    if (queue.running === 0) this.queues.delete(key);
  }
}
