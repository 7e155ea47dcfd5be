import { Fragment } from 'preact';
import type { SessionTask } from '../../../db/reports/document.queries.js';
import { metricWithUnit } from '../../../workflows/domain/assessment/metric-ranges.js';
import { DefinitionList } from '../../../activities/html/definition-list.js';
import type { Imprint, SessionData } from './data.js';
import { Nothing, PrintedTable, document } from './page.js';
import { reference } from './reference.js';
import { Locale } from './words.js';

/** The page of a session's report. */
export function sessionDocument(data: SessionData, imprint: Imprint): Promise<string> {
  const speech = new Locale(imprint.language),
    { words: w } = speech;
  const { study, identity, session } = data;
  return document(
    {
      kind: w.sessionReport,
      title: `${identity.participant_code}, ${speech.date(data.day)}`,
      subtitle: `${study.study_name} (${study.study_code})`,
      mark: `${study.study_code} ${identity.participant_code}`,
      facts: [[w.site, identity.site_code ?? w.noSite]],
    },
    [
      {
        title: w.session,
        content: (
          <DefinitionList
            of={[
              [w.code, identity.participant_code],
              [w.status, speech.word(session.status)],
              [w.started, speech.instant(session.started_at)],
              [w.completed, speech.instant(session.completed_at)],
              [w.source, speech.word(session.source)],
              [w.language, session.language ?? '–'],
              [w.trials, speech.count(session.trial_count)],
            ]}
          />
        ),
      },
      { title: w.tasks, content: <Tasks data={data} speech={speech} /> },
      { title: w.method, content: <p>{w.methodText}</p> },
    ],
    imprint,
    speech,
  );
}

function Tasks({ data: { tasks, modules }, speech }: { data: SessionData; speech: Locale }) {
  const { words: w } = speech;
  if (tasks.length === 0) return <Nothing speech={speech} />;
  return (
    <>
      {tasks.map(({ task, summary, computed_summary, quality_flags, trial_count }) => (
        <Fragment key={task}>
          <h3>
            {task} ({w.trials}: {speech.count(trial_count)})
          </h3>
          <PrintedTable
            head={[w.metric, w.value, w.fromTrials, w.reference]}
            rows={Object.entries(summary)
              .sort(([a], [b]) => (a < b ? -1 : 1))
              .map(([metric, value]) => [
                metricWithUnit(metric),
                value,
                computed_summary[metric] ?? null,
                reference(modules, task, metric, speech),
              ])}
            speech={speech}
          />
          {quality_flags.length > 0 && (
            <p>
              {w.quality}: {quality_flags.map(nameOf).join(', ')}
            </p>
          )}
        </Fragment>
      ))}
    </>
  );
}

const nameOf = (flag: SessionTask['quality_flags'][number]): string =>
  typeof flag === 'string' ? flag : ((flag as { code?: string }).code ?? '');
