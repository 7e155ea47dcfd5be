import { dateText, instantText } from './dates.js';
import { useUi } from './ui.js';

/** A calendar date. */
export function CalendarDate({ value }: { value: string | null | undefined }) {
  const { language } = useUi();
  return value ? <time dateTime={value}>{dateText(language, value)}</time> : <>–</>;
}

/** An instant, in UTC. */
export function Instant({ value }: { value: string | Date | null | undefined }) {
  const { language } = useUi();
  if (!value) return <>–</>;
  const at = new Date(value);
  return <time dateTime={at.toISOString()}>{instantText(language, at)}</time>;
}
