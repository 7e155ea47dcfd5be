import type { ComponentChildren } from 'preact';
import { light } from '../html/palette.js';
import { HtmlDocument } from '../html/html-document.js';
import { renderPage } from '../html/render.js';

/** For mail programs: plain elements with inline styles. Always light; a dark mode is the program's own. */
const style = {
  mail:
    `margin:0;padding:16px;font-family:sans-serif;line-height:1.5;max-width:36rem;overflow-wrap:anywhere;` +
    `color:${light.ink}`,
  button:
    `display:inline-block;padding:.7em 1.4em;border-radius:.5em;background:${light.accent};` +
    `color:${light['on-accent']};text-decoration:none;font-weight:600`,
  link: `color:${light.accent}`,
  address: 'font-size:.85em',
  foot: `color:${light.quiet};font-size:.85em`,
};

/** A mail as HTML: a whole page of its own. */
export const renderMail = (language: string, title: string, inside: ComponentChildren): string =>
  renderPage(
    <HtmlDocument language={language} title={title} body={{ style: style.mail }}>
      {inside}
    </HtmlDocument>,
  );

/** Addresses, and line ends. A direction mark ends an address. */
const PART = /(https?:\/\/[^\s<\u2068\u2069]+|\n)/;

export const MailLink = ({ to, children }: { to: string; children: ComponentChildren }) => (
  <a href={to} style={style.link}>
    {children}
  </a>
);

/** A paragraph of text with links for its addresses. */
function Lines({ text }: { text: string }) {
  return (
    <>
      {text
        .split(PART)
        .map((part, index) =>
          index % 2 === 0 ? part : part === '\n' ? <br /> : <MailLink to={part}>{part}</MailLink>,
        )}
    </>
  );
}

/** An address that is shown as a button. */
export interface MailButton {
  url: string;
  says: string;
}

/** The address follows below the button, so that a reader sees where it leads. */
const Button = ({ url, says }: MailButton) => (
  <>
    <p>
      <a href={url} style={style.button}>
        {says}
      </a>
    </p>
    <p style={style.address}>
      <Lines text={url} />
    </p>
  </>
);

/** Text with empty lines between its paragraphs. The button replaces the paragraph that is its address. */
const Paragraphs = ({ text, button }: { text: string; button?: MailButton | undefined }) => (
  <>
    {text.split(/\n{2,}/).map((one) =>
      button && one.trim() === button.url ? (
        <Button {...button} />
      ) : (
        <p>
          <Lines text={one} />
        </p>
      ),
    )}
  </>
);

export interface TextMail {
  language: string;
  title: string;
  text: string;
  button?: MailButton | undefined;
  /** Smaller, below the text. */
  foot?: string;
}

/** A mail of plain text as HTML. */
export const textMail = ({ language, title, text, button, foot }: TextMail): string =>
  renderMail(
    language,
    title,
    <>
      <Paragraphs text={text} button={button} />
      {foot !== undefined && (
        <p style={style.foot}>
          <Lines text={foot} />
        </p>
      )}
    </>,
  );

/** A mail to staff, as text and as HTML: the same words in both. */
export const staffMail = ({
  language,
  subject,
  text,
  button,
}: Omit<TextMail, 'title' | 'foot'> & { subject: string }): { subject: string; text: string; html: string } => ({
  subject,
  text: `${text}\n`,
  html: textMail({ language, title: subject, text, button }),
});
