import { dateIn } from '../../../workflows/domain/util/dates.js';
import type { TimelineItem } from '../../timeline/timeline.service.js';
import type { TimelineRow } from '../../../db/timeline/timeline.queries.js';
import { unitOfMetric } from '../../../workflows/domain/assessment/metric-ranges.js';
import { CalendarDate } from '../html/date.js';
import { LOCALES } from '../html/dates.js';
import { EmptyState } from '../html/empty-state.js';
import { TranslatedText } from '../html/said.js';
import { Table } from '../html/table.js';
import { reasonInWords, triedAgain } from '../../../workflows/domain/notifications/explain.js';
import { useUi } from '../html/ui.js';
import type { Language } from '../words/words.js';
import { entryTitle } from '../words/participants/timeline.js';
import { TAB_PAGE } from './participant-tabs.service.js';
import type { AuditLine, MessagesView, SessionsView } from './participant-tabs.service.js';
import { Pages, VisitLink, ZonedInstant } from './parts.js';

interface Listed {
  at: string;
  skip: number;
  total: number;
  zone: string;
}

/** Names the time zone of the times below. */
export function ZoneNote({ zone }: { zone: string }) {
  const { words } = useUi();
  return <p class="quiet zone">{words.participant.zoneNamed(zone)}</p>;
}

/** What becomes of a visit by its calendar, on a day and at no hour. */
const BY_CALENDAR = ['scheduled', 'open', 'missed'];

/** The moment of an entry; of a visit that is planned or was missed its day, as it is called at its site. */
function When({ of: { at, kind, data }, zone, daysIn }: { of: TimelineItem; zone: string; daysIn: string }) {
  return kind === 'visit' && BY_CALENDAR.includes(String(data.what)) ? (
    <CalendarDate value={dateIn(at, daysIn)} />
  ) : (
    <ZonedInstant value={at} zone={zone} />
  );
}

/** @param daysIn the time zone of the visits' days: their site's, else the study's */
export function TimelineTab({
  items,
  at,
  skip,
  total,
  zone,
  daysIn,
}: Listed & { items: TimelineItem[]; daysIn: string }) {
  const { words, language } = useUi();
  const { timeline } = words.participant;
  if (total === 0) return <EmptyState title={timeline.empty}>{timeline.emptyWhat}</EmptyState>;
  const rowOf = ({ data, ...item }: TimelineItem): TimelineRow => ({
    at: item.at,
    kind: item.kind,
    what: String(data.what),
    id: String(data.id),
    planned: data.planned === true,
    data,
  });
  return (
    <div class="timeline">
      <ZoneNote zone={zone} />
      <Table
        caption={timeline.caption(total)}
        rows={items}
        rowKey={({ kind, data, at: when }) => `${kind} ${String(data.id)} ${String(data.what)} ${when}`}
        rowClass={({ data }) => (data.planned ? 'planned' : undefined)}
        columns={[
          { title: timeline.at, cell: (item) => <When of={item} zone={zone} daysIn={daysIn} /> },
          {
            title: timeline.what,
            head: true,
            cell: (item) => (
              <>
                <span class="tag">{timeline.kinds[item.kind] ?? item.kind}</span>{' '}
                <bdi>{entryTitle(language, rowOf(item))}</bdi>{' '}
                {item.data.planned === true && item.kind !== 'reminder' && (
                  <span class="quiet">({timeline.planned})</span>
                )}
              </>
            ),
          },
        ]}
      />
      <Pages at={at} skip={skip} size={TAB_PAGE} total={total} />
    </div>
  );
}

/** A metric's value: a share as percent, a time with its unit. */
function measured(language: Language, metric: string, value: number): string {
  const isShare = metric === 'accuracy' && value >= 0 && value <= 1;
  const number = new Intl.NumberFormat(
    LOCALES[language],
    isShare ? { style: 'percent', maximumFractionDigits: 1 } : { maximumFractionDigits: 3 },
  ).format(value);
  const unit = unitOfMetric(metric);
  return unit ? `${number} ${unit}` : number;
}

