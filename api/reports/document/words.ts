/** Texts of reports and plots in each language; a missing key does not compile. */
const en = {
  studyReport: 'Study report',
  participantReport: 'Participant report',
  sessionReport: 'Session report',
  contents: 'Contents',
  overview: 'Overview',
  enrollment: 'Enrollment',
  completion: 'Completion by window',
  adherence: 'Adherence by site and window',
  sites: 'Sites',
  metrics: 'Task metrics',
  method: 'Definitions',
  identity: 'Participant',
  anchor: 'Enrollment date',
  schedule: 'Schedule',
  visits: 'Visits',
  sessions: 'Sessions',
  course: 'Course of the metrics',
  session: 'Session',
  tasks: 'Tasks',
  generated: 'Generated',
  filters: 'Filter',
  none: 'none',
  from: 'from',
  to: 'to',
  site: 'Site',
  arm: 'Arm',
  study: 'Study',
  code: 'Code',
  status: 'Status',
  language: 'Language',
  timezone: 'Time zone',
  period: 'Period',
  checksum: 'Data SHA-256',
  auditHead: 'Audit head',
  page: 'Page',
  participants: 'Participants',
  total: 'Total',
  enrolled: 'Enrolled',
  withdrawn: 'Withdrawn',
  completed: 'Completed',
  expired: 'Expired',
  scheduled: 'Scheduled',
  open: 'Open',
  missed: 'Missed',
  superseded: 'Superseded',
  cancelled: 'Cancelled',
  anchors: 'Enrollment dates',
  unset: 'Unset',
  provisional: 'Provisional',
  finalized: 'Finalized',
  overridden: 'Overridden',
  due: 'Due',
  inWindow: 'In window',
  late: 'Late',
  early: 'Early',
  pending: 'Pending',
  rate: 'Rate',
  adherenceRate: 'Completed in window, of those due',
  month: 'Month',
  cumulative: 'Cumulative',
  withoutDate: 'Without a date',
  noSite: 'no site',
  otherVisits: 'Other visits',
  window: 'Window',
  task: 'Task',
  metric: 'Metric',
  n: 'n',
  mean: 'Mean',
  sd: 'SD',
  median: 'Median',
  p25: '25 %',
  p75: '75 %',
  min: 'Min',
  max: 'Max',
  visitsCompleted: 'Visits completed',
  visitsMissed: 'Visits missed',
  date: 'Date',
  target: 'Target',
  windowOpen: 'Opens',
  windowClose: 'Closes',
  doneAt: 'Completed',
  daysOff: 'Days off target',
  started: 'Started',
  source: 'Source',
  trials: 'Trials',
  version: 'Version',
  value: 'Value',
  fromTrials: 'From trials',
  reference: 'Study, 25–75 %',
  quality: 'Quality flags',
  override: 'Override',
  signatures: 'Signatures',
  signedRecord: 'Record',
  signer: 'Signer',
  meaning: 'Meaning',
  signedAt: 'Signed at',
  provedBy: 'Identity proved by',
  byPassword: 'password',
  byCode: 'authenticator code',
  byLogin: 'login',
  byClaim: 'not proved',
  nothing: 'There is nothing to show yet.',
  draft: 'Draft',
  active: 'Active',
  paused: 'Paused',
  archived: 'Archived',
  abandoned: 'Abandoned',
  online: 'Online',
  offline: 'Offline',
  since: 'since {0}',
  until: 'until {0}',
  first: 'First',
  last: 'Last',
  consent_workflow: 'Consent',
  eligibility_workflow: 'Eligibility',
  randomization: 'Randomization',
  form_item: 'Form',
  computed_rule: 'Computed',
  manual_entry: 'Entered by hand',
  plotEnrollment: 'Enrollment',
  plotEnrollmentText: 'Participants by month of enrollment, and their cumulative number: {0} in {1} months.',
  plotCompletion: 'Completion by window',
  plotCompletionText:
    'For each of {0} windows how many due visits were completed in their window, early, late, or missed.',
  plotAdherence: 'Adherence by site and window',
  plotAdherenceText: 'Share of due visits completed in their window, for {0} sites and {1} windows.',
  plotMetrics: 'Distribution of task metrics',
  plotMetricsText: 'Minimum, quartiles and maximum of {0} metrics over all sessions.',
  plotCourse: 'Course of a participant',
  plotCourseText: '{0} metrics of participant {1} over time; the band is the middle half of the study.',
  excluded: 'n (+ k): k values that no test yields (above 10¹²) are kept and left out of the statistics.',
  methodText:
    'A visit is due when it is completed or its window has closed on the calendar of the participant’s site or ' +
    'study. Superseded and cancelled visits are never due; visits of withdrawn participants count. Adherence ' +
    'is the share of due visits that were completed inside their window; completion the share completed at ' +
    'all. Days off target are negative before the target. Overridden dates are counted as finalized or ' +
    'provisional too. From and to of a filter mean the enrollment date of participants, the target date of ' +
    'visits, the start of sessions (UTC). The standard deviation is the sample’s. The checksum ' +
    'is the SHA-256 of the canonical JSON (RFC 8785) of the report’s data; the audit head names the last ' +
    'record of the study’s audit chain when the data were read.',
};
type Words = { [K in keyof typeof en]: string };
const de: Words = {
  studyReport: 'Studienbericht',
  participantReport: 'Bericht zu einer teilnehmenden Person',
  sessionReport: 'Sitzungsbericht',
  contents: 'Inhalt',
  overview: 'Überblick',
  enrollment: 'Einschluss',
  completion: 'Durchführung nach Zeitfenster',
  adherence: 'Adhärenz nach Standort und Zeitfenster',
  sites: 'Standorte',
  metrics: 'Kennwerte der Aufgaben',
  method: 'Wie gezählt wird',
  identity: 'Teilnehmende Person',
  anchor: 'Einschlussdatum',
  schedule: 'Plan',
  visits: 'Visiten',
  sessions: 'Sitzungen',
  course: 'Verlauf der Kennwerte',
  session: 'Sitzung',
  tasks: 'Aufgaben',
  generated: 'Erstellt',
  filters: 'Filter',
  none: 'keine',
  from: 'von',
  to: 'bis',
  site: 'Standort',
  arm: 'Arm',
  study: 'Studie',
  code: 'Code',
  status: 'Status',
  language: 'Sprache',
  timezone: 'Zeitzone',
  period: 'Zeitraum',
  checksum: 'SHA-256 der Daten',
  auditHead: 'Prüfsumme des Audit-Logs',
  page: 'Seite',
  participants: 'Teilnehmende',
  total: 'Gesamt',
  enrolled: 'Eingeschlossen',
  withdrawn: 'Ausgeschieden',
  completed: 'Abgeschlossen',
  expired: 'Abgelaufen',
  scheduled: 'Geplant',
  open: 'Offen',
  missed: 'Versäumt',
  superseded: 'Ersetzt',
  cancelled: 'Abgesagt',
  anchors: 'Einschlussdaten',
  unset: 'Nicht gesetzt',
  provisional: 'Vorläufig',
  finalized: 'Endgültig',
  overridden: 'Überschrieben',
  due: 'Fällig',
  inWindow: 'Im Fenster',
  late: 'Verspätet',
  early: 'Verfrüht',
  pending: 'Ausstehend',
  rate: 'Anteil',
  adherenceRate: 'Im Fenster abgeschlossen, von den fälligen',
  month: 'Monat',
  cumulative: 'Kumuliert',
  withoutDate: 'Ohne Datum',
  noSite: 'ohne Standort',
  otherVisits: 'Andere Visiten',
  window: 'Zeitfenster',
  task: 'Aufgabe',
  metric: 'Kennwert',
  n: 'n',
  mean: 'Mittelwert',
  sd: 'SD',
  median: 'Median',
  p25: '25 %',
  p75: '75 %',
  min: 'Min',
  max: 'Max',
  visitsCompleted: 'Visiten abgeschlossen',
  visitsMissed: 'Visiten versäumt',
  date: 'Datum',
  target: 'Ziel',
  windowOpen: 'Beginn',
  windowClose: 'Ende',
  doneAt: 'Abgeschlossen',
  daysOff: 'Tage vom Ziel',
  started: 'Begonnen',
  source: 'Quelle',
  trials: 'Durchgänge',
  version: 'Version',
  value: 'Wert',
  fromTrials: 'Aus Durchgängen',
  reference: 'Studie, 25–75 %',
  quality: 'Qualitätshinweise',
  override: 'Überschreibung',
  signatures: 'Unterschriften',
  signedRecord: 'Eintrag',
  signer: 'Unterzeichnet von',
  meaning: 'Bedeutung',
  signedAt: 'Zeitpunkt',
  provedBy: 'Identität nachgewiesen durch',
  byPassword: 'Passwort',
  byCode: 'Code der Authenticator-App',
  byLogin: 'Anmeldung',
  byClaim: 'nicht nachgewiesen',
  nothing: 'Noch gibt es nichts zu zeigen.',
  draft: 'Entwurf',
  active: 'Aktiv',
  paused: 'Unterbrochen',
  archived: 'Archiviert',
  abandoned: 'Abgebrochen',
  online: 'Online',
  offline: 'Offline',
  since: 'seit {0}',
  until: 'bis {0}',
  first: 'Erster Wert',
  last: 'Letzter Wert',
  consent_workflow: 'Einwilligung',
  eligibility_workflow: 'Eignung',
  randomization: 'Randomisierung',
  form_item: 'Formular',
  computed_rule: 'Berechnet',
  manual_entry: 'Von Hand eingetragen',
  plotEnrollment: 'Einschluss',
  plotEnrollmentText: 'Teilnehmende nach Einschlussmonat und ihre kumulierte Zahl: {0} in {1} Monaten.',
  plotCompletion: 'Durchführung nach Zeitfenster',
  plotCompletionText:
    'Wie viele fällige Visiten in {0} Zeitfenstern im Fenster, verfrüht oder verspätet abgeschlossen oder ' +
    'versäumt wurden.',
  plotAdherence: 'Adhärenz nach Standort und Zeitfenster',
  plotAdherenceText:
    'Anteil der fälligen Visiten, die im Fenster abgeschlossen wurden, für {0} Standorte und {1} Zeitfenster.',
  plotMetrics: 'Verteilung der Kennwerte',
  plotMetricsText: 'Minimum, Quartile und Maximum von {0} Kennwerten über alle Sitzungen.',
  plotCourse: 'Verlauf einer teilnehmenden Person',
  plotCourseText: '{0} Kennwerte von {1} im Verlauf; das Band ist die mittlere Hälfte der Studie.',
  excluded:
    'n (+ k): k Werte, die kein Test ergibt (über 10¹²), werden aufbewahrt und sind in keiner Statistik enthalten.',
  methodText:
    'Eine Visite ist fällig, wenn sie abgeschlossen ist oder ihr Zeitfenster nach dem Kalender des Standorts ' +
    'oder der Studie geschlossen hat. Ersetzte und abgesagte Visiten sind nie fällig; Visiten ausgeschiedener ' +
    'Personen zählen mit. Adhärenz ist der Anteil der fälligen Visiten, die im Zeitfenster abgeschlossen wurden; ' +
    'Durchführung der Anteil der überhaupt abgeschlossenen. Die Tage vom Ziel sind vor dem Ziel negativ. ' +
    'Überschriebene Einschlussdaten zählen auch als endgültig oder vorläufig. Von und bis eines Filters meinen bei ' +
    'Teilnehmenden das Einschlussdatum, bei Visiten das Zieldatum, bei Sitzungen den Beginn (UTC). Die ' +
    'Standardabweichung ist die der Stichprobe. Die Prüfsumme ist der SHA-256 des kanonischen JSON (RFC 8785) ' +
    'der Daten des Berichts; die Prüfsumme des Audit-Logs nennt den letzten Eintrag der Studie zu dem Zeitpunkt, ' +
    'als die Daten gelesen wurden.',
};

