import { isEnded } from '../../../db/studies/study-ended.js';
import { CalendarDate } from '../html/date.js';
import { EmptyState } from '../html/empty-state.js';
import { NarrowedOnPaper } from '../html/filter.js';
import { Form } from '../html/form.js';
import { Pager, withQuery } from '../html/pager.js';
import { Table } from '../html/table.js';
import { useUi } from '../html/ui.js';
import { NoStudy } from '../studies/no-study.js';
import { mayConfigure, mayEnroll } from '../studies/studies.service.js';
import { personPath } from './participant.page.js';
import { DateWithStatus, useAwaited } from './parts.js';
import { LIST_PAGE } from './participants.service.js';
import type { ListedParticipant, Narrowed, ParticipantList } from './participants.service.js';

const LIST = '/console/participants';

/** The participants of all the user's studies. */
export function ParticipantsPage({ list, narrowed }: { list: ParticipantList; narrowed: Narrowed }) {
  const { words, user } = useUi();
  const { participants } = words;
  const { items, total, studies } = list;
  // With nothing but a study chosen there is nobody to look for yet.
  const isNarrowed = Boolean(narrowed.code || narrowed.email || narrowed.status);
  const several = studies.length > 1;
  return (
    <>
      <div class="title-row">
        <h1>{participants.title}</h1>
        <Begin studies={studies} chosen={narrowed.study} />
      </div>
      <Search studies={studies} narrowed={narrowed} />
      <NarrowedOnPaper
        to={[
          [participants.search, narrowed.email ?? narrowed.code],
          [participants.study, studies.find(({ id }) => id === narrowed.study)?.study_code],
          [participants.status, narrowed.status && words.participant.statuses[narrowed.status]],
        ]}
      />
      {total === 0 ? (
        isNarrowed ? (
          <EmptyState title={participants.notFound}>
            {participants.notFoundWhat} <a href={LIST}>{participants.clear}</a>
          </EmptyState>
        ) : studies.length === 0 ? (
          <NoStudy creates={mayConfigure(user?.role)} />
        ) : (
          <EmptyState title={participants.empty}>
            {mayEnroll(user?.role) ? participants.emptyWhat : participants.emptyImport}
          </EmptyState>
        )
      ) : (
        <div class="list">
          <Table<ListedParticipant>
            caption={participants.caption(total)}
            rows={items}
            rowKey={({ record }) => record.id}
            columns={[
              {
                title: participants.code,
                head: true,
                cell: ({ record, study_code }) => (
                  <>
                    <a href={personPath(record.id)}>
                      <bdi>{record.participant_code}</bdi>
                    </a>
                    {several && (
                      <>
                        <br />
                        <bdi class="quiet">{study_code}</bdi>
                      </>
                    )}
                  </>
                ),
              },
              { title: participants.site, cell: ({ record }) => <bdi>{record.site_code ?? '–'}</bdi> },
              {
                title: participants.status,
                cell: ({ record }) => (
                  <span class={`tag ${record.status}`}>{words.participant.statuses[record.status]}</span>
                ),
              },
              {
                title: participants.date,
                cell: ({ record, anchor_status }) => (
                  <DateWithStatus date={record.enrollment_date} status={anchor_status} />
                ),
              },
              { title: participants.waits, cell: (row) => <Waits of={row} /> },
              {
                title: participants.next,
                cell: ({ next }) =>
                  next ? (
                    <span>
                      <CalendarDate value={next.target_date} /> <bdi class="quiet">{next.name}</bdi>
                    </span>
                  ) : (
                    <>–</>
                  ),
              },
              { title: participants.last, cell: ({ last_session }) => <CalendarDate value={last_session} /> },
            ]}
          />
        </div>
      )}
      <ListPages narrowed={narrowed} total={total} />
    </>
  );
}

