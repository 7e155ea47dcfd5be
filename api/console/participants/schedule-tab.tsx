import { CalendarDate } from '../html/date.js';
import { dateText } from '../html/dates.js';
import { EmptyState } from '../html/empty-state.js';
import { TranslatedText } from '../html/said.js';
import { Table } from '../html/table.js';
import { useUi } from '../html/ui.js';
import type { VersionInFull } from '../../../db/scheduling/schedule-versions.queries.js';
import type { Moved } from '../../scheduling/schedule-versions.service.js';
import { personPath } from './participant.page.js';
import type { ScheduleView } from './participant-tabs.service.js';
import { VisitLink, ZonedInstant } from './parts.js';

/** The current visits, the schedule versions, and the difference between two of them. */
export function ScheduleTab({ view, id, zone }: { view: ScheduleView; id: string; zone: string }) {
  const { words, language } = useUi();
  const { schedule } = words.participant;
  const { current, visits, versions, difference } = view;
  if (versions.length === 0 && visits.length === 0)
    return (
      <EmptyState title={schedule.empty}>
        {schedule.emptyWhat} <a href={`${personPath(id)}?tab=date`}>{schedule.toDate}</a>
      </EmptyState>
    );
  return (
    <>
      {difference ? (
        <Difference difference={difference} />
      ) : (
        <>
          {current && (
            <h2>
              {schedule.current(current.version_number)},{' '}
              {schedule.fromDate(dateText(language, current.anchor_date_used))}
            </h2>
          )}
          <Visits visits={visits} />
        </>
      )}
      {versions.length > 1 && <Compare versions={versions} id={id} difference={difference} />}
      {versions.length > 0 && <Versions versions={versions} zone={zone} />}
    </>
  );
}

function Visits({ visits }: { visits: Record<string, unknown>[] }) {
  const { words } = useUi();
  const { schedule } = words.participant;
  return (
    <Table
      caption={schedule.visits(visits.length)}
      rows={visits}
      rowKey={({ id }) => id as string}
      columns={[
        {
          title: schedule.visit,
          head: true,
          cell: ({ id, name, carried }) => (
            <>
              <VisitLink of={{ id: id as string, name: name as string }} />{' '}
              {carried === true && <span class="quiet">({schedule.carried})</span>}
            </>
          ),
        },
        { title: schedule.target, cell: ({ target_date }) => <CalendarDate value={target_date as string} /> },
        {
          title: schedule.window,
          cell: ({ window_open, window_close }) => (
            <>
              <CalendarDate value={window_open as string} /> – <CalendarDate value={window_close as string} />
            </>
          ),
        },
        {
          title: schedule.state,
          cell: ({ status }) => (
            <span class={`tag ${status as string}`}>{schedule.states[status as string] ?? (status as string)}</span>
          ),
        },
      ]}
    />
  );
}

function Difference({ difference: { from, to, visits } }: { difference: NonNullable<ScheduleView['difference']> }) {
  const { words } = useUi();
  const { schedule } = words.participant;
  return (
    <>
      <h2>{schedule.difference(from.version_number, to.version_number)}</h2>
      <Table<Moved>
        caption={schedule.visits(visits.length)}
        rows={visits}
        rowKey={({ visit_key }) => String(visit_key)}
        rowClass={({ change }) => (change === 'unchanged' ? undefined : 'changed')}
        columns={[
          { title: schedule.visit, head: true, cell: ({ name }) => <bdi>{String(name)}</bdi> },
          {
            title: schedule.change,
            cell: ({ change }) => <span class={`tag ${change}`}>{schedule.changes[change]}</span>,
          },
          {
            title: words.approval.before,
            cell: ({ from: before }) => <CalendarDate value={before as string | null} />,
          },
          { title: words.approval.after, cell: ({ to: after }) => <CalendarDate value={after as string | null} /> },
        ]}
      />
    </>
  );
}

function Compare({
  versions,
  id,
  difference,
}: {
  versions: VersionInFull[];
  id: string;
  difference: ScheduleView['difference'];
}) {
  const { words } = useUi();
  const { schedule } = words.participant;
  const last = versions.length - 1;
  const chosen = {
    from: difference?.from.version_number ?? versions[last - 1]!.version_number,
    to: difference?.to.version_number ?? versions[last]!.version_number,
  };
  return (
    <form method="get" action={personPath(id)} class="inline">
      <h2>{schedule.compare}</h2>
      <input type="hidden" name="tab" value="schedule" />
      {(['from', 'to'] as const).map((name) => (
        <div class="field" key={name}>
          <label for={`field-${name}`}>{schedule[name]}</label>
          <select id={`field-${name}`} name={name}>
            {versions.map(({ version_number }) => (
              <option key={version_number} value={version_number} selected={version_number === chosen[name]}>
                {version_number}
              </option>
            ))}
          </select>
        </div>
      ))}
      <button>{schedule.show}</button>
    </form>
  );
}

function Versions({ versions, zone }: { versions: VersionInFull[]; zone: string }) {
  const { words } = useUi();
  const { schedule } = words.participant;
  return (
    <>
      <h2>{schedule.versions}</h2>
      <p class="quiet zone">{words.participant.zoneNamed(zone)}</p>
      <Table
        caption={schedule.versionsCaption(versions.length)}
        rows={[...versions].reverse()}
        rowKey={({ id }) => id}
        columns={[
          { title: schedule.number, head: true, cell: ({ version_number }) => <>{version_number}</> },
          { title: schedule.anchor, cell: ({ anchor_date_used }) => <CalendarDate value={anchor_date_used} /> },
          { title: schedule.made, cell: ({ generated_at }) => <ZonedInstant value={generated_at} zone={zone} /> },
          {
            title: schedule.superseded,
            cell: ({ superseded_at }) => <ZonedInstant value={superseded_at} zone={zone} />,
          },
          {
            title: schedule.warnings,
            cell: ({ generation_warnings }) => <Warnings of={generation_warnings} />,
          },
        ]}
      />
    </>
  );
}

/** The warnings of a version, one in each line. */
function Warnings({ of }: { of: readonly string[] }) {
  if (of.length === 0) return <>–</>;
  return (
    <ul class="plain">
      {of.map((text) => (
        <li key={text}>
          <TranslatedText text={text} />
        </li>
      ))}
    </ul>
  );
}
