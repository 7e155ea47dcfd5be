/** Words of the pages of a study's sites. */
export const en = {
  none: 'The study has no site yet',
  noneWhat: 'A study at one place needs none. Add sites where coordinators see their own participants only.',
  caption: (n: number) => (n === 1 ? '1 site' : `${n} sites`),
  ofStudy: 'As the study',
  statuses: { active: 'Active', inactive: 'Closed' },
  add: 'Add a site',
  back: 'All sites',
  codeHint: 'Short, such as BER. The capture system names the site by it.',
  timezoneHint: 'An IANA name, such as Europe/Berlin. Empty: the time zone of the study.',
  note: 'Another code or time zone has every enrollment date and schedule of the study decided again.',
  replanned: 'It is saved. Enrollment dates and schedules are decided again in the background.',
};

export const de: typeof en = {
  none: 'Die Studie hat noch keinen Standort',
  noneWhat:
    'Eine Studie an einem Ort braucht keinen. Legen Sie Standorte an, wo die Koordination nur die eigenen ' +
    'Teilnehmenden sieht.',
  caption: (n) => (n === 1 ? '1 Standort' : `${n} Standorte`),
  ofStudy: 'Wie die Studie',
  statuses: { active: 'Aktiv', inactive: 'Geschlossen' },
  add: 'Standort hinzufügen',
  back: 'Alle Standorte',
  codeHint: 'Kurz, etwa BER. So nennt ihn das Datenerfassungssystem.',
  timezoneHint: 'Ein IANA-Name, etwa Europe/Berlin. Leer: die Zeitzone der Studie.',
  note: 'Ein anderes Kürzel oder eine andere Zeitzone lässt alle Einschlussdaten und Pläne der Studie neu entscheiden.',
  replanned: 'Es ist gespeichert. Einschlussdaten und Pläne werden im Hintergrund neu entschieden.',
};
