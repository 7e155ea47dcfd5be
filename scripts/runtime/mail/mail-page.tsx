import { paletteCss } from '../../../activities/html/palette.js';
import { HtmlDocument } from '../../../activities/html/html-document.js';
import { renderPage } from '../../../activities/html/render.js';
import { Style, pageStyle } from '../../../activities/html/style.js';
import { CHANNELS, type MailStore, type StoredMail } from './mail-store.js';

const STYLE = pageStyle(`${paletteCss('auto')}
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; background: var(--surface); color: var(--ink); overflow-wrap: anywhere }
time { color: var(--quiet); font-variant-numeric: tabular-nums }
a { color: var(--accent) }
details { border-bottom: 1px solid var(--line); padding: .4rem 0 }
pre { white-space: pre-wrap; background: var(--ground); padding: .8rem }
`);

const people = (addresses: StoredMail['to']): string =>
  addresses.map(({ name, address }) => (name ? `${name} <${address}>` : address)).join(', ');

/** HTML ignores the first line break of the element. */
const Text = ({ children }: { children: string }) => <pre dir="auto">{`\n${children}`}</pre>;

function Mail({ mail }: { mail: StoredMail }) {
  const at = `/email/${mail.id}`;
  return (
    <details>
      <summary>
        <time>{mail.time}</time>{' '}
        <b>
          <bdi>{mail.subject}</bdi>
        </b>{' '}
        to {people(mail.to)}
      </summary>
      <p>
        From {people(mail.from)} · <a href={at}>JSON</a> · <a href={`${at}/source`}>source</a>
        {mail.html && (
          <>
            {' · '}
            <a href={`${at}/html`}>HTML</a>
          </>
        )}
      </p>
      <Text>{mail.text}</Text>
    </details>
  );
}

function Messages({ store, channel }: { store: MailStore; channel: (typeof CHANNELS)[number] }) {
  const messages = [...store.messages(channel)].reverse();
  return (
    <>
      <h2>
        {channel === 'sms' ? 'Text messages' : 'Push messages'} ({messages.length})
      </h2>
      {messages.map(({ time, body }, index) => (
        <details key={index}>
          <summary>
            <time>{time}</time>
          </summary>
          <Text>{JSON.stringify(body, null, 2)}</Text>
        </details>
      ))}
    </>
  );
}

/** The catcher's page: every mail and message, newest first, with the HTML of a mail one click away. */
export function mailPage(store: MailStore): string {
  const mails = [...store.mails()].reverse();
  return renderPage(
    <HtmlDocument language="en" title="Caught mail" head={<Style of={STYLE} />}>
      <main>
        <h1>Caught mail ({mails.length})</h1>
        <p>
          Nothing here left this machine. JSON: <a href="/email">/email</a>, <a href="/sms">/sms</a>,{' '}
          <a href="/push">/push</a>.
        </p>
        {mails.length > 0 ? mails.map((mail) => <Mail key={mail.id} mail={mail} />) : <p>No mail yet.</p>}
        {CHANNELS.map((channel) => (
          <Messages key={channel} store={store} channel={channel} />
        ))}
      </main>
    </HtmlDocument>,
  );
}
