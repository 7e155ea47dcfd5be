import type { syncReport } from '../../capture/datacapture-syncs.service.js';
import { InstantText } from '../html/date.js';
import { TranslatedText } from '../html/said.js';
import { Progress } from '../html/progress.js';
import { DefinitionList, Table } from '../html/table.js';
import { useUi } from '../html/ui.js';
import type { SyncView } from './capture.service.js';

const ISSUES = 50;
type Report = Awaited<ReturnType<typeof syncReport>>;

/** The progress of the last sync; it reloads until the sync ends. */
export function SyncProgress({ studyId, sync }: { studyId: string; sync: SyncView | undefined }) {
  const { capture } = useUi().words;
  if (!sync) return <p class="quiet">{capture.syncNone}</p>;
  const { done, total } = sync.progress;
  return (
    <Progress
      id="sync-progress"
      label={capture.sync}
      from={`/console/capture/${studyId}/progress`}
      running={sync.status === 'running'}
      done={done}
      total={total}
    >
      <SyncWords sync={sync} />
      {sync.status !== 'running' && (
        <p>
          <a href={`/console/capture/${studyId}/syncs/${sync.id}`}>{capture.syncShow}</a>
        </p>
      )}
    </Progress>
  );
}

/** The status of a sync in words. */
function SyncWords({ sync: { status, progress, error, finished_at } }: { sync: SyncView }) {
  const { capture } = useUi().words;
  if (status === 'running')
    return <p>{progress.total === 0 ? capture.syncWaiting : capture.syncRunning(progress.done, progress.total)}</p>;
  const found = Object.entries(capture.syncOutcomes)
    .map(([outcome, words]) => [progress[outcome as keyof typeof progress], words] as const)
    .filter(([n]) => n > 0);
  return (
    <p>
      <strong>{status === 'completed' ? capture.syncCompleted : capture.syncFailed}</strong>{' '}
      {error && (
        <span class="bad">
          <TranslatedText text={error.message} />{' '}
        </span>
      )}
      {capture.syncCounts(progress.total)}
      {found.length > 0 && <>: {found.map(([n, words]) => `${n} ${words}`).join(', ')}</>}.{' '}
      <span class="quiet">
        <InstantText value={finished_at} />
      </span>
    </p>
  );
}

/** The records of a sync that need a check. */
export function SyncProgressPage({ report, skip }: { report: Report; skip: number }) {
  const { capture } = useUi().words;
  const { issues, study_id, id } = report;
  const here = `/console/capture/${study_id}/syncs/${id}`;
  return (
    <>
      <p class="crumbs">
        <a href={`/console/capture/${study_id}`}>{capture.toCapture}</a>
      </p>
      <h1>{capture.syncTitle}</h1>
      <SyncWords sync={report} />
      <DefinitionList
        of={[
          [capture.syncStarted, <InstantText value={report.started_at} />],
          [capture.syncEnded, <InstantText value={report.finished_at} />],
        ]}
      />
      {issues.total === 0 ? (
        <p>{capture.noIssues}</p>
      ) : (
        <Table<Report['issues']['items'][number]>
          caption={capture.issues(issues.total)}
          rows={issues.items}
          rowKey={({ record }) => record}
          columns={[
            { title: capture.record, head: true, cell: ({ record }) => <bdi>{record}</bdi> },
            {
              title: capture.participant,
              cell: ({ participant_id }) =>
                participant_id ? <a href={`/console/participants/${participant_id}`}>{capture.participant}</a> : '–',
            },
            {
              title: capture.found,
              cell: ({ issues: list, outcome }) =>
                list.length === 0
                  ? (capture.syncOutcomes[outcome ?? ''] ?? outcome)
                  : list.map(({ message }) => (
                      <div key={message}>
                        <TranslatedText text={message} />
                      </div>
                    )),
            },
            {
              title: capture.whatToDo,
              cell: ({ issues: list, outcome }) => {
                const codes = list.length > 0 ? list.map(({ code }) => code) : [outcome?.toUpperCase() ?? ''];
                const said = codes.map((code) => capture.issueWhat[code]).filter(Boolean);
                return said.length > 0 ? said.join(' ') : '–';
              },
            },
          ]}
        />
      )}
      {issues.total > ISSUES && (
        <p class="pages">
          {skip > 0 && <a href={`${here}?skip=${Math.max(0, skip - ISSUES)}`}>{capture.less}</a>}
          {skip + ISSUES < issues.total && <a href={`${here}?skip=${skip + ISSUES}`}>{capture.more}</a>}
        </p>
      )}
    </>
  );
}
