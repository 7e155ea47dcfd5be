import { de as participant } from './participants/participant.js';
import { de as participants } from './participants/participants.js';
import { de as capture } from './capture/capture.js';
import { de as audit } from './audit.js';
import { de as auditCodes } from './service/audit-codes.js';
import { de as pager } from './pager.js';
import { de as users } from './users.js';
import { de as reports } from './reports.js';
import { refusals } from './service/refusals.js';
import { fields, kinds, rules } from './service/rules.js';
import { de as policy } from './studies/policy.js';
import { de as studies } from './studies/studies.js';
import { de as batteries } from './studies/batteries.js';
import { de as connection } from './capture/connection.js';
import { de as edit } from './studies/edit.js';
import { de as events } from './studies/events.js';
import { de as mapping } from './capture/mapping.js';
import { de as members } from './studies/members.js';
import { de as messages } from './studies/messages.js';
import { de as newStudy } from './studies/new-study.js';
import { de as sites } from './studies/sites.js';
import { de as templates } from './studies/templates.js';
import type { Words } from './en.js';
import { de as inbox } from './inbox.js';
import { de as today } from './today.js';

export const de: Words = {
  product: 'Research Assessment Platform',
  participant,
  participants,
  batteries,
  connection,
  edit,
  events,
  mapping,
  members,
  messages,
  newStudy,
  sites,
  templates,
  skip: 'Zum Inhalt springen',
  navigation: {
    label: 'Hauptmenü',
    inbox: 'Eingang',
    today: 'Heute',
    audit: 'Audit',
    reports: 'Berichte',
    users: 'Zugänge',
    waiting: 'offen',
  },
  menu: {
    settings: 'Einstellungen',
    theme: 'Darstellung',
    themes: { auto: 'Wie das Gerät', light: 'Hell', dark: 'Dunkel' },
    language: 'Sprache',
    languages: { en: 'English', de: 'Deutsch' },
    logout: 'Abmelden',
    logoutEverywhere: 'Überall abmelden',
  },
  roles: {
    admin: 'Administration',
    researcher: 'Forschung',
    coordinator: 'Koordination',
    investigator: 'Prüfärztin oder Prüfarzt',
    data_manager: 'Datenmanagement',
  },
  idle: {
    warn: 'Sie werden bald abgemeldet, weil länger nichts geschehen ist.',
    over:
      'Sie wurden abgemeldet. Ihre Eingaben sind noch da: Melden Sie sich im neuen Tab an und senden Sie diese ' +
      'Seite erneut.',
    away:
      'Der Dienst ist nicht erreichbar. Nichts wurde gesendet, und Ihre Eingaben sind noch da: Versuchen Sie es ' +
      'erneut, wenn Sie wieder online sind.',
    stay: 'Angemeldet bleiben',
    login: 'Anmelden (öffnet einen neuen Tab)',
  },
  login: {
    title: 'Anmelden',
    email: 'E-Mail',
    password: 'Passwort',
    submit: 'Anmelden',
    forgot: 'Passwort vergessen?',
    wrong: 'E-Mail oder Passwort ist falsch, oder das Konto ist vorübergehend gesperrt.',
    ended: 'Ihre Anmeldung ist beendet. Melden Sie sich erneut an.',
    toApproval: 'Nach der Anmeldung sehen Sie den Antrag und geben ihn frei oder lehnen ihn ab.',
    toPage: 'Nach der Anmeldung sehen Sie die Seite Ihres Links.',
    loggedOut: 'Sie sind abgemeldet.',
    passwordSaved: 'Ihr Passwort ist gespeichert. Melden Sie sich damit an.',
    typedKept: 'Ihre Eingaben wurden nicht gesendet. Sie erhalten sie nach der Anmeldung zurück.',
    resumed: 'Sie sind wieder angemeldet',
    resumedWhat: 'Ihre Eingaben wurden nicht gesendet. Kopieren Sie sie und gehen Sie zurück zur Seite.',
    resumedBack: 'Zurück zur Seite',
    codeTitle: 'Zweiter Faktor',
    code: 'Code Ihrer Authenticator-App oder ein Wiederherstellungscode',
    codeHint: 'Sechs Ziffern, oder ein Wiederherstellungscode wie abcd-efgh-jkmn-pqrs.',
    codeSubmit: 'Weiter',
    codeWrong: 'Der Code ist falsch oder wurde bereits verwendet.',
    startOver: 'Von vorn beginnen',
    setupTitle: 'Zweiten Faktor einrichten',
    setupWhat:
      'Ihre Rolle braucht einen zweiten Faktor. Scannen Sie diesen Code mit einer Authenticator-App, oder tragen Sie ' +
      'dort den Schlüssel ein. Geben Sie dann den Code der App ein.',
    setupCodeImage: 'QR-Code des Schlüssels darunter',
    setupKey: 'Schlüssel',
    setupOpen: 'In einer Authenticator-App öffnen',
    setupRecovery: 'Wiederherstellungscodes',
    setupRecoveryWhat: 'Bewahren Sie diese Codes sicher auf. Jeder gilt einmal, falls Sie Ihr Gerät verlieren.',
    setupBegin: 'Schlüssel anzeigen',
    setupCode: 'Code der Authenticator-App, sechs Ziffern',
  },
  password: {
    forgotTitle: 'Passwort vergessen',
    forgotWhat: 'Wir senden Ihnen einen Link, mit dem Sie ein neues Passwort wählen.',
    forgotSubmit: 'Link senden',
    sent: 'Falls es ein Konto mit dieser E-Mail gibt, ist der Link unterwegs. Er gilt einmal.',
    resetTitle: 'Neues Passwort wählen',
    acceptTitle: 'Passwort wählen',
    acceptWhat: 'Willkommen. Wählen Sie zuerst ein Passwort.',
    token: 'Code Ihres Links',
    tokenHint:
      'Er wird aus dem Link Ihrer E-Mail übernommen. Ohne JavaScript kopieren Sie, was im Link auf „#token=“ folgt.',
    new: 'Neues Passwort',
    newHint: 'Mindestens 12 Zeichen.',
    repeat: 'Neues Passwort wiederholen',
    differ: 'Die beiden Passwörter sind verschieden.',
    revoke: 'Auch meine Zugriffstoken (für Programme) beenden',
    submit: 'Speichern',
    invalid: 'Der Link ist ungültig, abgelaufen oder bereits verwendet. Fordern Sie einen neuen an.',
    toLogin: 'Zurück zur Anmeldung',
  },
  problems: {
    title: 'Das hat nicht geklappt',
    back: 'Zurück',
    typed: 'Ihre Eingaben',
    reference: 'Wenn Sie um Hilfe bitten, nennen Sie diese Kennung:',
    byStatus: {
      403: { title: 'Nicht erlaubt', what: 'Ihre Rolle erlaubt das nicht.' },
      404: { title: 'Nicht gefunden', what: 'Unter dieser Adresse ist nichts, oder Sie dürfen es nicht sehen.' },
      405: {
        title: 'Hier nicht möglich',
        what: 'Unter dieser Adresse steht eine Seite; was Sie gesendet haben, nimmt sie nicht an.',
      },
      409: { title: 'Es hat sich geändert', what: 'Jemand hat dies inzwischen geändert. Öffnen Sie die Seite erneut.' },
      429: { title: 'Zu viele Anfragen', what: 'Warten Sie eine Minute und versuchen Sie es erneut.' },
      500: {
        title: 'Etwas ist schiefgegangen',
        what: 'Der Fehler ist aufgezeichnet. Versuchen Sie es erneut; bleibt er, bitten Sie um Hilfe.',
      },
      503: {
        title: 'Zurzeit nicht verfügbar',
        what: 'Ein Teil des Dienstes antwortet nicht. Versuchen Sie es gleich noch einmal.',
      },
    },
    refusals: refusals.de,
    rules: rules.de,
    fields: fields.de,
    kinds: kinds.de,
    unknown: (code) => `Der Dienst hat dies abgelehnt: ${code}.`,
    byCode: {
      CSRF_REFUSED: {
        title: 'Es wurde nichts gespeichert',
        what:
          'Das Formular ist veraltet oder kam von einer anderen Website. Öffnen Sie die Seite erneut und senden ' +
          'Sie es von dort.',
      },
    },
  },
  inbox,
  today,
  approval: {
    title: 'Freigabe: Einschlussdatum',
    lead: (code) => `Einschlussdatum von ${code}`,
    from: 'Jetzt',
    to: 'Beantragt',
    was: 'Vorher',
    is: 'Jetzt',
    days: (n) => `${Math.abs(n)} ${Math.abs(n) === 1 ? 'Tag' : 'Tage'} ${n < 0 ? 'früher' : 'später'}`,
    sameDay: 'derselbe Tag',
    study: 'Studie',
    participant: 'Person',
    site: 'Standort',
    noSite: 'Keiner',
    askedBy: 'Beantragt von',
    reason: 'Grund',
    noReason: 'Es wurde kein Grund genannt',
    deadline: 'Entscheiden bis',
    deadlineWhat: 'Ohne Entscheidung wird der Antrag abgelehnt.',
    warnings: 'Warnungen',
    visits: 'Was mit den Visiten geschieht',
    visitsCaption: (n) => (n === 1 ? '1 Visite' : `${n} Visiten`),
    noVisits: 'Keine Visite ist betroffen.',
    noSchedule: 'Der Plan bleibt, wie er ist: Der Antrag erzeugt ihn nicht neu.',
    visit: 'Visite',
    action: 'Aktion',
    before: 'Von',
    after: 'Auf',
    notes: 'Hinweis',
    actions: { keep: 'Behalten', move: 'Verschieben', supersede: 'Ersetzen', new: 'Neu' },
    warningsByCode: {
      WINDOW_ALREADY_CLOSED: 'Das neue Fenster einiger Visiten ist bereits geschlossen',
      SCHEDULE_NOT_REGENERATED: 'Der Plan wird nicht neu erzeugt',
      LARGE_SHIFT: 'Das Datum verschiebt sich um mehr Tage, als die Regeln der Studie vorsehen',
    },
    changed: 'Geändert',
    effect: (counts: string) => `Visiten: ${counts}.`,
    counts: {
      move: (n: number) => `${n} verschoben`,
      new: (n: number) => `${n} ${n === 1 ? 'kommt' : 'kommen'} hinzu`,
      supersede: (n: number) => `${n} ${n === 1 ? 'entfällt' : 'entfallen'}`,
      keep: (n: number) => `${n} ${n === 1 ? 'bleibt' : 'bleiben'}`,
    },
    warningCount: (n: number) => (n === 1 ? 'Zur Warnung.' : `Zu den ${n} Warnungen.`),
    decide: 'Ihre Entscheidung',
    decisionReason: 'Grund der Entscheidung',
    decisionReasonHint: 'Er bleibt im Audit-Log.',
    reasonNeeded: 'Nennen Sie einen Grund.',
    proof: 'Ihr Passwort oder ein sechsstelliger Code',
    proofHint: 'Eine Entscheidung ist eine Unterschrift: Die Studie fragt erneut, wer unterschreibt.',
    approve: 'Freigeben',
    deny: 'Ablehnen',
    own: 'Sie haben diese Änderung beantragt. Jemand anderes entscheidet darüber.',
    notApprover: 'Ihre Rolle darf dies nach den Regeln der Studie nicht entscheiden.',
    stale: 'Der Plan hat sich geändert, seit diese Seite geöffnet wurde',
    staleWhat:
      'Es wurde nichts entschieden. Prüfen Sie die neue Vorschau: Unterschiede sind markiert. Entscheiden Sie ' +
      'dann erneut.',
    sinceRequest: 'Die Vorschau hat sich seit dem Antrag geändert. Unterschiede sind markiert.',
    removed: (names) => `Nicht mehr betroffen: ${names}.`,
    impossible: 'So, wie es steht, kann die Änderung nicht freigegeben werden:',
    already: 'Es ist bereits entschieden',
    yours: 'Ihre erste Antwort ist ausgeführt. Diese hat nichts geändert.',
    notYours: 'Ihre Antwort kam als zweite und hat nichts geändert.',
    approved: 'Freigegeben',
    denied: 'Abgelehnt',
    pending: 'Offen',
    expired: 'Abgelaufen',
    expiredWhat: 'Niemand hat rechtzeitig entschieden; das Datum bleibt, wie es war.',
    hasWithdrawn: 'Die Person zog sich zurück, bevor jemand entschieden hatte.',
    decidedBy: 'Entschieden von',
    decidedAt: 'Entschieden am',
    decidedReason: 'Grund der Entscheidung',
    nobody: 'Der Dienst, ohne eine Person',
    done: {
      approved: (date) => `Freigegeben. Das Einschlussdatum ist jetzt der ${date}, und die Visiten sind verschoben.`,
      approvedAlone: (date) => `Freigegeben. Das Einschlussdatum ist jetzt der ${date}.`,
      denied: 'Abgelehnt. Es hat sich nichts geändert.',
    },
    proofWrong: 'Passwort oder Code ist falsch.',
    proofNeeded: 'Diese Studie fragt erneut nach Ihrem Passwort oder einem Code.',
    toInbox: 'Zurück zum Eingang',
  },
  capture,
  audit,
  auditCodes,
  pager,
  reports,
  users,
  policy,
  studies,
};
