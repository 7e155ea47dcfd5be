import type { ShownStudy } from '../../db/studies/study-face.queries.js';
import { smallPage, smallPagePolicy } from '../../activities/html/small-page.js';
import { acceptedLanguage, builtInLanguage } from '../../workflows/domain/notifications/built-in.js';
import type { BuiltInLanguage } from '../../workflows/domain/notifications/built-in.js';
import { publicName } from '../../workflows/domain/notifications/study-face.js';

interface Words {
  channels: Record<string, string>;
  ask: string;
  button: string;
  done: string;
  ended: string;
  /** About a link that names nobody. */
  broken: { title: string; says: string };
  /** Of any other error. */
  later: string;
}
const words: Record<BuiltInLanguage, Words> = {
  en: {
    channels: { email: 'e-mail', sms: 'text message', push: 'push message' },
    ask: 'Do you want no more messages of this study by {channel}?',
    button: 'No more of these messages',
    done: 'Done',
    ended: 'You will get no more of these messages. You can change that at any time on your study page.',
    broken: {
      title: 'This link does not work',
      says: 'It is not complete or not valid any more. Please ask your study team.',
    },
    later: 'That did not work. Please try again later.',
  },
  de: {
    channels: { email: 'E-Mail', sms: 'SMS', push: 'Push-Nachricht' },
    ask: 'Möchten Sie keine Nachrichten dieser Studie per {channel} mehr bekommen?',
    button: 'Keine dieser Nachrichten mehr',
    done: 'Erledigt',
    ended: 'Sie bekommen keine dieser Nachrichten mehr. Auf Ihrer Seite der Studie können Sie das jederzeit ändern.',
    broken: {
      title: 'Dieser Link funktioniert nicht',
      says: 'Er ist unvollständig oder nicht mehr gültig. Bitte fragen Sie Ihr Studienteam.',
    },
    later: 'Das hat nicht funktioniert. Bitte versuchen Sie es später noch einmal.',
  },
  es: {
    channels: { email: 'correo electrónico', sms: 'SMS', push: 'notificación' },
    ask: '¿No desea recibir más mensajes de este estudio por {channel}?',
    button: 'No recibir más estos mensajes',
    done: 'Hecho',
    ended: 'No recibirá más estos mensajes. Puede cambiarlo en cualquier momento en su página del estudio.',
    broken: {
      title: 'Este enlace no funciona',
      says: 'Está incompleto o ya no es válido. Pregunte a su equipo del estudio.',
    },
    later: 'No ha funcionado. Inténtelo de nuevo más tarde.',
  },
  fr: {
    channels: { email: 'e-mail', sms: 'SMS', push: 'notification' },
    ask: 'Ne souhaitez-vous plus recevoir de messages de cette étude par {channel} ?',
    button: 'Ne plus recevoir ces messages',
    done: 'C’est fait',
    ended: 'Vous ne recevrez plus ces messages. Vous pouvez changer cela à tout moment sur votre page de l’étude.',
    broken: {
      title: 'Ce lien ne fonctionne pas',
      says: 'Il est incomplet ou n’est plus valable. Veuillez demander à votre équipe de l’étude.',
    },
    later: 'Cela n’a pas fonctionné. Veuillez réessayer plus tard.',
  },
};

/** The form is sent to its own page. */
export const OPT_OUT_POLICY = smallPagePolicy("'self'");

/** The page that asks for confirmation to end a channel's messages, in the participant's language. */
export function askingPage(study: ShownStudy, channel: string): string {
  const { language, title, say } = spoken(study);
  return smallPage(
    language,
    title,
    <form method="post">
      <p>{say.ask.replace('{channel}', () => say.channels[channel] ?? channel)}</p>
      <p>
        <button type="submit">{say.button}</button>
      </p>
    </form>,
  );
}

/** The page that confirms the opt-out. */
export function endedPage(study: ShownStudy): string {
  const { language, title, say } = spoken(study);
  return smallPage(
    language,
    title,
    <>
      <h2>{say.done}</h2>
      <p>{say.ended}</p>
    </>,
  );
}

/** The page of a link that can't be followed, in the browser's language: the link names nobody. */
export function brokenLinkPage(acceptLanguage: string | undefined, isBroken: boolean): string {
  const language = acceptedLanguage(acceptLanguage);
  const { broken, later } = words[language];
  return smallPage(language, broken.title, <p>{isBroken ? broken.says : later}</p>);
}

function spoken(study: ShownStudy) {
  const language = builtInLanguage(study.preferred_language, study.default_language);
  return { language, title: publicName(study, language), say: words[language] };
}
