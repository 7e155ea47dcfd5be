import type { ComponentChildren } from 'preact';
import type { InboxDetails, InboxRow } from '../../../db/console/inbox.queries.js';
import type { Settings } from '../../../settings.js';
import { approverRoles } from '../../../workflows/domain/anchor/approvers.js';
import { policyOf } from '../../../workflows/domain/anchor/facts.js';
import { isDate } from '../../../workflows/domain/util/dates.js';
import { pathWith } from '../routing/done.js';
import { EmptyState } from '../html/empty-state.js';
import { InstantText } from '../html/date.js';
import { dateText, instantText } from '../html/dates.js';
import { Chips, Choice, NarrowedOnPaper } from '../html/filter.js';
import { Form, Notice } from '../html/form.js';
import { Pager } from '../html/pager.js';
import { ParticipantLink } from '../html/participant-link.js';
import { Table } from '../html/table.js';
import { mayConfigure } from '../studies/studies.service.js';
import { NoStudy } from '../studies/no-study.js';
import { phrase } from '../words/service/phrases.js';
import { useUi } from '../html/ui.js';
import type { Ui } from '../html/ui.js';
import { PAGE_SIZE, sizeOf, temporalPage } from './inbox.service.js';
import type { Inbox, InboxActionResult } from './inbox.service.js';

const PATH = '/console/inbox';

/** The user's open work in all studies, with actions. */
export function InboxPage({
  inbox,
  hasStudy = true,
  outcome,
  settings,
}: {
  inbox: Inbox;
  /** Whether the user sees a study; only asked where nothing waits. */
  hasStudy?: boolean;
  outcome?: InboxActionResult | undefined;
  settings: Settings;
}) {
  const { words } = useUi();
  const { rows, facets, total } = inbox;
  const isEmpty = sizeOf(facets, {}) === 0;
  return (
    <>
      <h1>{words.inbox.title}</h1>
      {outcome && <OutcomeNotice outcome={outcome} />}
      {isEmpty ? (
        <NothingWaits hasStudy={hasStudy} />
      ) : (
        <>
          <p class="quiet">{words.inbox.what}</p>
          <InboxFilters inbox={inbox} />
          {total === 0 ? (
            <EmptyState title={words.inbox.emptyFilter}>
              <a href={PATH}>{words.inbox.emptyFilterWhat}</a>
            </EmptyState>
          ) : (
            <div class="with-actions">
              <Entries rows={rows} total={total} settings={settings} />
            </div>
          )}
          <Pages inbox={inbox} />
        </>
      )}
    </>
  );
}

/** That this is fine; where there is no study yet, what to do first. */
function NothingWaits({ hasStudy }: { hasStudy: boolean }) {
  const { words, user } = useUi();
  if (!hasStudy) return <NoStudy creates={mayConfigure(user?.role)} />;
  return <EmptyState title={words.inbox.empty}>{words.inbox.emptyWhat}</EmptyState>;
}

function InboxFilters({ inbox: { facets, filter, chosen, kinds } }: { inbox: Inbox }) {
  const { words } = useUi();
  const { kind, study, site } = filter;
  const within = { study, site };
  const count = (one?: (typeof kinds)[number]) => sizeOf(facets, { ...within, kind: one });
  return (
    <div class="filters">
      <Chips
        label={words.inbox.filter}
        chips={[
          { text: words.inbox.all, n: count(), href: pathWith(PATH, within), isHere: !kind },
          ...kinds
            .filter((one) => count(one) > 0 || one === kind)
            .map((one) => ({
              text: words.inbox.kinds[one],
              n: count(one),
              href: pathWith(PATH, { kind: one, ...within }),
              isHere: one === kind,
            })),
        ]}
      />
      <NarrowedOnPaper
        to={[
          [words.inbox.study, chosen.study_code],
          [words.inbox.site, chosen.site_code],
        ]}
      />
      <form method="get" action={PATH} class="choices-row">
        {kind && <input type="hidden" name="kind" value={kind} />}
        <Choice
          name="study"
          label={words.inbox.study}
          all={words.inbox.allStudies}
          value={study}
          named={chosen.study_code}
          options={facets.flatMap(({ study_id, study_code }) => (study_id ? [[study_id, study_code!] as const] : []))}
        />
        <Choice
          name="site"
          label={words.inbox.site}
          all={words.inbox.allSites}
          value={site}
          named={chosen.site_code}
          options={facets
            .filter(({ study_id }) => !study || study_id === study)
            .flatMap(({ site_id, site_code }) => (site_id ? [[site_id, site_code!] as const] : []))}
        />
        <button class="small">{words.inbox.apply}</button>
      </form>
    </div>
  );
}

