import type { ComponentChildren } from 'preact';
import { DefinitionList } from '../../../activities/html/definition-list.js';
import { HtmlDocument } from '../../../activities/html/html-document.js';
import { renderPage, renderPart } from '../../../activities/html/render.js';
import { Style, pageStyle } from '../../../activities/html/style.js';
import type { Imprint } from './data.js';
import { fontCss } from './fonts.js';
import { PAGE_STYLE, marginTexts } from './style.js';
import type { Locale } from './words.js';

export interface Section {
  title: string;
  content: ComponentChildren;
}
export interface Cover {
  kind: string;
  title: string;
  subtitle: string;
  /** The text in the head of every page. */
  mark: string;
  facts: readonly Fact[];
}
export type Fact = readonly [name: string, value: string];
export type Cell = string | number | null;

/** A table of up to this many rows is not split across pages. */
const KEPT_WHOLE = 15;
const NUMBER = /^[\d.,\s%–−-]*\d[\d.,\s%–−-]*$/;
const isNumber = (value: Cell | undefined): boolean => typeof value === 'number' || NUMBER.test(String(value));

export function Nothing({ speech }: { speech: Locale }) {
  return <p class="none">{speech.words.nothing}</p>;
}

/** A table; columns of numbers are right-aligned. */
export function PrintedTable({
  head,
  rows,
  speech,
}: {
  head: readonly string[];
  rows: readonly (readonly Cell[])[];
  speech: Locale;
}) {
  if (rows.length === 0) return <Nothing speech={speech} />;
  const sides = head.map((_, index) =>
    index > 0 &&
    rows.some((row) => isNumber(row[index])) &&
    rows.every((row) => row[index] === null || row[index] === '–' || isNumber(row[index]))
      ? 'r'
      : undefined,
  );
  const shown = (value: Cell | undefined) => (typeof value === 'number' ? speech.number(value) : (value ?? '–'));
  return (
    <table class={rows.length <= KEPT_WHOLE ? 'whole' : undefined}>
      <thead>
        <tr>
          {head.map((name, index) => (
            <th scope="col" class={sides[index]}>
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr>
            {head.map((_, index) =>
              index === 0 ? (
                <th scope="row" class={sides[index]}>
                  {shown(row[index])}
                </th>
              ) : (
                <td class={sides[index]}>{shown(row[index])}</td>
              ),
            )}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** The whole page: cover, table of contents, sections; sources in the foot of every page. */
export async function document(
  cover: Cover,
  sections: readonly Section[],
  imprint: Imprint,
  speech: Locale,
): Promise<string> {
  const { words } = speech;
  const title = `${cover.kind}: ${cover.title}`;
  const properties = marginTexts(`${cover.kind} · ${cover.mark}`, [
    `${words.checksum} ${imprint.checksum}`,
    `${words.auditHead} ${auditHead(imprint)}`,
  ]);
  const body = renderPart(
    <>
      <CoverPage of={cover} imprint={imprint} speech={speech} />
      <Contents of={sections} title={words.contents} />
      {sections.map(({ title: called, content }, index) => (
        <section id={`s${index}`}>
          <h2>
            {index + 1} {called}
          </h2>
          {content}
        </section>
      ))}
    </>,
  );
  // The fonts depend on the page's text, so the body is written before the head.
  const fonts = await fontCss([title, ...Object.values(properties), PAGE_STYLE, body].join('\n'));
  const head = <Style of={pageStyle(`${fonts}\n@page { size: ${imprint.page_size}; }${PAGE_STYLE}`)} />;
  return renderPage(
    <HtmlDocument
      language={speech.language}
      title={title}
      head={head}
      properties={properties}
      body={{ dangerouslySetInnerHTML: { __html: body } }}
    />,
  );
}

function CoverPage({ of: cover, imprint, speech }: { of: Cover; imprint: Imprint; speech: Locale }) {
  const { words } = speech;
  return (
    <div class="cover">
      <p class="kind">{cover.kind}</p>
      <h1>{cover.title}</h1>
      <p class="sub">{cover.subtitle}</p>
      <DefinitionList
        of={[
          ...cover.facts,
          [words.generated, speech.instant(imprint.generated_at)],
          [words.filters, filtersOf(imprint, speech)],
          [words.checksum, imprint.checksum],
          [words.auditHead, auditHead(imprint)],
        ]}
      />
    </div>
  );
}

/** The printer fills in each section's page number, in the last element of each link. */
function Contents({ of: sections, title }: { of: readonly Section[]; title: string }) {
  return (
    <nav>
      <h2>{title}</h2>
      <ol>
        {sections.map((section, index) => (
          <li>
            <a href={`#s${index}`}>
              <span>
                {index + 1} {section.title}
              </span>
              <i />
              <b />
            </a>
          </li>
        ))}
      </ol>
    </nav>
  );
}

const auditHead = ({ audit }: Imprint): string => `#${audit.seq} ${audit.head}`;

const filtersOf = ({ filters }: Imprint, speech: Locale): string =>
  Object.entries(filters)
    .filter(([, value]) => value !== null)
    .map(
      ([name, value]) =>
        `${speech.word(name === 'site_code' ? 'site' : name)} ` +
        `${name === 'from' || name === 'to' ? speech.date(value) : value}`,
    )
    .join(', ') || speech.words.none;
