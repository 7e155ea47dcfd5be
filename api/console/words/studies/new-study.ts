/** Words of the pages that create and delete a study. */
export const en = {
  title: 'Create an empty study',
  what: 'It has the usual enrollment-date policy, no battery and no visit. You add them afterwards.',
  rather: 'A template makes all of that in one step.',
  remove: 'Delete the study',
  removeWhat:
    'A study without participants can be deleted, with its design and its connection. Its audit records stay. ' +
    'A study that has participants is archived instead.',
  archive: 'Archive it: choose the status in the settings',
};

export const de: typeof en = {
  title: 'Leere Studie anlegen',
  what: 'Sie hat die üblichen Regeln des Einschlussdatums, keine Testbatterie und keine Visite. Die kommen danach.',
  rather: 'Eine Vorlage macht all das in einem Schritt.',
  remove: 'Studie löschen',
  removeWhat:
    'Eine Studie ohne Teilnehmende kann gelöscht werden, mit ihrem Entwurf und ihrer Verbindung. Ihre ' +
    'Audit-Einträge bleiben. Eine Studie mit Teilnehmenden wird stattdessen archiviert.',
  archive: 'Archivieren: Wählen Sie den Status in den Einstellungen',
};
