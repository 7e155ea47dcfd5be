/** The words of each kind of message to staff. Codes and dates, never a participant's name. */
export type NotificationKind = 'override_pending' | 'trigger_override_required';
type Values = Record<string, string>;

const texts: Record<NotificationKind, (v: Values) => { subject: string; text: string }> = {
  override_pending: (v) => ({
    subject: `[${v.study}] An enrollment date waits for your decision`,
    text:
      `In study ${v.study}, participant ${v.participant}: the enrollment date is to move from ${v.previous} to ${v.wanted}.\n` +
      `Without a decision it is denied on ${v.expires}.\n\n${v.url}/api/studies/${v.study_id}/approvals?status=pending\n`,
  }),
  trigger_override_required: (v) => ({
    subject: `[${v.study}] The capture system has another enrollment date`,
    text:
      `In study ${v.study}, participant ${v.participant}: the capture system now holds another enrollment date, but the date is final.\n` +
      `Nothing has moved; a change needs an override.\n\n${v.url}\n`,
  }),
};

/** @throws Error for a kind that has no words. */
export function textOf(kind: NotificationKind, values: Values): { subject: string; text: string } {
  const words = texts[kind];
  if (!words) throw new Error(`no words for notifications of kind ${String(kind)}`);
  return words(values);
}
