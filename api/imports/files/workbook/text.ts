import { MAX_ROW_TEXT, unreadable } from './unreadable.js';

/**
 * Collects the text of a cell or of a shared string: of all its runs, without phonetic guides, which Japanese workbooks
 * add.
 */
export class Text {
  private text = '';
  private pronounced = false;
  private taking = false;

  /** @param whole the elements whose text counts */
  constructor(private readonly whole: readonly string[]) {}

  begin(): void {
    this.text = '';
  }

  open(name: string): void {
    if (name === 'rPh') this.pronounced = true;
    else if (this.whole.includes(name)) this.taking = !this.pronounced;
  }

  add(text: string): void {
    if (!this.taking) return;
    this.text += text;
    if (this.text.length > MAX_ROW_TEXT)
      throw unreadable(`The workbook has a text of more than ${MAX_ROW_TEXT} characters.`);
  }

  close(name: string): void {
    if (name === 'rPh') this.pronounced = false;
    else if (this.whole.includes(name)) this.taking = false;
  }

  end(): string {
    return this.text;
  }
}

/** Characters that XML can't represent are written as their number (ECMA-376, 22.9.2.19). */
export const unescapeXml = (text: string): string =>
  text.includes('_x')
    ? text.replaceAll(/_x([0-9A-Fa-f]{4})_/g, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)))
    : text;
