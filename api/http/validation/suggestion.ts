/** Names that differ in more than this share of their letters are not similar. */
const LARGEST_DIFFERENCE = 0.4;

/**
 * "; did you mean …?" with the most similar known name, or nothing if none is similar. Names that only differ in case,
 * `_` and `-` are the same.
 * @param largest share of their letters in which similar names may differ
 */
export function suggestion(input: string, known: readonly string[], largest = LARGEST_DIFFERENCE): string {
  // A text of thousands of letters resembles no name.
  if (input.length > 100) return '';
  let nearest: string | undefined;
  let least = largest;
  const word = wordOf(input);
  for (const other of wordsOf(known)) {
    const { name } = other;
    const length = Math.max(input.length, name.length);
    if (!mayResemble(word, other, least * length)) continue;
    const difference = editDistance(word.text, other.text, least * length) / length;
    if (nearest === undefined ? difference <= least : difference < least) [nearest, least] = [name, difference];
  }
  return nearest === undefined ? '' : `; did you mean ${nearest}?`;
}

/** `text`: without case, `_` and `-`. `letters`: a bit for each that occurs; some characters share one. */
interface Word {
  name: string;
  text: string;
  letters: number;
}

function wordOf(name: string): Word {
  const text = name.toLowerCase().replaceAll(/[_-]/g, '');
  let letters = 0;
  for (let i = 0; i < text.length; i += 1) letters |= 1 << (text.charCodeAt(i) % 32);
  return { name, text, letters };
}

const words = new WeakMap<readonly string[], readonly Word[]>();
/** Lists of names are constant. */
function wordsOf(known: readonly string[]): readonly Word[] {
  let found = words.get(known);
  if (!found) words.set(known, (found = known.map(wordOf)));
  return found;
}

/** False: their lengths, or letters of only one of them, show that they differ in more than `most` letters. */
const mayResemble = (a: Word, b: Word, most: number): boolean =>
  Math.abs(a.text.length - b.text.length) <= most &&
  bits(a.letters & ~b.letters) <= most &&
  bits(b.letters & ~a.letters) <= most;

function bits(set: number): number {
  let count = 0;
  for (let left = set; left !== 0; left &= left - 1) count += 1;
  return count;
}

/**
 * Number of letters to insert, delete, replace or swap with a neighbour (optimal string alignment); infinite if it is
 * more than `most`, which most names show by their first letters.
 */
function editDistance(a: string, b: string, most: number): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  let leastOfLast = 0;
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    let leastOfRow = i;
    for (let j = 1; j <= b.length; j += 1) {
      const replaced = last[j - 1]! + Number(a[i - 1] !== b[j - 1]);
      const exchanged =
        i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1] ? beforeLast[j - 2]! + 1 : Infinity;
      const fewest = Math.min(last[j]! + 1, row[j - 1]! + 1, replaced, exchanged);
      row.push(fewest);
      if (fewest < leastOfRow) leastOfRow = fewest;
    }
    // What follows builds on these two rows.
    if (leastOfRow > most && leastOfLast + 1 > most) return Infinity;
    [beforeLast, last, leastOfLast] = [last, row, leastOfRow];
  }
  return last[b.length]!;
}
