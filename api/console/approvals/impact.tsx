import { CalendarDate } from '../html/date.js';
import { TranslatedText } from '../html/said.js';
import { Table } from '../html/table.js';
import { useUi } from '../html/ui.js';
import type { ApprovalVisitChange } from './approvals.service.js';

/** A warning as text, with the service's details. */
export function Warning({ text }: { text: string }) {
  const { words } = useUi();
  const [code = '', detail] = text.split(/: (.*)/s);
  const known = words.approval.warningsByCode[code];
  const visits = /^(\d+) visits?$/.exec(detail ?? '')?.[1];
  if (!known) return <TranslatedText text={text} />;
  return (
    <>
      {known}
      {detail && (
        <span class="quiet">
          {' '}
          ({visits ? words.approval.visitsCaption(Number(visits)) : <TranslatedText text={detail} />})
        </span>
      )}
    </>
  );
}

/** The preview's notes on a visit. */
function Notes({ of }: { of: readonly string[] }) {
  if (of.length === 0) return <>–</>;
  return (
    <>
      {of.map((note, i) => (
        <span key={note}>
          {i > 0 && '; '}
          <TranslatedText text={note} />
        </span>
      ))}
    </>
  );
}

/** The effect of a date change on each visit. */
export function VisitChanges({ visits }: { visits: readonly ApprovalVisitChange[] }) {
  const { words } = useUi();
  return (
    <Table<ApprovalVisitChange>
      caption={words.approval.visitsCaption(visits.length)}
      rows={visits}
      rowKey={({ visit_key, action }) => `${visit_key} ${action}`}
      rowClass={({ changed }) => (changed ? 'changed' : undefined)}
      columns={[
        {
          title: words.approval.visit,
          head: true,
          cell: ({ name, changed }) => (
            <>
              <bdi>{name}</bdi> {changed && <mark>{words.approval.changed}</mark>}
            </>
          ),
        },
        {
          title: words.approval.action,
          cell: ({ action }) => <span class={`tag ${action}`}>{words.approval.actions[action] ?? action}</span>,
        },
        { title: words.approval.before, cell: ({ from }) => <CalendarDate value={from} /> },
        // Kept visits stay; a note tells where they would be planned now.
        {
          title: words.approval.after,
          cell: ({ action, from, to }) => <CalendarDate value={action === 'keep' ? from : to} />,
        },
        { title: words.approval.notes, cell: ({ notes }) => <Notes of={notes ?? []} /> },
      ]}
    />
  );
}
