import { EmptyState } from '../html/empty-state.js';
import { Instant } from '../html/date.js';
import { Table } from '../html/table.js';
import { useUi } from '../html/ui.js';
import type { InboxItem } from './inbox.service.js';

export const PAGE = 50;

/** What waits for the user, over all studies. */
export function InboxPage({ items, total, skip }: { items: InboxItem[]; total: number; skip: number }) {
  const { words, language } = useUi();
  const { inbox } = words;
  if (total === 0)
    return (
      <>
        <h1>{inbox.title}</h1>
        <EmptyState title={inbox.empty}>{inbox.emptyWhat}</EmptyState>
      </>
    );
  return (
    <>
      <h1>{inbox.title}</h1>
      <p class="quiet">{inbox.what}</p>
      <Table
        caption={inbox.caption(total)}
        rows={items}
        rowKey={({ kind, id }) => `${kind} ${id}`}
        columns={[
          {
            title: inbox.item,
            head: true,
            cell: (item) => (
              <>
                <span class="tag">{inbox.kinds[item.kind]}</span> <a href={item.href}>{item.what(words, language)}</a>
              </>
            ),
          },
          { title: inbox.participant, cell: ({ participant }) => <bdi>{participant ?? '–'}</bdi> },
          { title: inbox.study, cell: ({ study }) => <bdi>{study.code}</bdi> },
          { title: inbox.since, cell: ({ since }) => <Instant value={since} /> },
          { title: inbox.due, cell: ({ due }) => <Instant value={due} /> },
        ]}
      />
      {total > PAGE && (
        <p class="pages">
          {skip > 0 && <a href={`/console/inbox?skip=${Math.max(0, skip - PAGE)}`}>{inbox.less}</a>}
          {skip + PAGE < total && <a href={`/console/inbox?skip=${skip + PAGE}`}>{inbox.more}</a>}
        </p>
      )}
    </>
  );
}
