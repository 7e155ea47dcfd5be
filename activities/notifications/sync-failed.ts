import type { SyncFailure } from '../../db/notifications/notification-mail.queries.js';
import { primaryLanguage } from '../../workflows/domain/notifications/built-in.js';
import type { ConsoleLinks } from '../../workflows/domain/util/console-links.js';
import { isolated } from '../../workflows/domain/util/text-direction.js';
import { staffMail } from './mail.js';

interface SyncFailedMail {
  study: { id: string; code: string; default_language?: string | undefined };
  sync: SyncFailure;
  /** Set if the console is enabled. */
  pages?: ConsoleLinks | undefined;
}

interface Words {
  subject: (study: string) => string;
  what: (study: string, at: string, reason: string) => string;
  since: (last: string | null) => string;
  page: string;
  button: string;
  noPage: string;
  rest: string;
  /** By the failure's code: what a capture system answered in its own words is on the page alone. */
  reasons: Record<string, string>;
  otherReason: string;
}

const en: Words = {
  subject: (study) => `[${study}] The capture system could not be read`,
  what: (study, at, reason) => `In study ${study}, a sync with the capture system failed on ${at}.\nReason: ${reason}`,
  since: (last) =>
    last === null
      ? 'No sync of the study has been completed yet: what is entered in the capture system may be missing here.'
      : `The last complete sync ended on ${last}: what was entered in the capture system after it may be missing here.`,
  page: 'This page shows the connection, and starts a sync again. You log in first.',
  button: 'Open the page of the capture system',
  noPage: 'The state of the connection is in the program that you work with.',
  rest: 'What has been read stays. Further failures send no mail until a sync has been completed.',
  reasons: {
    connection_error: 'The capture system is not reached.',
    http_error: 'The capture system answered with an error.',
    timeout: 'The capture system did not answer in time.',
    invalid_response: 'The capture system gave an answer that cannot be read.',
    rejected: 'The capture system refused.',
    configuration: 'The connection or the mapping is incomplete.',
    DATABASE_UNAVAILABLE: 'The database is unavailable.',
  },
  otherReason: 'It is on the page.',
};

const de: Words = {
  subject: (study) => `[${study}] Das Datenerfassungssystem konnte nicht gelesen werden`,
  what: (study, at, reason) =>
    `In der Studie ${study} ist ein Abgleich mit dem Datenerfassungssystem am ${at} fehlgeschlagen.\nGrund: ${reason}`,
  since: (last) =>
    last === null
      ? 'Noch kein Abgleich der Studie wurde abgeschlossen: Was im Datenerfassungssystem steht, kann hier fehlen.'
      : `Der letzte vollständige Abgleich endete am ${last}: Was danach im Datenerfassungssystem eingetragen wurde, ` +
        'kann hier fehlen.',
  page: 'Diese Seite zeigt die Verbindung und startet den Abgleich neu. Sie melden sich dort zuerst an.',
  button: 'Seite des Datenerfassungssystems öffnen',
  noPage: 'Den Stand der Verbindung zeigt das Programm, mit dem Sie arbeiten.',
  rest: 'Was schon gelesen wurde, bleibt. Weitere Fehlschläge senden keine Mail, bis ein Abgleich abgeschlossen wurde.',
  reasons: {
    connection_error: 'Das Datenerfassungssystem ist nicht erreichbar.',
    http_error: 'Das Datenerfassungssystem antwortete mit einem Fehler.',
    timeout: 'Das Datenerfassungssystem hat nicht rechtzeitig geantwortet.',
    invalid_response: 'Das Datenerfassungssystem gab eine Antwort, die sich nicht lesen lässt.',
    rejected: 'Das Datenerfassungssystem hat abgelehnt.',
    configuration: 'Die Verbindung oder die Zuordnung ist unvollständig.',
    DATABASE_UNAVAILABLE: 'Die Datenbank ist nicht erreichbar.',
  },
  otherReason: 'Er steht auf der Seite.',
};

/** The mail on a failed sync, as text and as HTML, in the study's default language; English where it has no words. */
export function syncFailedMail({ study, sync, pages }: SyncFailedMail): {
  subject: string;
  text: string;
  html: string;
} {
  const german = primaryLanguage(study.default_language ?? '') === 'de';
  const words = german ? de : en;
  const code = isolated(study.code);
  const reason = words.reasons[sync.code ?? ''] ?? words.otherReason;
  const page = pages?.capture(study.id);
  const subject = words.subject(code);
  const text = [
    words.what(code, sync.at, reason),
    words.since(sync.last_completed),
    ...(page === undefined ? [words.noPage] : [words.page, page]),
    words.rest,
  ].join('\n\n');
  const button = page === undefined ? undefined : { url: page, says: words.button };
  return staffMail({ language: german ? 'de' : 'en', subject, text, button });
}
