/** Signs with which a formula begins, also in full width, which some programs read as the same. */
const SIGNS = String.raw`=+@\-\u2212\uFF1D\uFF0B\uFF0D\uFF20`;
/** Blanks and quotes before a sign are passed over by programs that run it. */
const PASSED_OVER = String.raw`[ "'\u00A0\u200B\u3000\uFEFF]*`;
/** Where a program of another language, or one that does not know our quotes, begins the next cell. */
const SEPARATORS = String.raw`;\t\r\n`;

const AT_BEGINNING = new RegExp(`^(?:[${SEPARATORS}]|${PASSED_OVER}[${SIGNS}])`);
const BEHIND_SEPARATOR = new RegExp(`([${SEPARATORS}])(${PASSED_OVER}[${SIGNS}])`, 'g');
const NUMBER = /^-\d+(?:\.\d+)?(?:[eE][-+]?\d+)?$/;

/**
 * A text as a cell of CSV may hold it: what a spreadsheet would run as a formula has an apostrophe before it; a number
 * stays one. The database's `csv_text` does the same.
 */
export function csvText(text: string): string {
  if (NUMBER.test(text)) return text;
  const inside = text.replaceAll(BEHIND_SEPARATOR, "$1'$2");
  return AT_BEGINNING.test(text) ? `'${inside}` : inside;
}