export const languages = { en, de };
export type ReportLanguage = keyof typeof languages;

/** A language's texts, numbers and dates. Calendar dates are shown as they are; instants in UTC, marked as such. */
export class Locale {
  readonly words: Words;
  private readonly numbers: Intl.NumberFormat;
  private readonly whole: Intl.NumberFormat;
  private readonly extreme: Intl.NumberFormat;
  constructor(readonly language: ReportLanguage) {
    this.words = languages[language];
    this.numbers = new Intl.NumberFormat(language, { maximumSignificantDigits: 5 });
    this.whole = new Intl.NumberFormat(language, { maximumFractionDigits: 0 });
    this.extreme = new Intl.NumberFormat(language, { maximumSignificantDigits: 5, notation: 'scientific' });
  }

  say(key: keyof Words, ...values: (string | number)[]): string {
    return this.words[key].replaceAll(/\{(\d)\}/g, (_, digit: string) => String(values[Number(digit)]));
  }
  /** The text of one of the program's own words; a word without one is shown as it is. */
  word(key: string): string {
    return Object.hasOwn(this.words, key) ? this.words[key as keyof Words] : key;
  }
  period(from: string | null, to: string | null): string {
    if (from !== null && to !== null) return `${this.date(from)} – ${this.date(to)}`;
    return from !== null ? this.say('since', this.date(from)) : to !== null ? this.say('until', this.date(to)) : '–';
  }
  number(value: number | null): string {
    if (value === null) return '–';
    const size = Math.abs(value);
    // Written out, such a number has hundreds of digits.
    if (size >= 1e12 || (size > 0 && size < 1e-6)) return this.extreme.format(value);
    // Five digits would round a large count.
    return (size >= 10_000 ? this.whole : this.numbers).format(value);
  }
  count(value: number): string {
    return this.whole.format(value);
  }
  /** All of them is 100 %, none 0 %: no other share is rounded to these. */
  percent(share: number | null): string {
    if (share === null) return '–';
    const shown = share > 0 && share < 1 ? Math.min(Math.max(share, 0.001), 0.999) : share;
    return new Intl.NumberFormat(this.language, { style: 'percent', maximumFractionDigits: 1 }).format(shown);
  }
  date(day: string | null): string {
    return day === null
      ? '–'
      : new Intl.DateTimeFormat(this.language, { dateStyle: 'medium', timeZone: 'UTC' }).format(
          Date.parse(`${day}T00:00:00Z`),
        );
  }
  instant(instant: string | null): string {
    if (instant === null) return '–';
    const format = { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' } as const;
    return `${new Intl.DateTimeFormat(this.language, format).format(Date.parse(instant))} UTC`;
  }
}
