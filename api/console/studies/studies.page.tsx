import { Table } from '../html/table.js';
import { useUi } from '../html/ui.js';
import { NoStudy } from './no-study.js';
import { PAGE_SIZE, mayConfigure } from './studies.service.js';
import type { ListedStudy, StudyList } from './studies.service.js';

/** The studies of the user. */
export function StudiesPage({ list: { items, total, skip, search } }: { list: StudyList }) {
  const { words, user } = useUi();
  const { studies } = words;
  const creates = mayConfigure(user?.role);
  const narrowed = search !== undefined && search !== '';
  if (total === 0 && !narrowed)
    return (
      <>
        <h1>{studies.title}</h1>
        <NoStudy creates={creates} />
      </>
    );
  const at = (to: number) =>
    `/console/studies?${new URLSearchParams({ ...(narrowed && { search }), skip: String(to) }).toString()}`;
  return (
    <>
      <div class="head-line">
        <h1>{studies.title}</h1>
        {creates && (
          <a class="button primary" href="/console/studies/new">
            {studies.create}
          </a>
        )}
      </div>
      <form method="get" action="/console/studies" class="search-line" role="search">
        <label for="search">{studies.search}</label>
        <input id="search" type="search" name="search" value={search} maxlength={200} />
        <button>{studies.find}</button>
      </form>
      {total === 0 ? (
        <p>
          {studies.nothingFound} <a href="/console/studies">{studies.showAll}</a>
        </p>
      ) : (
        <Table<ListedStudy>
          caption={studies.caption(total)}
          rows={items}
          rowKey={({ id }) => id}
          columns={[
            {
              title: studies.code,
              head: true,
              cell: ({ id, study_code }) => (
                <a href={`/console/studies/${id}`}>
                  <bdi>{study_code}</bdi>
                </a>
              ),
            },
            { title: studies.name, cell: ({ study_name }) => <bdi>{study_name}</bdi> },
            {
              title: studies.status,
              cell: ({ status }) => (
                <span class={`tag ${status === 'active' ? 'approved' : ''}`}>{studies.statuses[status]}</span>
              ),
            },
            { title: studies.participants, numeric: true, cell: ({ participants }) => participants },
          ]}
        />
      )}
      {total > PAGE_SIZE && (
        <p class="pages">
          {skip > 0 && <a href={at(Math.max(0, skip - PAGE_SIZE))}>{studies.less}</a>}
          {skip + PAGE_SIZE < total && <a href={at(skip + PAGE_SIZE)}>{studies.more}</a>}
        </p>
      )}
    </>
  );
}
