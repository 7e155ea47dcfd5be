import type { ListedStudy } from '../../../db/studies/studies.queries.js';
import { Pager, withQuery } from '../html/pager.js';
import { Table } from '../html/table.js';
import { useUi } from '../html/ui.js';
import { NoStudy } from '../studies/no-study.js';
import { mayConfigure } from '../studies/studies.service.js';
import { DOCUMENTS, REPORTS } from './paths.js';

export const STUDIES = 50;

/** The studies whose reports the user may read. */
export function ReportStudiesPage({ items, total, skip }: { items: ListedStudy[]; total: number; skip: number }) {
  const { words, user } = useUi();
  const { reports } = words;
  if (total === 0)
    return (
      <>
        <h1>{reports.title}</h1>
        <NoStudy creates={mayConfigure(user?.role)} />
      </>
    );
  return (
    <>
      <h1>{reports.title}</h1>
      <p class="quiet">
        {reports.choose} <a href={DOCUMENTS}>{reports.documents}</a>
      </p>
      <Table<ListedStudy>
        caption={reports.caption(total)}
        rows={items}
        rowKey={({ id }) => id}
        columns={[
          {
            title: reports.study,
            head: true,
            cell: ({ id, study_code }) => (
              <a href={`${REPORTS}/${id}`}>
                <bdi>{study_code}</bdi>
              </a>
            ),
          },
          { title: reports.name, cell: ({ study_name }) => <bdi>{study_name}</bdi> },
        ]}
      />
      <Pager skip={skip} limit={STUDIES} total={total} href={(skip) => withQuery(REPORTS, { skip: skip })} />
    </>
  );
}
