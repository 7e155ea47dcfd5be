import { escapeXml } from './xml.js';

export const escapeHtml = escapeXml;

/** A piece of HTML that is safe to put in a page as it stands. */
export class Html {
  constructor(readonly text: string) {}
}

type Part = string | number | null | Html | readonly Html[];

const render = (part: Part): string => {
  if (part instanceof Html) return part.text;
  if (Array.isArray(part)) return (part as readonly Html[]).map((one) => one.text).join('');
  return escapeHtml(String(part ?? ''));
};

/** Every value put in is escaped, unless it is Html itself. */
export function html(strings: TemplateStringsArray, ...parts: Part[]): Html {
  return new Html(
    strings.reduce((text, piece, index) => text + piece + (index < parts.length ? render(parts[index] ?? '') : ''), ''),
  );
}

export function table(header: readonly string[], rows: readonly (readonly Part[])[]): Html {
  return html`<div class="wide"><table><thead><tr>${header.map((name) => html`<th>${name}</th>`)}</tr></thead>
<tbody>${rows.map((row) => html`<tr>${row.map((cell) => html`<td>${cell}</td>`)}</tr>`)}</tbody></table></div>`;
}

/** A whole page without scripts or anything from elsewhere. */
export function page(title: string, content: Html): string {
  return html`<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>${title}</title>
<style>body{font:15px/1.5 system-ui,sans-serif;margin:0;color:#1b2733}header{background:#24435c;padding:.6rem 1.5rem}header a{color:#fff;margin-right:1.2rem;text-decoration:none}
main{padding:1rem 1.5rem}.wide{overflow-x:auto}table{border-collapse:collapse;margin:.5rem 0 1.5rem}th,td{border:1px solid #cfd8df;padding:.25rem .6rem;text-align:left;vertical-align:top}th{background:#eef3f6}
a{color:#15608f}label{display:block;margin:.6rem 0}input,select{font:inherit;padding:.2rem .4rem;min-width:16rem}button{font:inherit;padding:.3rem 1rem}.note{background:#fff6d6;padding:.5rem .8rem;border:1px solid #e5d48a}code{background:#eef3f6;padding:0 .2rem}</style>
</head><body><header><a href="/">Capture simulator</a><a href="/calls">Calls</a><a href="/triggers">Triggers</a></header><main><h1>${title}</h1>${content}</main></body></html>`
    .text;
}
