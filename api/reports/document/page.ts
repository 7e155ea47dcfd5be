import type { Imprint } from './data.js';
import { BOLD, FONT_NAMES, fontCss } from './fonts.js';
import { escapeHtml } from './markup.js';
import type { Locale } from './words.js';

export interface Section {
  title: string;
  html: string;
}
export type Cell = string | number | null;

/** A table of so many rows is not divided between pages. */
const MAX_UNBROKEN_ROWS = 15;

/** A table; columns of numbers stand to the right. Cells are text, never markup. */
export function table(head: readonly string[], rows: readonly (readonly Cell[])[], speech: Locale): string {
  if (rows.length === 0) return `<p class="none">${escapeHtml(speech.words.nothing)}</p>`;
  const isNumber = (value: Cell | undefined) =>
    typeof value === 'number' || /^[\d.,\s%–−-]*\d[\d.,\s%–−-]*$/.test(String(value));
  const right = head.map(
    (_, at) =>
      at > 0 &&
      rows.some((row) => isNumber(row[at])) &&
      rows.every((row) => row[at] === null || row[at] === '–' || isNumber(row[at])),
  );
  const cell = (value: Cell | undefined) =>
    escapeHtml(typeof value === 'number' ? speech.number(value) : (value ?? '–'));
  const side = (at: number) => (right[at] ? ' class="r"' : '');
  return `<table${rows.length <= MAX_UNBROKEN_ROWS ? ' class="whole"' : ''}><thead><tr>${head.map((name, at) => `<th scope="col"${side(at)}>${escapeHtml(name)}</th>`).join('')}</tr></thead>
<tbody>${rows.map((row) => `<tr>${head.map((_, at) => (at === 0 ? `<th scope="row"${side(at)}>${cell(row[at])}</th>` : `<td${side(at)}>${cell(row[at])}</td>`)).join('')}</tr>`).join('\n')}</tbody></table>`;
}

/** Names and values, one under the other. */
export const facts = (entries: readonly (readonly [string, string])[]): string =>
  `<dl>${entries.map(([name, value]) => `<div><dt>${escapeHtml(name)}</dt><dd>${escapeHtml(value)}</dd></div>`).join('')}</dl>`;

export const figure = (svg: string): string => `<figure>${svg}</figure>`;

const css = (text: string) => `"${text.replaceAll(/["\\\n]/g, (c) => `\\${c.charCodeAt(0).toString(16)} `)}"`;

