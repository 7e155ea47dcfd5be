/** A list in words. */
export const list = (items: readonly string[], and: string): string =>
  items.length < 2 ? (items[0] ?? '') : `${items.slice(0, -1).join(', ')} ${and} ${items.at(-1)}`;
const days = (n: number) => (n === 1 ? '1 day' : `${n} days`);
const Tage = (n: number) => (n === 1 ? '1 Tag' : `${n} Tage`);
const Stunden = (n: number) =>
  n === 1 ? '1 Stunde' : `${n.toLocaleString('de-DE', { maximumFractionDigits: 6 })} Stunden`;

/** The sentences that describe an enrollment-date policy. Every option has its own, also when it is off. */
export const en = {
  sections: {
    what: 'What the date is',
    sources: 'Where it comes from',
    consent: 'Which consent counts',
    refused: 'When a date is refused',
    final: 'When it is final',
    who: 'Who may do what',
    moving: 'Moving a final date',
  },
  anchorType: {
    enrollment: 'Visits are counted from the day of enrollment.',
    consent: 'Visits are counted from the day of the consent.',
    eligibility: 'Visits are counted from the day on which eligibility was confirmed.',
    randomization: 'Visits are counted from the day of the randomization.',
    baseline_visit: 'Visits are counted from the day of the baseline visit.',
    custom: 'Visits are counted from a date of the study’s own.',
  },
  custom: (name: string) => `Its name is “${name}”.`,
  customDescription: (text: string) => `It means: ${text}.`,
  customSemantic: (type: string) => `Its kind, for other systems, is “${type}”.`,
  precision: {
    date: 'It is a day, without a time.',
    datetime: 'It has a time where its source gives one.',
  },
  timezone: {
    site_local: 'A day is a day in the time zone of the participant’s site.',
    study_timezone: 'A day is a day in the time zone of the study.',
    utc: 'A day is a day in UTC.',
  },
  studyTimezone: (zone: string) => `The policy names ${zone} as the time zone of the study.`,
  order: 'Sources are tried in this order. The first that gives a date wins.',
  noSources: 'No source is named.',
  impliedSources: 'The policy names no source of its own; these follow from the kind of date.',
  source: {
    consent_workflow: 'The day of the signed consent',
    eligibility_workflow: 'The day on which eligibility was confirmed',
    randomization: 'The day of the randomization',
    form_item: 'A field of a form',
    computed_rule: 'A rule',
    manual_entry: 'A date that somebody enters',
  },
  formItem: (form: string, item: string) => `the field “${item}” of the form “${form}”`,
  partial: {
    reject: 'a date without a day is not accepted',
    first_of_month: 'a date without a day counts as the first of the month',
    last_of_month: 'a date without a day counts as the last of the month',
    middle_of_month: 'a date without a day counts as the 15th of the month',
  },
  rule: (expression: string) => `computed by: ${expression}`,
  ruleDescription: (text: string) => `that is, ${text}`,
  priority: (n: number) => `priority ${n}`,
  inactive: 'switched off',
  consent: {
    first: 'The first signed consent counts.',
    latest: 'The latest signed consent counts.',
    specific_version: 'Only one version of the consent counts.',
  },
  consentVersion: (id: string) => `The version is “${id}”.`,
  reconsent: {
    true: 'A new consent moves the date, where the latest consent counts.',
    false: 'A new consent does not move a final date.',
  },
  notFuture: { true: 'A date in the future is refused.', false: 'A date may be in the future.' },
  notBeforeConsent: { true: 'A date before the consent is refused.', false: 'A date may be before the consent.' },
  notBeforeStart: {
    true: 'A date before the start of the study is refused.',
    false: 'A date may be before the start of the study.',
  },
  fromConsent: (n: number) =>
    n === 0
      ? 'A date after the day of the consent is refused.'
      : `A date more than ${days(n)} after the consent is refused.`,
  fromConsentAny: 'A date may be any number of days after the consent.',
  customRule: (name: string, id: string, expression: string, says: string) =>
    `Rule “${name}” (${id}): ${expression}. Where it is broken, the date is refused with “${says}”.`,
  customWarning: (name: string, id: string, expression: string, says: string) =>
    `Rule “${name}” (${id}): ${expression}. Where it is broken, the date is accepted with the warning “${says}”.`,
  noCustomRules: 'There are no rules of the study’s own.',
  requires: (what: readonly string[]) =>
    `A date is final when there is ${list(what, 'and')}. Until then it is provisional.`,
  requiresNothing: 'A date is final at once.',
  prerequisites: {
    require_consent_signed: 'a signed consent',
    require_eligibility_confirmed: 'confirmed eligibility',
    require_randomization: 'a randomization',
    require_baseline_visit: 'a completed baseline visit',
  },
  prerequisiteRule: (expression: string) => `this rule must hold as well: ${expression}`,
  provisional: {
    true: 'A provisional date has a schedule already.',
    false: 'A provisional date has no schedule yet.',
  },
  roles: {
    admin: 'admins',
    researcher: 'researchers',
    coordinator: 'coordinators',
    investigator: 'investigators',
    data_manager: 'data managers',
  },
  canSet: (roles: readonly string[]) =>
    roles.length === 0 ? 'Nobody may enter a date.' : `A date is entered by ${list(roles, 'and')}.`,
  participantSets: {
    true: 'Participants may enter it themselves in the portal.',
    false: 'Participants may not enter it themselves.',
  },
  canOverride: (roles: readonly string[]) =>
    roles.length === 0 ? 'Nobody may override a final date.' : `A final date is overridden by ${list(roles, 'and')}.`,
  needsReason: { true: 'An override needs a reason.', false: 'An override needs no reason.' },
  needsApproval: {
    true: 'Another person must approve an override.',
    false: 'An override counts at once, without an approval.',
  },
  approvers: (roles: readonly string[]) => `Approvals are given by ${list(roles, 'and')}.`,
  approversAsOverride: 'Approvals are given by the roles that may override.',
  timeout: (hours: number) =>
    hours % 24 === 0
      ? `A request for an approval is denied after ${days(hours / 24)} without a decision.`
      : `A request for an approval is denied after ${hours === 1 ? '1 hour' : `${hours} hours`} without a decision.`,
  guards: {
    allow_after_scheduling: {
      true: 'A final date may move after a schedule was made.',
      false: 'A final date may not move after a schedule was made.',
    },
    allow_after_data_entered: {
      true: 'It may move after data were entered.',
      false: 'It may not move after data were entered.',
    },
    allow_after_signature: {
      true: 'It may move after a form was signed.',
      false: 'It may not move after a form was signed.',
    },
    allow_after_lock: {
      true: 'It may move after a form was locked.',
      false: 'It may not move after a form was locked.',
    },
  },
  shift: (n: number) =>
    n === 0 ? 'It may move by any number of days.' : `A shift of more than ${days(n)} gets a warning.`,
  completed: {
    preserve_original: 'Completed visits stay as they were.',
    recalculate_reporting: 'Completed visits stay as they were; reports count them from the new date.',
    flag_for_review: 'Completed visits stay as they were and are marked for review.',
  },
};

