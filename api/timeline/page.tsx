import { readFileSync } from 'node:fs';
import type { TimelineSubject } from '../../db/timeline/timeline.queries.js';
import { DefinitionList } from '../../activities/html/definition-list.js';
import { HtmlDocument } from '../../activities/html/html-document.js';
import { paletteCss } from '../../activities/html/palette.js';
import { autoPictureCss } from '../../activities/html/picture-theme.js';
import { renderPage, renderSvg } from '../../activities/html/render.js';
import { Style, pageStyle } from '../../activities/html/style.js';
import { isolated } from '../../workflows/domain/util/text-direction.js';
import { TimelinePicture } from './picture.js';
import type { TimelineItem } from './timeline.service.js';

/** As the reader's screen; light on paper. */
const STYLE = pageStyle(
  paletteCss('auto') + autoPictureCss + readFileSync(new URL('page.css', import.meta.url), 'utf8'),
);
/** Nothing is loaded, no script runs. */
export const PAGE_POLICY =
  `default-src 'none'; style-src ${STYLE.source}; base-uri ` + `'none'; form-action 'none'; frame-ancestors 'none'`;

/** Dates and times in a subject's time zone. */
const formatsOf = ({ zone: timeZone }: TimelineSubject) => {
  const date = { timeZone, year: 'numeric', month: 'short', day: '2-digit' } as const;
  return {
    day: new Intl.DateTimeFormat('en-GB', date),
    instant: new Intl.DateTimeFormat('en-GB', { ...date, hour: '2-digit', minute: '2-digit' }),
  };
};
type Formats = ReturnType<typeof formatsOf>;

function Entry({ item, number, formats }: { item: TimelineItem; number: number; formats: Formats }) {
  const planned = item.data.planned === true;
  const isDay = item.kind === 'visit' && item.data.what !== 'completed';
  return (
    <tr class={planned ? 'planned' : undefined}>
      <td class="n">{number}</td>
      <td class="t">
        <time dateTime={item.at}>{(isDay ? formats.day : formats.instant).format(new Date(item.at))}</time>
      </td>
      <td class="k">{item.kind}</td>
      <td class="w">
        {item.title}
        {planned && <span> (to come)</span>}
      </td>
      <td class="links">
        <a href={item.links.api} aria-label={`API: entry ${number}`}>
          API
        </a>
        {item.links.temporal && (
          <>
            {' · '}
            <a href={item.links.temporal}>workflow</a>
          </>
        )}
      </td>
    </tr>
  );
}

const counted = (n: number, which = ''): string => `${n} ${which}${n === 1 ? 'entry' : 'entries'}`;

interface Timeline {
  subject: TimelineSubject;
  items: readonly TimelineItem[];
  total: number;
  now: Date;
}

function TimelinePage({ subject, items, total, now }: Timeline) {
  const formats = formatsOf(subject);
  const { participant_code, study_code, study_name } = subject;
  return (
    <HtmlDocument
      language="en"
      title={`Timeline of ${isolated(participant_code)} · ${isolated(study_code)}`}
      head={<Style of={STYLE} />}
    >
      <main>
        <h1>
          Timeline of <bdi>{participant_code}</bdi>
        </h1>
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
            ['Status', subject.status],
            ['Site', <bdi>{subject.site_code ?? 'none'}</bdi>],
            ['Enrollment date', `${subject.enrollment_date ?? 'not known yet'} (${subject.anchor_status})`],
            ['Time zone', subject.zone],
          ]}
        />
        <figure>
          <TimelinePicture subject={subject} items={items} />
        </figure>
        <h2>Chronology</h2>
        <table>
          <caption>Oldest first; the numbers are those of the picture.</caption>
          <thead>
            <tr>
              <th scope="col">No.</th>
              <th scope="col">When</th>
              <th scope="col" class="k">
                Kind
              </th>
              <th scope="col">Event</th>
              <th scope="col" class="links">
                Links
              </th>
            </tr>
          </thead>
          <tbody>
            {items.map((item, index) => (
              <Entry key={index} item={item} number={index + 1} formats={formats} />
            ))}
          </tbody>
        </table>
        {items.length < total && <p>Not shown: {counted(total - items.length, 'later ')}. Narrow the time.</p>}
        <footer>
          {counted(total)}, as of {formats.instant.format(now)}.
        </footer>
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
): string => renderPage(<TimelinePage subject={subject} items={items} total={total} now={now} />);

/** The image alone, as a file, which follows the reader's screen. */
export const timelineSvg = (subject: TimelineSubject, items: readonly TimelineItem[]): string =>
  renderSvg(<TimelinePicture subject={subject} items={items} theme="auto" />);
