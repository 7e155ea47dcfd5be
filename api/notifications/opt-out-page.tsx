import type { ComponentChildren } from 'preact';
import type { ShownStudy } from '../../db/studies/study-face.queries.js';
import { HtmlDocument } from '../../activities/html/html-document.js';
import { renderPage } from '../../activities/html/render.js';
import { Style, pageStyle, smallPageCss } from '../../activities/html/style.js';
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

const STYLE = pageStyle(smallPageCss);
/** Nothing is loaded; the form is sent to its own page. */
export const OPT_OUT_POLICY =
  `default-src 'none'; style-src ${STYLE.source}; form-action ` + `'self'; base-uri 'none'; frame-ancestors 'none'`;

/** The page that asks for confirmation to end a channel's messages, in the participant's language. */
export function askingPage(study: ShownStudy, channel: string): string {
  const { language, title, say } = spoken(study);
  return page(
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
  return page(
    language,
    title,
    <>
      <h2>{say.done}</h2>
      <p>{say.ended}</p>
    </>,
  );
}

function spoken(study: ShownStudy) {
  const language = builtInLanguage(study.preferred_language, study.default_language);
  return { language, title: publicName(study, language), say: words[language] };
}

const page = (language: string, title: string, inside: ComponentChildren): string =>
  renderPage(
    <HtmlDocument
      language={language}
      title={title}
      head={
        <>
          <meta name="robots" content="noindex" />
          <Style of={STYLE} />
        </>
      }
    >
      <main>
        <h1>
          <bdi>{title}</bdi>
        </h1>
        {inside}
      </main>
    </HtmlDocument>,
  );
