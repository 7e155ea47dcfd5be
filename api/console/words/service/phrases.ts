import { dateText } from '../../html/dates.js';
import { germanOfCapture } from './phrases-capture.js';
import { germanOfProviders } from './phrases-providers.js';
import type { Language } from '../words.js';

/**
 * The service's sentences: reasons of a decision, notes of a preview, warnings of a schedule, why a message was sent.
 * They are stored in English and translated here. `{}` is a part that stays as it is, `{*}` a part that is a phrase
 * itself.
 */
const german: [string, string][] = [
  // Sources of an enrollment date.
  ['no signed consent', 'keine unterschriebene Einwilligung'],
  ['eligibility is not confirmed', 'die Eignung ist nicht bestätigt'],
  ['not randomized', 'nicht randomisiert'],
  ['no date entered by hand', 'kein Datum von Hand erfasst'],
  ['no completed form {} with {}', 'kein abgeschlossenes Formular {} mit {}'],
  ['{} cannot be read as a date (partial dates: {})', '{} ist nicht als Datum lesbar (unvollständige Daten: {})'],
  ['RULE_ERROR: the rule gave no date', 'die Regel lieferte kein Datum'],
  ['RULE_ERROR: it takes more than {} steps', 'die Regel braucht mehr als {} Schritte'],
  ['its date in {} is not within the years 0001 to 9999', 'ihr Datum in {} liegt nicht in den Jahren 0001 bis 9999'],
  // Rules of a date.
  ['{} lies after today, {} in {}', 'der {} liegt nach dem heutigen Tag, dem {} in {}'],
  ['{} lies before the consent of {}', 'der {} liegt vor der Einwilligung vom {}'],
  ["{} lies before the study's start on {}", 'der {} liegt vor dem Beginn der Studie am {}'],
  [
    '{} lies {} days after the consent of {}; the policy allows {}',
    'der {} liegt {} Tage nach der Einwilligung vom {}; die Regeln erlauben {}',
  ],
  [
    '{} is {} days from {}; more than {} deserve a second look',
    'der {} liegt {} Tage vom {} entfernt; mehr als {} verdienen einen zweiten Blick',
  ],
  ['the policy forbids moving the date after {*}', 'die Regeln verbieten, das Datum zu verschieben, nachdem {*}'],
  ['a schedule was made', 'ein Plan erstellt wurde'],
  ['data were entered', 'Daten erfasst wurden'],
  ['a form was signed', 'ein Formular unterschrieben wurde'],
  ['a form was locked', 'ein Formular gesperrt wurde'],
  ['the date is {} already', 'das Datum ist bereits der {}'],
  ['no source gives a date', 'keine Quelle liefert ein Datum'],
  ['only a finalized date is overridden; the anchor is {}', 'nur ein endgültiges Datum wird ersetzt'],
  // Notes of a preview.
  ['completed: stays as it is', 'abgeschlossen: bleibt, wie sie ist'],
  ['scheduled by hand: stays as it is', 'von Hand geplant: bleibt, wie sie ist'],
  ['cancelled by hand: stays cancelled', 'von Hand abgesagt: bleibt abgesagt'],
  ['missed on these days: stays missed', 'an diesen Tagen versäumt: bleibt versäumt'],
  ['no longer planned', 'nicht mehr vorgesehen'],
  ['its window is closed already', 'ihr Fenster ist bereits geschlossen'],
  ['its target would now be {}', 'ihr Zieldatum wäre jetzt der {}'],
  ['open now, outside its window then', 'jetzt offen, dann außerhalb ihres Fensters'],
  ['moved by hand: stays where it was put', 'von Hand verschoben: bleibt, wo sie liegt'],
  [
    'moved by hand before: the schedule has other days for it now',
    'früher von Hand verschoben: der Plan hat jetzt andere Tage für sie',
  ],
  ['changed by hand: keeps what it was given', 'von Hand geändert: behält, was sie bekam'],
  [
    'changed by hand before: the schedule has something else for it now',
    'früher von Hand geändert: der Plan hat jetzt etwas anderes für sie',
  ],
  ['was missed, is to do again', 'wurde versäumt und ist wieder zu erledigen'],
  ['date unchanged', 'Datum unverändert'],
  // Warnings of a schedule.
  ['WINDOW_ALREADY_CLOSED: {} visit', 'das Fenster von {} Visite ist bereits geschlossen'],
  ['WINDOW_ALREADY_CLOSED: {} visits', 'das Fenster von {} Visiten ist bereits geschlossen'],
  ['SCHEDULE_NOT_REGENERATED', 'der Plan wird nicht neu erstellt'],
  ['NO_VISIT_WINDOWS', 'die Studie hat keine Visitenfenster'],
  ['NO_EVENT_DEFINITIONS', 'die Studie hat keine Ereignisse'],
  ['OUTSIDE_CALENDAR: {}', '{*}'],
  [
    '{} is not planned: its days lie outside the years 1 to 9999',
    '{} wird nicht geplant: ihre Tage liegen außerhalb der Jahre 1 bis 9999',
  ],
  ['HOLIDAY_IN_WINDOW: {} {} stays: no working day until {} ({})', '{} bleibt am {}: kein Arbeitstag bis zum {} ({*})'],
  ['HOLIDAY_SHIFTED: {} {} → {} ({})', '{}: vom {} auf den {} verschoben ({*})'],
  ['holiday: {}', 'Feiertag: {}'],
  ['holiday', 'Feiertag'],
  ['weekend', 'Wochenende'],
  // Flags of a session.
  ['reaction times under {} ms', 'Reaktionszeiten unter {} ms'],
  ['reaction times over {} s', 'Reaktionszeiten über {} s'],
  [
    'reaction times over a day, left out of the computed summary',
    'Reaktionszeiten über einem Tag, in der berechneten Zusammenfassung weggelassen',
  ],
  ['every reaction time is the same', 'alle Reaktionszeiten sind gleich'],
  ['every answer is the same', 'alle Antworten sind gleich'],
  ['no answer is right', 'keine Antwort ist richtig'],
  ['the clock ran backwards between trials', 'die Uhr lief zwischen Durchgängen rückwärts'],
  ['more than an hour lies between trials', 'zwischen Durchgängen liegt mehr als eine Stunde'],
  ['trials lie ahead of the server’s clock', 'Durchgänge liegen vor der Uhr des Servers'],
  [
    'trials lie more than two days before the session’s start',
    'Durchgänge liegen mehr als zwei Tage vor dem Beginn der Sitzung',
  ],
  ['metrics that cannot be: {}', 'Werte, die es nicht geben kann: {}'],
  ['metrics that no test yields, left out of statistics: {}', 'Werte, die kein Test ergibt, ohne Statistik: {}'],
  ['trial indexes that come more than once', 'Nummern von Durchgängen, die mehrfach vorkommen'],
  ['trial indexes that are missing', 'Nummern von Durchgängen, die fehlen'],
  ['trials that come before an earlier one', 'Durchgänge, die vor einem früheren stehen'],
  ['the battery has no such module', 'die Testbatterie hat kein solches Modul'],
  [
    'the battery has several modules of this task: module_id says which one it was',
    'die Testbatterie hat mehrere Module dieser Aufgabe',
  ],
  [
    'completedAt is before startedAt: the clock was set back meanwhile',
    'das Ende liegt vor dem Beginn: die Uhr wurde inzwischen zurückgestellt',
  ],
  [
    'startedAt lies more than a year before the participant was entered',
    'Der Beginn liegt mehr als ein Jahr vor der Aufnahme der Person',
  ],
  [
    'timezone is not an IANA time zone: the time zone of the site or study applies',
    'die Zeitzone ist keine der IANA: es gilt die des Standorts oder der Studie',
  ],
  [
    'language is not a BCP 47 tag: the participant’s preferred language applies',
    'die Sprache ist kein BCP-47-Kürzel: es gilt die bevorzugte Sprache der Person',
  ],
  ['startedAt or completedAt is ahead of the server’s clock', 'Beginn oder Ende liegt vor der Uhr des Servers'],
  // Why a message was, will be or will not be sent.
  ['It was accepted by the {} provider on attempt {}.', 'Der Anbieter ({*}) nahm sie beim Versuch {} an.'],
  [
    'It was accepted by the {} provider on attempt {}, and has arrived.',
    'Der Anbieter ({*}) nahm sie beim Versuch {} an, und sie kam an.',
  ],
  [
    'It was accepted by the {} provider on attempt {}, and did not arrive: {}.',
    'Der Anbieter ({*}) nahm sie beim Versuch {} an, aber sie kam nicht an: {*}.',
  ],
  ['why was not said', 'warum, wurde nicht gesagt'],
  ['It was not sent: {}.', 'Sie wurde nicht gesendet: {*}.'],
  ['It is not sent: {}.', 'Sie wird nicht gesendet: {*}.'],
  [
    'As things are it will not be sent: {}; {} is tried instead.',
    'Nach jetzigem Stand wird sie nicht gesendet: {*}; stattdessen wird {*} versucht.',
  ],
  ['As things are it will not be sent: {}.', 'Nach jetzigem Stand wird sie nicht gesendet: {*}.'],
  [
    'It is tried again: {} attempt so far, the last ended with {}.',
    'Sie wird erneut versucht: bisher {} Versuch, der letzte endete mit {*}.',
  ],
  [
    'It is tried again: {} attempts so far, the last ended with {}.',
    'Sie wird erneut versucht: bisher {} Versuche, der letzte endete mit {*}.',
  ],
  ['It waits for the end of the quiet hours, {}.', 'Sie wartet auf das Ende der Ruhezeit, {}.'],
  ['It waits for its time.', 'Sie wartet auf ihren Zeitpunkt.'],
  ['It is due: the next run sends it.', 'Sie ist fällig: der nächste Lauf sendet sie.'],
  ['the participant has withdrawn', 'die Person ist ausgeschieden'],
  ['the visit is completed', 'die Visite ist abgeschlossen'],
  ['the visit was cancelled', 'die Visite wurde abgesagt'],
  ['the visit is not part of the current schedule', 'die Visite gehört nicht zum gültigen Plan'],
  ['the visit is over', 'die Visite ist vorbei'],
  ['the visit is not missed any more', 'die Visite ist nicht mehr versäumt'],
  ['it was sent for this target date before', 'sie wurde für dieses Zieldatum schon gesendet'],
  ['the visit has moved to another date', 'die Visite hat ein anderes Datum'],
  ['the study has no such rule any more', 'die Studie hat diese Regel nicht mehr'],
  ['it was cancelled by hand', 'sie wurde von Hand abgesagt'],
  ['the participant does not want messages on this channel', 'die Person wünscht auf diesem Weg keine Nachrichten'],
  ['the participant has no address for this channel', 'die Person hat keine Adresse für diesen Weg'],
  [
    'messages to this address came back: it is to be corrected',
    'Nachrichten an diese Adresse kamen zurück: sie ist zu berichtigen',
  ],
  ['the study names no channel for messages', 'die Studie nennt keinen Weg für Nachrichten'],
  ['the provider refused it', 'der Anbieter hat sie abgelehnt'],
  ['the study is completed', 'die Studie ist abgeschlossen'],
  ['the study is archived', 'die Studie ist archiviert'],
  ['the study was paused at that time', 'die Studie war zu dieser Zeit unterbrochen'],
  ['the study was not active yet at that time', 'die Studie war zu dieser Zeit noch nicht aktiv'],
  ['what was known of the participant has been erased', 'was über die Person bekannt war, ist gelöscht'],
  [
    'its time was over for more than {} hours when it was planned or found',
    'ihre Zeit war mehr als {} Stunden vorbei, als sie geplant oder gefunden wurde',
  ],
  ['its time was over when it was planned or found', 'ihre Zeit war vorbei, als sie geplant oder gefunden wurde'],
  ['no reason is known', 'kein Grund ist bekannt'],
  // Rules of messages.
  ['sent again by hand, by {}', 'von Hand erneut gesendet, als {*}'],
  ['sent by hand, by {}', 'von Hand gesendet, als {*}'],
  ['{}, by {} because the channel before it did not work', '{*}, als {*}, weil der Weg davor nicht ging'],
  ['{}, by {}', '{*}, als {*}'],
  ['{}, not from {} to {}', '{*}, nicht von {} bis {}'],
  ['the day after the window has closed at {} in {}', 'am Tag, nachdem das Fenster schließt, um {} in {}'],
  ['on the target date at {} in {}', 'am Zieltag um {} in {}'],
  ['{} day before the target date at {} in {}', '{} Tag vor dem Zieldatum um {} in {}'],
  ['{} days before the target date at {} in {}', '{} Tage vor dem Zieldatum um {} in {}'],
  ['email', 'E-Mail'],
  ['sms', 'SMS'],
  ['push', 'Push-Nachricht'],
  // Remarks on a file of participants.
  ['The column {} is not known and was left out', 'Die Spalte {} ist nicht bekannt und wurde weggelassen'],
  [
    'The same file was imported at {}: what it brought is there',
    'Dieselbe Datei wurde am {} importiert: Was sie brachte, ist da',
  ],
  // Comparison of a mapping with the capture system.
  ['The capture system has no instrument "{}".', 'Das Erfassungssystem hat kein Formular „{}“.'],
  ['The capture system has no event "{}".', 'Das Erfassungssystem hat kein Ereignis „{}“.'],
  ['The capture system has no field "{}".', 'Das Erfassungssystem hat kein Feld „{}“.'],
  [
    "The connected project has the id {}: triggers of project {} are another project's, and those of {} are not taken.",
    'Das verbundene Projekt hat die Kennung {}: Auslöser des Projekts {} gehören zu einem anderen, und die von ' +
      '{} werden nicht angenommen.',
  ],
  [
    "The capture system's project has no events: enrollment_event is not used.",
    'Das Projekt des Erfassungssystems hat keine Ereignisse: enrollment_event wird nicht verwendet.',
  ],
  [
    'A participant has no field "{}" that the capture system may fill: it is not used.',
    'Teilnehmende haben kein Feld „{}“, das das Erfassungssystem füllen darf: Es wird nicht verwendet.',
  ],
  [
    'The field "{}" holds a file or a text of the form: no value comes of it.',
    'Das Feld „{}“ enthält eine Datei oder einen Text des Formulars: Daraus kommt kein Wert.',
  ],
  [
    'The field "{}" never holds a date: no {} comes of it.',
    'Das Feld „{}“ enthält nie ein Datum: Daraus kommt kein Wert für {}.',
  ],
  [
    'The project has no events: the results of several visits are written to the same fields of the record, and ' +
      'the last ones stay.',
    'Das Projekt hat keine Ereignisse: Ergebnisse mehrerer Visiten stehen in denselben Feldern, und die letzten ' +
      'bleiben.',
  ],
  [
    'Several visits ({}) deliver the same results to the event "{}": those of one visit are taken, and no others. ' +
      'Give each an event of its own.',
    'Mehrere Visiten ({}) liefern dieselben Ergebnisse an das Ereignis „{}“: Angenommen werden nur die einer Visite. ' +
      'Geben Sie jeder ein eigenes Ereignis.',
  ],
  [
    'There is no task "{}": no session has results of it.',
    'Es gibt keine Aufgabe „{}“: Keine Sitzung hat Ergebnisse davon.',
  ],
  [
    'The field "{}" is the record id: no result is written to it.',
    'Das Feld „{}“ ist die Kennung des Datensatzes: Dort steht kein Ergebnis.',
  ],
  [
    'The instrument "{}" is not designated for the event "{}": nobody is enrolled there.',
    'Das Formular „{}“ gehört nicht zum Ereignis „{}“: Dort wird niemand eingeschlossen.',
  ],
  [
    'No event of arm {} is an enrollment_event, though it has visits ("{}"): nobody is enrolled in this arm.',
    'Kein Ereignis von Arm {} ist enrollment_event, obwohl er Visiten hat („{}“): Dort wird niemand eingeschlossen.',
  ],
  [
    'The field "{}" already takes {}: of two results one is lost.',
    'Das Feld „{}“ nimmt schon {}: Von zwei Ergebnissen geht eines verloren.',
  ],
  [
    'The field "{}" is on the instrument "{}" that is not designated for the event "{}": no value is read there.',
    'Das Feld „{}“ steht im Formular „{}“, das nicht zum Ereignis „{}“ gehört: Dort wird kein Wert gelesen.',
  ],
  [
    'The field "{}" is on the instrument "{}" that repeats: no value is read from its instances.',
    'Das Feld „{}“ steht im Formular „{}“, das sich wiederholt: Aus den Wiederholungen wird kein Wert gelesen.',
  ],
  [
    'The field "{}" is the status of its form: a push sets it itself.',
    'Das Feld „{}“ ist der Status seines Formulars: Eine Übertragung setzt ihn selbst.',
  ],
  ['The field "{}" takes no result: {}.', 'Das Feld „{}“ nimmt kein Ergebnis: {*}.'],
  ['a field of type {} takes no values', 'ein Feld der Art {} nimmt keine Werte'],
  ['a checkbox is written to as {}', 'ein Ankreuzfeld wird als {} beschrieben'],
  ['its validation is {}, and a result is a number', 'geprüft wird auf {}, und ein Ergebnis ist eine Zahl'],
  ['it takes only {}', 'möglich ist nur {}'],
  [
    'The instrument "{}" repeats in the event "{}": results are written to no instance of it.',
    'Das Formular „{}“ wiederholt sich im Ereignis „{}“: Ergebnisse stehen in keiner Wiederholung.',
  ],
  [
    'The instrument "{}" repeats: results are written to no instance of it.',
    'Das Formular „{}“ wiederholt sich: Ergebnisse stehen in keiner Wiederholung.',
  ],
  [
    'The instrument "{}" is not designated for the event "{}": its results are refused there.',
    'Das Formular „{}“ ist dem Ereignis „{}“ nicht zugeordnet: Seine Ergebnisse werden dort abgelehnt.',
  ],
  ['The instrument "{}" is designated for no event.', 'Das Formular „{}“ ist keinem Ereignis zugeordnet.'],
];

