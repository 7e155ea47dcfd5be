import { DAY_GROUPS } from '../../../db/console/today.queries.js';
import type { DayVisit } from '../../../db/console/today.queries.js';
import { pathWith } from '../routing/done.js';
import { CalendarDate } from '../html/date.js';
import { daysBetween } from '../../../workflows/domain/util/dates.js';
import { EmptyState } from '../html/empty-state.js';
import { Chips, Choice, NarrowedOnPaper } from '../html/filter.js';
import { Form, Notice } from '../html/form.js';
import { Pager } from '../html/pager.js';
import { ParticipantLink } from '../html/participant-link.js';
import { Table } from '../html/table.js';
import { useUi } from '../html/ui.js';
import { NoStudy } from '../studies/no-study.js';
import { mayConfigure } from '../studies/studies.service.js';
import { PAGE_SIZE } from './today.service.js';
import type { Today } from './today.service.js';

const PATH = '/console/today';

/** The visits of a day: possible, opening, closing, or missed. */
export function TodayPage({
  today,
  done,
  of,
  mayChange,
  hasStudy = true,
}: {
  today: Today;
  done?: string | undefined;
  /** The visit that was just completed. */
  of?: string | undefined;
  mayChange: boolean;
  /** Whether the user sees a study; only asked where no visit is due. */
  hasStudy?: boolean;
}) {
  const { words, user } = useUi();
  const { items, totals, filter } = today;
  const { group, day } = filter;
  const told = done && words.today.done[done];
  const shownDay = day ?? items[0]?.today;
  return (
    <>
      <h1>
        {words.today.title}
        {shownDay && (
          <>
            {' '}
            <span class="tag">
              <CalendarDate value={shownDay} />
            </span>
          </>
        )}
      </h1>
      {told && (
        <Notice kind="good">
          {told} {of && <a href={`/console/visits/${of}`}>{words.today.undo}</a>}
        </Notice>
      )}
      {hasStudy ? (
        <>
          <Filters today={today} />
          <p class="quiet">{words.today.what[group]}</p>
          {items.length === 0 ? (
            <EmptyState title={words.today.empty[group]}>{words.today.emptyWhat}</EmptyState>
          ) : (
            <div class={mayChange ? 'with-actions' : undefined}>
              <Visits items={items} total={totals[group]} mayChange={mayChange} isNow={!day} />
            </div>
          )}
          <Foot today={today} />
        </>
      ) : (
        <NoStudy creates={mayConfigure(user?.role)} />
      )}
    </>
  );
}

/** The part of a filter that is in the address. */
const asked = ({ studyId, siteId, day }: Today['filter']) => ({ study: studyId, site: siteId, day });

function Filters({ today: { facets, totals, filter, chosen } }: { today: Today }) {
  const { words } = useUi();
  const { studyId, siteId, day, group } = filter;
  const names = day ? words.today.groupsOfDay : words.today.groups;
  return (
    <div class="filters">
      <Chips
        label={words.today.label}
        chips={DAY_GROUPS.map((one) => ({
          text: names[one],
          n: totals[one],
          href: pathWith(PATH, { group: one === 'in_window' ? undefined : one, ...asked(filter) }),
          isHere: one === group,
        }))}
      />
      <NarrowedOnPaper
        to={[
          [words.inbox.study, chosen.study_code],
          [words.inbox.site, chosen.site_code],
        ]}
      />
      <form method="get" action={PATH} class="choices-row">
        {group !== 'in_window' && <input type="hidden" name="group" value={group} />}
        <Choice
          name="study"
          label={words.inbox.study}
          all={words.inbox.allStudies}
          value={studyId}
          named={chosen.study_code}
          options={facets.map(({ study_id, study_code }) => [study_id, study_code] as const)}
        />
        <Choice
          name="site"
          label={words.inbox.site}
          all={words.inbox.allSites}
          value={siteId}
          named={chosen.site_code}
          options={facets
            .filter(({ study_id }) => !studyId || study_id === studyId)
            .flatMap(({ site_id, site_code }) => (site_id ? [[site_id, site_code!] as const] : []))}
        />
        <label class="choice">
          <span>
            {words.today.day} <small class="quiet">({words.today.dayHint})</small>
          </span>
          <input type="date" name="day" value={day} />
        </label>
        <button class="small">{words.inbox.apply}</button>
      </form>
    </div>
  );
}

function Visits({
  items,
  total,
  mayChange,
  isNow,
}: {
  items: DayVisit[];
  total: number;
  mayChange: boolean;
  isNow: boolean;
}) {
  const { words } = useUi();
  const { today } = words;
  return (
    <Table
      caption={today.caption(total)}
      rows={items}
      rowKey={({ id }) => id}
      columns={[
        {
          title: today.visit,
          head: true,
          cell: ({ id, name }) => (
            <a href={`/console/visits/${id}`}>
              <bdi>{name}</bdi>
            </a>
          ),
        },
        {
          title: words.inbox.participant,
          cell: (visit) => <ParticipantLink of={visit} />,
        },
        { title: words.inbox.study, cell: ({ study_code }) => <bdi>{study_code}</bdi> },
        { title: today.target, cell: ({ target_date }) => <CalendarDate value={target_date} /> },
        { title: today.window, cell: (visit) => <Window visit={visit} isNow={isNow} /> },
        ...(mayChange ? [{ title: words.inbox.action, cell: (visit: DayVisit) => <Actions visit={visit} /> }] : []),
      ]}
    />
  );
}

function Window({ visit: { window_open, window_close, today: day }, isNow }: { visit: DayVisit; isNow: boolean }) {
  const { words } = useUi();
  const left = daysBetween(day, window_close);
  return (
    <span>
      <CalendarDate value={window_open} /> {words.today.to} <CalendarDate value={window_close} />
      {isNow && (
        <span class={left <= 0 ? 'why' : 'quiet why-not'}>
          {left < 0 ? words.today.over(-left) : words.today.left(left)}
        </span>
      )}
    </span>
  );
}

function Actions({ visit: { id, participant_code, name } }: { visit: DayVisit }) {
  const { words } = useUi();
  const whose = `: ${name}, ${participant_code}`;
  return (
    <span class="row-actions">
      <Form action={`/console/visits/${id}/complete`}>
        <button class="small">
          {words.today.complete}
          <span class="spoken">{whose}</span>
        </button>
      </Form>
      <a class="button small" href={`/console/visits/${id}`}>
        {words.today.more}
        <span class="spoken">
          {' '}
          ({words.today.moreWhat}){whose}
        </span>
      </a>
    </span>
  );
}

function Foot({ today: { items, totals, filter } }: { today: Today }) {
  const { words } = useUi();
  const { skip, group } = filter;
  const within = { group: group === 'in_window' ? undefined : group, ...asked(filter) };
  if (items.length === 0) return null;
  return (
    <>
      <Pager
        skip={skip}
        limit={PAGE_SIZE}
        total={totals[group]}
        href={(from) => pathWith(PATH, { ...within, skip: from })}
      />
      <p class="pages no-print">
        <a href={pathWith('/console/today/csv', within)} download>
          {words.today.csv}
        </a>
        <span class="quiet">{words.today.print}</span>
      </p>
    </>
  );
}
