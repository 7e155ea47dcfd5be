import { registeredErrors } from '../errors.js';

const BEGIN = '<!-- errors: written by npm run openapi -->';
const END = '<!-- errors: end -->';

/** Every registered code with its status and sentence, ordered by status. */
function errorsTable(): string {
  const rows = registeredErrors()
    .sort((a, b) => a.status - b.status || (a.code < b.code ? -1 : 1))
    .map(({ code, status, detail }) => `| ${status} | \`${code}\` | ${detail.replaceAll('|', '\\|')} |`);
  return ['| status | code | meaning |', '|---|---|---|', ...rows].join('\n');
}

/** docs/api.md with the current table of errors between its markers. @throws Error without the markers */
export function withErrorsTable(page: string): string {
  const [before, rest] = page.split(BEGIN);
  const after = rest?.split(END)[1];
  if (after === undefined) throw new Error(`docs/api.md has no place for the errors: ${BEGIN} … ${END}`);
  return `${before}${BEGIN}\n\n${errorsTable()}\n\n${END}${after}`;
}
