import { CalendarDate } from '../html/date.js';
import { dateText } from '../html/dates.js';
import { Table } from '../html/table.js';
import { useUi } from '../html/ui.js';
import type { VisitChange } from './approvals.service.js';

/** A warning in words, with what the service says of it. */
export function Warning({ text }: { text: string }) {
  const { words } = useUi();
  const [code = '', detail] = text.split(/: (.*)/s);
  const known = words.approval.warningsByCode[code];
  const visits = /^(\d+) visits?$/.exec(detail ?? '')?.[1];
  if (!known) return <>{text}</>;
  return (
    <>
      {known}
      {detail && <span class="quiet"> ({visits ? words.approval.visitsCaption(Number(visits)) : detail})</span>}
    </>
  );
}

const TARGET_NOW = /^its target would now be (\d{4}-\d{2}-\d{2})$/;

/** What the preview notes of a visit. */
function Notes({ of }: { of: readonly string[] }) {
  const { words, language } = useUi();
  const said = of.map((note) => {
    const target = TARGET_NOW.exec(note)?.[1];
    if (target) return words.approval.targetNow(dateText(language, target));
    return words.approval.notesKnown[note] ?? note;
  });
  return <>{said.join('; ') || '–'}</>;
}

/** What a change of the date does to each visit. */
export function VisitChanges({ visits }: { visits: readonly VisitChange[] }) {
  const { words } = useUi();
  return (
    <Table<VisitChange>
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
        { title: words.approval.after, cell: ({ to }) => <CalendarDate value={to} /> },
        { title: words.approval.notes, cell: ({ notes }) => <Notes of={notes ?? []} /> },
      ]}
    />
  );
}
