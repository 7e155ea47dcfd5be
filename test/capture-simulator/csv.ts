/**
 * Reads CSV text as RFC 4180 writes it: quoted cells, doubled quotes, line breaks inside quotes, CRLF or LF, an
 * optional byte order mark. Empty lines are skipped.
 */
export function parseCsv(text: string, delimiter = ','): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  let cell = '';
  let quoted = false;
  let touched = false;
  const endRow = () => {
    if (touched || row.length > 0) rows.push([...row, cell]);
    row = [];
    cell = '';
    touched = false;
  };
  const source = text.startsWith('\uFEFF') ? text.slice(1) : text;
  for (let i = 0; i < source.length; i += 1) {
    const char = source[i] as string;
    if (quoted) {
      if (char !== '"') cell += char;
      else if (source[i + 1] === '"') {
        cell += '"';
        i += 1;
      } else quoted = false;
    } else if (char === '"' && cell === '') {
      quoted = true;
      touched = true;
    } else if (char === delimiter) {
      row.push(cell);
      cell = '';
      touched = true;
    } else if (char === '\n') endRow();
    else if (char !== '\r' || source[i + 1] !== '\n') {
      cell += char;
      touched = true;
    }
  }
  if (quoted) throw new Error('The CSV text ends inside a quoted cell.');
  endRow();
  return rows;
}

/** The rows under the header as objects; a short row has empty cells, a longer one than the header is an error. */
export function parseCsvObjects(text: string, delimiter = ','): Record<string, string>[] {
  const [header, ...rows] = parseCsv(text, delimiter);
  if (header === undefined) return [];
  return rows.map((row, index) => {
    if (row.length > header.length)
      throw new Error(`The CSV row ${index + 2} has ${row.length} cells under ${header.length} headings.`);
    return Object.fromEntries(header.map((name, column) => [name.trim(), row[column] ?? '']));
  });
}

function csvCell(value: string, delimiter: string): string {
  return /["\r\n]/.test(value) || value.includes(delimiter) || value !== value.trim()
    ? `"${value.replaceAll('"', '""')}"`
    : value;
}

/** CSV text with LF line ends, the header first. */
export function writeCsv(header: readonly string[], rows: readonly (readonly string[])[], delimiter = ','): string {
  return [header, ...rows].map((row) => row.map((cell) => csvCell(cell, delimiter)).join(delimiter)).join('\n') + '\n';
}
