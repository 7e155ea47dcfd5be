import type { Merge } from './size-limits.js';

interface Whole {
  text: string;
}

/** Merged cells: each has the text of the first one, in any row. */
export class Merged {
  private readonly first = new Map<string, Whole>();
  private readonly others = new Map<number, { column: number; whole: Whole }[]>();
  /** Rows with merged cells, the last one first. */
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

  /** The last row with merged cells. */
  get last(): number {
    return this.rows[0] ?? 0;
  }

  /** Stores the text of the first cell, before the others are read. */
  note(row: number, column: number, text: string): void {
    if (this.first.size === 0) return;
    const whole = this.first.get(`${row}:${column}`);
    if (whole) whole.text = text;
  }

  /** The next row below `row` with merged cells. */
  before(row: number): number | undefined {
    const next = this.rows.at(-1);
    return next !== undefined && next < row ? next : undefined;
  }

  /** The texts of a row's merged cells; each row is read once, in order. */
  take(row: number): readonly { column: number; text: string }[] {
    if (this.rows.at(-1) === row) this.rows.pop();
    return (this.others.get(row) ?? []).map(({ column, whole }) => ({ column, text: whole.text }));
  }
}
