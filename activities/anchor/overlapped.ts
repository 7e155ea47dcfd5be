/**
 * Works through `pieces` two at a time, of which one at most writes: while the database writes what came of a piece, the
 * next is read and decided. `work` calls `writing` before its first write; its turn lasts until it is through.
 * @returns what came of each, in the order of the pieces
 * @throws what the first one that failed has thrown, when nothing is under way any more
 */
export async function overlapped<Piece, Result>(pieces: readonly Piece[], work: (piece: Piece, writing: () => Promise<void>) => Promise<Result>): Promise<Result[]> {
  const results: Promise<Result>[] = [];
  let written: Promise<unknown> = Promise.resolve();
  for (const piece of pieces) {
    const before = written;
    const result = work(piece, async () => { await before; });
    results.push(result);
    written = Promise.allSettled([before, result]);
    // The piece after this one begins when the one before it is through.
    await before;
  }
  await written;
  return Promise.all(results);
}
