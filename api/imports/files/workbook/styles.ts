import { partContent } from './archive.js';
import type { Part } from './archive.js';
import { damagedWorkbook } from './unreadable.js';
import { readXml } from './xml.js';

/** The effect of a cell's number format: a date, a time of no day, or integers with a minimum number of digits. */
export interface Format {
  date: boolean;
  time: boolean;
  digits: number;
}

const PLAIN: Format = { date: false, time: false, digits: 0 },
  DATE: Format = { ...PLAIN, date: true },
  TIME: Format = { ...PLAIN, time: true };
/** A spreadsheet program supports at most 64,000. */
const MAX_STYLES = 65_536;
/**
 * The built-in formats (ECMA-376, 18.8.30), by number: of dates and times, including 27 to 36 and 50 to 58, which
 * differ in each East Asian language.
 */
const BUILT_IN_DATES = [
  [14, 17],
  [22, 22],
  [27, 36],
  [50, 58],
  [81, 81],
] as const;
const BUILT_IN_TIMES = [
  [18, 21],
  [32, 33],
  [45, 47],
] as const;

/** The formats of a workbook's cells, by style number. */
export async function formatsOf(part: Part | undefined): Promise<Format[]> {
  const codes = new Map<string, string>();
  const styles: string[] = [];
  let within: string | undefined;
  if (part) {
    await readXml(partContent(part), {
      open: (name, { numFmtId = '0', formatCode = '' }) => {
        if (name === 'numFmts' || name === 'cellXfs') within = name;
        else if (name === 'numFmt' && within === 'numFmts') codes.set(numFmtId, formatCode);
        else if (name === 'xf' && within === 'cellXfs') styles.push(numFmtId);
        if (styles.length > MAX_STYLES || codes.size > MAX_STYLES)
          throw damagedWorkbook(new Error(`more than ${MAX_STYLES} styles`));
      },
      close: (name) => {
        if (name === within) within = undefined;
      },
    });
  }
  return styles.map((id) => {
    const code = codes.get(id);
    return code === undefined ? builtIn(Number(id)) : formatOf(code);
  });
}

const isIn = (ranges: readonly (readonly [number, number])[], id: number): boolean =>
  ranges.some(([first, last]) => id >= first && id <= last);
const builtIn = (id: number): Format => (isIn(BUILT_IN_TIMES, id) ? TIME : isIn(BUILT_IN_DATES, id) ? DATE : PLAIN);

function formatOf(code: string): Format {
  if (/^0+$/.test(code)) return { ...PLAIN, digits: code.length };
  // Elapsed hours, as in [h]:mm.
  if (/\[(?:h+|m+|s+)\]/i.test(code)) return TIME;
  // Colours, currencies and quoted words in it are no days and months.
  const letters = code.replaceAll(/\[[^\]]*\]|"[^"]*"|\\.|[_*]./g, '').replaceAll(/General|Standard|AM\/PM|A\/P/gi, '');
  if (/[hs]/i.test(letters) && !/[ydbe]/i.test(letters) && !/m{3}/i.test(letters)) return TIME;
  return /[ymdhsb]/i.test(letters) ? DATE : PLAIN;
}
