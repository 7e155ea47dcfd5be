import { expect } from 'chai';
import { suggestion } from '../../api/http/validation/suggestion.js';

/** Edits of optimal string alignment, one cell at a time. */
function distance(a: string, b: string): number {
  const cell = (i: number, j: number): number => {
    if (i === 0 || j === 0) return i + j;
    const swapped =
      i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1] ? rows[i - 2]![j - 2]! + 1 : Infinity;
    return Math.min(
      rows[i - 1]![j]! + 1,
      rows[i]![j - 1]! + 1,
      rows[i - 1]![j - 1]! + Number(a[i - 1] !== b[j - 1]),
      swapped,
    );
  };
  const rows: number[][] = [];
  for (let i = 0; i <= a.length; i += 1) {
    rows.push([]);
    for (let j = 0; j <= b.length; j += 1) rows[i]!.push(cell(i, j));
  }
  return rows[a.length]![b.length]!;
}

describe('the name that is suggested for an unknown one', () => {
  it('is the nearest, whatever is passed over without counting its edits', () => {
    const known = [
      'study_id',
      'status',
      'statuses',
      'site_id',
      'REDIS_URL',
      'anchor-date',
      'a',
      'ab',
      'visit_window_id',
    ];
    const plain = (name: string) => name.toLowerCase().replaceAll(/[_-]/g, '');
    const changed = known.flatMap((name) =>
      Array.from({ length: name.length }, (_, i) => [
        name.slice(0, i) + name.slice(i + 1),
        `${name.slice(0, i)}x${name.slice(i)}`,
        `${name.slice(0, i)}ud${name.slice(i + 1)}`,
        name.slice(0, i) + (name[i + 1] ?? '') + name[i]! + name.slice(i + 2),
      ]).flat(),
    );
    for (const input of changed.flatMap((one) => [one, `${one}s`, one.split('').reverse().join('')]))
      for (const largest of [0.15, 0.4]) {
        const shares = known.map((name) => distance(plain(input), plain(name)) / Math.max(input.length, name.length));
        const least = Math.min(...shares);
        expect(suggestion(input, known, largest), `${input}, ${largest}`).to.equal(
          least <= largest ? `; did you mean ${known[shares.indexOf(least)]}?` : '',
        );
      }
  });
});
