import { DARK_SCREEN } from '../../../activities/html/palette.js';
import type { PictureTheme } from '../../../activities/html/picture-theme.js';
import { nowMs } from '../../../db/client/clock.js';
import type { ReportFilter } from '../../../db/reports/base.queries.js';
import { chartOf } from '../../reports/document/charts.js';
import type { Plot, StudyData } from '../../reports/document/data.js';
import { studySections } from '../../reports/document/study-sections.js';
import type { ReportTable, StudySection } from '../../reports/document/study-sections.js';
import { Locale } from '../../reports/document/words.js';
import type { Problem } from '../../http/errors.js';
import { dateText, instantText } from '../html/dates.js';
import { NarrowedOnPaper } from '../html/filter.js';
import { Field, Form, RefusalNotice } from '../html/form.js';
import { withQuery } from '../html/pager.js';
import { Table } from '../html/table.js';
import { useUi } from '../html/ui.js';
import { DOCUMENTS, REPORTS } from './paths.js';

/** The report of a study: plots and tables of its PDF. */
export function ReportPage({ data, asked, fault }: { data: StudyData; asked: ReportFilter; fault?: Problem }) {
  const { words, language } = useUi();
  const { reports } = words;
  const speech = new Locale(language);
  const sections = studySections(data, speech);
  const { study } = data;
  return (
    <article class="report">
      <p class="crumbs">
        <a href={REPORTS}>{reports.back}</a>
      </p>
      <h1>
        <bdi>{study.study_name}</bdi>{' '}
        <span class="tag">
          <bdi>{study.study_code}</bdi>
        </span>
      </h1>
      {fault && <RefusalNotice fault={fault} />}
      <p class="quiet">{reports.what(instantText(language, new Date(nowMs())))}</p>
      <NarrowedOnPaper
        to={[
          [reports.from, asked.from && dateText(language, asked.from)],
          [reports.to, asked.to && dateText(language, asked.to)],
          [reports.site, asked.site_code],
          [reports.arm, asked.arm],
        ]}
      />
      <Filter study={study.id} asked={asked} />
      <Download study={study.id} asked={asked} />
      <nav class="contents" aria-label={reports.contents}>
        {sections.map(({ title }, index) => (
          <a key={title} href={`#section-${index}`}>
            {title}
          </a>
        ))}
      </nav>
      {sections.map((section, index) => (
        <Section key={section.title} of={section} at={index} study={study.id} asked={asked} speech={speech} />
      ))}
    </article>
  );
}

function Filter({ study, asked }: { study: string; asked: ReportFilter }) {
  const { words } = useUi();
  const { reports } = words;
  const at = `${REPORTS}/${study}`;
  return (
    <form method="get" action={at} class="filter" aria-label={reports.filter}>
      <Field name="from" type="date" label={reports.from} value={asked.from} />
      <Field name="to" type="date" label={reports.to} value={asked.to} />
      <Field name="site_code" label={reports.site} value={asked.site_code} maxLength={64} />
      <Field name="arm" label={reports.arm} value={asked.arm} maxLength={100} />
      <p class="hint wide">{reports.fromHint}</p>
      <p class="buttons">
        <button class="primary">{reports.show}</button>
        {Object.values(asked).some((value) => value !== undefined) && (
          <a class="button" href={at}>
            {reports.reset}
          </a>
        )}
      </p>
    </form>
  );
}

/** Links to the document's own page, which shows its progress. */
function Download({ study, asked }: { study: string; asked: ReportFilter }) {
  const { words } = useUi();
  const { reports } = words;
  const filters = Object.entries(asked).filter(([, value]) => value !== undefined);
  return (
    <Form action={`${REPORTS}/${study}/documents`} class="download">
      {filters.map(([name, value]) => (
        <input key={name} type="hidden" name={name} value={value} />
      ))}
      <label for="field-page_size">{reports.size}</label>
      <select id="field-page_size" name="page_size">
        {Object.entries(reports.sizes).map(([size, called]) => (
          <option key={size} value={size}>
            {called}
          </option>
        ))}
      </select>
      <button>{reports.make}</button>
      <span class="quiet">
        {reports.pdfWhat} <a href={DOCUMENTS}>{reports.documents}</a>
      </span>
    </Form>
  );
}

function Section({
  of: { title, tiles, plot, parts, notes },
  at,
  study,
  asked,
  speech,
}: {
  of: StudySection;
  at: number;
  study: string;
  asked: ReportFilter;
  speech: Locale;
}) {
  return (
    <section id={`section-${at}`} class="report-section">
      <h2>{title}</h2>
      {tiles && (
        <dl class="tiles">
          {tiles.map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
        </dl>
      )}
      {plot && <Drawn plot={plot} study={study} asked={asked} speech={speech} />}
      <div class={parts.length > 1 ? 'side-by-side' : undefined}>
        {parts.map((part, n) => (
          <Part key={part.title ?? n} of={part} title={part.title ?? title} speech={speech} />
        ))}
      </div>
      {notes.map((note) => (
        <p key={note} class="quiet">
          {note}
        </p>
      ))}
    </section>
  );
}

/** A plot as in the PDF, in the page's theme: a separate image, so that the page's policy need not allow its styles. */
function Drawn({ plot, study, asked, speech }: { plot: Plot; study: string; asked: ReportFilter; speech: Locale }) {
  const { title, description, width, height } = chartOf(plot, speech);
  const { theme } = useUi();
  const src = (shown: PictureTheme) =>
    withQuery(`${REPORTS}/${study}/plots/${plot.name}.svg`, { ...asked, language: speech.language, theme: shown });
  return (
    <div class="plot">
      <picture>
        {theme === 'auto' && <source media={DARK_SCREEN} srcset={src('dark')} />}
        <img
          src={src(theme === 'dark' ? 'dark' : 'light')}
          alt={`${title}. ${description}`}
          width={width}
          height={height}
          loading="lazy"
        />
      </picture>
    </div>
  );
}

function Part({ of: { head, rows }, title, speech }: { of: ReportTable; title: string; speech: Locale }) {
  const { words } = useUi();
  if (rows.length === 0) return <p class="quiet">{words.reports.nothing}</p>;
  const shown = (value: string | number | null | undefined) =>
    typeof value === 'number' ? speech.number(value) : (value ?? '–');
  return (
    <Table
      caption={title}
      narrow={head.length <= 3}
      rows={rows.map((row, index) => ({ row, at: index }))}
      rowKey={({ at }) => String(at)}
      columns={head.map((name, index) => ({
        title: name,
        head: index === 0,
        numeric:
          index > 0 &&
          rows.every((row) => typeof row[index] === 'number' || row[index] === null || /%$/.test(String(row[index]))),
        cell: ({ row }: { row: ReportTable['rows'][number] }) => <bdi>{shown(row[index])}</bdi>,
      }))}
    />
  );
}