function Entries({ rows, total, settings }: { rows: InboxRow[]; total: number; settings: Settings }) {
  const ui = useUi();
  const { inbox } = ui.words;
  return (
    <Table
      caption={inbox.caption(total)}
      rows={rows}
      rowKey={({ kind, id }) => `${kind} ${id}`}
      columns={[
        { title: inbox.item, head: true, cell: (row) => <Entry row={row} /> },
        { title: inbox.participant, cell: (row) => <Whose row={row} /> },
        { title: inbox.study, cell: ({ study_code }) => <bdi>{study_code ?? '–'}</bdi> },
        { title: inbox.since, cell: ({ since }) => <InstantText value={since} /> },
        { title: inbox.action, cell: (row) => <Action row={row} settings={settings} /> },
      ]}
    />
  );
}

/** Whether the reader may decide a request: who asked, and roles that the policy does not name, only follow it. */
const decides = ({ user }: Ui, { asker_id, policy }: InboxDetails['approval']): boolean =>
  user !== undefined && user.id !== asker_id && approverRoles(policyOf(policy)).includes(user.role);

function Entry({ row }: { row: InboxRow }) {
  const ui = useUi();
  const { inbox } = ui.words;
  const reason = reasonOf(ui, row);
  return (
    <>
      <span class={`tag kind-${row.kind}`}>{inbox.kinds[row.kind]}</span> <bdi>{headline(ui, row)}</bdi>
      {reason && (
        <span class={row.kind === 'conflict' ? 'why-not' : 'why'}>
          <bdi>{reason}</bdi>
        </span>
      )}
      <span class="todo">
        {row.kind === 'workflow'
          ? (inbox.problems[row.detail.problem] ?? inbox.problemElse)
          : row.kind === 'approval' && !decides(ui, row.detail)
            ? inbox.othersDecide
            : inbox.todo[row.kind].what}
        {row.due && ` (${inbox.due(instantText(ui.language, new Date(row.due)))})`}
      </span>
    </>
  );
}

/** The subject of an entry, in the reader's language. */
function headline({ words: { inbox }, language }: Ui, row: InboxRow): string {
  const day = (date: string) => dateText(language, date);
  switch (row.kind) {
    case 'approval':
      return inbox.approval(day(row.detail.from), day(row.detail.to));
    case 'override_required':
      return inbox.override_required(
        day(row.detail.date),
        row.detail.other && isDate(row.detail.other) ? day(row.detail.other) : row.detail.other,
      );
    case 'push':
      return inbox.push(row.detail.visit);
    case 'trigger':
      return inbox.trigger(row.detail.record, row.detail.instrument);
    case 'conflict':
      return inbox.conflict(row.detail.task);
    case 'review':
      return inbox.review(row.detail.name, day(row.detail.target_date));
    case 'workflow':
      return inbox.workflow(row.detail.workflow_type, row.detail.problem);
  }
}

/** Longer reasons are truncated; the capture page shows them whole. */
const MAX_CHARACTERS = 180;
const cut = (text: string): string => (text.length > MAX_CHARACTERS ? `${text.slice(0, MAX_CHARACTERS)}…` : text);
const REFUSED = /^The capture system refused(?: \(\d+\))?: /;

