import { cellText } from './cell.js';
import type { Meaning } from './cell.js';
import { NOT_CALCULATED } from '../sheet.js';
import { MAX_COLUMNS } from '../columns.js';
import type { Merged } from './merged.js';
import { columnOf } from './size-limits.js';
import { Text } from './text.js';
import { MAX_ROW_TEXT, damagedWorkbook, unreadable } from './unreadable.js';
import type { Attributes, XmlReader } from './xml.js';

const LAST_ROW = 1_048_576,
  LAST_COLUMN = 16_384;
/** The most cells of a row: one more than a header may have, so that a longer one is seen to be. */
const MAX_CELLS = MAX_COLUMNS + 1;
/** The most hidden rows that are named. */
const HIDDEN_NAMED = 20;

/** Reads a sheet's rows while its elements arrive, and passes on those that are not empty. */
export class WorkbookRows implements XmlReader {
  private within = false;
  private row = 0;
  private isHidden = false;
  private column = 0;
  private cells: string[] = [];
  private length = 0;
  private filled = false;
  private cell: Attributes | undefined;
  private formula = false;
  private readonly value = new Text(['v', 't']);
  /** Rows that are not shown, as by a filter, and were read like the others; the first of them by number. */
  readonly hidden = { count: 0, first: [] as number[] };

  /** @param take gets each row in order; it owns `cells` */
  constructor(
    private readonly meaning: Meaning,
    private readonly merged: Merged,
    private readonly take: (row: number, cells: string[]) => void,
  ) {
    if (merged.last > LAST_ROW) throw tooFar(merged.last);
  }

  open(name: string, attributes: Attributes): void {
    // Other parts of a sheet have rows and columns of other objects, such as the positions of its buttons.
    if (name === 'sheetData') this.within = true;
    if (!this.within) return;
    if (name === 'row') this.beginRow(attributes);
    else if (name === 'c') this.beginCell(attributes);
    else if (name === 'f') this.formula = true;
    else this.value.open(name);
  }

  text(text: string): void {
    if (this.cell) this.value.add(text);
  }

  close(name: string): void {
    if (!this.within) return;
    if (name === 'c') this.endCell();
    else if (name === 'row') this.endRow();
    else if (name === 'sheetData') this.within = false;
    else this.value.close(name);
  }

  /** The end of the sheet: merged cells may continue in further rows. */
  end(): void {
    this.rowsBefore(Infinity);
  }

  private beginRow({ r: reference, hidden }: Attributes): void {
    const row = reference === undefined ? this.row + 1 : Number(reference);
    if (!Number.isInteger(row) || row < 1) throw damagedWorkbook(new Error('a row without a number'));
    if (row > LAST_ROW) throw tooFar(row);
    if (row <= this.row)
      throw unreadable(`The workbook is damaged: row ${row} of its sheet stands behind row ${this.row}.`);
    this.rowsBefore(row);
    this.begin(row);
    this.isHidden = hidden === '1' || hidden === 'true';
  }

  private begin(row: number): void {
    this.row = row;
    this.column = this.length = 0;
    this.cells = [];
    this.filled = this.isHidden = false;
  }

  private beginCell(attributes: Attributes): void {
    this.column =
      attributes.r === undefined ? this.column + 1 : columnOf(/^[A-Z]{1,3}(?=\d)/.exec(attributes.r)?.[0] ?? '');
    if (this.column < 1 || this.column > LAST_COLUMN) throw damagedWorkbook(new Error('a cell in no column'));
    this.cell = attributes;
    this.formula = false;
    this.value.begin();
  }

  private endCell(): void {
    const { t, s } = this.cell ?? {};
    this.cell = undefined;
    const value = this.value.end();
    // An empty text is a formula result, too, of type text.
    const text =
      this.formula && value === '' && t !== 'str'
        ? NOT_CALCULATED
        : cellText(value, t, this.meaning.formats[Number(s ?? 0)], this.meaning);
    this.merged.note(this.row, this.column, text);
    const filled = value !== '' || this.formula;
    // A cell with formatting only counts as a cell, although it is empty.
    if (filled || Number(s ?? 0) > 0) this.put(this.column, text);
    this.filled ||= filled;
  }

  private put(column: number, text: string): void {
    if (column > MAX_CELLS) return;
    while (this.cells.length < column) this.cells.push('');
    this.length += text.length - this.cells[column - 1]!.length;
    this.cells[column - 1] = text;
    if (this.length > MAX_ROW_TEXT)
      throw unreadable(`Row ${this.row} of the sheet is longer than ${MAX_ROW_TEXT} characters.`);
  }

  private endRow(): void {
    for (const { column, text } of this.merged.take(this.row)) {
      this.put(column, text);
      this.filled ||= text !== '';
    }
    if (!this.filled) return;
    if (this.isHidden) this.noteHidden();
    this.take(this.row, this.cells);
  }

  private noteHidden(): void {
    if (this.cells.every((cell) => cell.trim() === '')) return;
    this.hidden.count += 1;
    if (this.hidden.first.length < HIDDEN_NAMED) this.hidden.first.push(this.row);
  }

  private rowsBefore(row: number): void {
    for (let next = this.merged.before(row); next !== undefined; next = this.merged.before(row)) {
      this.begin(next);
      this.endRow();
    }
  }
}

// A row number in the file.
const tooFar = (row: number) => unreadable(`The sheet has a row ${row}; the last there can be is ${LAST_ROW}.`);
