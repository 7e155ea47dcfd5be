import type { Database } from './knex.js';

interface Waiting<Ask, Row> {
  ask: Ask;
  settle: { resolve: (row: Row) => void; reject: (fault: unknown) => void }[];
}

/**
 * Reads that one statement answers for all who ask at the same time, one statement at a time. What an asker gets was
 * read after it asked: whoever comes while a statement runs waits for the next one. So nothing is remembered, and a
 * right that is lost counts at once, while a crowd costs the database one round trip instead of one each.
 */
export class SharedRead<Ask, Row> {
  private waiting = new Map<string, Waiting<Ask, Row>>();
  private running = false;

  /** @param read answers each ask at its place */
  constructor(
    private readonly read: (database: Database, asks: readonly Ask[]) => Promise<Row[]>,
    private readonly most = 100,
  ) {}

  ask(database: Database, ask: Ask): Promise<Row> {
    return new Promise((resolve, reject) => {
      const key = JSON.stringify(ask);
      const same = this.waiting.get(key);
      if (same) same.settle.push({ resolve, reject });
      else this.waiting.set(key, { ask, settle: [{ resolve, reject }] });
      if (!this.running) void this.run(database);
    });
  }

  private async run(database: Database): Promise<void> {
    this.running = true;
    while (this.waiting.size > 0) {
      // Requests that came in at once are read at once: not the first alone and the others after it.
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
      const taken = [...this.waiting.entries()].slice(0, this.most);
      for (const [key] of taken) this.waiting.delete(key);
      try {
        const rows = await this.read(
          database,
          taken.map(([, { ask }]) => ask),
        );
        for (const [i, [, { settle }]] of taken.entries()) for (const { resolve } of settle) resolve(rows[i]!);
      } catch (fault) {
        for (const [, { settle }] of taken) for (const { reject } of settle) reject(fault);
      }
    }
    this.running = false;
  }
}
