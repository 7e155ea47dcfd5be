import { DIGITS_LOST } from '../sheet.js';
import type { SharedStrings } from './strings.js';
import { masked } from './styles.js';
import type { Format } from './styles.js';
import { unescapeXml } from './text.js';
import { damagedWorkbook } from './unreadable.js';

/** The parts that cells of a workbook reference. */
export interface Meaning {
  strings: SharedStrings;
  formats: readonly Format[];
  date1904: boolean;
}

const DAY_MS = 86_400_000;
/** Day zero of a workbook's date numbers, in days from 1970. */
const ZERO_1900 = -25_569,
  ZERO_1904 = ZERO_1900 + 1_462;

/**
 * Spreadsheet programs keep and show 15 digits of a number, with zeros in place of the others. What they calculate has
 * more in the file: 1.1 + 0.1 is 1.2000000000000002 there.
 */
const DIGITS = 15,
  MAX_WHOLE = 10 ** DIGITS;

/**
 * A cell as displayed: dates without a time zone, numbers with the zeros and texts of their format, the results of
 * formulas.
 * @param type of the value in the sheet; a number if missing
 */
export function cellText(
  value: string,
  type: string | undefined,
  format: Format | undefined,
  { strings, date1904 }: Meaning,
): string {
  if (value === '') return '';
  switch (type) {
    case 's':
      return strings.at(Number.parseInt(value, 10)) ?? missing(value);
    case 'str':
    case 'inlineStr':
      return unescapeXml(value);
    case 'b':
      return String(Number.parseInt(value, 10) !== 0);
    case 'e':
      return value;
    // Few programs write dates as text: 2026-01-31T00:00:00.
    case 'd':
      return /^\d{4}-\d\d-\d\d/.test(value) ? value.slice(0, 10) : value;
    default:
      return numberShown(Number.parseFloat(value), format, date1904);
  }
}

function numberShown(number: number, format: Format | undefined, date1904: boolean): string {
  if (format?.time) return Number.isFinite(number) ? timeShown(number) : '';
  if (format?.date) {
    if (!date1904 && number < FIRST_TRUE_DAY) return dayOfEarly1900(Math.floor(number));
    const date = new Date(Math.round((number + (date1904 ? ZERO_1904 : ZERO_1900)) * DAY_MS));
    return Number.isNaN(date.getTime()) ? '' : date.toISOString().slice(0, 10);
  }
  // A code such as 1E5 or 1E-01, of which the program made a number: what was typed is lost.
  if (format?.exponent || (Number.isInteger(number) && Math.abs(number) >= MAX_WHOLE)) return DIGITS_LOST;
  const shown = Number(number.toPrecision(DIGITS));
  return format && format.mask.length > 0 && Number.isInteger(shown) && shown >= 0
    ? masked(shown, format.mask)
    : String(shown);
}

/** Spreadsheet programs treat 1900 as a leap year: up to its 29 February they count a day less. */
const FIRST_TRUE_DAY = 61,
  NO_LEAP_DAY = 60;

/** As the programs show it, also days that there were not: zero is what a reference to an empty cell gives. */
function dayOfEarly1900(number: number): string {
  if (number < 0) return String(number);
  if (number === 0) return '1900-01-00';
  if (number === NO_LEAP_DAY) return '1900-02-29';
  return new Date((number + 1 + ZERO_1900) * DAY_MS).toISOString().slice(0, 10);
}

/** A time of day, or a duration of more hours. */
function timeShown(number: number): string {
  const seconds = Math.round(Math.abs(number) * 86_400);
  const parts = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60, seconds % 60];
  return `${number < 0 ? '-' : ''}${parts.map((part) => String(part).padStart(2, '0')).join(':')}`;
}

function missing(index: string): never {
  throw damagedWorkbook(new Error(`there is no shared text ${index.slice(0, 20)}`));
}
