import type { ShownStudy } from '../../db/studies/study-face.queries.js';
import { builtInLanguage } from '../../workflows/domain/notifications/built-in.js';
import type { BuiltInLanguage } from '../../workflows/domain/notifications/built-in.js';
import { publicName } from '../../workflows/domain/notifications/study-face.js';

interface Words {
  channels: Record<string, string>;
  ask: string;
  button: string;
  done: string;
  ended: string;
}
const words: Record<BuiltInLanguage, Words> = {
  en: {
    channels: { email: 'e-mail', sms: 'text message', push: 'push message' },
    ask: 'Do you want no more messages of this study by {channel}?',
    button: 'No more of these messages',
    done: 'Done',
    ended: 'You will get no more of these messages. You can change that at any time on your study page.',
  },
  de: {
    channels: { email: 'E-Mail', sms: 'SMS', push: 'Push-Nachricht' },
    ask: 'Möchten Sie keine Nachrichten dieser Studie per {channel} mehr bekommen?',
    button: 'Keine dieser Nachrichten mehr',
    done: 'Erledigt',
    ended: 'Sie bekommen keine dieser Nachrichten mehr. Auf Ihrer Seite der Studie können Sie das jederzeit ändern.',
  },
  es: {
    channels: { email: 'correo electrónico', sms: 'SMS', push: 'notificación' },
    ask: '¿No desea recibir más mensajes de este estudio por {channel}?',
    button: 'No recibir más estos mensajes',
    done: 'Hecho',
    ended: 'No recibirá más estos mensajes. Puede cambiarlo en cualquier momento en su página del estudio.',
  },
  fr: {
    channels: { email: 'e-mail', sms: 'SMS', push: 'notification' },
    ask: 'Ne souhaitez-vous plus recevoir de messages de cette étude par {channel} ?',
    button: 'Ne plus recevoir ces messages',
    done: 'C’est fait',
    ended: 'Vous ne recevrez plus ces messages. Vous pouvez changer cela à tout moment sur votre page de l’étude.',
  },
};

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

/** The page that asks whether a channel's messages are to end, in the participant's language. */
export function askingPage(study: ShownStudy, channel: string): string {
  const { language, title, say } = spoken(study);
  const question = say.ask.replace('{channel}', () => say.channels[channel] ?? channel);
  return page(
    language,
    title,
    `<form method="post"><p>${escaped(question)}</p><p><button type="submit">${escaped(say.button)}</button></p></form>`,
  );
}

/** The page that says that they have ended. */
export function endedPage(study: ShownStudy): string {
  const { language, title, say } = spoken(study);
  return page(language, title, `<h2>${escaped(say.done)}</h2><p>${escaped(say.ended)}</p>`);
}

function spoken(study: ShownStudy) {
  const language = builtInLanguage(study.preferred_language, study.default_language);
  return { language, title: publicName(study, language), say: words[language] };
}

const page = (language: string, title: string, inside: string): string =>
  `<!doctype html><html lang="${language}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escaped(title)}</title><style>:root{color-scheme:light dark}</style></head><body style="font-family:sans-serif;line-height:1.5;max-width:32rem;margin:2rem auto;padding:0 1rem"><h1>${escaped(title)}</h1>${inside}</body></html>`;