const escaped = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);

/** Some sentences are stored behind their code. */
const CODED = /^[A-Z][A-Z_]+: (.+)$/s;

interface Phrase {
  pattern: RegExp;
  said: string;
}
const book: Record<Exclude<Language, 'en'>, Phrase[]> = {
  de: [...german, ...germanOfCapture, ...germanOfProviders].map(compiled),
};

function compiled([text, said]: [string, string]): Phrase {
  const pattern = text
    .split('{}')
    .map((part) => part.split('{*}').map(escaped).join('(.+?)'))
    .join('(.+?)');
  return { pattern: new RegExp(`^${pattern}$`, 's'), said };
}

/** A sentence of the service in the reader's language; one without a translation stays English. */
export function phrase(language: Language, text: string): string {
  const uncoded = CODED.exec(text)?.[1];
  if (language === 'en') {
    const sentence = uncoded !== undefined && isSaid('de', uncoded) ? uncoded : text;
    return sentence.replaceAll(/\b\d{4}-\d{2}-\d{2}\b/g, (day) => read(language, day));
  }
  for (const { pattern, said } of book[language]) {
    const parts = pattern.exec(text)?.slice(1);
    if (!parts) continue;
    let at = 0;
    return said.replaceAll(/\{\*?\}/g, (place) => {
      const part = parts[at++] ?? '';
      return place === '{*}' ? phrase(language, part) : read(language, part);
    });
  }
  return uncoded !== undefined && isSaid(language, uncoded) ? phrase(language, uncoded) : text;
}

/** Whether a sentence exists in the language. */
export const isSaid = (language: Language, text: string): boolean =>
  language === 'en' ||
  [text, CODED.exec(text)?.[1] ?? text].some((one) => book[language].some(({ pattern }) => pattern.test(one)));

/** Formats a date for its reader. */
const read = (language: Language, part: string): string =>
  /^\d{4}-\d{2}-\d{2}$/.test(part) ? dateText(language, part) : part;
