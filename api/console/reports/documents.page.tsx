import type { DocumentRecord } from '../../../db/reports/documents.queries.js';
import { CalendarDate, InstantText } from '../html/date.js';
import { EmptyState } from '../html/empty-state.js';
import { Notice } from '../html/form.js';
import { Progress } from '../html/progress.js';
import { DefinitionList, Table } from '../html/table.js';
import { useUi } from '../html/ui.js';
import type { Words } from '../words/words.js';
import { DOCUMENTS, REPORTS } from './paths.js';

const addressOf = ({ id }: DocumentRecord): string => `${DOCUMENTS}/${id}`;
const isUnderWay = ({ status }: DocumentRecord): boolean => status === 'pending' || status === 'running';
const percent = ({ progress }: DocumentRecord): number => Math.round(progress * 100);

/** Refusals of a user who may no longer read the study. */
const OF_RIGHTS = ['NOT_FOUND', 'FORBIDDEN', 'INVALID_TOKEN'];
const reasonOf = ({ reports, problems }: Words, { error }: DocumentRecord): string =>
  OF_RIGHTS.includes(error ?? '') ? reports.failedRights : (problems.refusals[error ?? ''] ?? reports.failedOther);

/** The user's last requested documents. */
export function DocumentsPage({ items }: { items: DocumentRecord[] }) {
  const { words } = useUi();
  const { reports } = words;
  return (
    <>
      <p class="crumbs">
        <a href={REPORTS}>{reports.title}</a>
      </p>
      <h1>{reports.documents}</h1>
      <p class="quiet">{reports.documentsWhat}</p>
      <DocumentList items={items} />
    </>
  );
}

/** The part of the page that reloads while something is printed. */
export function DocumentList({ items }: { items: DocumentRecord[] }) {
  const { words } = useUi();
  const { reports, capture } = words;
  const again = items.some(isUnderWay);
  return (
    <div
      id="documents"
      aria-live="polite"
      {...(again && { 'hx-get': `${DOCUMENTS}/list`, 'hx-trigger': 'every 2s', 'hx-swap': 'outerHTML' })}
    >
      {items.length === 0 ? (
        <EmptyState title={reports.noDocuments}>{reports.noDocumentsWhat}</EmptyState>
      ) : (
        <Table<DocumentRecord>
          caption={reports.documentsCaption(items.length)}
          rows={items}
          rowKey={({ id }) => id}
          columns={[
            {
              title: reports.requestedAt,
              head: true,
              cell: (one) => (
                <a href={addressOf(one)}>
                  <InstantText value={one.created_at} />
                </a>
              ),
            },
            { title: reports.study, cell: ({ study_code }) => <bdi>{study_code}</bdi> },
            { title: reports.filter, cell: (one) => <Narrowed of={one} /> },
            { title: reports.status, cell: (one) => <State of={one} /> },
            { title: reports.file, cell: (one) => (one.status === 'completed' ? <FileLink of={one} /> : '–') },
          ]}
        />
      )}
      {again && (
        <noscript>
          <p>
            <a href={DOCUMENTS}>{capture.lookAgain}</a>
          </p>
        </noscript>
      )}
    </div>
  );
}

/** One document: its progress for any visitor, then its file. */
export function DocumentPage({ item }: { item: DocumentRecord }) {
  const { words } = useUi();
  const { reports } = words;
  const { study_id, study_code, study_name, question } = item;
  return (
    <>
      <p class="crumbs">
        <a href={DOCUMENTS}>{reports.documents}</a>
      </p>
      <h1>{reports.document}</h1>
      <DefinitionList
        of={[
          [
            reports.study,
            <a href={`${REPORTS}/${study_id}`}>
              <bdi>{study_code}</bdi>, <bdi>{study_name}</bdi>
            </a>,
          ],
          [reports.filter, <Narrowed of={item} />],
          [reports.size, reports.sizes[question.page_size]],
          [reports.requestedAt, <InstantText value={item.created_at} />],
        ]}
      />
      <DocumentProgress item={item} />
    </>
  );
}

/** The part of the page that reloads until the document is printed. */
export function DocumentProgress({ item }: { item: DocumentRecord }) {
  const { words } = useUi();
  const { reports } = words;
  const running = isUnderWay(item);
  return (
    <Progress
      id="document"
      label={reports.document}
      from={`${addressOf(item)}/progress`}
      running={running}
      done={percent(item)}
      total={100}
    >
      {running ? (
        <p>
          <State of={item} /> {reports.mayLeave}
        </p>
      ) : (
        <DocumentResult of={item} />
      )}
    </Progress>
  );
}

function DocumentResult({ of: item }: { of: DocumentRecord }) {
  const { words } = useUi();
  const { reports } = words;
  const again = (
    <p>
      <a class="button" href={`${REPORTS}/${item.study_id}`}>
        {reports.makeAgain}
      </a>
    </p>
  );
  if (item.status === 'failed')
    return (
      <>
        <Notice kind="alert" title={reports.states.failed}>
          {reasonOf(words, item)}
        </Notice>
        {again}
      </>
    );
  if (item.status === 'expired')
    return (
      <>
        <Notice title={reports.states.expired}>{reports.expiredWhat}</Notice>
        {again}
      </>
    );
  return (
    <>
      <Notice kind="good" title={reports.ready}>
        {reports.keptUntil} <InstantText value={item.expires_at} />.
      </Notice>
      <p>
        <FileLink of={item} button />
      </p>
    </>
  );
}

function FileLink({ of: item, button = false }: { of: DocumentRecord; button?: boolean }) {
  const { words } = useUi();
  return (
    <a class={button ? 'button primary' : undefined} href={`${addressOf(item)}/file`} download>
      {words.reports.download}
    </a>
  );
}

function State({ of: item }: { of: DocumentRecord }) {
  const { words } = useUi();
  const { states, drawing } = words.reports;
  const tone = item.status === 'failed' ? 'denied' : item.status === 'completed' ? 'approved' : 'pending';
  return <span class={`tag ${tone}`}>{item.status === 'running' ? drawing(percent(item)) : states[item.status]}</span>;
}

/** The document's filter. */
function Narrowed({ of: { question } }: { of: DocumentRecord }) {
  const { words } = useUi();
  const { reports } = words;
  const { from, to, site_code, arm } = question;
  const parts = [
    from && [reports.from, <CalendarDate value={from} />],
    to && [reports.to, <CalendarDate value={to} />],
    site_code && [reports.site, <bdi>{site_code}</bdi>],
    arm && [reports.arm, <bdi>{arm}</bdi>],
  ].filter((part) => Array.isArray(part));
  if (parts.length === 0) return <>{reports.every}</>;
  return (
    <>
      {parts.map(([name, value], index) => (
        <span key={index}>
          {index > 0 && ', '}
          {name}: {value}
        </span>
      ))}
    </>
  );
}
