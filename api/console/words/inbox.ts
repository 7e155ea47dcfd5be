import type { InboxKind } from '../../../db/console/inbox.queries.js';

interface Todo {
  /** One sentence with the required action. */
  what: string;
  action: string;
}

/** Words of the inbox and of the pages that settle its entries. */
export const en = {
  title: 'Inbox',
  what: 'What waits for you in all your studies, oldest first.',
  empty: 'Nothing waits for you',
  emptyWhat: 'New requests appear here and in your mail. Visits that are due are under Today.',
  emptyFilter: 'Nothing of this kind waits here',
  emptyFilterWhat: 'Show everything to see what waits elsewhere.',
  caption: (n: number) => (n === 1 ? '1 entry' : `${n} entries`),
  item: 'What',
  study: 'Study',
  site: 'Site',
  participant: 'Participant',
  since: 'Since',
  due: (time: string) => `decide by ${time}`,
  action: 'Action',
  filter: 'Filter',
  apply: 'Apply',
  all: 'All',
  allStudies: 'All studies',
  allSites: 'All sites',
  kinds: {
    approval: 'Approval',
    override_required: 'Date differs',
    push: 'Failed push',
    trigger: 'Failed trigger',
    conflict: 'Sync conflict',
    review: 'Visit to review',
    workflow: 'Failing workflow',
  } satisfies Record<InboxKind, string>,
  todo: {
    approval: { what: 'Check what happens to the visits, then approve or deny.', action: 'Review the request' },
    override_required: {
      what: 'Ask for an override if the capture system is right; else correct the date there.',
      action: 'Open the participant',
    },
    push: { what: 'Remove the cause, then push the results again.', action: 'Push again' },
    trigger: { what: 'Remove the cause, then process the trigger again.', action: 'Process again' },
    conflict: { what: 'Compare both sides and say which one counts.', action: 'Resolve' },
    review: { what: 'Say against which target date the completed visit is reported.', action: 'Review the visit' },
    workflow: { what: '', action: 'Open in Temporal' },
  } as Record<InboxKind, Todo>,
  othersDecide: 'Somebody else decides this request. You can read it, and what happens to the visits.',
  approval: (from: string, to: string) => `Enrollment date from ${from} to ${to}`,
  override_required: (date: string, other: string | null) =>
    other
      ? `The enrollment date is final (${date}), but the capture system has ${other}`
      : `The enrollment date is final (${date}), but the capture system has another one`,
  push: (visit: string | null) =>
    visit ? `Results of ${visit} did not reach the capture system` : 'Results did not reach the capture system',
  trigger: (record: string, instrument: string) => `Record ${record}, form ${instrument}`,
  conflict: (task: string | null) => (task ? `Offline results of ${task}` : 'Session'),
  conflicts: {
    duplicate_session: 'The same session arrived with other content.',
    duplicate_response: 'The same response arrived with other content.',
    visit_already_completed: 'The visit was already completed when the session arrived.',
    participant_withdrawn: 'The session began after the withdrawal.',
    battery_version_mismatch: 'The session has another version of the battery.',
  } as Record<string, string>,
  review: (name: string, date: string) => `${name}, target date ${date}`,
  workflow: (type: string, problem: string) => `${type}: ${problem}`,
  problems: {
    NonDeterministicError: 'A release does not fit its history: deploy the previous release, or one that fixes it.',
    WorkflowWorkerUnhandledFailure:
      'Workflow code throws: deploy a release that fixes it. The worker’s log has the error.',
    TimedOut: 'No worker ends its task in time: check that workers run and have memory.',
  } as Record<string, string>,
  problemElse: 'Read the worker’s log. The run continues automatically once its task succeeds.',
  seen: (time: string) => `last seen ${time}`,
  reasons: {
    circuit_open: 'The capture system did not answer',
    connection_error: 'The capture system could not be reached',
    http_error: 'The capture system answered with an error',
    timeout: 'The capture system did not answer in time',
    invalid_response: 'The capture system’s answer could not be read',
    rejected: 'The capture system refused it',
    configuration: 'Something is missing in the configuration',
    internal: 'An error of this service',
  } as Record<string, string>,
  done: {
    push: {
      pending: 'The results are being pushed. This line says when it is over.',
      waiting: 'The capture system is away. The push is repeated until it succeeds.',
      synced: 'The results are in the capture system.',
      failed: 'The push failed again. It is back in the inbox with its reason.',
      skipped: 'There was nothing to push.',
    } as Record<string, string>,
    trigger: {
      received: 'The trigger is being processed. This line says when it is over.',
      processing: 'The trigger is being processed. This line says when it is over.',
      processed: 'The trigger is processed.',
      duplicate: 'The trigger was processed before: nothing changed.',
      failed: 'The trigger failed again. It is back in the inbox with its reason.',
    } as Record<string, string>,
    conflict: 'The conflict is resolved. What gave way is kept with it.',
    review: 'The visit is reviewed.',
    already: 'Somebody has already dealt with it. Nothing was changed.',
    gone: 'This entry is no longer there.',
    look: 'Look again',
  },
  back: 'Back to the inbox',
  resolve: {
    title: 'Sync conflict',
    device: 'On the device',
    server: 'On the server',
    field: 'Field',
    differs: 'Differs',
    keep: 'Which side counts?',
    keeps: {
      server: 'The server’s: the device’s is set aside',
      local: 'The device’s: it takes the place of the server’s',
      both: 'Both: the device’s is kept along with the server’s',
    },
    reason: 'Reason',
    reasonHint: 'It is kept in the audit record.',
    reasonNeeded: 'Give a reason.',
    keepNeeded: 'Choose a side.',
    submit: 'Resolve the conflict',
    resolved: 'Resolved',
    compare: 'What each side has',
    nothing: 'nothing',
    more: (n: number) =>
      n === 1 ? 'One more field is not shown.' : `${n.toLocaleString('en-GB')} more fields are not shown.`,
    trials: ({ local, server, differ }: { local: number; server: number; differ: number }) =>
      `The device has ${local.toLocaleString('en-GB')} trials, the server ${server.toLocaleString('en-GB')}; ` +
      (differ === 0
        ? 'they are the same.'
        : differ === 1
          ? '1 trial differs.'
          : `${differ.toLocaleString('en-GB')} trials differ.`),
    session: 'Session',
    detected: 'Detected',
    /** Fields and values without words are shown by their names. */
    fields: {
      id: 'Id on the device',
      sessionId: 'Session',
      visitId: 'Visit',
      batteryId: 'Battery',
      batteryVersion: 'Version of the battery',
      status: 'Status',
      startedAt: 'Started',
      completedAt: 'Completed',
      language: 'Language',
      task: 'Task',
      trials: 'Trials',
    } as Record<string, string>,
    values: { completed: 'Completed', active: 'Running', abandoned: 'Abandoned', expired: 'Expired' } as Record<
      string,
      string
    >,
  },
  reviewing: {
    title: 'Visit to review',
    why: 'The schedule moved after this visit was completed. It keeps its target date unless you choose the new one.',
    done: 'Completed',
    target: 'Target date',
    window: 'Window',
    reported: 'Reported against',
    now: 'Target date by the present schedule',
    notPlanned: 'no longer planned',
    keep: 'Report it against',
    keepOld: (date: string) => `${date}, the target date that it has`,
    takeNew: (date: string) => `${date}, the target date that it would have now`,
    resolution: 'Note',
    resolutionHint: 'It stays with the visit and is not in the audit record.',
    submit: 'Finish the review',
    stale: 'The visit has changed since this page was opened',
    staleWhat: 'Nothing was saved. Check what it says now, then send it again.',
  },
};