/** The reason of an entry, if known. */
function reasonOf({ words: { inbox }, language }: Ui, row: InboxRow): string | undefined {
  if (row.kind === 'push') {
    const known = row.detail.error_type && inbox.reasons[row.detail.error_type];
    const says = row.detail.message && phrase(language, row.detail.message.replace(REFUSED, ''));
    return cut([known, says].filter(Boolean).join(': ')) || undefined;
  }
  if (row.kind === 'trigger') return row.detail.error ? cut(phrase(language, row.detail.error)) : undefined;
  if (row.kind === 'conflict') return inbox.conflicts[row.detail.conflict_type];
  if (row.kind === 'workflow')
    return `${row.detail.workflow_id}, ${inbox.seen(instantText(language, new Date(row.detail.seen_at)))}`;
  return undefined;
}

function Whose({ row: { participant_id, ...of } }: { row: InboxRow }) {
  return participant_id ? <ParticipantLink of={{ participant_id, ...of }} /> : <>–</>;
}

const PAGES: Partial<Record<InboxRow['kind'], (row: InboxRow) => string>> = {
  approval: ({ id }) => `/console/approvals/${id}`,
  override_required: ({ participant_id }) => `/console/participants/${participant_id}?tab=date`,
  conflict: ({ id }) => `/console/inbox/conflicts/${id}`,
  review: ({ id }) => `/console/inbox/reviews/${id}`,
};
const FORMS: Partial<Record<InboxRow['kind'], string>> = { push: 'pushes', trigger: 'triggers' };

function Action({ row, settings }: { row: InboxRow; settings: Settings }) {
  const { words } = useUi();
  const { action } = words.inbox.todo[row.kind];
  const label = <Labelled row={row}>{action}</Labelled>;
  const form = FORMS[row.kind];
  if (form)
    return (
      <Form action={`/console/inbox/${form}/${row.id}`}>
        <button class="small">{label}</button>
      </Form>
    );
  const href = row.kind === 'workflow' ? temporalPage(settings, row.detail.workflow_id, row.id) : PAGES[row.kind]!(row);
  return href ? (
    <a class="button small" href={href}>
      {label}
    </a>
  ) : (
    <>–</>
  );
}

/** Many rows have the same link text: screen readers also hear the row's subject. */
function Labelled({ row, children }: { row: InboxRow; children: ComponentChildren }) {
  return (
    <>
      {children}
      {row.participant_code && <span class="spoken">: {row.participant_code}</span>}
    </>
  );
}

function Pages({ inbox: { total, filter } }: { inbox: Inbox }) {
  const { skip, ...within } = filter;
  return (
    <Pager skip={skip} limit={PAGE_SIZE} total={total} href={(from) => pathWith(PATH, { ...within, skip: from })} />
  );
}

const UNDER_WAY = ['pending', 'received', 'processing'];

/** The result of an action on the page; it reloads until the result is known. */
export function OutcomeNotice({ outcome: { kind, id, status = '' } }: { outcome: InboxActionResult }) {
  const { words, path } = useUi();
  const { done } = words.inbox;
  const says = kind === 'push' || kind === 'trigger' ? (done[kind][status] ?? done.gone) : done[kind];
  const isUnderWay = UNDER_WAY.includes(status);
  const again = `/console/inbox/outcome?${new URLSearchParams({ done: kind, ...(id && { of: id }) }).toString()}`;
  return (
    <div
      id="outcome"
      aria-live="polite"
      {...(isUnderWay && { 'hx-get': again, 'hx-trigger': 'load delay:2s', 'hx-swap': 'outerHTML' })}
    >
      <Notice kind={status === 'failed' ? 'alert' : isUnderWay || kind === 'already' ? 'note' : 'good'}>
        {says}{' '}
        {isUnderWay && (
          <noscript>
            <a href={path}>{done.look}</a>
          </noscript>
        )}
      </Notice>
    </div>
  );
}
