/** Sentences about a capture system's failures, with their translations. `phrases.ts` explains the placeholders. */
export const germanOfCapture: [string, string][] = [
  // Connections and answers.
  ['The capture system did not answer in time.', 'Das Datenerfassungssystem hat nicht rechtzeitig geantwortet.'],
  [
    "The capture system's answer is larger than {} bytes.",
    'Die Antwort des Datenerfassungssystems ist größer als {} Byte.',
  ],
  ['The capture system broke off its answer.', 'Das Datenerfassungssystem hat seine Antwort abgebrochen.'],
  ['The capture system broke off the connection.', 'Das Datenerfassungssystem hat die Verbindung abgebrochen.'],
  ['The capture system refuses the connection.', 'Das Datenerfassungssystem weist die Verbindung ab.'],
  ['The host name of api_url is not known.', 'Den Servernamen der Adresse gibt es nicht.'],
  [
    'The host name of api_url cannot be looked up at the moment.',
    'Der Servername der Adresse ist zurzeit nicht auflösbar.',
  ],
  ['The capture system is not reached.', 'Das Datenerfassungssystem ist nicht erreichbar.'],
  ['The capture system is not reached ({}).', 'Das Datenerfassungssystem ist nicht erreichbar ({}).'],
  [
    'api_url points to a private address, which ALLOW_PRIVATE_URLS forbids here.',
    'Die Adresse liegt in einem privaten Netz; das ist hier nicht erlaubt (ALLOW_PRIVATE_URLS).',
  ],
  [
    'The capture system redirects elsewhere ({}): check api_url.',
    'Das Datenerfassungssystem leitet weiter ({}): Prüfen Sie die Adresse.',
  ],
  ['The capture system gave up on the request (408).', 'Das Datenerfassungssystem hat die Anfrage aufgegeben (408).'],
  ['The capture system answered {}.', 'Das Datenerfassungssystem antwortete mit {}.'],
  ['The capture system refused ({}).', 'Das Datenerfassungssystem hat abgelehnt ({}).'],
  ['The capture system refused ({}): {}', 'Das Datenerfassungssystem hat abgelehnt ({}): {}'],
  ['The capture system answered with an error.', 'Das Datenerfassungssystem antwortete mit einem Fehler.'],
  ['The capture system answered with an error: {}', 'Das Datenerfassungssystem antwortete mit einem Fehler: {}'],
  [
    'The capture system answered with a web page instead of JSON (maintenance?).',
    'Das Datenerfassungssystem antwortete mit einer Webseite statt mit JSON (Wartung?).',
  ],
  [
    'The capture system answered with XML instead of JSON.',
    'Das Datenerfassungssystem antwortete mit XML statt mit JSON.',
  ],
  ['The capture system gave an empty answer.', 'Das Datenerfassungssystem gab eine leere Antwort.'],
  [
    'The capture system did not answer with JSON, or broke off in the middle of it.',
    'Das Datenerfassungssystem antwortete nicht mit JSON, oder brach mittendrin ab.',
  ],
  [
    'The capture system did not answer with a list ({}).',
    'Das Datenerfassungssystem antwortete nicht mit einer Liste ({}).',
  ],
  [
    'The capture system did not answer in UTF-8, nor in the character set that its answer names.',
    'Das Datenerfassungssystem antwortete weder in UTF-8 noch im Zeichensatz, den seine Antwort nennt.',
  ],
  ['The capture system did not describe its project.', 'Das Datenerfassungssystem hat sein Projekt nicht beschrieben.'],
  [
    'The capture system did not say its project_id.',
    'Das Datenerfassungssystem hat seine Projektkennung nicht genannt.',
  ],
  [
    'The capture system did not say how many records it imported.',
    'Das Datenerfassungssystem hat nicht gesagt, wie viele Datensätze es übernommen hat.',
  ],
  ['The capture system has an empty dictionary.', 'Das Datenerfassungssystem hat kein einziges Feld.'],
  // Connection and mapping of the study.
  ['The study has no capture-system configuration.', 'Die Studie ist mit keinem Datenerfassungssystem verbunden.'],
  [
    'The study has no capture-system configuration any more.',
    'Die Studie ist mit keinem Datenerfassungssystem mehr verbunden.',
  ],
  [
    'The study does not take part in the exchange with the capture system (datacapture_enabled is false).',
    'Der Austausch mit dem Datenerfassungssystem ist in dieser Studie abgeschaltet.',
  ],
  ['There is no token for this address.', 'Für diese Adresse gibt es kein Token.'],
  ['The configuration names no enrollment_instrument.', 'Die Zuordnung nennt kein Einschlussformular.'],
  [
    'The capture system has no instrument "{}" with fields.',
    'Das Datenerfassungssystem hat kein Formular „{}“ mit Feldern.',
  ],
  // Records.
  [
    'The capture system has no such record: it was deleted or renamed, or the token may not see it.',
    'Das Datenerfassungssystem hat diesen Datensatz nicht: Er wurde gelöscht oder umbenannt, oder das Token darf ihn ' +
      'nicht sehen.',
  ],
  [
    'The capture system has no such record in this event: it was deleted or renamed, or the token may not see it.',
    'Das Datenerfassungssystem hat diesen Datensatz in diesem Ereignis nicht: Er wurde gelöscht oder umbenannt, oder ' +
      'das Token darf ihn nicht sehen.',
  ],
  [
    'The capture system has no such record in these events: it was deleted or renamed, or the token may not see it.',
    'Das Datenerfassungssystem hat diesen Datensatz in diesen Ereignissen nicht: Er wurde gelöscht oder umbenannt, ' +
      'oder das Token darf ihn nicht sehen.',
  ],
  [
    'The record was deleted or renamed while it was being read.',
    'Der Datensatz wurde gelöscht oder umbenannt, während er gelesen wurde.',
  ],
  [
    'The capture system has another date; the anchor is final, and nothing was moved.',
    'Das Datenerfassungssystem hat ein anderes Datum; das Einschlussdatum ist endgültig, und nichts wurde verschoben.',
  ],
  [
    'The form "{}" is signed here and stays as it is: the capture system has another value for {}.',
    'Das Formular „{}“ ist hier unterschrieben und bleibt, wie es ist: Das Datenerfassungssystem hat einen anderen ' +
      'Wert für {}.',
  ],
  [
    'What the capture system has for {} was not taken: it is no valid {}.',
    'Der Wert des Datenerfassungssystems für {} wurde nicht übernommen: Er ist nicht gültig ({}).',
  ],
  ['Another participant of the study has this participant code.', 'Eine andere Person der Studie hat diesen Code.'],
  [
    'The participant code (or the record id in its place) must have 1 to 64 characters without control ' +
      'characters and invisible marks.',
    'Der Code der Person (oder an seiner Stelle die Kennung des Datensatzes) hat 1 bis 64 Zeichen ohne ' +
      'Steuerzeichen und unsichtbare Zeichen.',
  ],
  [
    'The study is completed or archived: the record was not enrolled. ' +
      'Once the study is active again, the next poll or a sync enrolls it.',
    'Die Studie ist abgeschlossen oder archiviert: Der Datensatz wurde nicht aufgenommen. ' +
      'Ist die Studie wieder aktiv, nimmt ihn der nächste regelmäßige Abgleich auf, oder ein eigens gestarteter.',
  ],
  [
    'A record id of more than {} characters cannot be kept.',
    'Eine Kennung mit mehr als {} Zeichen kann nicht gespeichert werden.',
  ],
  ['The study has no site for the site code "{}".', 'Die Studie hat keinen Standort mit dem Kürzel „{}“.'],
  [
    'The study has no site for the data access group "{}".',
    'Die Studie hat keinen Standort für die Zugriffsgruppe „{}“.',
  ],
  [
    'The site "{}" is closed (inactive): nobody is enrolled there, or moved to it. ' +
      'Once it is active again, a sync does.',
    'Der Standort „{}“ ist geschlossen: Niemand wird dort aufgenommen oder dorthin verlegt. ' +
      'Ist er wieder aktiv, tut es ein Abgleich.',
  ],
  ['There is no such webhook event.', 'Diesen Trigger gibt es nicht.'],
  // Pushes.
  [
    'The capture system took the import and says that it imported no record.',
    'Das Datenerfassungssystem nahm die Daten an, übernahm aber keinen Datensatz.',
  ],
  ['The capture system does not take the results: {}.', 'Das Datenerfassungssystem nimmt die Ergebnisse nicht an: {}.'],
  [
    'The results of another visit of the participant stand at this event, in the same fields ({}), and would be ' +
      'lost. Correct datacapture_event of one of the visits, or map its tasks to other fields in ' +
      'data_field_mapping, and push again.',
    'An diesem Ereignis stehen in denselben Feldern ({}) schon Ergebnisse einer anderen Visite der Person; sie ' +
      'gingen verloren. Berichtigen Sie das Ereignis einer der Visiten, oder ordnen Sie ihre Aufgaben anderen ' +
      'Feldern zu, und übertragen Sie erneut.',
  ],
  [
    'The capture system has no such record, and a push makes none: it was deleted or renamed, or the token may not ' +
      'see it. Restore it, or correct the external_id of the participant, and push again; or save a token that sees ' +
      'it.',
    'Das Datenerfassungssystem hat diesen Datensatz nicht, und eine Übertragung legt keinen an: Er wurde ' +
      'gelöscht oder umbenannt, oder das Token darf ihn nicht sehen. Stellen Sie ihn wieder her, oder berichtigen ' +
      'Sie die externe Kennung der Person, und übertragen Sie erneut; oder speichern Sie ein Token, das ihn sieht.',
  ],
  [
    'The record is in arm {}, and the event of the visit in arm {}: nothing is written there. Correct ' +
      'datacapture_event of the visit, and push again.',
    'Der Datensatz gehört zu Arm {}, das Ereignis der Visite zu Arm {}: Dort wird nichts geschrieben. ' +
      'Berichtigen Sie das Ereignis der Visite, und übertragen Sie erneut.',
  ],
  [
    'The attempt took so long that another push has the record by now.',
    'Der Versuch dauerte so lange, dass inzwischen eine andere Übertragung den Datensatz hat.',
  ],
  ['An attempt did not end in time.', 'Ein Versuch endete nicht rechtzeitig.'],
  ['The push was cancelled.', 'Die Übertragung wurde abgebrochen.'],
  // Work that takes time.
  ["The participant's workflow gave no answer in time.", 'Der Ablauf der Person hat nicht rechtzeitig geantwortet.'],
  ['The database is unavailable.', 'Die Datenbank ist nicht erreichbar.'],
  ['Internal error.', 'Interner Fehler.'],
  ['Another trigger of this record is being worked off.', 'Ein anderer Trigger dieses Datensatzes ist in Arbeit.'],
  ['It was tried for a day without success.', 'Es wurde einen Tag lang ohne Erfolg versucht.'],
  ['The processing was cancelled.', 'Die Verarbeitung wurde abgebrochen.'],
  ['The reading was cancelled.', 'Das Lesen wurde abgebrochen.'],
  ['This reading has ended.', 'Dieses Lesen ist beendet.'],
];
