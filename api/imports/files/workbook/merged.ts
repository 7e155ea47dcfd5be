import type { Merge } from './size-limits.js';

interface Whole {
  text: string;
}

/** Cells that are one: each of them says what the first one says, in whichever row it stands. */
export class Merged {
  private readonly first = new Map<string, Whole>();
  private readonly others = new Map<number, { column: number; whole: Whole }[]>();
  /** Rows with such cells, the last one first; a row may have no others. */
  private readonly rows: number[];

  constructor(merges: readonly Merge[]) {
    for (const { left, top, right, bottom } of merges) {
      const whole = { text: '' };
      this.first.set(`${top}:${left}`, whole);
      for (let row = top; row <= bottom; row += 1) {
        const places = this.others.get(row) ?? [];
        for (let column = row === top ? left + 1 : left; column <= right; column += 1) places.push({ column, whole });
        this.others.set(row, places);
      }
    }
    this.rows = [...this.others.keys()].sort((a, b) => b - a);
  }

  /** The last row that one of them reaches. */
  get last(): number {
    return this.rows[0] ?? 0;
  }

  /** Takes what the first of several cells says, before the others are asked. */
  note(row: number, column: number, text: string): void {
    if (this.first.size === 0) return;
    const whole = this.first.get(`${row}:${column}`);
    if (whole) whole.text = text;
  }

  /** The next row below `row` that has such cells. */
  before(row: number): number | undefined {
    const next = this.rows.at(-1);
    return next !== undefined && next < row ? next : undefined;
  }

  /** What the cells of a row say that are part of others; each row is asked once, in their order. */
  take(row: number): readonly { column: number; text: string }[] {
    if (this.rows.at(-1) === row) this.rows.pop();
    return (this.others.get(row) ?? []).map(({ column, whole }) => ({ column, text: whole.text }));
  }
}
