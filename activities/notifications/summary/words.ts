import { LATELY_DAYS, SOON_DAYS } from '../../../db/notifications/daily-summary.queries.js';
import type { DailySummary, SummaryGroup } from '../../../db/notifications/daily-summary.queries.js';
import { primaryLanguage } from '../../../workflows/domain/notifications/built-in.js';

export interface SummaryWords {
  language: 'en' | 'de';
  subject: (study: string, day: string) => string;
  groups: Record<SummaryGroup, string>;
  yesterday: Record<keyof DailySummary['yesterday'], string>;
  failedSyncs: string;
  pendingApprovals: string;
  visitsOfToday: string;
  inbox: string;
  more: (n: number) => string;
  until: string;
  byDay: string;
  plot: string;
}

const en: SummaryWords = {
  language: 'en',
  subject: (study, day) => `[${study}] Daily summary of ${day}`,
  groups: {
    due_today: 'Today: visits due',
    opening: 'Today: windows that open',
    closing: `Window closes within ${SOON_DAYS} days`,
    past_target: 'Past target, still in window',
    closed: `Window closed, not done (last ${LATELY_DAYS} days)`,
  },
  yesterday: {
    enrolled: 'Yesterday: enrolled',
    withdrawn: 'Yesterday: withdrawn',
    visits_completed: 'Yesterday: visits completed',
    visits_missed: 'Yesterday: visits missed',
    sessions_completed: 'Yesterday: sessions completed',
  },
  failedSyncs: 'Failed syncs',
  pendingApprovals: 'Pending approvals',
  visitsOfToday: 'Visits of today',
  inbox: 'Inbox',
  more: (n) => `… and ${n} more`,
  until: 'until',
  byDay: 'Visits completed by day',
  plot: 'Visits completed on each of the last fourteen days',
};

const de: SummaryWords = {
  language: 'de',
  subject: (study, day) => `[${study}] Tagesübersicht vom ${day}`,
  groups: {
    due_today: 'Heute: fällige Visiten',
    opening: 'Heute: Zeitfenster, die öffnen',
    closing: `Zeitfenster schließt innerhalb von ${SOON_DAYS} Tagen`,
    past_target: 'Nach dem Zieldatum, noch im Zeitfenster',
    closed: `Zeitfenster zu, nicht erledigt (letzte ${LATELY_DAYS} Tage)`,
  },
  yesterday: {
    enrolled: 'Gestern: eingeschlossen',
    withdrawn: 'Gestern: ausgeschieden',
    visits_completed: 'Gestern: abgeschlossene Visiten',
    visits_missed: 'Gestern: versäumte Visiten',
    sessions_completed: 'Gestern: abgeschlossene Sitzungen',
  },
  failedSyncs: 'Fehlgeschlagene Abgleiche',
  pendingApprovals: 'Offene Freigaben',
  visitsOfToday: 'Visiten von heute',
  inbox: 'Eingang',
  more: (n) => `… und ${n} weitere`,
  until: 'bis',
  byDay: 'Abgeschlossene Visiten nach Tag',
  plot: 'Abgeschlossene Visiten an jedem der letzten vierzehn Tage',
};

/** The words of a summary in the study's default language; English where it has none. */
export const summaryWords = (language: string | null): SummaryWords =>
  primaryLanguage(language ?? '') === 'de' ? de : en;
