import { Fragment } from 'preact';
import { chartOf } from './charts.js';
import type { Imprint, StudyData } from './data.js';
import { PrintedTable, document } from './page.js';
import { PlotPicture } from './picture.js';
import { studySections } from './study-sections.js';
import type { StudySection } from './study-sections.js';
import { Locale } from './words.js';

/** The page of a study's report. */
export function studyDocument(data: StudyData, imprint: Imprint): Promise<string> {
  const speech = new Locale(imprint.language),
    { words: w } = speech;
  const { study } = data;
  return document(
    {
      kind: w.studyReport,
      title: study.study_name,
      subtitle: study.study_code,
      mark: study.study_code,
      facts: [
        [w.status, speech.word(study.status)],
        [w.period, speech.period(study.start_date, study.end_date)],
        [w.timezone, study.timezone],
      ],
    },
    studySections(data, speech).map((section) => ({
      title: section.title,
      content: <SectionContent of={section} speech={speech} />,
    })),
    imprint,
    speech,
  );
}

function SectionContent({ of: { tiles, plot, parts, notes }, speech }: { of: StudySection; speech: Locale }) {
  return (
    <>
      {tiles && (
        <div class="figures">
          {tiles.map(([name, value]) => (
            <div key={name}>
              <b>{value}</b>
              {name}
            </div>
          ))}
        </div>
      )}
      {plot && (
        <figure>
          <PlotPicture of={chartOf(plot, speech)} />
        </figure>
      )}
      {parts.map(({ title, head, rows }, index) => (
        <Fragment key={index}>
          {title && <h3>{title}</h3>}
          <PrintedTable head={head} rows={rows} speech={speech} />
        </Fragment>
      ))}
      {notes.map((note) => (
        <p key={note}>{note}</p>
      ))}
    </>
  );
}
