import { partContent } from './archive.js';
import type { Part } from './archive.js';
import { damagedWorkbook } from './unreadable.js';
import { readXml } from './xml.js';

/**
 * The effect of a cell's number format: a date, a time of no day, an exponent, or an integer's digits and the texts
 * around them.
 */
export interface Format {
  date: boolean;
  time: boolean;
  /** Shown as `1.00E+05`: the format that spreadsheet programs give to a code such as 1E5. */
  exponent: boolean;
  /** The places of digits (`0`: always shown, `#`: if there is one), and the texts between them; empty: none. */
  mask: readonly (Place | { text: string })[];
}
type Place = '0' | '#';

const PLAIN: Format = { date: false, time: false, exponent: false, mask: [] },
  DATE: Format = { ...PLAIN, date: true },
  TIME: Format = { ...PLAIN, time: true },
  EXPONENT: Format = { ...PLAIN, exponent: true };
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
const BUILT_IN_EXPONENTS = [
  [11, 11],
  [48, 48],
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
const builtIn = (id: number): Format => {
  if (isIn(BUILT_IN_TIMES, id)) return TIME;
  if (isIn(BUILT_IN_DATES, id)) return DATE;
  return isIn(BUILT_IN_EXPONENTS, id) ? EXPONENT : PLAIN;
};

function formatOf(code: string): Format {
  const mask = maskOf(code);
  if (mask.length > 0) return { ...PLAIN, mask };
  // Elapsed hours, as in [h]:mm.
  if (/\[(?:h+|m+|s+)\]/i.test(code)) return TIME;
  // Colours, currencies and quoted words in it are no days and months.
  const letters = code.replaceAll(/\[[^\]]*\]|"[^"]*"|\\.|[_*]./g, '').replaceAll(/General|Standard|AM\/PM|A\/P/gi, '');
  if (/[0#?.]E[+-][0#?]/i.test(letters)) return EXPONENT;
  if (/[hs]/i.test(letters) && !/[ydbe]/i.test(letters) && !/m{3}/i.test(letters)) return TIME;
  return /[ymdhsb]/i.test(letters) ? DATE : PLAIN;
}

/** The part of a format for numbers from zero on, if it has digits and texts only: `00000`, `000-0000`, `"P-"0000`. */
const MASK = /^((?:[0# ()+-]|"[^";]*"|\\[^;])+)(?:;|$)/;
/** With one, the texts are a number's unit (`"days" 0`); with more, the digits are a code's. */
const MIN_ZEROS = 2;
const PIECE = /"([^"]*)"|\\(.)|([0#])|(.)/gu;

function maskOf(code: string): Format['mask'] {
  const pieces = [...(MASK.exec(code)?.[1] ?? '').matchAll(PIECE)].map(([, quoted, escaped, place, other]) =>
    place === undefined ? { text: quoted ?? escaped ?? other ?? '' } : (place as Place),
  );
  return pieces.filter((piece) => piece === '0').length >= MIN_ZEROS ? pieces : [];
}

/** A whole number from zero on, as a cell with the mask shows it. */
export function masked(number: number, mask: Format['mask']): string {
  const first = mask.findIndex((piece) => typeof piece === 'string');
  let digits = String(number);
  let shown = '';
  for (let i = mask.length - 1; i >= 0; i -= 1) {
    const piece = mask[i]!;
    if (typeof piece !== 'string') shown = piece.text + shown;
    else {
      // The first place has all digits that are left.
      const taken = i === first ? digits : digits.slice(-1);
      digits = digits.slice(0, -1);
      shown = (taken === '' && piece === '0' ? '0' : taken) + shown;
    }
  }
  return shown;
}
