/** Names that differ in more than this share of their letters are not similar. */
const LARGEST_DIFFERENCE = 0.4;

/**
 * "; did you mean …?" with the most similar known name, or nothing if none is similar. Names that only differ in case,
 * `_` and `-` are the same.
 * @param largest share of their letters in which similar names may differ
 */
export function suggestion(input: string, known: readonly string[], largest = LARGEST_DIFFERENCE): string {
  let nearest: string | undefined;
  let least = Infinity;
  // A text of thousands of letters resembles no name.
  if (input.length <= 100)
    for (const name of known) {
      const difference = editDistance(plain(input), plain(name)) / Math.max(input.length, name.length);
      if (difference < least) [nearest, least] = [name, difference];
    }
  return nearest !== undefined && least <= largest ? `; did you mean ${nearest}?` : '';
}

const plain = (name: string): string => name.toLowerCase().replaceAll(/[_-]/g, '');

/** Number of letters to insert, delete, replace or swap with a neighbour (optimal string alignment). */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const replaced = last[j - 1]! + Number(a[i - 1] !== b[j - 1]);
      const exchanged =
        i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1] ? beforeLast[j - 2]! + 1 : Infinity;
      row.push(Math.min(last[j]! + 1, row[j - 1]! + 1, replaced, exchanged));
    }
    [beforeLast, last] = [last, row];
  }
  return last[b.length]!;
}
