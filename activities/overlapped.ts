/** A piece's turn to write. */
export interface Turn {
  /** Waits until it is this piece's. */
  taken(): Promise<void>;
  /** Ends it before the piece is through: what it has still to write is little. */
  passOn(): void;
}

/**
 * Works through `pieces` two at a time, of which one at most has its turn to write: while the database writes what came
 * of a piece, the next is read and decided. `work` waits for its turn before its first write; the turn ends when it
 * passes it on, or is through.
 * @param atOnce 1: they are worked through one after the other instead, which leaves a processor to others
 * @returns what came of each, in the order of the pieces
 * @throws what the first one that failed has thrown, when nothing is under way any more; after it no other is begun
 */
export async function overlapped<Piece, Result>(
  pieces: readonly Piece[],
  work: (piece: Piece, turn: Turn) => Promise<Result>,
  atOnce: 1 | 2 = 2,
): Promise<Result[]> {
  const results: Promise<Result>[] = [];
  let written: Promise<unknown> = Promise.resolve();
  let failed = false;
  for (const piece of pieces) {
    if (failed) break;
    const before = written,
      last = results.at(-1);
    let passOn!: () => void;
    const passed = new Promise<void>((resolve) => {
      passOn = resolve;
    });
    const result = work(piece, {
      taken: async () => {
        await before;
      },
      passOn,
    });
    results.push(result);
    result.catch(() => {
      failed = true;
    });
    written = Promise.allSettled([before, Promise.race([passed, result])]);
    // The piece after this one begins when the one before it is through: no more than two are ever under way.
    await Promise.allSettled([atOnce === 2 ? last : result]);
  }
  await Promise.allSettled(results);
  return Promise.all(results);
}
