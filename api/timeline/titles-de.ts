import type { TimelineRow } from '../../db/timeline/timeline.queries.js';
import { reasonInWords } from '../../workflows/domain/notifications/explain.js';
import { isolated } from '../../workflows/domain/util/text-direction.js';

type Data = Record<string, unknown>;
/** Renders a stored English sentence in German. */
type Translate = (sentence: string) => string | undefined;
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
const signed = (signature: unknown): string => {
  const { name, meaning } = (signature ?? {}) as { name?: string; meaning?: string };
  return name === undefined ? '' : `, Unterschrift: ${own(name)} (${own(meaning)})`;
};

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
const kinds = {
  visit_reminder: 'Erinnerung',
  visit_missed: 'Nachricht über eine versäumte Visite',
  magic_link: 'Link zum Portal',
};
const channels = { email: 'E-Mail', sms: 'SMS', push: 'Push-Nachricht' };
const forms = { entered: 'erfasst', completed: 'abgeschlossen', signed: 'unterschrieben', locked: 'gesperrt' };
const pushFaults = {
  circuit_open: 'der Schutzschalter ist offen',
  connection_error: 'keine Verbindung',
  http_error: 'das Erfassungssystem antwortete mit einem Fehler',
  timeout: 'das Erfassungssystem antwortete nicht rechtzeitig',
  invalid_response: 'die Antwort war nicht lesbar',
  rejected: 'das Erfassungssystem lehnt die Werte ab',
  configuration: 'in dieser Studie fehlt etwas',
  internal: 'ein Fehler dieses Dienstes',
};
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
  if (what === 'CHANGED' && d.previous_enrollment_date === d.enrollment_date)
    return `Einschlussdatum ${date(d.enrollment_date)} jetzt aus: ${by(sources, d.source_type)}`;
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

const titles: Record<TimelineRow['kind'], (what: string, data: Data, translate: Translate) => string> = {
  participant: (what, d) =>
    what === 'withdrawn'
      ? `Ausgeschieden${because(d.reason)}`
      : what === 'reinstated'
        ? `Ausscheiden zurückgenommen${because(d.reason)}`
        : `${own(d.participant_code)} eingeschlossen`,
  consent: (what, d) =>
    `Einwilligung ${by(consents, what)}${d.consent_version_id ? ` (${own(d.consent_version_id)})` : ''}`,
  eligibility: (what, d) => `Eignung: ${by(eligibilities, what)}${d.has_waiver ? ', mit einer Ausnahme' : ''}`,
  randomization: (_what, d) => `Randomisiert in ${own(d.arm)}`,
  form: (what, d) =>
    `Formular „${own(d.form_oid)}“ ` +
    (d.origin === 'datacapture' && what === 'entered' ? 'aus dem Erfassungssystem übernommen' : by(forms, what)) +
    signed(d.signature),
  trigger: (what, d) => `Trigger des Formulars „${own(d.instrument)}“: ${by(triggers, d.outcome ?? what)}`,
  approval: (what, d) =>
    `Ersatz durch ${date(d.new_enrollment_date)} ${by(approvals, what)}` +
    because((d.decided_by_id === null && ended[String(d.reason)]) || d.reason) +
    signed(d.signature),
  anchor,
  schedule: (what, d) =>
    what === 'superseded'
      ? `Version ${String(d.version_number)} des Plans ersetzt`
      : `Version ${String(d.version_number)} des Plans erstellt, gezählt ab ${date(d.anchor_date_used)}: ` +
        `${String(d.visits_generated)} ${d.visits_generated === 1 ? 'neue Visite' : 'neue Visiten'}`,
  visit,
  session: (what, d) => `Sitzung ${by(sessions, what)}${d.source === 'offline' ? ' (offline)' : ''}`,
  push: (what, d) =>
    what === 'success'
      ? 'Ergebnisse ins Erfassungssystem übertragen'
      : what === 'skipped'
        ? 'Nichts zu übertragen'
        : `Übertragung der Ergebnisse fehlgeschlagen (${by(pushFaults, d.error_type)}), Versuch ${String(d.attempt)}`,
  reminder: (what, d, translate) => {
    const kind = by(kinds, d.notification_kind);
    const named = d.visit_name
      ? ` ${d.notification_kind === 'visit_reminder' ? 'an' : 'zu'} „${own(d.visit_name)}“`
      : '';
    const why = what === 'sent' || !d.reason ? undefined : translate(reasonInWords(String(d.reason)));
    return `${kind}${named} (${by(channels, d.channel)}) ${by(messages, what)}${because(why)}`;
  },
};

/**
 * An entry as one line of German text.
 * @param translate the German of a stored English sentence; what it has none of is left out
 */
export const germanTitleOf = ({ kind, what, data }: TimelineRow, translate: Translate = () => undefined): string =>
  titles[kind](what, data, translate);
