/** The right of one piece to write; no two pieces have it at once. */
export interface WriteSlot {
  /** Waits until this piece may write. */
  acquire(): Promise<void>;
  /** Lets the next piece write before this one is through: what it has still to write is little. */
  release(): void;
}

/**
 * Works through `pieces` two at a time, of which one at most holds the slot to write: while the database writes what
 * came of a piece, the next is read and decided. `work` acquires the slot before its first write; it is free again when
 * the piece releases it or is through.
 * @param concurrency 1: they are worked through one after the other instead, which leaves a processor to others
 * @returns what came of each, in the order of the pieces
 * @throws what the first one that failed has thrown, when nothing is under way any more; after it no other is begun
 */
export async function pipelined<Piece, Result>(
  pieces: readonly Piece[],
  work: (piece: Piece, slot: WriteSlot) => Promise<Result>,
  concurrency: 1 | 2 = 2,
): Promise<Result[]> {
  const results: Promise<Result>[] = [];
  let written: Promise<unknown> = Promise.resolve();
  let failed = false;
  for (const piece of pieces) {
    if (failed) break;
    const before = written,
      last = results.at(-1);
    let release!: () => void;
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const result = work(piece, {
      acquire: async () => {
        await before;
      },
      release,
    });
    results.push(result);
    result.catch(() => {
      failed = true;
    });
    written = Promise.allSettled([before, Promise.race([released, result])]);
    // The piece after this one begins when the one before it is through: no more than two are ever under way.
    await Promise.allSettled([concurrency === 2 ? last : result]);
  }
  await Promise.allSettled(results);
  return Promise.all(results);
}
