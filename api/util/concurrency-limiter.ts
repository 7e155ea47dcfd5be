/** Runs a limited number at a time; the others queue. */
export class ConcurrencyLimiter {
  private running = 0;
  private readonly waiting: (() => void)[] = [];

  constructor(private readonly atOnce: number) {}

  async run<T>(work: () => Promise<T>): Promise<T> {
    // A finished task hands its slot over: no newcomer can take it.
    if (this.running >= this.atOnce)
      await new Promise<void>((go) => {
        this.waiting.push(go);
      });
    else this.running += 1;
    try {
      return await work();
    } finally {
      const next = this.waiting.shift();
      if (next) next();
      else this.running -= 1;
    }
  }
}