/** The whole page: cover, table of contents, sections; what it was made of in the foot of every page. */
export async function document(
  cover: { kind: string; title: string; subtitle: string; mark: string; facts: readonly (readonly [string, string])[] },
  sections: readonly Section[],
  imprint: Imprint,
  speech: Locale,
): Promise<string> {
  const { words } = speech;
  const foot = `${words.checksum} ${imprint.checksum}`,
    head = `${words.auditHead} #${imprint.audit.seq} ${imprint.audit.head}`;
  const filters =
    Object.entries(imprint.filters)
      .filter(([, value]) => value !== null)
      .map(
        ([name, value]) =>
          `${speech.word(name === 'site_code' ? 'site' : name)} ${name === 'from' || name === 'to' ? speech.date(value) : value}`,
      )
      .join(', ') || words.none;
  const above = `<!DOCTYPE html>
<html lang="${speech.language}"><head><meta charset="utf-8"><title>${escapeHtml(`${cover.kind}: ${cover.title}`)}</title>
<style>`;
  const page = `
@page { size: ${imprint.page_size}; margin: 20mm 18mm 24mm;
  @top-left { content: ${css(`${cover.kind} · ${cover.mark}`)}; font: 8pt ${FONT_NAMES}; color: #555; }
  @bottom-left { content: ${css(foot)} "\\A" ${css(head)}; white-space: pre; font: 5.6pt/1.5 ${FONT_NAMES}; color: #555; width: 88%; text-align: left; }
  @bottom-right { content: counter(page) " / " counter(pages); font: 8pt ${FONT_NAMES}; color: #555; width: 12%; } }
@page :first { @top-left { content: none; } }
* { box-sizing: border-box; }
body { font: 9.5pt/1.45 ${FONT_NAMES}; color: #222; margin: 0; }
h1, h2, h3 { font-weight: ${BOLD}; } h1 { font-size: 26pt; line-height: 1.2; margin: 0 0 3mm; overflow-wrap: anywhere; } h2 { font-size: 15pt; margin: 0 0 4mm; color: #0b3c5d; break-after: avoid; } h3 { font-size: 11pt; margin: 6mm 0 2mm; break-after: avoid; }
.cover { break-after: page; padding-top: 45mm; } .cover .kind { font-size: 12pt; color: #0b3c5d; font-weight: ${BOLD}; margin: 0 0 3mm; } .cover .sub { font-size: 13pt; color: #444; margin: 0 0 14mm; overflow-wrap: anywhere; }
nav { break-after: page; } nav ol { padding: 0; list-style: none; font-size: 11pt; line-height: 2; } nav a { display: flex; align-items: baseline; gap: 2mm; color: inherit; text-decoration: none; } nav i { flex: 1; border-bottom: 0.3mm dotted #999; } nav b { min-width: 8mm; text-align: right; font-weight: 400; font-variant-numeric: tabular-nums; }
section { margin-bottom: 10mm; } p { break-inside: avoid; }
dl { margin: 0; } dl div { display: flex; gap: 4mm; padding: 1mm 0; border-bottom: 0.2mm solid #e2e2e2; } dt { width: 45mm; flex: none; color: #555; } dd { margin: 0; font-size: 9pt; overflow-wrap: anywhere; min-width: 0; }
table { border-collapse: collapse; width: 100%; margin: 2mm 0 5mm; font-size: 8.5pt; } thead { display: table-header-group; } tr { break-inside: avoid; } .whole { break-inside: avoid; } tbody tr:first-child, tbody tr:nth-last-child(2) { break-after: avoid; }
th, td { text-align: left; padding: 1.1mm 1.6mm; border-bottom: 0.2mm solid #ddd; font-weight: 400; overflow-wrap: anywhere; } thead th { font-weight: ${BOLD}; border-bottom: 0.35mm solid #555; color: #333; } .r { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
figure { margin: 0 0 4mm; break-inside: avoid; } figure svg { width: 100%; height: auto; } .none { color: #555; font-style: italic; }
.figures { display: grid; grid-template-columns: repeat(4, 1fr); gap: 3mm; margin: 0 0 6mm; } .figures div { border: 0.25mm solid #cfd8dc; border-radius: 1.5mm; padding: 3mm; } .figures b { display: block; font-size: 17pt; font-weight: ${BOLD}; color: #0b3c5d; }
</style></head><body>
<div class="cover"><p class="kind">${escapeHtml(cover.kind)}</p><h1>${escapeHtml(cover.title)}</h1><p class="sub">${escapeHtml(cover.subtitle)}</p>
${facts([...cover.facts, [words.generated, speech.instant(imprint.generated_at)], [words.filters, filters], [words.checksum, imprint.checksum], [words.auditHead, `#${imprint.audit.seq} ${imprint.audit.head}`]])}</div>
<nav><h2>${escapeHtml(words.contents)}</h2><ol>${sections.map(({ title }, at) => `<li><a href="#s${at}"><span>${at + 1} ${escapeHtml(title)}</span><i></i><b></b></a></li>`).join('')}</ol></nav>
${sections.map(({ title, html }, at) => `<section id="s${at}"><h2>${at + 1} ${escapeHtml(title)}</h2>${html}</section>`).join('\n')}
</body></html>`;
  return above + (await fontCss(above + page)) + page;
}
