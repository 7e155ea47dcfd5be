/** Why a message was refused for good, or stopped before it was sent. */
export const germanOfProviders: [string, string][] = [
  ['the mail server refused the message ({})', 'der Mailserver lehnte die Nachricht ab ({})'],
  [
    'the mail server refused the message: its address is not usable',
    'der Mailserver lehnte die Nachricht ab: die Adresse ist nicht verwendbar',
  ],
  [
    'put off for as long as MESSAGE_RETRY_MAX_DAYS allows ({})',
    'so lange aufgeschoben, wie MESSAGE_RETRY_MAX_DAYS erlaubt ({})',
  ],
  ['the recipient has no address', 'es gibt keine Adresse'],
  ['no mail server is configured', 'es ist kein Mailserver eingerichtet'],
  ['no {} is configured ({})', 'eingerichtet ist kein {} ({})'],
  ['the push service refused the message ({})', 'der Push-Dienst lehnte die Nachricht ab ({})'],
  ['the push service does not know the browser any more ({})', 'der Push-Dienst kennt den Browser nicht mehr ({})'],
  [
    'the push service has a private address, which ALLOW_PRIVATE_URLS forbids here',
    'der Push-Dienst hat eine private Adresse, die ALLOW_PRIVATE_URLS hier verbietet',
  ],
  ['the {} refused the message ({})', 'der Dienst ({}) lehnte die Nachricht ab ({})'],
  ['the {} does not know the device any more ({})', 'der Dienst ({}) kennt das Gerät nicht mehr ({})'],
  ['the browser’s subscription cannot be read', 'die Anmeldung des Browsers ist nicht lesbar'],
  ['the browser’s subscription is not usable: {}', 'die Anmeldung des Browsers ist nicht verwendbar: {}'],
  [
    'no key for push messages to browsers is set (VAPID_PRIVATE_KEY)',
    'für Push-Nachrichten an Browser fehlt der Schlüssel (VAPID_PRIVATE_KEY)',
  ],
  ['the day of the summary is over', 'der Tag der Übersicht ist vorbei'],
  ['the recipient may not see the study any more', 'wer sie bekommen sollte, hat keinen Zugang zur Studie mehr'],
  ['the recipient may not see the participant any more', 'wer sie bekommen sollte, hat keinen Zugang zur Person mehr'],
  ['the caregiver is not active', 'die Betreuungsperson ist nicht aktiv'],
  [
    'no active participants are assigned to this caregiver',
    'dieser Betreuungsperson sind keine aktiven Teilnehmenden zugeordnet',
  ],
  ['the request has been decided already', 'über den Antrag ist schon entschieden'],
  ['a sync has been completed since', 'seitdem wurde ein Abgleich abgeschlossen'],
];
