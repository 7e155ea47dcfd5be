/** Words shared by the pages that change a study. */
export const en = {
  parts: 'Parts of the study',
  tabs: {
    study: 'Overview',
    events: 'Events',
    batteries: 'Batteries',
    sites: 'Sites',
    messages: 'Messages',
    members: 'Members',
    capture: 'Capture system',
    connection: 'Connection',
    mapping: 'Mapping',
  },
  change: 'Change',
  refused: 'It was not saved',
  stale: 'Somebody else has changed this since you opened it',
  staleWhat:
    'Nothing was saved. This is what the other one changed. What you typed is below; fields that you left ' +
    'alone have the new value. Check them, then save again.',
  nothing: 'nothing',
};

export const de: typeof en = {
  parts: 'Teile der Studie',
  tabs: {
    study: 'Überblick',
    events: 'Ereignisse',
    batteries: 'Testbatterien',
    sites: 'Standorte',
    messages: 'Nachrichten',
    members: 'Mitglieder',
    capture: 'Datenerfassung',
    connection: 'Verbindung',
    mapping: 'Zuordnung',
  },
  change: 'Ändern',
  refused: 'Es wurde nicht gespeichert',
  stale: 'Jemand hat dies geändert, seit Sie es geöffnet haben',
  staleWhat:
    'Es wurde nichts gespeichert. Das hat die andere Person geändert. Ihre Eingaben stehen unten; Felder, die ' +
    'Sie nicht angefasst haben, haben den neuen Wert. Prüfen Sie sie, dann speichern Sie erneut.',
  nothing: 'nichts',
};
