import { readFileSync } from 'node:fs';
import type { TimelineSubject } from '../../db/timeline/timeline.queries.js';
import { DefinitionList } from '../../activities/html/definition-list.js';
import { HtmlDocument } from '../../activities/html/html-document.js';
import { paletteCss } from '../../activities/html/palette.js';
import { autoPictureCss } from '../../activities/html/picture-theme.js';
import { renderPage, renderSvg } from '../../activities/html/render.js';
import { Style, pageStyle } from '../../activities/html/style.js';
import { isolated } from '../../workflows/domain/util/text-direction.js';
import type { TimelineWords } from './page-words.js';
import { TimelinePicture } from './picture.js';
import { titleIn } from './titles-in.js';
import type { TimelineItem } from './timeline.service.js';

/** As the reader's screen; light on paper. */
const STYLE = pageStyle(
  paletteCss('auto') + autoPictureCss + readFileSync(new URL('page.css', import.meta.url), 'utf8'),
);
/** Nothing is loaded, no script runs. */
export const PAGE_POLICY =
  `default-src 'none'; style-src ${STYLE.source}; base-uri ` + `'none'; form-action 'none'; frame-ancestors 'none'`;

/** Dates and times in a subject's time zone. */
const formatsOf = ({ zone: timeZone }: TimelineSubject, { locale, month }: TimelineWords) => {
  const date = { timeZone, year: 'numeric', month, day: '2-digit' } as const;
  return {
    day: new Intl.DateTimeFormat(locale, date),
    instant: new Intl.DateTimeFormat(locale, { ...date, hour: '2-digit', minute: '2-digit' }),
  };
};
type Formats = ReturnType<typeof formatsOf>;

interface EntryProps {
  item: TimelineItem;
  number: number;
  formats: Formats;
  words: TimelineWords;
}

function Entry({ item, number, formats, words }: EntryProps) {
  const planned = item.data.planned === true;
  const isDay = item.kind === 'visit' && item.data.what !== 'completed';
  return (
    <tr class={planned ? 'planned' : undefined}>
      <td class="n">{number}</td>
      <td class="t">
        <time dateTime={item.at}>{(isDay ? formats.day : formats.instant).format(new Date(item.at))}</time>
      </td>
      <td class="k">{words.kinds[item.kind]}</td>
      <td class="w">
        {titleIn(words.language, item)}
        {planned && <span> ({words.toCome})</span>}
      </td>
      <td class="links">
        <a href={item.links.api} aria-label={words.apiOf(number)}>
          API
        </a>
        {item.links.temporal && (
          <>
            {' · '}
            <a href={item.links.temporal}>{words.workflow}</a>
          </>
        )}
      </td>
    </tr>
  );
}

interface Timeline {
  subject: TimelineSubject;
  items: readonly TimelineItem[];
  total: number;
  now: Date;
  words: TimelineWords;
}

function TimelinePage({ subject, items, total, now, words }: Timeline) {
  const formats = formatsOf(subject, words);
  const { participant_code, study_code, study_name, status, anchor_status, enrollment_date } = subject;
  const { columns } = words;
  return (
    <HtmlDocument
      language={words.language}
      title={`${words.title(isolated(participant_code))} · ${isolated(study_code)}`}
      head={<Style of={STYLE} />}
    >
      <main>
        <h1>{words.title(isolated(participant_code))}</h1>
        <p>
          <bdi>{study_name}</bdi>
          {!study_name.includes(study_code) && (
            <>
              {' ('}
              <bdi>{study_code}</bdi>)
            </>
          )}
        </p>
        <DefinitionList
          of={[
            [words.status, words.statuses[status] ?? status],
            [words.site, <bdi>{subject.site_code ?? words.noSite}</bdi>],
            [
              words.date,
              words.dated(
                enrollment_date && words.day(enrollment_date),
                words.dateStatuses[anchor_status] ?? anchor_status,
              ),
            ],
            [words.zone, subject.zone],
          ]}
        />
        <figure>
          <TimelinePicture subject={subject} items={items} words={words} />
        </figure>
        <h2>{words.chronology}</h2>
        <table>
          <caption>{words.caption}</caption>
          <thead>
            <tr>
              <th scope="col">{columns.number}</th>
              <th scope="col">{columns.when}</th>
              <th scope="col" class="k">
                {columns.kind}
              </th>
              <th scope="col">{columns.event}</th>
              <th scope="col" class="links">
                {columns.links}
              </th>
            </tr>
          </thead>
          <tbody>
            {items.map((item, index) => (
              <Entry key={index} item={item} number={index + 1} formats={formats} words={words} />
            ))}
          </tbody>
        </table>
        {items.length < total && <p>{words.notShown(total - items.length)}</p>}
        <footer>{words.asOf(words.entries(total), formats.instant.format(now))}</footer>
      </main>
    </HtmlDocument>
  );
}

/** The timeline as its own page: the image, and every entry by its number. */
export const timelinePage = (
  subject: TimelineSubject,
  items: readonly TimelineItem[],
  total: number,
  now: Date,
  words: TimelineWords,
): string => renderPage(<TimelinePage subject={subject} items={items} total={total} now={now} words={words} />);

/** The image alone, as a file, which follows the reader's screen. */
export const timelineSvg = (subject: TimelineSubject, items: readonly TimelineItem[], words: TimelineWords): string =>
  renderSvg(<TimelinePicture subject={subject} items={items} words={words} theme="auto" />);
