import { createHash } from 'node:crypto';
import type { TimelineSubject } from '../../db/timeline/timeline.queries.js';
import type { TimelineItem } from './timeline.service.js';
import { escape, timelineSvg } from './picture.js';

const STYLE = `
:root { color-scheme: light; }
body { margin: 0 auto; max-width: 1080px; padding: 1.5rem; font: 15px/1.45 system-ui, -apple-system, 'Segoe UI', 'Open Sans', Roboto, Arial, sans-serif; color: #1b1f23; background: #fff; }
h1 { font-size: 1.5rem; margin: 0 0 .25rem; } h2 { font-size: 1.1rem; margin: 1.75rem 0 .5rem; }
dl { display: flex; flex-wrap: wrap; gap: .25rem 2rem; margin: .75rem 0 1.25rem; } dl div { display: flex; gap: .5rem; } dt { color: #57606a; } dd { margin: 0; font-weight: 600; }
figure { margin: 0; overflow-x: auto; } figure svg { box-sizing: border-box; max-width: 100%; height: auto; border: 1px solid #d0d7de; border-radius: 6px; }
table { border-collapse: collapse; width: 100%; } caption { text-align: left; color: #57606a; padding-bottom: .4rem; }
th, td { text-align: left; vertical-align: top; padding: .35rem .6rem .35rem 0; border-bottom: 1px solid #e2e6ea; } th { font-size: .85rem; color: #57606a; }
td.n { text-align: right; color: #57606a; font-variant-numeric: tabular-nums; width: 2.5rem; } td.links { white-space: nowrap; } td.t { white-space: nowrap; font-variant-numeric: tabular-nums; }
tr.planned td { color: #57606a; font-style: italic; } tr { break-inside: avoid; }
a { color: #0550ae; } footer { margin-top: 1.5rem; color: #57606a; font-size: .85rem; }
@media screen and (max-width: 40rem) { body { padding: .75rem; } figure svg { max-width: none; } thead { display: none; } tr { display: grid; grid-template-columns: 2rem 1fr auto; border-bottom: 1px solid #e2e6ea; padding: .4rem 0; } td { border: 0; padding: 0 .5rem 0 0; } td.n { width: auto; text-align: left; } td.k { display: none; } td.w { grid-column: 2 / 4; } td.links { grid-row: 1; grid-column: 3; } }
@media print { @page { size: A4; margin: 14mm; } body { padding: 0; max-width: none; font-size: 10.5pt; } a { color: inherit; text-decoration: none; } .links { display: none; } thead { display: table-header-group; } figure { break-inside: avoid; } figure svg { border: 0; } h2 { break-after: avoid; } }
`;
const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64');
/** Nothing is loaded from anywhere, no script runs. */
export const PAGE_POLICY = `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

/** The timeline as a page of its own: the picture, and every entry of it by its number. */
export function timelinePage(
  subject: TimelineSubject,
  items: readonly TimelineItem[],
  total: number,
  now: Date,
): string {
  const when = new Intl.DateTimeFormat('en-GB', {
    timeZone: subject.zone,
    year: 'numeric',
    month: 'short',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
  });
  const day = new Intl.DateTimeFormat('en-GB', {
    timeZone: subject.zone,
    year: 'numeric',
    month: 'short',
    day: '2-digit',
  });
  const fact = (name: string, value: string) => `<div><dt>${escape(name)}</dt><dd>${escape(value)}</dd></div>`;
  const row = (item: TimelineItem, index: number) => {
    const planned = item.data.planned === true;
    const at = new Date(item.at);
    const temporal = item.links.temporal ? ` · <a href="${escape(item.links.temporal)}">workflow</a>` : '';
    return `<tr${planned ? ' class="planned"' : ''}><td class="n">${index + 1}</td><td class="t"><time datetime="${escape(item.at)}">${escape(item.kind === 'visit' && item.data.what !== 'completed' ? day.format(at) : when.format(at))}</time></td><td class="k">${escape(item.kind)}</td><td class="w">${escape(item.title)}${planned ? ' <span>(to come)</span>' : ''}</td><td class="links"><a href="${escape(item.links.api)}" aria-label="${escape(`API: entry ${index + 1}`)}">API</a>${temporal}</td></tr>`;
  };
  return `<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>Timeline of ${escape(subject.participant_code)} · ${escape(subject.study_code)}</title><style>${STYLE}</style></head>
<body><main><h1>Timeline of ${escape(subject.participant_code)}</h1><p>${escape(subject.study_name.includes(subject.study_code) ? subject.study_name : `${subject.study_name} (${subject.study_code})`)}</p>
<dl>${fact('Status', subject.status)}${fact('Site', subject.site_code ?? 'none')}${fact('Enrollment date', `${subject.enrollment_date ?? 'not known yet'} (${subject.anchor_status})`)}${fact('Time zone', subject.zone)}</dl>
<figure>${timelineSvg(subject, items)}</figure>
<h2>Chronology</h2>
<table><caption>Oldest first; the numbers are those of the picture.</caption><thead><tr><th scope="col"><span>No.</span></th><th scope="col">When</th><th scope="col" class="k">Kind</th><th scope="col">What</th><th scope="col" class="links">Look at</th></tr></thead><tbody>
${items.map(row).join('\n')}
</tbody></table>
${items.length < total ? `<p>${total - items.length} later entries are not shown: narrow the time.</p>` : ''}
<footer>${total} entries, as of ${escape(when.format(now))}.</footer></main></body></html>
`;
}