/** Pages of the list; a search with an address, which is in no URL, carries it in a form. */
function ListPages({ narrowed, total }: { narrowed: Narrowed; total: number }) {
  const { participants } = useUi().words;
  const { code, email, study, status, skip = 0 } = narrowed;
  if (email === undefined)
    return (
      <Pager
        skip={skip}
        limit={LIST_PAGE}
        total={total}
        href={(from) => withQuery(LIST, { code, study, status, skip: from })}
      />
    );
  if (total <= LIST_PAGE) return null;
  return (
    <Form action={LIST} class="buttons">
      <input type="hidden" name="q" value={email} />
      <input type="hidden" name="study" value={study} />
      <input type="hidden" name="status" value={status} />
      {skip > 0 && (
        <button name="skip" value={Math.max(0, skip - LIST_PAGE)}>
          {participants.less}
        </button>
      )}
      {skip + LIST_PAGE < total && (
        <button name="skip" value={skip + LIST_PAGE}>
          {participants.more}
        </button>
      )}
    </Form>
  );
}

function Waits({ of }: { of: ListedParticipant }) {
  const what = useAwaited(of.waiting);
  return <>{what ?? '–'}</>;
}

/** Enrolling and importing, in the chosen or only study. One that has ended enrolls nobody; a file may change data. */
function Begin({ studies, chosen }: { studies: ParticipantList['studies']; chosen: string | undefined }) {
  const { words, user } = useUi();
  const { participants } = words;
  const enrolls = mayEnroll(user?.role);
  const one = studies.length === 1 ? studies[0] : studies.find(({ id }) => id === chosen);
  const running = studies.filter(({ status }) => !isEnded(status));
  if (one) {
    const only = one.id;
    return (
      <p class="buttons no-print">
        {enrolls && !isEnded(one.status) && (
          <a class="button" href={`/console/studies/${only}/enroll`}>
            {participants.enroll}
          </a>
        )}
        <a class="button" href={`/console/studies/${only}/import`}>
          {participants.import}
        </a>
      </p>
    );
  }
  if (running.length === 0) return null;
  return (
    <details class="job">
      <summary>{enrolls ? participants.enroll : participants.import}</summary>
      <form method="get" action="/console/enroll">
        <Studies studies={running} name="study" id="field-begin" label={participants.chooseStudy} />
        <p class="buttons">
          {enrolls && (
            <button class="primary" name="what" value="enroll">
              {participants.enroll}
            </button>
          )}
          <button name="what" value="import">
            {participants.import}
          </button>
        </p>
      </form>
    </details>
  );
}

function Studies({
  studies,
  name,
  id,
  label,
  chosen,
  all,
}: {
  studies: ParticipantList['studies'];
  name: string;
  id: string;
  label: string;
  chosen?: string | undefined;
  all?: string;
}) {
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select id={id} name={name}>
        {all && <option value="">{all}</option>}
        {studies.map((study) => (
          <option key={study.id} value={study.id} selected={study.id === chosen}>
            {study.study_code}
          </option>
        ))}
      </select>
    </div>
  );
}

/** Sent by POST: the search may be an email address, which must not be in a URL. */
function Search({ studies, narrowed }: { studies: ParticipantList['studies']; narrowed: Narrowed }) {
  const { words } = useUi();
  const { participants } = words;
  return (
    <Form action={LIST} class="inline no-print">
      <div class="field grow">
        <label for="field-q">{participants.search}</label>
        <input
          id="field-q"
          type="search"
          name="q"
          value={narrowed.email ?? narrowed.code}
          maxlength={200}
          aria-describedby="field-q-hint"
          autocomplete="off"
        />
        <p class="hint" id="field-q-hint">
          {participants.searchHint}
        </p>
      </div>
      {studies.length > 1 && (
        <Studies
          studies={studies}
          name="study"
          id="field-study"
          label={participants.study}
          chosen={narrowed.study}
          all={participants.allStudies}
        />
      )}
      <div class="field">
        <label for="field-status">{participants.status}</label>
        <select id="field-status" name="status">
          <option value="">{participants.anyStatus}</option>
          {(['enrolled', 'withdrawn'] as const).map((status) => (
            <option key={status} value={status} selected={status === narrowed.status}>
              {words.participant.statuses[status]}
            </option>
          ))}
        </select>
      </div>
      <button class="primary">{participants.find}</button>
    </Form>
  );
}
