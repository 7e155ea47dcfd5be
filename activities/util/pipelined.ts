/** The exclusive right of one piece to write. */
export interface WriteSlot {
  /** Waits until this piece may write. */
  acquire(): Promise<void>;
  /** Lets the next piece write before this one ends: it has little left to write. */
  release(): void;
}

/**
 * Processes `pieces` two at a time, of which at most one holds the slot to write: while the database writes one piece,
 * the next is read and decided. `work` acquires the slot before its first write; it is free again when the piece
 * releases it or ends.
 * @param concurrency 1: processes them one after the other, which leaves a processor to others
 * @returns the result of each, in the order of the pieces
 * @throws the first piece's error, after all running pieces have ended; no other is started after it
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
    // The next piece begins when the one before this ends: no more than two ever run.
    await Promise.allSettled([concurrency === 2 ? last : result]);
  }
  await Promise.allSettled(results);
  return Promise.all(results);
}
