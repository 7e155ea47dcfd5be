import { BOLD, FONT_NAMES } from './fonts.js';

/** A text in a style sheet. */
const quoted = (text: string): string =>
  `"${text.replaceAll(/["\\\n]/g, (c) => `\\${c.charCodeAt(0).toString(16)} `)}"`;

/** The margin texts of each page: `PAGE_STYLE` reads them from the style of the document's root. */
export const marginTexts = (above: string, below: readonly [string, string]): Record<`--${string}`, string> => ({
  '--above': quoted(above),
  '--below': below.map(quoted).join(' "\\a " '),
});

/** The style of every document. */
export const PAGE_STYLE = `
@page { margin: 20mm 18mm 24mm;
  @top-left { content: var(--above); font: 8pt ${FONT_NAMES}; color: #555; }
  @bottom-left { content: var(--below); white-space: pre; font: 5.6pt/1.5 ${FONT_NAMES}; color: #555; width: 88%; text-align: left; }
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
`;
