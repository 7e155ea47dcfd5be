import type { ComponentChildren } from 'preact';
import { CalendarDate } from '../html/date.js';
import { LOCALES, dateText } from '../html/dates.js';
import { useUi } from '../html/ui.js';
import type { Waiting } from './participant.service.js';

/** An instant in a time zone that the page names. */
export function ZonedInstant({ value, zone }: { value: string | Date | null | undefined; zone: string }) {
  const { language } = useUi();
  if (!value) return <>–</>;
  const at = new Date(value);
  const shown = new Intl.DateTimeFormat(LOCALES[language], { dateStyle: 'medium', timeStyle: 'short', timeZone: zone });
  return <time dateTime={at.toISOString()}>{shown.format(at)}</time>;
}

/** An enrollment date with its status. */
export function DateWithStatus({
  date,
  status,
  overridden = false,
}: {
  date: string | null;
  status: string;
  overridden?: boolean;
}) {
  const { words } = useUi();
  const { dateStatuses, noDate } = words.participant;
  return (
    <>
      {date ? <CalendarDate value={date} /> : <span class="quiet">{noDate}</span>}{' '}
      <span class={`tag ${status}`}>{dateStatuses[status] ?? status}</span>
      {overridden && (
        <>
          {' '}
          <span class="tag">{words.participant.overridden}</span>
        </>
      )}
    </>
  );
}

/** A visit by its name, which leads to what can be done about it. */
export const VisitLink = ({ of: { id, name } }: { of: { id: string; name: string } }) => (
  <a href={`/console/visits/${id}`}>
    <bdi>{name}</bdi>
  </a>
);

/** An anchor's missing prerequisites, as a list in words; undefined: none. */
export function useAwaited(waiting: Waiting): string | undefined {
  const { words, language } = useUi();
  if (waiting.closed || waiting.waiting_for.length === 0) return undefined;
  const ahead = waiting.date_ahead;
  const named = waiting.waiting_for.map((one) =>
    one === 'date' && ahead
      ? words.participant.dayAhead(dateText(language, ahead.date))
      : (words.participant.waiting[one] ?? one),
  );
  return new Intl.ListFormat(LOCALES[language], { type: 'conjunction' }).format(named);
}

/** Links between the pages of a list, newest first, that keep its query. */
export function Pages({ at, skip, size, total }: { at: string; skip: number; size: number; total: number }) {
  const { words } = useUi();
  if (total <= size && skip === 0) return null;
  const to = (next: number) => `${at}${at.includes('?') ? '&' : '?'}skip=${Math.max(0, next)}`;
  return (
    <p class="pages">
      {skip > 0 && <a href={to(skip - size)}>{words.participant.less}</a>}
      {skip + size < total && <a href={to(skip + size)}>{words.participant.more}</a>}
    </p>
  );
}

/** A collapsed form: its button names the action. */
export function Job({ title, open = false, children }: { title: string; open?: boolean; children: ComponentChildren }) {
  return (
    <details class="job" open={open}>
      <summary>{title}</summary>
      <div>{children}</div>
    </details>
  );
}
