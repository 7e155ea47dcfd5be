/** Words of the pages of event definitions. */
export const en = {
  none: 'The study has no event definition yet',
  noneWhat:
    'Event definitions are visits of the protocol that may repeat. A study without them plans by its visit windows.',
  counts: 'This study plans its visits by event definitions; visit windows are not used.',
  countsNot: 'This study plans its visits by visit windows: event definitions do not count, and nothing moves.',
  toEvents: 'Plan by event definitions',
  toWindows: 'Plan by visit windows',
  modeWhat: 'Every schedule of the study is planned again. Completed visits stay.',
  add: 'Add an event definition',
  back: 'All event definitions',
  oidHint: 'Under which other systems know the event.',
  times: 'How many times',
  timesHint: 'Empty: once.',
  everyDays: 'Every how many days',
  everyHint: 'From one time to the next.',
  order: 'Place in the list',
  orderHint: 'Smaller numbers come first; equal ones by their day.',
  remove: 'Delete an event definition',
  removeWhat: 'Its open visits are superseded. An event of which a visit was completed cannot be deleted.',
};

export const de: typeof en = {
  none: 'Die Studie hat noch keine Ereignisdefinition',
  noneWhat:
    'Ereignisdefinitionen sind Visiten des Protokolls, die sich wiederholen können. Eine Studie ohne sie plant ' +
    'nach ihren Visitenfenstern.',
  counts: 'Diese Studie plant ihre Visiten nach Ereignisdefinitionen; Visitenfenster werden nicht verwendet.',
  countsNot:
    'Diese Studie plant ihre Visiten nach Visitenfenstern: Ereignisdefinitionen zählen nicht, und nichts ' +
    'verschiebt sich.',
  toEvents: 'Nach Ereignisdefinitionen planen',
  toWindows: 'Nach Visitenfenstern planen',
  modeWhat: 'Jeder Plan der Studie wird neu gemacht. Abgeschlossene Visiten bleiben.',
  add: 'Ereignisdefinition hinzufügen',
  back: 'Alle Ereignisdefinitionen',
  oidHint: 'Unter dem andere Systeme das Ereignis kennen.',
  times: 'Wie oft',
  timesHint: 'Leer: einmal.',
  everyDays: 'Alle wie viele Tage',
  everyHint: 'Von einem Mal zum nächsten.',
  order: 'Platz in der Liste',
  orderHint: 'Kleinere Zahlen kommen zuerst, gleiche nach ihrem Tag.',
  remove: 'Ereignisdefinition löschen',
  removeWhat:
    'Ihre offenen Visiten werden ersetzt. Ein Ereignis, dessen Visite abgeschlossen wurde, kann nicht gelöscht werden.',
};
