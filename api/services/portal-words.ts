/** The languages that the portal speaks; a participant of another one reads English. */
export const portalLanguages = ['en', 'de', 'es'] as const;
export type PortalLanguage = (typeof portalLanguages)[number];

/** The language for a BCP 47 tag: `de-AT` reads German. */
export function languageOf(tag: string | null | undefined): PortalLanguage {
  const primary = tag?.toLowerCase().split(/[-_]/)[0];
  return portalLanguages.find((language) => language === primary) ?? 'en';
}

/** By kind and what happened, or by kind alone. */
export const timelineWords: Record<PortalLanguage, Record<string, string>> = {
  en: {
    'participant enrolled': 'You joined the study',
    'participant withdrawn': 'You left the study',
    'consent signed': 'You signed a consent',
    'consent revoked': 'You revoked a consent',
    'consent declined': 'You declined a consent',
    consent: 'Consent asked for',
    'visit completed': '{name}: done',
    'visit missed': '{name}: missed',
    'visit cancelled': '{name}: cancelled',
    'visit open': '{name}: due now',
    'visit scheduled': '{name}: planned',
    'session completed': 'Tasks completed',
    'session active': 'Tasks started',
    session: 'Tasks not completed',
    reminder: 'Message sent to you',
  },
  de: {
    'participant enrolled': 'Aufnahme in die Studie',
    'participant withdrawn': 'Ausscheiden aus der Studie',
    'consent signed': 'Einwilligung unterschrieben',
    'consent revoked': 'Einwilligung widerrufen',
    'consent declined': 'Einwilligung abgelehnt',
    consent: 'Einwilligung erbeten',
    'visit completed': '{name}: erledigt',
    'visit missed': '{name}: versäumt',
    'visit cancelled': '{name}: abgesagt',
    'visit open': '{name}: jetzt fällig',
    'visit scheduled': '{name}: geplant',
    'session completed': 'Aufgaben abgeschlossen',
    'session active': 'Aufgaben begonnen',
    session: 'Aufgaben nicht abgeschlossen',
    reminder: 'Nachricht an Sie gesendet',
  },
  es: {
    'participant enrolled': 'Se incorporó al estudio',
    'participant withdrawn': 'Dejó el estudio',
    'consent signed': 'Consentimiento firmado',
    'consent revoked': 'Consentimiento revocado',
    'consent declined': 'Consentimiento rechazado',
    consent: 'Consentimiento solicitado',
    'visit completed': '{name}: hecha',
    'visit missed': '{name}: no realizada',
    'visit cancelled': '{name}: cancelada',
    'visit open': '{name}: disponible ahora',
    'visit scheduled': '{name}: prevista',
    'session completed': 'Tareas terminadas',
    'session active': 'Tareas empezadas',
    session: 'Tareas sin terminar',
    reminder: 'Mensaje enviado',
  },
};

/** The same, where it is said to who cares for the participant; what is not here says nothing of who reads it. */
export const wordsForCaregivers: Record<PortalLanguage, Record<string, string>> = {
  en: {
    'participant enrolled': 'Joined the study',
    'participant withdrawn': 'Left the study',
    'consent signed': 'Consent signed',
    'consent revoked': 'Consent revoked',
    'consent declined': 'Consent declined',
    reminder: 'Message sent',
  },
  de: { reminder: 'Nachricht gesendet' },
  es: {},
};
