import type { TimelineRow } from '../../db/timeline/timeline.queries.js';
import { primaryLanguage } from '../../workflows/domain/notifications/built-in.js';

export type TimelineLanguage = 'en' | 'de';
/** The lanes of the picture. */
export type LaneName = 'visits' | 'date' | 'schedules' | 'approvals' | 'facts' | 'sessions' | 'triggers' | 'messages';

/** The words of the timeline as a page and as a picture. */
export interface TimelineWords {
  language: TimelineLanguage;
  title: (code: string) => string;
  status: string;
  statuses: Record<string, string>;
  site: string;
  noSite: string;
  date: string;
  /** The date with its status. */
  dated: (date: string | null, status: string) => string;
  dateStatuses: Record<string, string>;
  zone: string;
  daysOf: (zone: string) => string;
  chronology: string;
  caption: string;
  columns: { number: string; when: string; kind: string; event: string; links: string };
  kinds: Record<TimelineRow['kind'], string>;
  toCome: string;
  apiOf: (number: number) => string;
  workflow: string;
  entries: (n: number) => string;
  notShown: (n: number) => string;
  asOf: (counted: string, instant: string) => string;
  lanes: Record<LaneName, string>;
  missed: string;
  theDate: (date: string) => string;
  today: (date: string) => string;
  described: (code: string, study: string, counted: string, span: [string, string] | undefined) => string;
  months: readonly string[];
  tick: (day: number, month: string) => string;
  /** A calendar date. */
  day: (date: string) => string;
  locale: string;
  /** The month of a moment in the list. */
  month: 'short' | '2-digit';
}

const en: TimelineWords = {
  language: 'en',
  title: (code) => `Timeline of ${code}`,
  status: 'Status',
  statuses: {},
  site: 'Site',
  noSite: 'none',
  date: 'Enrollment date',
  dated: (date, status) => `${date ?? 'not known yet'} (${status})`,
  dateStatuses: {},
  zone: 'Time zone',
  daysOf: (zone) => `days of ${zone}`,
  chronology: 'Chronology',
  caption: 'Oldest first; the numbers are those of the picture.',
  columns: { number: 'No.', when: 'When', kind: 'Kind', event: 'Event', links: 'Links' },
  kinds: {
    participant: 'participant',
    consent: 'consent',
    eligibility: 'eligibility',
    randomization: 'randomization',
    form: 'form',
    trigger: 'trigger',
    approval: 'approval',
    anchor: 'anchor',
    schedule: 'schedule',
    visit: 'visit',
    session: 'session',
    push: 'push',
    reminder: 'reminder',
  },
  toCome: 'to come',
  apiOf: (number) => `API: entry ${number}`,
  workflow: 'workflow',
  entries: (n) => `${n} ${n === 1 ? 'entry' : 'entries'}`,
  notShown: (n) => `Not shown: ${n} later ${n === 1 ? 'entry' : 'entries'}. Narrow the time.`,
  asOf: (counted, instant) => `${counted}, as of ${instant}.`,
  lanes: {
    visits: 'Visits',
    date: 'Enrollment date',
    schedules: 'Schedules',
    approvals: 'Approvals',
    facts: 'Facts',
    sessions: 'Sessions, pushes',
    triggers: 'Triggers',
    messages: 'Messages',
  },
  missed: 'missed',
  theDate: (date) => `enrollment date ${date}`,
  today: (date) => `today ${date}`,
  described: (code, study, counted, span) =>
    `Timeline of ${code} in ${study}: ${counted}${span ? `, from ${span[0]} to ${span[1]}` : ''}. Bars are visit ` +
    'windows, filled diamonds completed visits, hollow marks what is still to come.',
  months: ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'],
  tick: (day, month) => `${day} ${month}`,
  day: (date) => date,
  locale: 'en-GB',
  month: 'short',
};

const de: TimelineWords = {
  language: 'de',
  title: (code) => `Zeitleiste von ${code}`,
  status: 'Status',
  statuses: { enrolled: 'eingeschlossen', withdrawn: 'ausgeschieden' },
  site: 'Standort',
  noSite: 'keiner',
  date: 'Einschlussdatum',
  dated: (date, status) => `${date ?? 'noch nicht bekannt'} (${status})`,
  dateStatuses: { unset: 'offen', provisional: 'vorläufig', finalized: 'endgültig', overridden: 'überschrieben' },
  zone: 'Zeitzone',
  daysOf: (zone) => `Tage in ${zone}`,
  chronology: 'Chronologie',
  caption: 'Der älteste Eintrag zuerst; die Nummern sind die des Bildes.',
  columns: { number: 'Nr.', when: 'Wann', kind: 'Art', event: 'Ereignis', links: 'Links' },
  kinds: {
    participant: 'Person',
    consent: 'Einwilligung',
    eligibility: 'Eignung',
    randomization: 'Randomisierung',
    form: 'Formular',
    trigger: 'Trigger',
    approval: 'Freigabe',
    anchor: 'Datum',
    schedule: 'Plan',
    visit: 'Visite',
    session: 'Sitzung',
    push: 'Übertragung',
    reminder: 'Nachricht',
  },
  toCome: 'bevorstehend',
  apiOf: (number) => `API: Eintrag ${number}`,
  workflow: 'Workflow',
  entries: (n) => `${n} ${n === 1 ? 'Eintrag' : 'Einträge'}`,
  notShown: (n) =>
    `Nicht gezeigt: ${n} ${n === 1 ? 'späterer Eintrag' : 'spätere Einträge'}. Grenzen Sie die Zeit ein.`,
  asOf: (counted, instant) => `${counted}, Stand: ${instant}.`,
  lanes: {
    visits: 'Visiten',
    date: 'Einschlussdatum',
    schedules: 'Pläne',
    approvals: 'Freigaben',
    facts: 'Angaben',
    sessions: 'Sitzungen, Übertr.',
    triggers: 'Trigger',
    messages: 'Nachrichten',
  },
  missed: 'versäumt',
  theDate: (date) => `Einschlussdatum ${date}`,
  today: (date) => `heute ${date}`,
  described: (code, study, counted, span) =>
    `Zeitleiste von ${code} in ${study}: ${counted}${span ? `, vom ${span[0]} bis zum ${span[1]}` : ''}. Balken sind ` +
    'Visitenfenster, gefüllte Rauten abgeschlossene Visiten, hohle Zeichen, was noch kommt.',
  months: ['Jan.', 'Feb.', 'März', 'April', 'Mai', 'Juni', 'Juli', 'Aug.', 'Sep.', 'Okt.', 'Nov.', 'Dez.'],
  tick: (day, month) => `${day}. ${month}`,
  day: (date) => date.slice(0, 10).split('-').reverse().join('.'),
  locale: 'de-DE',
  month: '2-digit',
};

/** German where the browser prefers it to English, else English: the languages of pages for staff. */
export const timelineWordsOf = (acceptLanguage: string | undefined): TimelineWords =>
  (acceptLanguage ?? '')
    .split(',')
    .map((one) => primaryLanguage(one.split(';')[0]!.trim()))
    .find((one) => one === 'en' || one === 'de') === 'de'
    ? de
    : en;
