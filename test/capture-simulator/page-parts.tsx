import type { ComponentChildren } from 'preact';
import { paletteCss } from '../../activities/html/palette.js';
import { HtmlDocument } from '../../activities/html/html-document.js';
import { renderPage } from '../../activities/html/render.js';
import { Style, pageStyle } from '../../activities/html/style.js';

const STYLE = pageStyle(`${paletteCss('auto')}
body { font: 15px/1.5 system-ui, sans-serif; margin: 0; background: var(--surface); color: var(--ink) }
header { background: var(--accent); padding: .6rem 1.5rem }
header a { color: var(--on-accent); margin-right: 1.2rem; text-decoration: none }
main { padding: 1rem 1.5rem }
.wide { overflow-x: auto }
table { border-collapse: collapse; margin: .5rem 0 1.5rem }
th, td { border: 1px solid var(--line); padding: .25rem .6rem; text-align: start; vertical-align: top }
th, code { background: var(--ground) }
a { color: var(--accent) }
label { display: block; margin: .6rem 0 }
input, select { font: inherit; padding: .2rem .4rem; min-width: 16rem }
button { font: inherit; padding: .3rem 1rem }
.note { background: var(--warn-soft); padding: .5rem .8rem; border: 1px solid var(--line) }
code { padding: 0 .2rem }
`);
export const PAGE_POLICY = `default-src 'none'; style-src ${STYLE.source}; form-action 'self'`;

export const Table = ({ head, rows }: { head: readonly string[]; rows: readonly (readonly ComponentChildren[])[] }) => (
  <div class="wide">
    <table>
      <thead>
        <tr>
          {head.map((name) => (
            <th key={name}>{name}</th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row, at) => (
          <tr key={at}>
            {row.map((cell, column) => (
              <td key={column}>{cell}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  </div>
);

/** A whole page without scripts or anything from elsewhere. */
export const page = (title: string, content: ComponentChildren): string =>
  renderPage(
    <HtmlDocument language="en" title={title} head={<Style of={STYLE} />}>
      <header>
        <a href="/">Capture simulator</a>
        <a href="/calls">Calls</a>
        <a href="/triggers">Triggers</a>
      </header>
      <main>
        <h1>{title}</h1>
        {content}
      </main>
    </HtmlDocument>,
  );