export function SessionsTab({ view, at, skip, zone }: Omit<Listed, 'total'> & { view: SessionsView }) {
  const { words, language } = useUi();
  const { sessions } = words.participant;
  if (view.total === 0) return <EmptyState title={sessions.empty}>{sessions.emptyWhat}</EmptyState>;
  const named = (code: string) =>
    Object.hasOwn(sessions.measures, code) ? sessions.measures[code]! : code.replaceAll('_', ' ');
  return (
    <>
      <ZoneNote zone={zone} />
      <Table
        caption={sessions.caption(view.total)}
        rows={view.items}
        rowKey={({ id }) => id}
        columns={[
          {
            title: sessions.started,
            head: true,
            cell: ({ started_at, source }) => (
              <>
                <ZonedInstant value={started_at} zone={zone} />{' '}
                {source === 'offline' && <span class="tag">{sessions.offline}</span>}
              </>
            ),
          },
          {
            title: sessions.state,
            cell: ({ status, trial_count }) => (
              <>
                <span class={`tag ${status}`}>{sessions.states[status] ?? status}</span>{' '}
                <span class="quiet">{sessions.trials(trial_count)}</span>
              </>
            ),
          },
          {
            title: sessions.results,
            cell: ({ task_summaries }) =>
              Object.keys(task_summaries).length === 0 ? (
                <>–</>
              ) : (
                <ul class="plain">
                  {Object.entries(task_summaries).map(([task, values]) => (
                    <li key={task}>
                      <strong title={task}>{named(task)}</strong>{' '}
                      {Object.entries(values)
                        .map(([metric, value]) => `${named(metric)} ${measured(language, metric, value)}`)
                        .join('; ')}
                    </li>
                  ))}
                </ul>
              ),
          },
          {
            title: sessions.flags,
            cell: ({ quality_flags }) =>
              quality_flags.length === 0 ? (
                <span class="quiet">{sessions.noFlags}</span>
              ) : (
                <ul class="plain">
                  {quality_flags.map(({ code, message }) => (
                    <li key={`${code} ${message}`}>
                      <mark>{sessions.flagNames[code] ?? code.replaceAll('_', ' ').toLowerCase()}</mark>{' '}
                      <TranslatedText text={message} />
                    </li>
                  ))}
                </ul>
              ),
          },
          {
            title: sessions.capture,
            cell: ({ sync_status }) =>
              sync_status ? (
                <span class={`tag ${sync_status}`}>{sessions.pushes[sync_status] ?? sync_status}</span>
              ) : (
                <>–</>
              ),
          },
        ]}
      />
      <Pages at={at} skip={skip} size={TAB_PAGE} total={view.total} />
    </>
  );
}

export function MessagesTab({ view, at, skip, zone }: Omit<Listed, 'total'> & { view: MessagesView }) {
  const { words } = useUi();
  const { messages } = words.participant;
  if (view.total === 0) return <EmptyState title={messages.empty}>{messages.emptyWhat}</EmptyState>;
  return (
    <>
      <ZoneNote zone={zone} />
      <Table
        caption={messages.caption(view.total)}
        rows={view.items}
        rowKey={({ id }) => id}
        columns={[
          {
            title: messages.due,
            cell: ({ sent_at, due_at }) => <ZonedInstant value={sent_at ?? due_at} zone={zone} />,
          },
          {
            title: messages.what,
            head: true,
            cell: ({ kind, channel, visit }) => (
              <>
                {messages.kinds[kind] ?? kind.replaceAll('_', ' ')}
                {visit && (
                  <>
                    {' '}
                    <VisitLink of={visit} />
                  </>
                )}
                <br />
                <span class="quiet">{messages.channels[channel]}</span>
              </>
            ),
          },
          {
            title: messages.state,
            cell: ({ status }) => <span class={`tag ${status}`}>{messages.states[status] ?? status}</span>,
          },
          {
            title: messages.why,
            cell: ({ explanation, status, attempts, last_error, reason }) =>
              explanation ? (
                <details>
                  <summary>
                    <TranslatedText text={explanation.why} />
                  </summary>
                  <span class="quiet">
                    {messages.rule}: <TranslatedText text={explanation.rule} />
                  </span>
                </details>
              ) : status === 'pending' && last_error !== null ? (
                <TranslatedText text={triedAgain({ attempts, last_error })} />
              ) : (
                <>{reason ? <TranslatedText text={reasonInWords(reason)} /> : '–'}</>
              ),
          },
        ]}
      />
      <Pages at={at} skip={skip} size={TAB_PAGE} total={view.total} />
    </>
  );
}

export function AuditTab({ items, at, skip, total, zone }: Listed & { items: AuditLine[] }) {
  const { words } = useUi();
  const { audit } = words.participant;
  if (total === 0) return <EmptyState title={audit.empty} />;
  return (
    <>
      <p>
        <a href="/console/audit">{audit.all}</a>
      </p>
      <ZoneNote zone={zone} />
      <Table
        caption={audit.caption(total)}
        rows={items}
        rowKey={({ id }) => id}
        columns={[
          { title: audit.at, cell: ({ created_at }) => <ZonedInstant value={created_at} zone={zone} /> },
          {
            title: audit.action,
            head: true,
            cell: ({ action }) => <span title={action}>{words.auditCodes.action(action)}</span>,
          },
          { title: audit.by, cell: ({ by, user_id }) => <bdi>{by ?? user_id ?? audit.nobody}</bdi> },
          { title: audit.request, cell: ({ request_id }) => <code>{request_id?.slice(0, 8) ?? '–'}</code> },
        ]}
      />
      <Pages at={at} skip={skip} size={TAB_PAGE} total={total} />
    </>
  );
}
