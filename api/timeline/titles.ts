import type { TimelineRow } from '../../db/timeline/timeline.queries.js';
import { isolated } from '../../workflows/domain/util/text-direction.js';
import { reasonInWords } from '../../workflows/domain/notifications/explain.js';

type Data = Record<string, unknown>;
const date = (value: unknown): string => (typeof value === 'string' ? value.slice(0, 10) : 'none');
/** User input in any text direction. */
const own = (value: unknown): string => isolated(String(value));
const words = (value: unknown): string => String(value ?? '').replaceAll('_', ' ');
const days = (delta: unknown): string => {
  const count = Number(delta ?? 0);
  return count === 0
    ? 'same day'
    : `${Math.abs(count)} ${Math.abs(count) === 1 ? 'day' : 'days'} ${count > 0 ? 'later' : 'earlier'}`;
};
const signed = (signature: unknown): string => {
  const { name, meaning } = (signature ?? {}) as { name?: string; meaning?: string };
  return name === undefined ? '' : `, signed by ${own(name)} (${own(meaning)})`;
};
const because = (reason: unknown): string => (typeof reason === 'string' && reason !== '' ? `: ${own(reason)}` : '');

const anchor: Record<string, (data: Data) => string> = {
  PROPOSED: (d) => `Enrollment date ${date(d.enrollment_date)} proposed (${words(d.source_type)})`,
  SET: (d) => `Enrollment date set to ${date(d.enrollment_date)} (${words(d.source_type)})`,
  FINALIZED: (d) => `Enrollment date ${date(d.enrollment_date)} final`,
  OVERRIDE_GRANTED: (d) =>
    `Enrollment date overridden: from ${date(d.previous_enrollment_date)} to ${date(d.enrollment_date)}, ` +
    `${days(d.change_delta_days)}`,
  CHANGED: (d) =>
    d.status_after === 'unset'
      ? `Enrollment date ${date(d.previous_enrollment_date)} withdrawn`
      : d.previous_enrollment_date === d.enrollment_date
        ? `Enrollment date ${date(d.enrollment_date)} now from ${words(d.source_type)}`
        : `Enrollment date changed: from ${date(d.previous_enrollment_date)} to ${date(d.enrollment_date)}, ` +
          `${days(d.change_delta_days)}`,
};

const visit: Record<string, (data: Data) => string> = {
  completed: (d) => `${own(d.name)} completed (due ${date(d.target_date)})`,
  missed: (d) => `${own(d.name)} missed (window closed ${date(d.window_close)})`,
  cancelled: (d) => `${own(d.name)} cancelled`,
  open: (d) => `${own(d.name)} due, window open until ${date(d.window_close)}`,
  scheduled: (d) => `${own(d.name)} due, window ${date(d.window_open)} to ${date(d.window_close)}`,
};

const outcomes: Record<string, string> = {
  created: 'participant created',
  updated: 'participant updated',
  unchanged: 'nothing new',
  ignored: 'not the enrollment form, ignored',
  override_required: 'another date, which needs an override',
};
const kinds: Record<string, string> = {
  visit_reminder: 'Reminder of',
  visit_missed: 'Message that one has missed',
  magic_link: 'Link to the portal',
};
const channels: Record<string, string> = { sms: 'text message', push: 'push message' };

const titles: Record<TimelineRow['kind'], (what: string, data: Data) => string> = {
  participant: (what, d) =>
    what === 'withdrawn'
      ? `Withdrawn${because(d.reason)}`
      : what === 'reinstated'
        ? `Withdrawal taken back${because(d.reason)}`
        : `${own(d.participant_code)} enrolled in the study`,
  consent: (what, d) => `Consent ${what}${d.consent_version_id ? ` (${own(d.consent_version_id)})` : ''}`,
  eligibility: (what, d) => `Eligibility: ${what}${d.has_waiver ? ', with a waiver' : ''}`,
  randomization: (_what, d) => `Randomized to ${own(d.arm)}`,
  form: (what, d) =>
    `Form “${own(d.form_oid)}” ` +
    (d.origin === 'datacapture' && what === 'entered' ? 'taken from the capture system' : what) +
    signed(d.signature),
  trigger: (what, d) =>
    `Data-entry trigger of the form “${own(d.instrument)}”: ` +
    `${what === 'failed' ? 'failed' : (outcomes[String(d.outcome)] ?? words(d.outcome ?? what))}`,
  approval: (what, d) => `Override to ${date(d.new_enrollment_date)} ${what}${because(d.reason)}${signed(d.signature)}`,
  anchor: (what, d) => anchor[what]?.(d) ?? words(what),
  schedule: (what, d) =>
    what === 'superseded'
      ? `Schedule version ${String(d.version_number)} superseded`
      : `Schedule version ${String(d.version_number)} made from ${date(d.anchor_date_used)}: ` +
        `${String(d.visits_generated)} new ${d.visits_generated === 1 ? 'visit' : 'visits'}`,
  visit: (what, d) => visit[what]?.(d) ?? `${own(d.name)} ${what}`,
  session: (what, d) =>
    `Assessment session ${what === 'active' ? 'started' : what}${d.source === 'offline' ? ' (offline)' : ''}`,
  push: (what, d) =>
    what === 'success'
      ? 'Results pushed to the capture system'
      : what === 'skipped'
        ? 'Nothing to push to the capture system'
        : `Push of results failed (${words(d.error_type)}), attempt ${String(d.attempt)}`,
  reminder: (what, d) =>
    capital(kinds[String(d.notification_kind)] ?? words(d.notification_kind)) +
    `${d.visit_name ? ` “${own(d.visit_name)}”` : ''} ` +
    `by ${channels[String(d.channel)] ?? String(d.channel)} ` +
    (what === 'pending' ? 'planned' : what === 'suppressed' ? 'not sent' : what) +
    (what === 'sent' ? '' : because(d.reason && reasonInWords(String(d.reason)))),
};

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** An entry as one line of text. */
export const titleOf = ({ kind, what, data }: TimelineRow): string => titles[kind](what, data);
