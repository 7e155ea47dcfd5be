interface TemplateWords {
  name: string;
  description: string;
}

/** Built-in templates by id. In English they are as in their files; a study's own ones have the study's words. */
export const en: Record<string, TemplateWords> = {};

export const de: typeof en = {
  'adhd-attention-children': {
    name: 'Aufmerksamkeit bei Kindern, ein Schuljahr',
    description:
      'Daueraufmerksamkeit zu Beginn, in der Mitte und am Ende eines Schuljahres; kurze Aufgaben mit spielerischer ' +
      'Übung, die eine Betreuungsperson startet.',
  },
  'concussion-recovery': {
    name: 'Erholung nach Gehirnerschütterung',
    description:
      'Engmaschig nach einer leichten Hirnverletzung: an den Tagen 1, 3, 7, 14, 30 und 90 nach dem Unfall, dessen ' +
      'Datum im Einschlussformular steht.',
  },
  'longitudinal-cognition': {
    name: 'Kognition im Längsschnitt, drei Jahre',
    description:
      'Kognitives Altern bei Gesunden: eine ausführliche Testbatterie zu Beginn und jedes Jahr, dazwischen jedes ' +
      'halbe Jahr eine kurze. Gezählt wird ab dem eingetragenen Datum der ersten Visite, sobald die Einwilligung ' +
      'unterschrieben ist.',
  },
  'mild-cognitive-impairment': {
    name: 'Leichte kognitive Störung, achtzehn Monate',
    description:
      'Verlauf einer leichten kognitiven Störung: kurze, nachsichtige Aufgaben mit weiten Zeitfenstern, alle drei ' +
      'Monate; gezählt wird, sobald die Eignung bestätigt ist.',
  },
  'multiple-sclerosis-monitoring': {
    name: 'Kognition bei Multipler Sklerose, zwei Jahre',
    description:
      'Verarbeitungsgeschwindigkeit alle zwölf Wochen neben der üblichen Versorgung; gezählt wird ab der ' +
      'unterschriebenen Einwilligung.',
  },
  'randomized-training-trial': {
    name: 'Randomisierte Studie zum kognitiven Training',
    description:
      'Zwei Arme, acht Wochen Training zu Hause, gemessen davor, in der Mitte, danach und bei einer ' +
      'Nachuntersuchung; gezählt wird ab der Randomisierung, nach Eignung und Ausgangsmessung.',
  },
  'shift-work-vigilance': {
    name: 'Vigilanz und Schichtarbeit, in Schüben',
    description:
      'Drei Messschübe von fünf Tagen, je drei Monate auseinander: täglich zwei Minuten Vigilanz, zu Hause oder ' +
      'bei der Arbeit.',
  },
};

/** The name and description of a template in the reader's language. */
export const templateText = (
  words: typeof en,
  { id, name, description, source }: TemplateWords & { id: string; source: 'built_in' | 'study' },
): TemplateWords => (source === 'built_in' ? (words[id] ?? { name, description }) : { name, description });
