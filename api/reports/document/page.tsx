import type { ComponentChildren } from 'preact';
import { Facts } from '../../../activities/html/facts.js';
import { Page } from '../../../activities/html/page.js';
import { renderPage, renderPart } from '../../../activities/html/render.js';
import { Style, pageStyle } from '../../../activities/html/style.js';
import type { Imprint } from './data.js';
import { fontCss } from './fonts.js';
import { PAGE_STYLE, edges } from './style.js';
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
export function Table({
  head,
  rows,
  speech,
}: {
  head: readonly string[];
  rows: readonly (readonly Cell[])[];
  speech: Locale;
}) {
  if (rows.length === 0) return <Nothing speech={speech} />;
  const sides = head.map((_, at) =>
    at > 0 &&
    rows.some((row) => isNumber(row[at])) &&
    rows.every((row) => row[at] === null || row[at] === '–' || isNumber(row[at]))
      ? 'r'
      : undefined,
  );
  const shown = (value: Cell | undefined) => (typeof value === 'number' ? speech.number(value) : (value ?? '–'));
  return (
    <table class={rows.length <= KEPT_WHOLE ? 'whole' : undefined}>
      <thead>
        <tr>
          {head.map((name, at) => (
            <th scope="col" class={sides[at]}>
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr>
            {head.map((_, at) =>
              at === 0 ? (
                <th scope="row" class={sides[at]}>
                  {shown(row[at])}
                </th>
              ) : (
                <td class={sides[at]}>{shown(row[at])}</td>
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
  const properties = edges(`${cover.kind} · ${cover.mark}`, [
    `${words.checksum} ${imprint.checksum}`,
    `${words.auditHead} ${auditHead(imprint)}`,
  ]);
  const body = renderPart(
    <>
      <CoverPage of={cover} imprint={imprint} speech={speech} />
      <Contents of={sections} title={words.contents} />
      {sections.map(({ title: called, content }, at) => (
        <section id={`s${at}`}>
          <h2>
            {at + 1} {called}
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
    <Page
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
      <Facts
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
        {sections.map((section, at) => (
          <li>
            <a href={`#s${at}`}>
              <span>
                {at + 1} {section.title}
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
        `${speech.word(name === 'site_code' ? 'site' : name)} ${name === 'from' || name === 'to' ? speech.date(value) : value}`,
    )
    .join(', ') || speech.words.none;
