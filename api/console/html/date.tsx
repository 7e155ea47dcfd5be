import { dateText, instantText } from './dates.js';
import { useUi } from './ui.js';

/** A calendar date. */
export function CalendarDate({ value }: { value: string | null | undefined }) {
  const { language } = useUi();
  return value ? <time dateTime={value}>{dateText(language, value)}</time> : <>–</>;
}

/**
 * An instant, in UTC.
 * @param bare without the time zone, which a heading already names
 * @param seconds with seconds, which distinguish two instants of one minute
 */
export function InstantText({
  value,
  bare = false,
  seconds = false,
}: {
  value: string | Date | null | undefined;
  bare?: boolean;
  seconds?: boolean;
}) {
  const { language } = useUi();
  if (!value) return <>–</>;
  const at = new Date(value);
  const text = instantText(language, at, seconds);
  return <time dateTime={at.toISOString()}>{bare ? text.replace(/ UTC$/, '') : text}</time>;
}