export const de: typeof en = {
  sections: {
    what: 'Was das Datum ist',
    sources: 'Woher es kommt',
    consent: 'Welche Einwilligung zählt',
    refused: 'Wann ein Datum abgelehnt wird',
    final: 'Wann es endgültig ist',
    who: 'Wer was darf',
    moving: 'Ein endgültiges Datum verschieben',
  },
  anchorType: {
    enrollment: 'Visiten zählen vom Tag des Einschlusses an.',
    consent: 'Visiten zählen vom Tag der Einwilligung an.',
    eligibility: 'Visiten zählen von dem Tag an, an dem die Eignung bestätigt wurde.',
    randomization: 'Visiten zählen vom Tag der Randomisierung an.',
    baseline_visit: 'Visiten zählen vom Tag der Baseline-Visite an.',
    custom: 'Visiten zählen von einem eigenen Datum der Studie an.',
  },
  custom: (name) => `Es heißt „${name}“.`,
  customDescription: (text) => `Es bedeutet: ${text}.`,
  customSemantic: (type) => `Seine Art, für andere Systeme, ist „${type}“.`,
  precision: {
    date: 'Es ist ein Tag, ohne Uhrzeit.',
    datetime: 'Es hat eine Uhrzeit, wenn seine Quelle eine nennt.',
  },
  timezone: {
    site_local: 'Ein Tag ist ein Tag in der Zeitzone des Standorts.',
    study_timezone: 'Ein Tag ist ein Tag in der Zeitzone der Studie.',
    utc: 'Ein Tag ist ein Tag in UTC.',
  },
  studyTimezone: (zone) => `Als Zeitzone der Studie ist hier ${zone} genannt.`,
  order: 'Die Quellen gelten in dieser Reihenfolge. Die erste, die ein Datum hat, zählt.',
  noSources: 'Es ist keine Quelle genannt.',
  impliedSources: 'Es sind keine eigenen Quellen genannt; diese folgen aus der Art des Datums.',
  source: {
    consent_workflow: 'Der Tag der unterschriebenen Einwilligung',
    eligibility_workflow: 'Der Tag, an dem die Eignung bestätigt wurde',
    randomization: 'Der Tag der Randomisierung',
    form_item: 'Ein Feld eines Formulars',
    computed_rule: 'Eine Regel',
    manual_entry: 'Ein Datum, das jemand einträgt',
  },
  formItem: (form, item) => `das Feld „${item}“ des Formulars „${form}“`,
  partial: {
    reject: 'ein Datum ohne Tag zählt nicht',
    first_of_month: 'ein Datum ohne Tag zählt als Erster des Monats',
    last_of_month: 'ein Datum ohne Tag zählt als Letzter des Monats',
    middle_of_month: 'ein Datum ohne Tag zählt als 15. des Monats',
  },
  rule: (expression) => `berechnet durch: ${expression}`,
  ruleDescription: (text) => `das heißt, ${text}`,
  priority: (n) => `Priorität ${n}`,
  inactive: 'ausgeschaltet',
  consent: {
    first: 'Die erste unterschriebene Einwilligung zählt.',
    latest: 'Die neueste unterschriebene Einwilligung zählt.',
    specific_version: 'Nur eine Fassung der Einwilligung zählt.',
  },
  consentVersion: (id) => `Die Fassung ist „${id}“.`,
  reconsent: {
    true: 'Eine neue Einwilligung verschiebt das Datum, wenn die neueste zählt.',
    false: 'Eine neue Einwilligung verschiebt ein endgültiges Datum nicht.',
  },
  notFuture: { true: 'Ein Datum in der Zukunft wird abgelehnt.', false: 'Ein Datum darf in der Zukunft liegen.' },
  notBeforeConsent: {
    true: 'Ein Datum vor der Einwilligung wird abgelehnt.',
    false: 'Ein Datum darf vor der Einwilligung liegen.',
  },
  notBeforeStart: {
    true: 'Ein Datum vor dem Beginn der Studie wird abgelehnt.',
    false: 'Ein Datum darf vor dem Beginn der Studie liegen.',
  },
  fromConsent: (n) =>
    n === 0
      ? 'Ein Datum nach dem Tag der Einwilligung wird abgelehnt.'
      : `Ein Datum mehr als ${Tage(n)} nach der Einwilligung wird abgelehnt.`,
  fromConsentAny: 'Ein Datum darf beliebig viele Tage nach der Einwilligung liegen.',
  customRule: (name, id, expression, says) =>
    `Regel „${name}“ (${id}): ${expression}. Ist sie verletzt, wird das Datum abgelehnt mit „${says}“.`,
  customWarning: (name, id, expression, says) =>
    `Regel „${name}“ (${id}): ${expression}. Ist sie verletzt, wird das Datum genommen, mit der Warnung „${says}“.`,
  noCustomRules: 'Eigene Regeln der Studie gibt es nicht.',
  requires: (what) =>
    `Ein Datum ist endgültig, wenn es Folgendes gibt: ${list(what, 'und')}. Bis dahin ist es vorläufig.`,
  requiresNothing: 'Ein Datum ist sofort endgültig.',
  prerequisites: {
    require_consent_signed: 'eine unterschriebene Einwilligung',
    require_eligibility_confirmed: 'eine bestätigte Eignung',
    require_randomization: 'eine Randomisierung',
    require_baseline_visit: 'eine abgeschlossene Baseline-Visite',
  },
  prerequisiteRule: (expression) => `diese Regel muss ebenfalls gelten: ${expression}`,
  provisional: {
    true: 'Ein vorläufiges Datum hat schon einen Plan.',
    false: 'Ein vorläufiges Datum hat noch keinen Plan.',
  },
  roles: {
    admin: 'Administration',
    researcher: 'Forschung',
    coordinator: 'Koordination',
    investigator: 'Prüfärztinnen und Prüfärzte',
    data_manager: 'Datenmanagement',
  },
  canSet: (roles) =>
    roles.length === 0 ? 'Niemand darf ein Datum eintragen.' : `Ein Datum tragen ein: ${roles.join(', ')}.`,
  participantSets: {
    true: 'Teilnehmende dürfen es im Portal selbst eintragen.',
    false: 'Teilnehmende dürfen es nicht selbst eintragen.',
  },
  canOverride: (roles) =>
    roles.length === 0
      ? 'Niemand darf ein endgültiges Datum ersetzen.'
      : `Ein endgültiges Datum ersetzen: ${roles.join(', ')}.`,
  needsReason: { true: 'Das Ersetzen braucht einen Grund.', false: 'Das Ersetzen braucht keinen Grund.' },
  needsApproval: {
    true: 'Eine andere Person muss es freigeben.',
    false: 'Es gilt sofort, ohne Freigabe.',
  },
  approvers: (roles) => `Es geben frei: ${roles.join(', ')}.`,
  approversAsOverride: 'Es geben die Rollen frei, die ersetzen dürfen.',
  timeout: (hours) =>
    hours % 24 === 0
      ? `Ein Antrag wird nach ${hours === 24 ? '1 Tag' : `${hours / 24} Tagen`} ohne Entscheidung abgelehnt.`
      : `Ein Antrag wird nach ${Stunden(hours)} ohne Entscheidung abgelehnt.`,
  guards: {
    allow_after_scheduling: {
      true: 'Ein endgültiges Datum darf sich verschieben, nachdem ein Plan entstanden ist.',
      false: 'Ein endgültiges Datum darf sich nicht verschieben, nachdem ein Plan entstanden ist.',
    },
    allow_after_data_entered: {
      true: 'Es darf sich verschieben, nachdem Daten eingetragen wurden.',
      false: 'Es darf sich nicht verschieben, nachdem Daten eingetragen wurden.',
    },
    allow_after_signature: {
      true: 'Es darf sich verschieben, nachdem ein Formular unterschrieben wurde.',
      false: 'Es darf sich nicht verschieben, nachdem ein Formular unterschrieben wurde.',
    },
    allow_after_lock: {
      true: 'Es darf sich verschieben, nachdem ein Formular gesperrt wurde.',
      false: 'Es darf sich nicht verschieben, nachdem ein Formular gesperrt wurde.',
    },
  },
  shift: (n) =>
    n === 0
      ? 'Es darf sich um beliebig viele Tage verschieben.'
      : `Mehr als ${Tage(n)} Verschiebung ergibt eine Warnung.`,
  completed: {
    preserve_original: 'Abgeschlossene Visiten bleiben, wie sie waren.',
    recalculate_reporting: 'Abgeschlossene Visiten bleiben, wie sie waren; Berichte zählen sie vom neuen Datum an.',
    flag_for_review: 'Abgeschlossene Visiten bleiben, wie sie waren, und werden zur Prüfung markiert.',
  },
};

export type PolicyWords = typeof en;
