import type { TimelineRow } from '../../../../db/timeline/timeline.queries.js';
import { isolated } from '../../../../workflows/domain/util/text-direction.js';
import { dateText } from '../../html/dates.js';
import { titleOf } from '../../../timeline/titles.js';
import type { Language } from '../words.js';

type Data = Record<string, unknown>;
/** User input in any text direction. */
const own = (value: unknown): string => isolated(String(value));
const date = (value: unknown): string =>
  typeof value === 'string' ? value.slice(0, 10).split('-').reverse().join('.') : 'keines';
const days = (delta: unknown): string => {
  const count = Number(delta ?? 0);
  if (count === 0) return 'derselbe Tag';
  return `${Math.abs(count)} ${Math.abs(count) === 1 ? 'Tag' : 'Tage'} ${count > 0 ? 'später' : 'früher'}`;
};
const because = (reason: unknown): string => (typeof reason === 'string' && reason !== '' ? `: ${own(reason)}` : '');
const by = (known: Record<string, string>, word: unknown): string =>
  known[String(word)] ?? String(word ?? '').replaceAll('_', ' ');

const sources = {
  consent_workflow: 'Einwilligung',
  eligibility_workflow: 'Eignung',
  randomization: 'Randomisierung',
  form_item: 'Formular',
  computed_rule: 'berechnet',
  manual_entry: 'von Hand erfasst',
  override: 'Ersatz',
};
const consents = { pending: 'offen', signed: 'unterschrieben', declined: 'abgelehnt', revoked: 'widerrufen' };
const eligibilities = {
  pending: 'offen',
  eligible: 'geeignet',
  ineligible: 'nicht geeignet',
  deferred: 'zurückgestellt',
};
const approvals = { requested: 'beantragt', approved: 'freigegeben', denied: 'abgelehnt', expired: 'abgelaufen' };
/** Why the service ended a request. */
const ended: Record<string, string> = { expired: 'nicht rechtzeitig entschieden', withdrawn: 'Person ausgeschieden' };
const sessions = { active: 'begonnen', completed: 'abgeschlossen', expired: 'abgelaufen', abandoned: 'abgebrochen' };
const messages = {
  pending: 'geplant',
  sent: 'gesendet',
  suppressed: 'nicht gesendet',
  cancelled: 'abgesagt',
  failed: 'fehlgeschlagen',
};
const channels = { email: 'E-Mail', sms: 'SMS', push: 'Push-Nachricht' };
const forms = { entered: 'erfasst', completed: 'abgeschlossen', signed: 'unterschrieben', locked: 'gesperrt' };
const triggers = {
  received: 'eingegangen',
  processing: 'in Arbeit',
  processed: 'verarbeitet',
  duplicate: 'schon verarbeitet',
  failed: 'fehlgeschlagen',
  created: 'Person angelegt',
  updated: 'Person geändert',
  unchanged: 'nichts Neues',
  ignored: 'nicht das Einschlussformular, nicht beachtet',
  override_required: 'ein anderes Datum, für das ein Ersatz zu beantragen ist',
};

function anchor(what: string, d: Data): string {
  if (what === 'PROPOSED')
    return `Einschlussdatum ${date(d.enrollment_date)} vorgeschlagen (${by(sources, d.source_type)})`;
  if (what === 'SET') return `Einschlussdatum ${date(d.enrollment_date)} gesetzt (${by(sources, d.source_type)})`;
  if (what === 'FINALIZED') return `Einschlussdatum ${date(d.enrollment_date)} endgültig`;
  if (d.status_after === 'unset') return `Einschlussdatum ${date(d.previous_enrollment_date)} zurückgezogen`;
  const verb = what === 'OVERRIDE_GRANTED' ? 'ersetzt' : 'geändert';
  return (
    `Einschlussdatum ${verb}: von ${date(d.previous_enrollment_date)} auf ${date(d.enrollment_date)}, ` +
    `${days(d.change_delta_days)}`
  );
}

function visit(what: string, d: Data): string {
  const name = own(d.name);
  if (what === 'completed') return `${name} abgeschlossen (Ziel ${date(d.target_date)})`;
  if (what === 'missed') return `${name} versäumt (Fenster geschlossen am ${date(d.window_close)})`;
  if (what === 'cancelled') return `${name} abgesagt`;
  return `${name}, Fenster ${date(d.window_open)} bis ${date(d.window_close)}`;
}

const titles: Record<TimelineRow['kind'], (what: string, data: Data) => string> = {
  participant: (what, d) =>
    what === 'withdrawn'
      ? `Ausgeschieden${because(d.reason)}`
      : what === 'reinstated'
        ? `Ausscheiden zurückgenommen${because(d.reason)}`
        : `${own(d.participant_code)} eingeschlossen`,
  consent: (what, d) =>
    `Einwilligung ${by(consents, what)}${d.consent_version_id ? ` (${own(d.consent_version_id)})` : ''}`,
  eligibility: (what) => `Eignung: ${by(eligibilities, what)}`,
  randomization: (_what, d) => `Randomisiert in ${own(d.arm)}`,
  form: (what, d) => `Formular „${own(d.form_oid)}“ ${by(forms, what)}`,
  trigger: (what, d) => `Trigger des Formulars „${own(d.instrument)}“: ${by(triggers, d.outcome ?? what)}`,
  approval: (what, d) =>
    `Ersatz durch ${date(d.new_enrollment_date)} ${by(approvals, what)}` +
    because((d.decided_by_id === null && ended[String(d.reason)]) || d.reason),
  anchor,
  schedule: (what, d) =>
    what === 'superseded'
      ? `Version ${String(d.version_number)} des Plans ersetzt`
      : `Version ${String(d.version_number)} des Plans erstellt, gezählt ab ${date(d.anchor_date_used)}`,
  visit,
  session: (what) => `Sitzung ${by(sessions, what)}`,
  push: (what) =>
    what === 'success'
      ? 'Ergebnisse ins Erfassungssystem übertragen'
      : what === 'skipped'
        ? 'Nichts zu übertragen'
        : 'Übertragung der Ergebnisse fehlgeschlagen',
  reminder: (what, d) =>
    `Nachricht${d.visit_name ? ` zu „${own(d.visit_name)}“` : ''} (${by(channels, d.channel)}) ${by(messages, what)}`,
};

/** Isolated user input, which stays as it is, or a date. */
const OWN_OR_DATE = /\u2068[^\u2069]*\u2069|\b\d{4}-\d{2}-\d{2}\b/g;
const readable = (part: string): string => (part.startsWith('\u2068') ? part : dateText('en', part));

/** A timeline entry as one line, in the reader's language. */
export const entryTitle = (language: Language, row: TimelineRow): string =>
  language === 'de' ? titles[row.kind](row.what, row.data) : titleOf(row).replaceAll(OWN_OR_DATE, readable);
