/** Signs that begin a formula, also full-width ones, which some programs treat alike. */
const SIGNS = String.raw`=+@\-\u2212\uFF1D\uFF0B\uFF0D\uFF20`;
/** Blanks and quotes that programs skip before such a sign. */
const PASSED_OVER = String.raw`[ "'\u00A0\u200B\u3000\uFEFF]*`;
/** Cell separators of programs with another locale or other quoting rules. */
const SEPARATORS = String.raw`;\t\r\n`;

const AT_BEGINNING = new RegExp(`^(?:[${SEPARATORS}]|${PASSED_OVER}[${SIGNS}])`);
const BEHIND_SEPARATOR = new RegExp(`([${SEPARATORS}])(${PASSED_OVER}[${SIGNS}])`, 'g');
const GUARDED = new RegExp(`([${SEPARATORS}])'(${PASSED_OVER}[${SIGNS}])`, 'g');
const NUMBER = /^-\d+(?:\.\d+)?(?:[eE][-+]?\d+)?$/;

/**
 * A text safe for a CSV cell: an apostrophe precedes what a spreadsheet would run as a formula; a number stays one. The
 * database's `csv_text` does the same.
 */
export function csvText(text: string): string {
  if (NUMBER.test(text)) return text;
  const inside = text.replaceAll(BEHIND_SEPARATOR, "$1'$2");
  return AT_BEGINNING.test(text) ? `'${inside}` : inside;
}

/** The text that `csvText` has made safe: a file that this service has written comes back as it was. */
export function textOfCsv(cell: string): string {
  if (!cell.includes("'")) return cell;
  const inside = cell.replaceAll(GUARDED, '$1$2');
  return [inside.slice(1), inside].find((text) => csvText(text) === cell) ?? cell;
}
