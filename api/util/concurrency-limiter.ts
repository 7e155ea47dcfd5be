/** So many at a time; the others wait in line. */
export class ConcurrencyLimiter {
  private running = 0;
  private readonly waiting: (() => void)[] = [];

  constructor(private readonly atOnce: number) {}

  async run<T>(work: () => Promise<T>): Promise<T> {
    // Whoever ends hands the place over: nobody slips in between.
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