export const de: typeof en = {
  title: 'Eingang',
  what: 'Was in allen Ihren Studien auf Sie wartet, das Älteste zuerst.',
  empty: 'Nichts wartet auf Sie',
  emptyWhat: 'Neue Anfragen erscheinen hier und in Ihrer E-Mail. Fällige Visiten stehen unter Heute.',
  emptyFilter: 'Davon wartet hier nichts',
  emptyFilterWhat: 'Zeigen Sie alles an, um zu sehen, was anderswo wartet.',
  caption: (n) => (n === 1 ? '1 Eintrag' : `${n} Einträge`),
  item: 'Was',
  study: 'Studie',
  site: 'Standort',
  participant: 'Person',
  since: 'Seit',
  due: (time) => `entscheiden bis ${time}`,
  action: 'Aktion',
  filter: 'Filter',
  apply: 'Anwenden',
  all: 'Alle',
  allStudies: 'Alle Studien',
  allSites: 'Alle Standorte',
  kinds: {
    approval: 'Freigabe',
    override_required: 'Datum weicht ab',
    push: 'Übertragung fehlgeschlagen',
    trigger: 'Trigger fehlgeschlagen',
    conflict: 'Sync-Konflikt',
    review: 'Visite zu prüfen',
    workflow: 'Workflow schlägt fehl',
  },
  todo: {
    approval: {
      what: 'Prüfen Sie, was mit den Visiten geschieht, und geben Sie frei oder lehnen Sie ab.',
      action: 'Antrag prüfen',
    },
    override_required: {
      what: 'Beantragen Sie eine Änderung, wenn das Erfassungssystem recht hat; sonst berichtigen Sie das Datum dort.',
      action: 'Person öffnen',
    },
    push: { what: 'Beheben Sie die Ursache und übertragen Sie die Ergebnisse erneut.', action: 'Erneut übertragen' },
    trigger: { what: 'Beheben Sie die Ursache und verarbeiten Sie den Trigger erneut.', action: 'Erneut verarbeiten' },
    conflict: { what: 'Vergleichen Sie beide Seiten und sagen Sie, welche gilt.', action: 'Auflösen' },
    review: {
      what: 'Sagen Sie, gegen welches Zieldatum die abgeschlossene Visite berichtet wird.',
      action: 'Visite prüfen',
    },
    workflow: { what: '', action: 'In Temporal öffnen' },
  },
  othersDecide: 'Jemand anderes entscheidet diesen Antrag. Sie können ihn lesen, und was mit den Visiten geschieht.',
  approval: (from, to) => `Einschlussdatum vom ${from} auf ${to}`,
  override_required: (date, other) =>
    other
      ? `Das Einschlussdatum ist endgültig (${date}), aber im Erfassungssystem steht ${other}`
      : `Das Einschlussdatum ist endgültig (${date}), aber im Erfassungssystem steht ein anderes`,
  push: (visit) =>
    visit
      ? `Ergebnisse von ${visit} sind nicht im Erfassungssystem angekommen`
      : 'Ergebnisse sind nicht im Erfassungssystem angekommen',
  trigger: (record, instrument) => `Datensatz ${record}, Formular ${instrument}`,
  conflict: (task) => (task ? `Offline-Ergebnisse von ${task}` : 'Sitzung'),
  conflicts: {
    duplicate_session: 'Dieselbe Sitzung kam mit anderem Inhalt an.',
    duplicate_response: 'Dieselbe Antwort kam mit anderem Inhalt an.',
    visit_already_completed: 'Die Visite war schon abgeschlossen, als die Sitzung ankam.',
    participant_withdrawn: 'Die Sitzung begann nach dem Rückzug.',
    battery_version_mismatch: 'Die Sitzung hat eine andere Version der Batterie.',
  },
  review: (name, date) => `${name}, Zieldatum ${date}`,
  workflow: (type, problem) => `${type}: ${problem}`,
  problems: {
    NonDeterministicError:
      'Ein Release passt nicht zur Historie: Spielen Sie das vorige Release ein oder eines, das den Fehler behebt.',
    WorkflowWorkerUnhandledFailure:
      'Der Code des Workflows wirft einen Fehler: Spielen Sie ein Release ein, das ihn behebt. Der Fehler steht ' +
      'im Log des Workers.',
    TimedOut: 'Kein Worker beendet die Aufgabe rechtzeitig: Prüfen Sie, ob Worker laufen und Speicher haben.',
  },
  problemElse: 'Lesen Sie das Log des Workers. Der Lauf geht von selbst weiter, sobald seine Aufgabe gelingt.',
  seen: (time) => `zuletzt gesehen ${time}`,
  reasons: {
    circuit_open: 'Das Erfassungssystem hat nicht geantwortet',
    connection_error: 'Das Erfassungssystem war nicht erreichbar',
    http_error: 'Das Erfassungssystem hat mit einem Fehler geantwortet',
    timeout: 'Das Erfassungssystem hat nicht rechtzeitig geantwortet',
    invalid_response: 'Die Antwort des Erfassungssystems war nicht lesbar',
    rejected: 'Das Erfassungssystem hat es abgelehnt',
    configuration: 'In der Konfiguration fehlt etwas',
    internal: 'Ein Fehler dieses Dienstes',
  },
  done: {
    push: {
      pending: 'Die Ergebnisse werden übertragen. Diese Zeile sagt, wann es vorbei ist.',
      waiting: 'Das Erfassungssystem ist nicht erreichbar. Die Übertragung wird wiederholt, bis sie gelingt.',
      synced: 'Die Ergebnisse sind im Erfassungssystem.',
      failed: 'Die Übertragung ist wieder fehlgeschlagen. Sie steht mit ihrem Grund wieder im Eingang.',
      skipped: 'Es gab nichts zu übertragen.',
    },
    trigger: {
      received: 'Der Trigger wird verarbeitet. Diese Zeile sagt, wann es vorbei ist.',
      processing: 'Der Trigger wird verarbeitet. Diese Zeile sagt, wann es vorbei ist.',
      processed: 'Der Trigger ist verarbeitet.',
      duplicate: 'Der Trigger war schon verarbeitet: Es hat sich nichts geändert.',
      failed: 'Der Trigger ist wieder fehlgeschlagen. Er steht mit seinem Grund wieder im Eingang.',
    },
    conflict: 'Der Konflikt ist aufgelöst. Was nicht gilt, bleibt bei ihm aufbewahrt.',
    review: 'Die Visite ist geprüft.',
    already: 'Jemand hat sich schon darum gekümmert. Es wurde nichts geändert.',
    gone: 'Diesen Eintrag gibt es nicht mehr.',
    look: 'Erneut nachsehen',
  },
  back: 'Zurück zum Eingang',
  resolve: {
    title: 'Sync-Konflikt',
    device: 'Auf dem Gerät',
    server: 'Auf dem Server',
    field: 'Feld',
    differs: 'Verschieden',
    keep: 'Welche Seite gilt?',
    keeps: {
      server: 'Die des Servers: die des Geräts wird beiseitegelegt',
      local: 'Die des Geräts: sie ersetzt die des Servers',
      both: 'Beide: die des Geräts bleibt neben der des Servers',
    },
    reason: 'Grund',
    reasonHint: 'Er bleibt im Audit-Log.',
    reasonNeeded: 'Geben Sie einen Grund an.',
    keepNeeded: 'Wählen Sie eine Seite.',
    submit: 'Konflikt auflösen',
    resolved: 'Aufgelöst',
    compare: 'Was jede Seite hat',
    nothing: 'nichts',
    more: (n) =>
      n === 1
        ? 'Ein weiteres Feld wird nicht angezeigt.'
        : `${n.toLocaleString('de-DE')} weitere Felder werden nicht angezeigt.`,
    trials: ({ local, server, differ }) =>
      `Das Gerät hat ${local.toLocaleString('de-DE')} Durchgänge, der Server ${server.toLocaleString('de-DE')}; ` +
      (differ === 0
        ? 'sie sind gleich.'
        : differ === 1
          ? '1 Durchgang ist verschieden.'
          : `${differ.toLocaleString('de-DE')} Durchgänge sind verschieden.`),
    session: 'Sitzung',
    detected: 'Erkannt',
    fields: {
      id: 'Kennung auf dem Gerät',
      sessionId: 'Sitzung',
      visitId: 'Visite',
      batteryId: 'Testbatterie',
      batteryVersion: 'Version der Testbatterie',
      status: 'Status',
      startedAt: 'Begonnen',
      completedAt: 'Abgeschlossen',
      language: 'Sprache',
      task: 'Aufgabe',
      trials: 'Durchgänge',
    },
    values: { completed: 'Abgeschlossen', active: 'Läuft', abandoned: 'Abgebrochen', expired: 'Abgelaufen' },
  },
  reviewing: {
    title: 'Visite zu prüfen',
    why:
      'Der Plan hat sich verschoben, nachdem diese Visite abgeschlossen war. Sie behält ihr Zieldatum, wenn Sie ' +
      'nicht das neue wählen.',
    done: 'Abgeschlossen',
    target: 'Zieldatum',
    window: 'Zeitfenster',
    reported: 'Berichtet gegen',
    now: 'Zieldatum nach dem jetzigen Plan',
    notPlanned: 'nicht mehr geplant',
    keep: 'Berichten gegen',
    keepOld: (date) => `${date}, das Zieldatum, das sie hat`,
    takeNew: (date) => `${date}, das Zieldatum, das sie jetzt hätte`,
    resolution: 'Notiz',
    resolutionHint: 'Sie bleibt bei der Visite und steht nicht im Audit-Log.',
    submit: 'Prüfung abschließen',
    stale: 'Die Visite hat sich geändert, seit diese Seite geöffnet wurde',
    staleWhat: 'Es wurde nichts gespeichert. Prüfen Sie, was jetzt da steht, und senden Sie erneut.',
  },
};
