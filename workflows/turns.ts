/** Thrown to who waited for a turn until the deadline. */
export class NoTurn extends Error {}

interface Line {
  inside: number;
  waiting: (() => void)[];
}

/** Lets so many work on one key at a time, the others in the order in which they came. */
export class Turns {
  private readonly lines = new Map<string, Line>();

  constructor(private readonly most: number) {}

  /**
   * Runs `work` when it is its turn.
   * @param deadline until when a turn is waited for, by performance.now()
   * @throws NoTurn
   */
  async take<T>(key: string, deadline: number, work: () => Promise<T>): Promise<T> {
    await this.enter(key, deadline);
    try {
      return await work();
    } finally {
      this.leave(key);
    }
  }

  private async enter(key: string, deadline: number): Promise<void> {
    const line = this.lines.get(key) ?? { inside: 0, waiting: [] };
    this.lines.set(key, line);
    if (line.inside < this.most) {
      line.inside += 1;
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const called = () => {
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(
        () => {
          line.waiting.splice(line.waiting.indexOf(called), 1);
          reject(new NoTurn('too many came before'));
        },
        Math.max(deadline - performance.now(), 0),
      );
      line.waiting.push(called);
    });
  }

  /** Who leaves hands the place to the next: nobody who comes later slips in between. */
  private leave(key: string): void {
    const line = this.lines.get(key)!;
    const next = line.waiting.shift();
    if (next) return next();
    line.inside -= 1;
    if (line.inside === 0) this.lines.delete(key);
  }
}
